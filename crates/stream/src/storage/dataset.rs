//! Groups and datasets as the files have many of.

use hdf5_metno::dataset::AllocTime;
use hdf5_metno::filters::Filter;
use hdf5_metno::{Dataset, Group, H5Type, Location, Result};

use super::text::set_attribute;

const UNIX_EPOCH: &str = "1970-01-01T00:00:00Z";

/// Creates a group with its NeXus class.
pub fn class(parent: &Group, name: &str, nexus_class: &str) -> Result<Group> {
    let group = parent.create_group(name)?;
    set_attribute(&group, "NX_class", nexus_class)?;
    Ok(group)
}

/// Says that a dataset holds nanoseconds since the Unix epoch; `origin` is the name of the attribute with the
/// epoch: `offset` for `event_time_zero`, `start` for all else, as in the NeXus manual.
///
/// The ESS's file writer says `start` for `event_time_zero`, too. Writing both would please everybody, but
/// scippnexus (26.1.1) makes instants of a dataset only if exactly one of its attributes is an instant.
pub fn mark_as_time(dataset: &Location, origin: &str) -> Result<()> {
    set_attribute(dataset, "units", "ns")?;
    set_attribute(dataset, origin, UNIX_EPOCH)
}

/// Creates a dataset with a single value.
///
/// # Errors
/// If HDF5 refuses.
pub fn scalar<T: H5Type>(group: &Group, name: &str, value: T) -> Result<Dataset> {
    let dataset = group.new_dataset_builder().alloc_time(Some(AllocTime::Early)).empty::<T>().create(name)?;
    dataset.write_scalar(&value)?;
    Ok(dataset)
}

/// Creates a dataset of one axis whose place in the file is settled.
///
/// # Errors
/// If HDF5 refuses.
pub fn preallocated<T: H5Type>(group: &Group, name: &str, length: usize) -> Result<Dataset> {
    group.new_dataset_builder().alloc_time(Some(AllocTime::Early)).empty::<T>().shape(length).create(name)
}

/// Creates a dataset with all its values.
///
/// # Errors
/// If HDF5 refuses.
pub fn write_grid<T: H5Type>(group: &Group, name: &str, shape: &[usize], values: &[T]) -> Result<Dataset> {
    let dataset = group.new_dataset_builder().empty::<T>().shape(shape).create(name)?;
    dataset.write_raw(values)?;
    Ok(dataset)
}

/// As [`write_grid`], compressed: for arrays with a value for each pixel.
pub fn write_compressed<T: H5Type>(
    group: &Group,
    name: &str,
    shape: &[usize],
    values: &[T],
) -> Result<Dataset> {
    let chunk = packed_chunk(shape);
    let filters = [Filter::Shuffle, Filter::Deflate(4)];
    let builder = group.new_dataset_builder().set_filters(&filters).chunk(chunk).empty::<T>();
    let dataset = builder.shape(shape).create(name)?;
    dataset.write_raw(values)?;
    Ok(dataset)
}

/// The chunk in which an array is compressed that is there as a whole.
pub(super) fn packed_chunk(shape: &[usize]) -> Vec<usize> {
    /// Values per chunk at most: all of them in one chunk would have to be unpacked to read one.
    const CHUNK: usize = 256 << 10;
    let mut chunk = shape.to_vec();
    for axis in 0..chunk.len() {
        let behind: usize = chunk[axis + 1..].iter().product();
        chunk[axis] = chunk[axis].min((CHUNK / behind.max(1)).max(1));
    }
    chunk
}
