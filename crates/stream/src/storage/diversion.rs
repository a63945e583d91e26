//! Another file under the hands of HDF5: one in memory for a file that a failed write has damaged, so that not another byte is written
//! to it; and one on the disk for a file that was made in memory ([`made_in_memory`](super::made_in_memory)).
//!
//! HDF5 writes what it has in memory when a file is closed. After a failed write nobody knows what that makes of the file;
//! and if the disk is still full, closing fails, and HDF5 1.10 keeps objects that are no longer there: the next file that
//! is begun ends the process (a segmentation fault in `H5Fstart_swmr_write`). So the descriptor under HDF5's hands is
//! exchanged for one of a file in memory. Closing succeeds, and the file on the disk stays as a killed writer would have
//! left it, which recovery knows.

use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use hdf5_metno::File;
use hdf5_metno_sys::h5f::H5Fget_vfd_handle;
use hdf5_metno_sys::h5p::H5P_DEFAULT;
use rustix::fs::{FlockOperation, MemfdFlags, flock, memfd_create};
use rustix::io::{DupFlags, dup3};

/// Makes everything that HDF5 writes to `file` from now on go to memory, and into nothing when it is closed.
///
/// # Errors
/// If the operating system or HDF5 refuses; the file is as it was then.
pub fn divert(file: &File) -> io::Result<()> {
    exchange(file, memfd_create("damaged event file", MemfdFlags::CLOEXEC)?.as_fd())
}

/// Makes everything that HDF5 reads from and writes to `file` from now on go to `to`, which has the same content and is open for both.
///
/// # Errors
/// If the operating system or HDF5 refuses; the file is as it was then.
pub fn divert_to(file: &File, to: &fs::File) -> io::Result<()> {
    exchange(file, to.as_fd())
}

/// Puts `other` where HDF5 has the descriptor of `file`.
fn exchange(file: &File, other: BorrowedFd<'_>) -> io::Result<()> {
    hdf5_metno::sync::sync(|| {
        let mut handle = ptr::null_mut();
        // SAFETY: the id is open for as long as `file` lives, the lock of the library is held, and `handle` is a place for
        // the pointer that the call gives.
        let status = unsafe { H5Fget_vfd_handle(file.id(), H5P_DEFAULT, &raw mut handle) };
        if status < 0 || handle.is_null() {
            return Err(io::Error::other("HDF5 does not tell its file descriptor"));
        }
        // SAFETY: with the driver of plain files, with which all of ours are opened (`OpenFile::create`), the pointer is to
        // the descriptor in the driver's structure, which lives as long as the file is open.
        let descriptor: RawFd = unsafe { *handle.cast::<RawFd>() };
        // SAFETY: HDF5 owns the descriptor and goes on owning it: it is open, and never closed here. That another file is
        // behind it is what is wanted.
        let mut descriptor = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(descriptor) });
        // A process that was started meanwhile has the descriptor as well, and would keep HDF5's lock. Some file systems have none.
        let _ = flock(&*descriptor, FlockOperation::Unlock);
        Ok(dup3(other, &mut descriptor, DupFlags::CLOEXEC)?)
    })
}
