//! The content of one file in another.

use std::ffi::CString;

use hdf5_metno::{Error, File, Location, Result};
use hdf5_metno_sys::h5a::{H5Aclose, H5Acreate2, H5Aget_space, H5Aget_type, H5Aopen, H5Aread, H5Awrite};
use hdf5_metno_sys::h5d::H5Dvlen_reclaim;
use hdf5_metno_sys::h5o::H5Ocopy;
use hdf5_metno_sys::h5p::H5P_DEFAULT;
use hdf5_metno_sys::h5s::{H5Sclose, H5Sget_simple_extent_npoints};
use hdf5_metno_sys::h5t::{H5Tclose, H5Tget_size};

/// Copies everything that is in `from`, and the attributes of its root, into `to`, which has nothing of these names. The copy is in the
/// format of `to`, so that it can be followed even if `from` is older.
///
/// # Errors
/// If HDF5 refuses.
pub fn copy_content(from: &File, to: &File) -> Result<()> {
    for name in from.member_names()? {
        let name = c_text(&name)?;
        hdf5_metno::sync::sync(|| {
            // SAFETY: both ids are open as long as the files live, the lock of the library is held, and `name` ends with a zero.
            let status = unsafe {
                H5Ocopy(from.id(), name.as_ptr(), to.id(), name.as_ptr(), H5P_DEFAULT, H5P_DEFAULT)
            };
            hdf5_metno::h5check(status).map(|_| ())
        })?;
    }
    for name in from.attr_names()? {
        copy_attribute(from, to, &name)?;
    }
    Ok(())
}

/// Copies an attribute, whatever its type.
fn copy_attribute(from: &Location, to: &Location, name: &str) -> Result<()> {
    let name = c_text(name)?;
    hdf5_metno::sync::sync(|| {
        // SAFETY: ids are checked before they are used and closed once each. `bytes` has room for all values of the type in
        // memory. What the reading has allocated for text of variable length is given back with the same type and space.
        unsafe {
            let attribute = hdf5_metno::h5check(H5Aopen(from.id(), name.as_ptr(), H5P_DEFAULT))?;
            let (kind, space) = (H5Aget_type(attribute), H5Aget_space(attribute));
            let values = H5Sget_simple_extent_npoints(space);
            let mut status = -1;
            if kind >= 0 && space >= 0 && values >= 0 {
                let mut bytes = vec![0_u8; H5Tget_size(kind) * values as usize];
                status = H5Aread(attribute, kind, bytes.as_mut_ptr().cast());
                if status >= 0 {
                    let copy = H5Acreate2(to.id(), name.as_ptr(), kind, space, H5P_DEFAULT, H5P_DEFAULT);
                    status = if copy < 0 { -1 } else { H5Awrite(copy, kind, bytes.as_ptr().cast()) };
                    if copy >= 0 {
                        H5Aclose(copy);
                    }
                    // Does nothing for types of fixed length.
                    H5Dvlen_reclaim(kind, space, H5P_DEFAULT, bytes.as_mut_ptr().cast());
                }
            }
            for (id, close) in [(kind, H5Tclose as unsafe extern "C" fn(_) -> _), (space, H5Sclose)] {
                if id >= 0 {
                    close(id);
                }
            }
            H5Aclose(attribute);
            hdf5_metno::h5check(status).map(|_| ())
        }
    })
}

fn c_text(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| Error::from(format!("the name {name:?} contains a zero byte")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::text::set_attribute;
    use hdf5_metno::types::VarLenUnicode;

    #[test]
    fn content_and_attributes_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let from = File::create(folder.path().join("from.h5")).unwrap();
        set_attribute(&from, "instrument", "freia").unwrap();
        from.new_attr::<f64>().shape(3).create("vector").unwrap().write_raw(&[1.0, 2.0, 3.0]).unwrap();
        let entry = from.create_group("entry").unwrap();
        set_attribute(&entry, "NX_class", "NXentry").unwrap();
        entry.new_dataset_builder().with_data(&[1_i32, 2, 3]).create("data").unwrap();
        let to = File::create(folder.path().join("to.h5")).unwrap();
        copy_content(&from, &to).unwrap();
        assert_eq!(to.dataset("entry/data").unwrap().read_raw::<i32>().unwrap(), [1, 2, 3]);
        let text = |location: &Location, name: &str| -> VarLenUnicode {
            location.attr(name).unwrap().read_scalar().unwrap()
        };
        assert_eq!(text(&to, "instrument").as_str(), "freia");
        assert_eq!(text(&to.group("entry").unwrap(), "NX_class").as_str(), "NXentry");
        assert_eq!(to.attr("vector").unwrap().read_raw::<f64>().unwrap(), [1.0, 2.0, 3.0]);
        assert!(copy_content(&from, &to).is_err());
    }
}
