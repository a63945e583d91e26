//! Groups, datasets and attributes by the hundred thousand.
//!
//! The safe wrapper of HDF5 makes property lists, types and lists of names again for each object: 100 µs for a dataset with an
//! attribute, so that a file of 100 000 datasets takes 15 s. Here everything that two objects share is made once. What is made is
//! the same, but for small datasets: their values are in their headers, which saves a place in the file and a write for each.

use std::ffi::{CString, c_void};

use hdf5_metno::datatype::Datatype;
use hdf5_metno::filters::Filter;
use hdf5_metno::plist::group_create::LinkPhaseChange;
use hdf5_metno::plist::{
    AttributeCreate, AttributeCreateBuilder, DatasetCreate, DatasetCreateBuilder, GroupCreate,
    GroupCreateBuilder, LinkCreate, LinkCreateBuilder,
};
use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{Dataspace, Error, File, Result, h5check};
use hdf5_metno_sys::h5a::{H5Aclose, H5Acreate2, H5Adelete, H5Aexists, H5Awrite};
use hdf5_metno_sys::h5d::{H5Dcreate2, H5Dwrite};
use hdf5_metno_sys::h5g::{H5Gcreate2, H5Gopen2};
use hdf5_metno_sys::h5i::{H5Idec_ref, hid_t};
use hdf5_metno_sys::h5l::H5Lexists;
use hdf5_metno_sys::h5p::{H5P_DEFAULT, H5Pset_est_link_info};
use hdf5_metno_sys::h5s::H5S_ALL;

use super::dataset::packed_chunk;

/// Bytes of a dataset that are kept in its header. HDF5 takes 64 KiB for a whole header.
const SMALL: usize = 4 << 10;

/// Bytes from which on a dataset is compressed: arrays with a value for each pixel.
const PACKED: usize = 64 << 10;

/// Names of a group that are listed in its header. With more it has a heap and a tree of names, which cost more than a few dozen
/// objects; HDF5 makes them from 9 names on if nobody says.
const MOST_LISTED: u32 = 64;

/// Bytes of names in a group for which room is made at once.
const LONGEST_EXPECTED: u32 = 64;

/// A group or dataset that is open. It is closed when this is dropped.
#[derive(Debug)]
pub struct Open {
    id: hid_t,
    /// True if it was made here: what it has is known, and is not looked for.
    is_new: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: the id was given by HDF5 to this value alone, which ends here; the lock of the library is held.
        hdf5_metno::sync::sync(|| unsafe { H5Idec_ref(self.id) });
    }
}

/// Makes objects in a file.
#[derive(Debug)]
pub struct Maker {
    links: LinkCreate,
    groups: GroupCreate,
    attributes: AttributeCreate,
    /// Values in the header, and values in a place of their own.
    small: DatasetCreate,
    large: DatasetCreate,
    scalar: Dataspace,
    text: Datatype,
    /// The types that were used so far.
    types: Vec<(TypeDescriptor, Datatype)>,
}

impl Maker {
    /// Prepares what the objects share.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn new() -> Result<Self> {
        use hdf5_metno::dataset::{FillTime, Layout};
        use hdf5_metno::plist::attribute_create::CharEncoding as OfAttributes;
        use hdf5_metno::plist::link_create::CharEncoding as OfLinks;
        let listed = LinkPhaseChange { max_compact: MOST_LISTED, min_dense: MOST_LISTED / 2 };
        // All values are written at once.
        let datasets = |layout| {
            DatasetCreateBuilder::new()
                .obj_track_times(false)
                .layout(layout)
                .fill_time(FillTime::Never)
                .finish()
        };
        Ok(Self {
            links: LinkCreateBuilder::new().char_encoding(OfLinks::Utf8).finish()?,
            groups: GroupCreateBuilder::new().obj_track_times(false).link_phase_change(listed).finish()?,
            attributes: AttributeCreateBuilder::new().char_encoding(OfAttributes::Utf8).finish()?,
            small: datasets(Layout::Compact)?,
            large: datasets(Layout::Contiguous)?,
            scalar: Dataspace::try_new(())?,
            text: Datatype::from_descriptor(&TypeDescriptor::VarLenUnicode)?,
            types: Vec::new(),
        })
    }

    /// Opens the root of a file.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn root(&self, file: &File) -> Result<Open> {
        self.open_in(file.id(), "/")
    }

    /// Opens a group of a group.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn open_group(&self, parent: &Open, name: &str) -> Result<Open> {
        self.open_in(parent.id, name)
    }

    fn open_in(&self, parent: hid_t, name: &str) -> Result<Open> {
        let name = terminated(name)?;
        opened(false, || {
            // SAFETY: `parent` is open for as long as what it was taken of lives, the name ends with a zero byte, and the lock
            // of the library is held.
            unsafe { H5Gopen2(parent, name.as_ptr(), H5P_DEFAULT) }
        })
    }

    /// Makes a group that is to have `entries` entries with names of `name_length` bytes: room for them is made at once.
    ///
    /// # Errors
    /// If there is something of this name, or HDF5 refuses.
    pub fn group(&self, parent: &Open, name: &str, entries: usize, name_length: usize) -> Result<Open> {
        let (name, links, settings) = (terminated(name)?, self.links.id(), self.groups.id());
        let entries = u32::try_from(entries).unwrap_or(u32::MAX).min(MOST_LISTED);
        let name_length = u32::try_from(name_length).unwrap_or(u32::MAX).min(LONGEST_EXPECTED);
        opened(true, || {
            // SAFETY: the ids are open for as long as `parent` and `self` live, the name ends with a zero byte, and the lock of
            // the library is held. Nobody else uses the settings, which are changed here.
            unsafe {
                H5Pset_est_link_info(settings, entries, name_length);
                H5Gcreate2(parent.id, name.as_ptr(), links, settings, H5P_DEFAULT)
            }
        })
    }

    /// True if a group has something of this name.
    ///
    /// # Errors
    /// If HDF5 refuses.
    pub fn has(&self, parent: &Open, name: &str) -> Result<bool> {
        let name = terminated(name)?;
        hdf5_metno::sync::sync(|| {
            // SAFETY: `parent` is open for as long as it lives, the name ends with a zero byte, and the lock of the library is
            // held.
            h5check(unsafe { H5Lexists(parent.id, name.as_ptr(), H5P_DEFAULT) }).map(|found| found > 0)
        })
    }

    /// Makes a dataset of values of fixed size; no shape is a single value. `bytes` are the values in C order as this machine
    /// has them in memory. Large ones are compressed.
    ///
    /// # Errors
    /// If `bytes` is not as long as type and shape say, there is something of this name, or HDF5 refuses.
    pub fn dataset(
        &mut self,
        parent: &Open,
        name: &str,
        value: &TypeDescriptor,
        shape: &[usize],
        bytes: &[u8],
    ) -> Result<Open> {
        check_length(name, value, shape, bytes)?;
        let (text, type_id) = (terminated(name)?, self.type_of(value)?);
        let space = self.space(shape)?;
        let packed = if bytes.len() >= PACKED && !shape.is_empty() { Some(packed(shape)?) } else { None };
        let settings = match &packed {
            Some(packed) => packed.id(),
            None if bytes.len() <= SMALL => self.small.id(),
            None => self.large.id(),
        };
        let dataset = opened(true, || {
            // SAFETY: as in `group`; type, space and settings are open for as long as `self` and `space` live.
            unsafe {
                H5Dcreate2(
                    parent.id,
                    text.as_ptr(),
                    type_id,
                    space.id(),
                    self.links.id(),
                    settings,
                    H5P_DEFAULT,
                )
            }
        })?;
        if !bytes.is_empty() {
            hdf5_metno::sync::sync(|| {
                let values = bytes.as_ptr().cast::<c_void>();
                // SAFETY: all ids are open, the lock of the library is held, and `values` is as long as all values of the
                // dataset (`check_length`), whose type has a fixed size.
                let status = unsafe { H5Dwrite(dataset.id, type_id, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) };
                h5check(status).map(|_| ())
            })?;
        }
        Ok(dataset)
    }

    /// Gives a group or dataset an attribute of values of fixed size, as [`Maker::dataset`] has them. One that is there of this
    /// name is replaced.
    ///
    /// # Errors
    /// If `bytes` is not as long as type and shape say, or HDF5 refuses.
    pub fn attribute(
        &mut self,
        of: &Open,
        name: &str,
        value: &TypeDescriptor,
        shape: &[usize],
        bytes: &[u8],
    ) -> Result<()> {
        check_length(name, value, shape, bytes)?;
        let type_id = self.type_of(value)?;
        let values = (!bytes.is_empty()).then_some(bytes.as_ptr().cast::<c_void>());
        // SAFETY: `values` is as long as all values of the attribute, whose type has a fixed size.
        unsafe { self.write_attribute(of, name, type_id, shape, values) }
    }

    /// Gives a group or dataset an attribute of texts, of variable length as those of
    /// [`set_attribute`](super::text::set_attribute). One that is there of this name is replaced.
    ///
    /// # Errors
    /// If there are not as many texts as the shape says, one contains a zero byte, or HDF5 refuses.
    pub fn text_attribute(&self, of: &Open, name: &str, shape: &[usize], texts: &[&str]) -> Result<()> {
        if shape.iter().product::<usize>() != texts.len() {
            return Err(Error::from(format!("{name} has {} texts for the shape {shape:?}", texts.len())));
        }
        let texts: Vec<CString> = texts.iter().map(|text| terminated(text)).collect::<Result<_>>()?;
        let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        let values = (!pointers.is_empty()).then_some(pointers.as_ptr().cast::<c_void>());
        // SAFETY: `values` is one pointer to a text with a zero byte at its end for each value of the attribute; all live until
        // the end of this function.
        unsafe { self.write_attribute(of, name, self.text.id(), shape, values) }
    }

    /// # Safety
    /// `values`, if any, are as many values of the type as the shape says, in the form in which HDF5 expects them in memory.
    unsafe fn write_attribute(
        &self,
        of: &Open,
        name: &str,
        type_id: hid_t,
        shape: &[usize],
        values: Option<*const c_void>,
    ) -> Result<()> {
        let (name, space, creation) = (terminated(name)?, self.space(shape)?, self.attributes.id());
        hdf5_metno::sync::sync(|| {
            // SAFETY: the ids are open for as long as `of`, `self` and `space` live, the name ends with a zero byte, the lock of
            // the library is held, and `values` are as the caller promises. The attribute is closed once, here.
            unsafe {
                let create =
                    || h5check(H5Acreate2(of.id, name.as_ptr(), type_id, space.id(), creation, H5P_DEFAULT));
                // To look for an attribute takes about as long as to make it: on new objects only where it cannot be made.
                let made = if of.is_new { create().ok() } else { None };
                let id = match made {
                    Some(id) => id,
                    None => {
                        if H5Aexists(of.id, name.as_ptr()) > 0 {
                            h5check(H5Adelete(of.id, name.as_ptr()))?;
                        }
                        create()?
                    }
                };
                let written = values.map_or(Ok(0), |values| h5check(H5Awrite(id, type_id, values)));
                let closed = h5check(H5Aclose(id));
                written.and(closed).map(|_| ())
            }
        })
    }

    fn type_of(&mut self, value: &TypeDescriptor) -> Result<hid_t> {
        /// Texts of any length are types of their own: the list is not to grow with them.
        const MOST: usize = 64;
        if let Some((_, found)) = self.types.iter().find(|(known, _)| known == value) {
            return Ok(found.id());
        }
        if self.types.len() >= MOST {
            self.types.clear();
        }
        let made = Datatype::from_descriptor(value)?;
        let id = made.id();
        self.types.push((value.clone(), made));
        Ok(id)
    }

    fn space(&self, shape: &[usize]) -> Result<Dataspace> {
        if shape.is_empty() { Ok(self.scalar.clone()) } else { Dataspace::try_new(shape) }
    }
}

/// As datasets that are compressed are made.
fn packed(shape: &[usize]) -> Result<DatasetCreate> {
    let filters = [Filter::Shuffle, Filter::Deflate(1)];
    DatasetCreateBuilder::new()
        .obj_track_times(false)
        .chunk(packed_chunk(shape))
        .set_filters(&filters)
        .finish()
}

fn opened(is_new: bool, open: impl FnOnce() -> hid_t) -> Result<Open> {
    hdf5_metno::sync::sync(|| h5check(open()).map(|id| Open { id, is_new }))
}

fn terminated(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::from(format!("{text:?} contains a zero byte")))
}

fn check_length(name: &str, value: &TypeDescriptor, shape: &[usize], bytes: &[u8]) -> Result<()> {
    use TypeDescriptor::{FixedAscii, FixedUnicode, Float, Integer, Unsigned};
    if !matches!(value, FixedAscii(_) | FixedUnicode(_) | Float(_) | Integer(_) | Unsigned(_)) {
        return Err(Error::from(format!("the values of {name} have no fixed size")));
    }
    let expected = shape.iter().try_fold(value.size(), |size, &length| size.checked_mul(length));
    if expected != Some(bytes.len()) {
        return Err(Error::from(format!("{name} has {} bytes for the shape {shape:?}", bytes.len())));
    }
    Ok(())
}
