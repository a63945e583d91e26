//! Busy polling: the receiving thread asks the network card for packets, and does not wait for its interrupt.

use std::ffi::c_int;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::descriptor;

/// Packets that the driver may hand over in one poll: the most that drivers take.
const BUDGET: c_int = 64;

/// Asks for busy polling, for so long at a time; zero asks for nothing. Gives what the kernel did not grant, in a sentence.
pub(super) fn request(socket: BorrowedFd<'_>, time: Duration) -> io::Result<Option<String>> {
    if time.is_zero() {
        return Ok(None);
    }
    let microseconds = c_int::try_from(time.as_micros().max(1)).unwrap_or(c_int::MAX);
    descriptor::set_number(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds)?;
    // Only with these are the card's interrupts left alone while we poll.
    let preferred = descriptor::set_number(socket, libc::SOL_SOCKET, libc::SO_PREFER_BUSY_POLL, 1)
        .and_then(|()| descriptor::set_number(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL_BUDGET, BUDGET));
    Ok(preferred.err().map(|error| {
        format!(
            "The kernel polls the network card for this socket, and takes its interrupts as well, because \
             SO_PREFER_BUSY_POLL was refused: {error}. It needs the capability CAP_NET_ADMIN: sudo setcap \
             cap_net_admin=ep \"$(command -v evforge)\""
        )
    }))
}
