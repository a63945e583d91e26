//! What can go wrong with a dump, in words for the person who named it.

use crate::tables::TABLES;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A dump could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The file could not be opened.
    #[error("cannot open the dump {path}: {source}.{}", open_advice(.source))]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is not HDF5.
    #[error(
        "{path} is not an HDF5 file: it begins with{}, expected 89 48 44 46 0d 0a 1a 0a",
        listed(.first_bytes)
    )]
    NotHdf5 {
        /// The file.
        path: PathBuf,
        /// Its first bytes, at most 8.
        first_bytes: Vec<u8>,
    },
    /// HDF5 cannot open the file.
    #[error(
        "{path} begins like an HDF5 file, but cannot be read: HDF5 reports: {cause}. It is damaged, or was cut when it \
         was copied: fetch it again from its origin"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What HDF5 says.
        cause: String,
    },
    /// The file has none of the tables, or more than one.
    #[error(
        "{path} holds no dump of raw readouts: found {}, expected one table called {}",
        if .found.is_empty() { "nothing in it".to_owned() } else { .found.join(", ") },
        TABLES.join(" or ")
    )]
    Tables {
        /// The file.
        path: PathBuf,
        /// What is in the file.
        found: Vec<String>,
    },
    /// The table is not in a layout that can be read.
    #[error(
        "the table {table} of {path} is in no layout that can be read. Found {found}. Expected {expected}"
    )]
    Layout {
        /// The file.
        path: PathBuf,
        /// The table.
        table: String,
        /// What the file declares.
        found: String,
        /// What can be read.
        expected: String,
    },
    /// The file has fewer bytes for the table than its rows need.
    #[error(
        "the table {table} of {path} claims {rows} rows, but the file has only {bytes} bytes for them: it is damaged, \
         or its writer was ended before it was done"
    )]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// Rows that the table claims.
        rows: usize,
        /// Bytes that are there for them.
        bytes: u64,
    },
    /// Rows could not be read.
    #[error(
        "the table {table} of {path} cannot be read from row {row} of {rows} on: HDF5 reports: {cause}. The rows before \
         it have been read"
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// The first row of those that could not be read, from 0.
        row: usize,
        /// Rows of the table.
        rows: usize,
        /// What HDF5 says.
        cause: String,
    },
    /// The file could not be written.
    #[error("writing the dump {path} failed after {rows} rows: {cause}")]
    Write {
        /// The file that was to be made.
        path: PathBuf,
        /// Rows written before.
        rows: usize,
        /// What HDF5 or the system says.
        cause: String,
    },
}

impl DumpError {
    pub(crate) fn write(path: &Path, rows: usize, cause: impl fmt::Display) -> Self {
        Self::Write { path: path.to_owned(), rows, cause: cause.to_string() }
    }
}

fn open_advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => " Check the name; relative names count from the current directory.",
        _ => "",
    }
}

fn listed(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!(" {byte:02x}")).collect()
}
