//! Settings of a socket that the standard library does not know.

use std::ffi::c_int;
use std::io;
use std::os::fd::BorrowedFd;

use super::option::{set_number, words};
use super::privileged;
use crate::helper::message::SocketRequest;

/// Largest receive buffer that can be asked for: the kernel doubles it, in an `int`.
pub(super) const LARGEST_BUFFER: usize = (c_int::MAX / 2) as usize;

/// Asks for a receive buffer of at most [`LARGEST_BUFFER`] bytes and returns what was given, without the doubling.
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
