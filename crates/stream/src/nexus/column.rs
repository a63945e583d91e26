//! A growing dataset of one dimension, with what has not been written to it yet.

use hdf5_metno::filters::Filter;
use hdf5_metno::{Dataset, Group, H5Type, Result};

use super::options::Compression;

/// A growing dataset and the values waiting to be appended to it.
#[derive(Debug)]
pub(crate) struct Column<T> {
    dataset: Dataset,
    written: usize,
    /// Values that are not in the file yet.
    pub(crate) pending: Vec<T>,
}

impl<T: H5Type> Column<T> {
    /// Creates an empty dataset called `name` that grows in chunks of `chunk` values.
    pub(crate) fn create(group: &Group, name: &str, chunk: usize, compression: Compression) -> Result<Self> {
        let filters: &[Filter] = match compression {
            Compression::None => &[],
            Compression::Lzf => &[Filter::Shuffle, Filter::LZF],
            Compression::Deflate(level) => &[Filter::Shuffle, Filter::Deflate(level)],
        };
        // The chunk being filled has to stay in the cache, or each append reads it back (and decompresses it).
        let cache = 4 * chunk * size_of::<T>();
        let dataset = group
            .new_dataset_builder()
            .set_filters(filters)
            .chunk_cache(127, cache, 1.0)
            .empty::<T>()
            .chunk(chunk)
            .shape(0..)
            .create(name)?;
        Ok(Self { dataset, written: 0, pending: Vec::new() })
    }

    /// The dataset, to give it attributes.
    pub(crate) fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Number of values in the file and waiting.
    pub(crate) fn len(&self) -> usize {
        self.written + self.pending.len()
    }

    /// Appends what is waiting and brings it to the file. True if there was something.
    ///
    /// # Errors
    /// If HDF5 refuses; what is waiting then stays where it is.
    pub(crate) fn flush(&mut self) -> Result<bool> {
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
