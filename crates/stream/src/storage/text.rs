//! Text of fixed length in datasets, and text in attributes.
//!
//! The safe HDF5 wrapper handles text whose length is a constant of the program, or of variable length. Text
//! of variable length lies in a heap that must not be written while others follow the file, and Mantid's
//! geometry parser reads text of fixed length only (streaming-and-nexus.md, section 5); lengths here are only
//! known when the program runs. So these are the few calls that go to the HDF5 library directly.

use hdf5_metno::filters::Filter;
use hdf5_metno::types::{TypeDescriptor, VarLenUnicode};
use hdf5_metno::{Container, Dataset, Error, Group, Location, Result};
use hdf5_metno_sys::h5d::{H5Dread, H5Dwrite};
use hdf5_metno_sys::h5p::H5P_DEFAULT;
use hdf5_metno_sys::h5s::H5S_ALL;

/// Creates a scalar text dataset called `name` with room for `room` bytes of UTF-8 and puts `text` into it.
pub fn create_text(group: &Group, name: &str, text: &str, room: usize) -> Result<Dataset> {
    let dataset = group
        .new_dataset_builder()
        // Space in the file now: while others follow the file, only bytes may change, not the layout.
        .alloc_time(Some(hdf5_metno::dataset::AllocTime::Early))
        .empty_as(TypeDescriptor::FixedUnicode(room.max(text.len()).max(1)))
        .create(name)?;
    write_text(&dataset, text)?;
    Ok(dataset)
}

/// Bytes that a text dataset has room for.
pub fn room(dataset: &Dataset) -> Result<usize> {
    Ok(dataset.dtype()?.size())
}

/// Replaces the text of a dataset made by [`create_text`].
///
/// # Errors
/// If the text is longer than the room, or HDF5 refuses.
pub fn write_text(dataset: &Dataset, text: &str) -> Result<()> {
    write_bytes(dataset, &padded(dataset, text)?)
}

/// Creates a compressed dataset called `name` with these texts, each with the room of the longest one.
///
/// # Errors
/// If there are none, or HDF5 refuses.
pub fn create_texts<T: AsRef<str>>(group: &Group, name: &str, texts: &[T]) -> Result<Dataset> {
    let room = texts.iter().map(|text| text.as_ref().len()).max().unwrap_or(0).max(1);
    let dataset = group
        .new_dataset_builder()
        .set_filters(&[Filter::Deflate(6)])
        .empty_as(TypeDescriptor::FixedUnicode(room))
        .chunk(texts.len())
        .shape(texts.len())
        .create(name)?;
    let mut bytes = vec![0; room * texts.len()];
    for (place, text) in bytes.chunks_exact_mut(room).zip(texts) {
        place[..text.as_ref().len()].copy_from_slice(text.as_ref().as_bytes());
    }
    write_bytes(&dataset, &bytes)?;
    Ok(dataset)
}

/// Writes all values of a dataset of fixed-length text.
fn write_bytes(dataset: &Dataset, bytes: &[u8]) -> Result<()> {
    let datatype = dataset.dtype()?;
    if bytes.len() != dataset.size() * datatype.size() {
        return Err(Error::from(format!("{} has another length", dataset.name())));
    }
    hdf5_metno::sync::sync(|| {
        // SAFETY: both ids are open for as long as `dataset` and `datatype` live, the lock of the library is
        // held, and `bytes` is as long as all elements of the dataset (checked above).
        let status = unsafe {
            H5Dwrite(dataset.id(), datatype.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.as_ptr().cast())
        };
        hdf5_metno::h5check(status).map(|_| ())
    })
}

/// The text of a scalar dataset of fixed-length text.
///
/// # Errors
/// If the dataset is something else or HDF5 refuses.
pub fn read_text(dataset: &Dataset) -> Result<String> {
    let datatype = dataset.dtype()?;
    if !dataset.is_scalar() || !is_fixed_text(dataset)? {
        return Err(Error::from(format!("{} holds no text of fixed length", dataset.name())));
    }
    let mut bytes = vec![0_u8; datatype.size()];
    hdf5_metno::sync::sync(|| {
        // SAFETY: as in `write_text`; `bytes` is as long as the one element that the dataset has.
        let status = unsafe {
            H5Dread(dataset.id(), datatype.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.as_mut_ptr().cast())
        };
        hdf5_metno::h5check(status)
    })?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// A text or a name of a file. The library takes its bytes for UTF-8 without looking at them.
pub fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Gives a group or dataset a text attribute.
///
/// Attributes have variable length: h5py gives those as `str`, and those of fixed length as bytes, which
/// surprises whoever compares `NX_class` with a string. They are all written, heap and all, before others may
/// follow the file.
pub fn set_attribute(of: &Location, name: &str, text: &str) -> Result<()> {
    let text: VarLenUnicode =
        text.parse().map_err(|_| Error::from(format!("the text of {name} contains a zero byte")))?;
    of.new_attr::<VarLenUnicode>().create(name)?.write_scalar(&text)
}

/// Gives a group or dataset an attribute that is a list of texts, as [`set_attribute`] does a single one.
pub fn set_list_attribute(of: &Location, name: &str, texts: &[&str]) -> Result<()> {
    let texts: std::result::Result<Vec<VarLenUnicode>, _> = texts.iter().map(|text| text.parse()).collect();
    let texts = texts.map_err(|_| Error::from(format!("a text of {name} contains a zero byte")))?;
    of.new_attr::<VarLenUnicode>().shape(texts.len()).create(name)?.write_raw(&texts)
}

/// `text` as one element of a scalar container of fixed-length text.
fn padded(container: &Container, text: &str) -> Result<Vec<u8>> {
    if !container.is_scalar() || !is_fixed_text(container)? {
        return Err(Error::from(format!("{} holds no text of fixed length", container.name())));
    }
    let room = container.dtype()?.size();
    if text.len() > room {
        return Err(Error::from(format!(
            "a text of {} bytes does not fit into the {room} bytes of {}",
            text.len(),
            container.name()
        )));
    }
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(room, 0);
    Ok(bytes)
}

fn is_fixed_text(container: &Container) -> Result<bool> {
    use TypeDescriptor::{FixedAscii, FixedUnicode};
    Ok(matches!(container.dtype()?.to_descriptor()?, FixedAscii(_) | FixedUnicode(_)))
}
