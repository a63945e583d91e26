//! An array with a value for each event: compressed in threads of its own ([`GrowingArray`]), by HDF5, or not at all.

use hdf5_metno::{Dataset, Group, H5Type, Result};

use super::column::Column;
use super::options::Compression;
use crate::storage::growing::{ArrayPlan, GrowingArray, WorkerLost};
use crate::storage::workers::Workers;

/// A value for each event.
pub(crate) trait EventValue: H5Type + Copy {
    /// Appends the bytes of values, as they are in the file.
    fn append_bytes(values: &[Self], bytes: &mut Vec<u8>);
}

impl EventValue for i32 {
    fn append_bytes(values: &[Self], bytes: &mut Vec<u8>) {
        bytes.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
    }
}

impl EventValue for u8 {
    fn append_bytes(values: &[Self], bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(values);
    }
}

/// A growing array, and the values that wait to be appended to it.
#[derive(Debug)]
pub(crate) enum EventColumn<T> {
    /// Packed here.
    Packed {
        array: Box<GrowingArray>,
        /// Values that the array has not been given yet.
        pending: Vec<T>,
    },
    /// Plain, or packed by HDF5.
    ByHdf5(Column<T>),
}

impl<T: EventValue> EventColumn<T> {
    /// Creates an empty dataset called `name` that grows in chunks of `chunk` values.
    pub(crate) fn create(group: &Group, name: &str, chunk: usize, compression: Compression) -> Result<Self> {
        let Compression::Deflate(level) = compression else {
            return Ok(Self::ByHdf5(Column::create(group, name, chunk, compression)?));
        };
        let value = T::type_descriptor();
        let plan = ArrayPlan { name, value, row: &[], chunk_rows: chunk, deflate: Some(level) };
        Ok(Self::Packed { array: Box::new(GrowingArray::create(group, &plan)?), pending: Vec::new() })
    }

    /// The dataset, to give it attributes.
    pub(crate) fn dataset(&self) -> Result<&Dataset> {
        match self {
            Self::Packed { array, .. } => array.dataset(),
            Self::ByHdf5(column) => Ok(column.dataset()),
        }
    }

    /// Values that were appended since the last flush or seal.
    pub(crate) fn pending(&mut self) -> &mut Vec<T> {
        match self {
            Self::Packed { pending, .. } => pending,
            Self::ByHdf5(column) => &mut column.pending,
        }
    }

    /// Number of values in the file and waiting.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Packed { array, pending } => array.len() + pending.len(),
            Self::ByHdf5(column) => column.len(),
        }
    }

    /// Hands chunks that are full to the threads.
    pub(crate) fn seal(&mut self, workers: &mut Workers) {
        if let Self::Packed { array, pending } = self {
            T::append_bytes(pending, array.pending());
            pending.clear();
            array.seal(workers);
        }
    }

    /// Prepares the chunk that is being filled for the next flush, after [`EventColumn::seal`]. In the last one nothing will
    /// follow.
    pub(crate) fn prepare(&mut self, workers: &mut Workers, is_last: bool) {
        if let Self::Packed { array, .. } = self {
            array.prepare(workers, is_last);
        }
    }

    /// Waits until everything that was handed to the threads is there.
    ///
    /// # Errors
    /// If a thread has ended.
    pub(crate) fn collect(&mut self) -> std::result::Result<(), WorkerLost> {
        match self {
            Self::Packed { array, .. } => array.collect(),
            Self::ByHdf5(_) => Ok(()),
        }
    }

    /// Bytes by which the file grows at most with the next flush, after [`EventColumn::collect`].
    pub(crate) fn growth(&self) -> u64 {
        match self {
            Self::Packed { array, .. } => array.growth(),
            Self::ByHdf5(column) => column.growth(0),
        }
    }

    /// Appends what was prepared and brings it to the file.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub(crate) fn flush(&mut self) -> Result<()> {
        match self {
            Self::Packed { array, .. } => array.flush().map(|_| ()),
            Self::ByHdf5(column) => column.flush().map(|_| ()),
        }
    }
}
