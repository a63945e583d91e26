//! A chunk straight into a file, past the filters of HDF5.

use std::ffi::c_void;

use hdf5_metno::{Dataset, Result};
use hdf5_metno_sys::h5d::H5Dwrite_chunk;
use hdf5_metno_sys::h5p::H5P_DEFAULT;

use super::packer::Chunk;

/// In the mask of a chunk: neither the first filter nor the second was used.
const NO_FILTERS: u32 = 0b11;

/// Writes the chunk that begins with row `first` of a dataset that is long enough for at least one row of it. The dataset has two
/// filters (byte shuffle, deflate) or, with `has_filters` false, none; its chunks are whole rows.
///
/// A chunk as long as the one that it replaces is written in its place, any other one to a new place.
///
/// # Errors
/// If HDF5 refuses, or the dataset has more axes than any of ours.
pub fn write_chunk(dataset: &Dataset, first: usize, chunk: &Chunk, has_filters: bool) -> Result<()> {
    let mask = if chunk.is_plain && has_filters { NO_FILTERS } else { 0 };
    write_bytes(dataset, first, &chunk.bytes, mask)
}

/// Writes a chunk of values as they are, without a copy of them, into a dataset without filters; else as [`write_chunk`].
///
/// # Errors
/// As [`write_chunk`].
pub fn write_values(dataset: &Dataset, first: usize, values: &[u8]) -> Result<()> {
    write_bytes(dataset, first, values, 0)
}

fn write_bytes(dataset: &Dataset, first: usize, bytes: &[u8], mask: u32) -> Result<()> {
    let mut offset = [0_u64; MOST_AXES];
    if dataset.ndim() > MOST_AXES {
        return Err(hdf5_metno::Error::from(format!("{} has more than {MOST_AXES} axes", dataset.name())));
    }
    offset[0] = first as u64;
    let (bytes, length) = (bytes.as_ptr().cast::<c_void>(), bytes.len());
    hdf5_metno::sync::sync(|| {
        // SAFETY: the id is open for as long as `dataset` lives, the lock of the library is held, `offset` has a number for
        // each dimension that there is (checked above), and `bytes` is `length` bytes long.
        let status =
            unsafe { H5Dwrite_chunk(dataset.id(), H5P_DEFAULT, mask, offset.as_ptr(), length, bytes) };
        hdf5_metno::h5check(status).map(|_| ())
    })
}

/// Axes of a dataset at most, as HDF5 itself has it (`H5S_MAX_RANK`).
pub const MOST_AXES: usize = 32;
