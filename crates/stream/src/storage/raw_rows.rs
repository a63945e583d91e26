//! Rows of a dataset as the bytes that they are in memory, whatever their type.

use std::ffi::c_void;
use std::ptr;

use hdf5_metno::{Dataset, Error, Result};
use hdf5_metno_sys::h5d::{H5Dget_space, H5Dread};
use hdf5_metno_sys::h5p::H5P_DEFAULT;
use hdf5_metno_sys::h5s::{H5S_seloper_t, H5Sclose, H5Screate_simple, H5Sselect_hyperslab};

use super::chunk_write::MOST_AXES;

/// Reads the rows `from..to` (along the first axis), as values of the dataset's own type.
///
/// # Errors
/// If the dataset has no such rows, or HDF5 refuses.
pub fn read_rows(dataset: &Dataset, from: usize, to: usize) -> Result<Vec<u8>> {
    let shape = dataset.shape();
    if shape.is_empty() || shape.len() > MOST_AXES || from > to || to > shape[0] {
        return Err(Error::from(format!("{} has no rows {from} to {to}", dataset.name())));
    }
    let dtype = dataset.dtype()?;
    let row: usize = shape[1..].iter().product();
    let mut bytes = vec![0_u8; (to - from) * row * dtype.size()];
    if bytes.is_empty() {
        return Ok(bytes);
    }
    let mut start = [0_u64; MOST_AXES];
    start[0] = from as u64;
    let mut count: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
    count[0] = (to - from) as u64;
    hdf5_metno::sync::sync(|| {
        // SAFETY: the ids are open for as long as `dataset` and `dtype` live and the lock of the library is held. `start` and
        // `count` have a number for each axis of the space, within it. The memory space has as many values of `dtype` as `bytes`
        // has room for. Both spaces are closed, whatever the reading says.
        unsafe {
            let file_space = hdf5_metno::h5check(H5Dget_space(dataset.id()))?;
            let memory_space = H5Screate_simple(count.len() as i32, count.as_ptr(), ptr::null());
            let selected = H5Sselect_hyperslab(
                file_space,
                H5S_seloper_t::H5S_SELECT_SET,
                start.as_ptr(),
                ptr::null(),
                count.as_ptr(),
                ptr::null(),
            );
            let status = if memory_space < 0 || selected < 0 {
                -1
            } else {
                let target = bytes.as_mut_ptr().cast::<c_void>();
                H5Dread(dataset.id(), dtype.id(), memory_space, file_space, H5P_DEFAULT, target)
            };
            let read = hdf5_metno::h5check(status).map(|_| ());
            if memory_space >= 0 {
                H5Sclose(memory_space);
            }
            H5Sclose(file_space);
            read
        }
    })?;
    Ok(bytes)
}
