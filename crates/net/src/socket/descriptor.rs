//! Settings of a socket that the standard library does not know.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::privileged;
use crate::helper::message::SocketRequest;

/// Sets a setting that is one number.
pub(super) fn set_number(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
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
fn words<const WORDS: usize>(socket: BorrowedFd<'_>, level: c_int, name: c_int) -> io::Result<[u32; WORDS]> {
    let mut values = [0_u32; WORDS];
    let mut length = size_of_val(&values) as libc::socklen_t;
    // SAFETY: both pointers are valid for writes of the lengths given, and any bytes are valid numbers.
    let status =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, values.as_mut_ptr().cast(), &mut length) };
    if status == 0 { Ok(values) } else { Err(io::Error::last_os_error()) }
}

/// Largest receive buffer that can be asked for: the kernel doubles it, in an `int`.
pub(super) const LARGEST_BUFFER: usize = (c_int::MAX / 2) as usize;

/// Asks for a receive buffer of at most [`LARGEST_BUFFER`] bytes and says what was given, without the doubling.
pub(super) fn request_buffer(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<usize> {
    // In range: checked by the caller.
    let wanted = bytes as c_int;
    let granted =
        || words::<1>(socket, libc::SOL_SOCKET, libc::SO_RCVBUF).map(|[doubled]| doubled as usize / 2);
    set_number(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, wanted)?;
    if granted()? < bytes {
        // Only a privileged process may go beyond the host's limit; that others may not is no fault, and what
        // was granted is read back below.
        let request = SocketRequest { receive_buffer: Some(wanted as u32), ..SocketRequest::default() };
        match privileged::request(socket, request) {
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
            _ => {}
        }
    }
    granted()
}

/// Asks for a send buffer; beyond the host's limit a process without privilege gets no more than that.
pub(super) fn request_send_buffer(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let wanted = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set_number(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, wanted)?;
    let request = SocketRequest { send_buffer: u32::try_from(wanted).ok(), ..SocketRequest::default() };
    match privileged::request(socket, request) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => Err(error),
        _ => Ok(()),
    }
}

/// Asks for UDP_GRO; false if the kernel does not know it.
pub(super) fn request_coalescing(socket: BorrowedFd<'_>) -> io::Result<bool> {
    match set_number(socket, libc::SOL_UDP, libc::UDP_GRO, 1) {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Datagrams dropped by this socket; wraps at 2^32.
pub(super) fn drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    const FIELDS: usize = libc::SK_MEMINFO_DROPS as usize + 1;
    words::<FIELDS>(socket, libc::SOL_SOCKET, libc::SO_MEMINFO).map(|fields| fields[FIELDS - 1])
}

/// Bytes of a socket's receive buffer that are taken.
pub(super) fn used(socket: BorrowedFd<'_>) -> io::Result<u32> {
    const FIELDS: usize = libc::SK_MEMINFO_DROPS as usize + 1;
    words::<FIELDS>(socket, libc::SOL_SOCKET, libc::SO_MEMINFO)
        .map(|fields| fields[libc::SK_MEMINFO_RMEM_ALLOC as usize])
}
