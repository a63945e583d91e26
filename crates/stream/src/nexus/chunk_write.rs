//! A chunk straight into a file, past the filters of HDF5.

use std::ffi::c_void;

use hdf5_metno::{Dataset, Result};
use hdf5_metno_sys::h5d::H5Dwrite_chunk;
use hdf5_metno_sys::h5p::H5P_DEFAULT;

use super::packer::Chunk;

/// In the mask of a chunk: neither the first filter nor the second was used.
const NO_FILTERS: u32 = 0b11;

/// Writes the chunk that begins with value `first` of a dataset of one dimension, with two filters, which is long enough
/// for at least one value of it.
///
/// A chunk as long as the one that it replaces is written in its place, any other one to a new place.
///
/// # Errors
/// If HDF5 refuses.
pub(crate) fn write_chunk(dataset: &Dataset, first: usize, chunk: &Chunk) -> Result<()> {
    let offset = [first as u64];
    let mask = if chunk.is_plain { NO_FILTERS } else { 0 };
    let (bytes, length) = (chunk.bytes.as_ptr().cast::<c_void>(), chunk.bytes.len());
    hdf5_metno::sync::sync(|| {
        // SAFETY: the id is open for as long as `dataset` lives, the lock of the library is held, `offset` has a number for
        // the one dimension that there is, and `bytes` is `length` bytes long.
        let status =
            unsafe { H5Dwrite_chunk(dataset.id(), H5P_DEFAULT, mask, offset.as_ptr(), length, bytes) };
        hdf5_metno::h5check(status).map(|_| ())
    })
}
