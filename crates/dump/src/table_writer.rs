//! Writing a table.

use crate::error::DumpError;
use crate::layout::Row;
use evforge_net::staged_file::StagedName;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{Dataset, Datatype, File};
use std::path::Path;

/// Bytes of a chunk, as in the files of 2018: one network packet.
const CHUNK_BYTES: usize = 9000;

/// Chunks that are written at once.
const CHUNKS_AT_ONCE: usize = 32;

/// Writes the rows of one table into a file, which gets its name when it is complete.
#[derive(Debug)]
pub struct TableWriter<R> {
    // HDF5 wants its datasets closed before the file, and the file before it is renamed.
    table: Dataset,
    file: File,
    name: StagedName,
    pending: Vec<R>,
    at_once: usize,
    written: usize,
}

impl<R: Row> TableWriter<R> {
    /// Begins a file. An existing plain file of that name is replaced in the end.
    ///
    /// # Errors
    /// If no file can be made there.
    pub fn create(path: &Path) -> Result<Self, DumpError> {
        let failed = |error: &dyn std::fmt::Display| DumpError::write(path, 0, error);
        let (name, made) = StagedName::replacing(path).map_err(|error| failed(&error))?;
        // HDF5 opens the file by its name, which is ours alone, and has locks of its own.
        drop(made);
        let file = File::create(name.temporary()).map_err(|error| failed(&error))?;
        let chunk = (CHUNK_BYTES / size_of::<R>()).max(1);
        let table = Self::begin_table(&file, chunk).map_err(|error| failed(&error))?;
        let at_once = chunk * CHUNKS_AT_ONCE;
        Ok(Self { table, file, name, pending: Vec::with_capacity(at_once), at_once, written: 0 })
    }

    fn begin_table(file: &File, chunk: usize) -> hdf5_metno::Result<Dataset> {
        // The type as it is: a descriptor would be laid out again.
        let datatype = Datatype::from_type::<R>()?;
        let table = file.new_dataset_builder().chunk(chunk).empty_as(datatype).shape(0..).create(R::TABLE)?;
        if let Some(version) = R::FORMAT_VERSION {
            table.new_attr::<u16>().create("format_version")?.write_scalar(&version)?;
        }
        for (name, text) in [
            ("EFU_version", env!("CARGO_PKG_VERSION")),
            ("EFU_build_string", concat!("evforge ", env!("CARGO_PKG_VERSION"))),
        ] {
            let text: VarLenUnicode =
                text.parse().map_err(|_| hdf5_metno::Error::from("a version with a zero byte"))?;
            table.new_attr::<VarLenUnicode>().create(name)?.write_scalar(&text)?;
        }
        Ok(table)
    }

    /// Appends rows.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, rows: &[R]) -> Result<(), DumpError> {
        for row in rows {
            self.pending.push(*row);
            if self.pending.len() == self.at_once {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DumpError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let end = self.written + self.pending.len();
        let outcome =
            self.table.resize(end).and_then(|()| self.table.write_slice(&self.pending, self.written..end));
        outcome.map_err(|error| DumpError::write(self.name.target(), self.written, error))?;
        self.written = end;
        self.pending.clear();
        Ok(())
    }

    /// Rows written and waiting.
    pub fn row_count(&self) -> usize {
        self.written + self.pending.len()
    }

    /// Closes the file and gives it its name. Returns the number of rows.
    ///
    /// # Errors
    /// If that fails; there is no file of that name then.
    pub fn finish(mut self) -> Result<usize, DumpError> {
        self.flush()?;
        let Self { table, file, mut name, written, .. } = self;
        let failed = |name: &StagedName, error: &dyn std::fmt::Display| {
            DumpError::write(name.target(), written, error)
        };
        drop(table);
        file.close().map_err(|error| failed(&name, &error))?;
        name.finish().map_err(|error| failed(&name, &error))?;
        Ok(written)
    }
}
