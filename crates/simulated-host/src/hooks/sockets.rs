//! Sockets: what is received and sent, and waited for.

use super::{answer, checked, waits};
use crate::faults::{Call, Fault};
use crate::host::{enter, wall_now};
use crate::real;
use std::ffi::{c_int, c_uint, c_void};

/// Receives or sends `count` (bytes or messages) with `work`, when the socket is ready, or as many as the rules have it.
fn moved<T: Copy + PartialOrd + From<i8>>(
    socket: c_int,
    call: Call,
    flags: c_int,
    count: usize,
    work: impl Fn(usize) -> T,
) -> T {
    let done = enter(|host, me| {
        let events = if call == Call::Receive { libc::POLLIN } else { libc::POLLOUT };
        if !waits::ready(host, me, socket, events, flags & libc::MSG_DONTWAIT == 0) {
            return Err(libc::EAGAIN);
        }
        host.may_turn(me);
        match host.fault(me, call, "*") {
            Some(Fault::Fails(number)) => Err(number),
            Some(Fault::Short) => checked(work(count.div_ceil(2))),
            Some(Fault::Slow(_)) | None => checked(work(count)),
        }
    });
    done.map_or_else(|| work(count), answer)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(socket: c_int, bytes: *mut c_void, count: usize, flags: c_int) -> isize {
    // SAFETY: the caller's arguments; never more bytes.
    moved(socket, Call::Receive, flags, count, |count| unsafe { real::recv(socket, bytes, count, flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvfrom(
    socket: c_int,
    bytes: *mut c_void,
    count: usize,
    flags: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> isize {
    moved(socket, Call::Receive, flags, count, |count| {
        // SAFETY: the caller's arguments; never more bytes.
        unsafe { real::recvfrom(socket, bytes, count, flags, address, length) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(socket: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    // SAFETY: the caller's arguments.
    moved(socket, Call::Receive, flags, 1, |_| unsafe { real::recvmsg(socket, message, flags) })
}

/// With a short answer, half of the messages.
#[unsafe(no_mangle)]
unsafe extern "C" fn recvmmsg(
    socket: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut libc::timespec,
) -> c_int {
    moved(socket, Call::Receive, flags, count as usize, |some| {
        let count = c_uint::try_from(some).unwrap_or(count);
        // SAFETY: the caller's arguments; never more messages. What is there is taken, and nobody waits for more.
        let came = unsafe { real::recvmmsg(socket, messages, count, flags | libc::MSG_WAITFORONE, timeout) };
        for index in 0..usize::try_from(came).unwrap_or(0) {
            // SAFETY: the kernel has filled so many messages.
            unsafe { stamp(&mut (*messages.add(index)).msg_hdr) };
        }
        came
    })
}

/// Puts the simulated time in the place of the kernel's, where a message has one.
///
/// # Safety
/// The message must be as the kernel has filled it.
unsafe fn stamp(message: &mut libc::msghdr) {
    let Some(nanoseconds) = wall_now() else { return };
    // SAFETY: the caller's promise: the control messages lie one behind the other, with their lengths.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !control.is_null() {
        // SAFETY: as above; a time has room for two numbers.
        unsafe {
            if (*control).cmsg_level == libc::SOL_SOCKET && (*control).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time = libc::CMSG_DATA(control).cast::<libc::timespec>();
                time.write_unaligned(libc::timespec {
                    tv_sec: nanoseconds.div_euclid(1_000_000_000),
                    tv_nsec: nanoseconds.rem_euclid(1_000_000_000),
                });
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(socket: c_int, bytes: *const c_void, count: usize, flags: c_int) -> isize {
    // SAFETY: the caller's arguments; never more bytes.
    moved(socket, Call::Send, flags, count, |count| unsafe { real::send(socket, bytes, count, flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    socket: c_int,
    bytes: *const c_void,
    count: usize,
    flags: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> isize {
    moved(socket, Call::Send, flags, count, |count| {
        // SAFETY: the caller's arguments; never more bytes.
        unsafe { real::sendto(socket, bytes, count, flags, address, length) }
    })
}
