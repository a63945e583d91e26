//! Busy polling: the receiving thread asks the network card for packets, and does not wait for its interrupt.

use std::ffi::c_int;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::option::set_number;
use super::privileged;
use crate::helper::Helper;
use crate::helper::message::SocketRequest;

/// Asks for busy polling, for so long at a time; zero asks for nothing. Gives what the kernel did not grant, in a sentence.
pub(super) fn request(socket: BorrowedFd<'_>, time: Duration) -> io::Result<Option<String>> {
    if time.is_zero() {
        return Ok(None);
    }
    let microseconds = c_int::try_from(time.as_micros().max(1)).unwrap_or(c_int::MAX);
    // Only with these are the card's interrupts left alone while we poll.
    let request = SocketRequest { busy_poll: u32::try_from(microseconds).ok(), ..SocketRequest::default() };
    let Err(error) = privileged::request(socket, request) else { return Ok(None) };
    // Polling itself can be had without privileges, alongside the interrupts.
    set_number(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds)?;
    Ok(Some(format!(
        "The kernel polls the network card for this socket, and takes its interrupts as well, because \
             SO_PREFER_BUSY_POLL was refused: {error}. evforge-helper can set it: {}",
        Helper::install_command()
    )))
}
