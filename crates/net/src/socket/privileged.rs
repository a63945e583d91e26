//! Settings of a socket that only a privileged process may make: by this one if it may, else by the helper.

use std::ffi::c_int;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::net::SocketAddrAny;

use super::option::set_number;
use crate::helper::message::SocketRequest;

/// Packets that the driver may hand over in one busy poll: the most that drivers take.
const BUDGET: c_int = 64;

/// Makes the settings, with the privileges of this process.
pub(crate) fn set(socket: BorrowedFd<'_>, request: &SocketRequest) -> io::Result<()> {
    let number = |value: u32| c_int::try_from(value).unwrap_or(c_int::MAX);
    if let Some(address) = request.bind {
        rustix::net::bind(socket, &SocketAddrAny::from(address))?;
    }
    if let Some(bytes) = request.receive_buffer {
        set_number(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, number(bytes))?;
    }
    if let Some(bytes) = request.send_buffer {
        set_number(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, number(bytes))?;
    }
    if let Some(microseconds) = request.busy_poll {
        set_number(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, number(microseconds))?;
        set_number(socket, libc::SOL_SOCKET, libc::SO_PREFER_BUSY_POLL, 1)?;
        set_number(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL_BUDGET, BUDGET)?;
    }
    Ok(())
}

/// Makes the settings, by the helper if this process may not.
pub(super) fn request(socket: BorrowedFd<'_>, request: SocketRequest) -> io::Result<()> {
    match set(socket, &request) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            crate::helper::set_socket(socket, request)
        }
        result => result,
    }
}
