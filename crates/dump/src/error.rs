//! What can go wrong with a dump, told to the person who named it.

use crate::tables::TABLES;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A dump could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum DumpError {
    /// The file could not be opened.
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is not HDF5.
    NotHdf5 {
        /// The file.
        path: PathBuf,
        /// Its first bytes, at most 8.
        first_bytes: Vec<u8>,
    },
    /// HDF5 cannot open the file.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What HDF5 says.
        cause: String,
    },
    /// The file has none of the tables, or more than one.
    Tables {
        /// The file.
        path: PathBuf,
        /// What is in the file.
        found: Vec<String>,
    },
    /// The table is not in a layout that can be read.
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

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { path, source } => {
                write!(f, "cannot open the dump {}: {source}.", path.display())?;
                match source.kind() {
                    io::ErrorKind::NotFound => {
                        write!(f, " Check the name; relative names count from the current directory.")
                    }
                    _ => Ok(()),
                }
            }
            Self::NotHdf5 { path, first_bytes } => {
                write!(f, "{} is not an HDF5 file: it begins with", path.display())?;
                first_bytes.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
                write!(f, ", expected 89 48 44 46 0d 0a 1a 0a")
            }
            Self::Damaged { path, cause } => write!(
                f,
                "{} begins like an HDF5 file, but cannot be read: HDF5 says: {cause}. It is damaged, or was cut when it \
                 was copied: fetch it again from its origin",
                path.display()
            ),
            Self::Tables { path, found } => {
                write!(f, "{} holds no dump of raw readouts: found ", path.display())?;
                match found.as_slice() {
                    [] => write!(f, "nothing in it")?,
                    found => write!(f, "{}", found.join(", "))?,
                }
                write!(f, ", expected one table called {}", TABLES.join(" or "))
            }
            Self::Layout { path, table, found, expected } => write!(
                f,
                "the table {table} of {} is in no layout that can be read. Found {found}. Expected {expected}",
                path.display()
            ),
            Self::Incomplete { path, table, rows, bytes } => write!(
                f,
                "the table {table} of {} claims {rows} rows, but the file has only {bytes} bytes for them: it is damaged, \
                 or its writer was ended before it was done",
                path.display()
            ),
            Self::Read { path, table, row, rows, cause } => write!(
                f,
                "the table {table} of {} cannot be read from row {row} of {rows} on: HDF5 says: {cause}. The rows before \
                 it have been read",
                path.display()
            ),
            Self::Write { path, rows, cause } => {
                write!(f, "writing the dump {} failed after {rows} rows: {cause}", path.display())
            }
        }
    }
}

impl std::error::Error for DumpError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open { source, .. } => Some(source),
            _ => None,
        }
    }
}
