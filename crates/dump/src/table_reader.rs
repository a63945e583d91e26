//! Reading a table, a stretch of rows at a time.

use crate::error::DumpError;
use crate::layout::Row;
use crate::layout::{Layout, describe, readable};
use crate::tables::TABLES;
use hdf5_metno::dataset::Layout as Storage;
use hdf5_metno::{Dataset, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The first bytes of every HDF5 file.
pub const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// Rows that are read at once: 94 kB to 135 kB.
const ROWS_AT_ONCE: usize = 4096;

/// A compressed chunk is unpacked whole: this is how large a row's share of it may be made. Files of 2018 have
/// chunks of 9000 bytes.
const LARGEST_CHUNK: usize = 64 << 20;

/// Nothing that HDF5 packs becomes smaller than this share.
const LARGEST_COMPRESSION: u64 = 2000;

/// Whether a file begins as HDF5 files do.
///
/// # Errors
/// If the file cannot be opened or read.
pub fn is_hdf5(path: &Path) -> std::io::Result<bool> {
    Ok(first_bytes(path)? == SIGNATURE)
}

fn first_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(SIGNATURE.len() as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// An HDF5 file with one of the tables.
#[derive(Debug)]
pub struct DumpFile {
    path: PathBuf,
    file: File,
    table: &'static str,
}

impl DumpFile {
    /// Opens a file and finds its table.
    ///
    /// # Errors
    /// If it cannot be read, is no HDF5 file, or does not have exactly one of the tables.
    pub fn open(path: &Path) -> Result<Self, DumpError> {
        let first_bytes =
            first_bytes(path).map_err(|source| DumpError::Open { path: path.to_owned(), source })?;
        if first_bytes != SIGNATURE {
            return Err(DumpError::NotHdf5 { path: path.to_owned(), first_bytes });
        }
        let damaged =
            |error: hdf5_metno::Error| DumpError::Damaged { path: path.to_owned(), cause: error.to_string() };
        let file = File::open(path).map_err(damaged)?;
        let mut present = TABLES.into_iter().filter(|table| file.link_exists(table));
        match (present.next(), present.next()) {
            (Some(table), None) => Ok(Self { path: path.to_owned(), file, table }),
            _ => {
                let found = file.member_names().map_err(damaged)?;
                let found = found.iter().map(|name| readable(name)).collect();
                Err(DumpError::Tables { path: path.to_owned(), found })
            }
        }
    }

    /// Name of the table.
    pub fn table(&self) -> &'static str {
        self.table
    }

    /// The rows of the table, which must be that of `R`.
    ///
    /// # Errors
    /// If the table is in no layout of `R`, or the file has too few bytes for its rows.
    pub fn rows<R: Row>(&self) -> Result<TableReader<R>, DumpError> {
        let path = &self.path;
        let damaged =
            |error: hdf5_metno::Error| DumpError::Damaged { path: path.to_owned(), cause: error.to_string() };
        let unreadable = |found: String| {
            let expected: Vec<String> = R::layouts().iter().map(Layout::describe).collect();
            DumpError::Layout {
                path: path.to_owned(),
                table: R::TABLE.to_owned(),
                found,
                expected: expected.join(", or "),
            }
        };
        let table = self.file.dataset(R::TABLE);
        let table =
            table.map_err(|error| unreadable(format!("what HDF5 does not take for a table: {error}")))?;
        if table.ndim() != 1 {
            return Err(unreadable(format!("{} dimensions", table.ndim())));
        }
        // A type that the library does not know is no layout of ours either.
        let declared = table.dtype().and_then(|datatype| datatype.to_descriptor());
        let declared =
            declared.map_err(|error| unreadable(format!("a type that HDF5 cannot tell: {error}")))?;
        let layout = Layout::<R>::recognise(&declared).ok_or_else(|| unreadable(describe(&declared)))?;
        let rows = table.size();
        let creation = table.dcpl().map_err(damaged)?;
        if creation.layout() == Storage::Virtual || !creation.external().is_empty() {
            return Err(unreadable("rows that lie in other files".to_owned()));
        }
        let chunk = creation.chunk().map_or(0, |chunk| chunk.iter().product());
        if layout.row_bytes().saturating_mul(chunk) > LARGEST_CHUNK {
            return Err(unreadable(format!("chunks of {chunk} rows")));
        }
        let bytes = table.storage_size();
        let packed = if creation.filters().is_empty() { 1 } else { LARGEST_COMPRESSION };
        if (rows as u64).saturating_mul(layout.row_bytes() as u64) > bytes.saturating_mul(packed) {
            return Err(DumpError::Incomplete { path: path.to_owned(), table: R::TABLE, rows, bytes });
        }
        Ok(TableReader { path: path.to_owned(), table, _file: self.file.clone(), layout, rows, next: 0 })
    }
}

/// The rows of a table, in order, a stretch at a time.
#[derive(Debug)]
pub struct TableReader<R> {
    path: PathBuf,
    table: Dataset,
    /// Held because the table can be read only as long as its file is open.
    _file: File,
    layout: Layout<R>,
    rows: usize,
    next: usize,
}

impl<R: Row> TableReader<R> {
    /// Opens the table of `R` in a file.
    ///
    /// # Errors
    /// As [`DumpFile::open`] and [`DumpFile::rows`].
    pub fn open(path: &Path) -> Result<Self, DumpError> {
        DumpFile::open(path)?.rows()
    }

    /// The next rows; empty at the end of the table.
    ///
    /// # Errors
    /// If HDF5 cannot read them. Calling again reports it again.
    pub fn next_rows(&mut self) -> Result<Vec<R>, DumpError> {
        let end = self.rows.min(self.next + ROWS_AT_ONCE);
        if end == self.next {
            return Ok(Vec::new());
        }
        let rows = self.layout.read(&self.table, self.next..end).map_err(|error| DumpError::Read {
            path: self.path.clone(),
            table: R::TABLE,
            row: self.next,
            rows: self.rows,
            cause: error.to_string(),
        })?;
        self.next = end;
        Ok(rows)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows of the table.
    pub fn row_count(&self) -> usize {
        self.rows
    }

    /// Rows read so far.
    pub fn rows_read(&self) -> usize {
        self.next
    }

    /// The layout that was recognised.
    pub fn layout(&self) -> &Layout<R> {
        &self.layout
    }
}
