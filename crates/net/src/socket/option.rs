//! Options of a socket that are numbers.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sets a setting that is one number.
pub(crate) fn set_number(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    // SAFETY: the pointer is valid for reads of the length given, and the kernel keeps neither.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<c_int>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads a setting that is up to `WORDS` numbers; those that the kernel does not fill stay 0.
pub(super) fn words<const WORDS: usize>(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
) -> io::Result<[u32; WORDS]> {
    let mut values = [0_u32; WORDS];
    let mut length = size_of_val(&values) as libc::socklen_t;
    // SAFETY: both pointers are valid for writes of the lengths given, and any bytes are valid numbers.
    let status =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, values.as_mut_ptr().cast(), &mut length) };
    if status == 0 { Ok(values) } else { Err(io::Error::last_os_error()) }
}
