//! A growing dataset of one dimension, with what has not been written to it yet.

use hdf5_metno::filters::Filter;
use hdf5_metno::{Dataset, Group, H5Type, Result};

use super::options::Compression;
use crate::storage::growing::index_growth;

/// Bytes at most of a group or dataset with its attributes.
pub(crate) const OBJECT: u64 = 2048;

/// A growing dataset and the values waiting to be appended to it.
#[derive(Debug)]
pub(crate) struct Column<T> {
    pub(super) dataset: Dataset,
    /// Values per chunk.
    pub(super) chunk: usize,
    is_compressed: bool,
    /// Values in the file.
    pub(super) written: usize,
    /// Values that are not in the file yet.
    pub(crate) pending: Vec<T>,
    /// What the last value in the file is to be instead.
    changed: Option<T>,
}

impl<T: H5Type> Column<T> {
    /// Creates an empty dataset called `name` that grows in chunks of `chunk` values.
    pub(crate) fn create(group: &Group, name: &str, chunk: usize, compression: Compression) -> Result<Self> {
        Self::create_with_cache(group, name, chunk, compression, cache_of::<T>(chunk))
    }

    /// The same with so many bytes for HDF5 to keep chunks in.
    pub(super) fn create_with_cache(
        group: &Group,
        name: &str,
        chunk: usize,
        compression: Compression,
        cache: usize,
    ) -> Result<Self> {
        let filters: &[Filter] = match compression {
            Compression::None => &[],
            Compression::Lzf => &[Filter::Shuffle, Filter::LZF],
            Compression::Deflate(level) => &[Filter::Shuffle, Filter::Deflate(level)],
        };
        let dataset = group
            .new_dataset_builder()
            .set_filters(filters)
            .chunk_cache(127, cache, 1.0)
            .empty::<T>()
            .chunk(chunk)
            .shape(0..)
            .create(name)?;
        Ok(Self {
            dataset,
            chunk,
            is_compressed: !filters.is_empty(),
            written: 0,
            pending: Vec::new(),
            changed: None,
        })
    }

    /// The dataset, to give it attributes.
    pub(crate) fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Number of values in the file and waiting.
    pub(crate) fn len(&self) -> usize {
        self.written + self.pending.len()
    }

    /// Makes the last value, in the file or waiting, another one. Only of arrays that are not compressed: their chunks stay
    /// where they are, so that this takes no room.
    pub(crate) fn change_last(&mut self, value: T) {
        match self.pending.last_mut() {
            Some(last) => *last = value,
            None if self.written > 0 => self.changed = Some(value),
            None => {}
        }
    }

    /// Bytes by which the file grows at most when what is waiting, and `more` values, are appended.
    pub(crate) fn growth(&self, more: usize) -> u64 {
        let waiting = self.pending.len() + more;
        if waiting == 0 {
            return 0;
        }
        let end = (self.written + waiting).div_ceil(self.chunk) as u64;
        let bytes = (self.chunk * size_of::<T>()) as u64;
        let (first, bytes) = if self.is_compressed {
            // The chunk that is not full goes to a new place, and what cannot be compressed may grow a little.
            (self.written / self.chunk, bytes + bytes / 64 + 64)
        } else {
            (self.written.div_ceil(self.chunk), bytes)
        };
        match end - first as u64 {
            0 => 0,
            chunks => chunks * bytes + index_growth(end, chunks),
        }
    }

    /// Appends what is waiting and brings it to the file. True if there was something.
    ///
    /// # Errors
    /// If HDF5 refuses; what is waiting then stays where it is.
    pub(crate) fn flush(&mut self) -> Result<bool> {
        if let Some(value) = &self.changed {
            self.dataset.write_slice(std::slice::from_ref(value), self.written - 1..self.written)?;
            self.dataset.flush()?;
            self.changed = None;
        }
        if self.pending.is_empty() {
            return Ok(false);
        }
        let end = self.len();
        self.dataset.resize(end)?;
        self.dataset.write_slice(&self.pending, self.written..end)?;
        self.dataset.flush()?;
        self.written = end;
        self.pending.clear();
        Ok(true)
    }
}

/// Bytes of the cache for the chunks of a dataset: the chunk that is being filled has to stay in it, or each append reads
/// it back (and decompresses it).
pub(crate) fn cache_of<T>(chunk: usize) -> usize {
    4 * chunk * size_of::<T>()
}
