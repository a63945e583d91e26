//! Descriptors: those of sockets and connections may run out.

use super::{answer, checked, waits};
use crate::faults::Call;
use crate::host::enter;
use crate::real;
use std::ffi::c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int {
    let done = enter(|host, me| match host.failure(me, Call::Descriptor, "*") {
        Some(number) => Err(number),
        // SAFETY: the caller's arguments.
        None => checked(unsafe { real::socket(family, kind, protocol) }),
    });
    // SAFETY: the caller's arguments.
    done.map_or_else(|| unsafe { real::socket(family, kind, protocol) }, answer)
}

/// Waits for a connection, and may fail to take it.
fn accepted(socket: c_int, take: impl Fn() -> c_int) -> c_int {
    let done = enter(|host, me| {
        if !waits::ready(host, me, socket, libc::POLLIN, true) {
            return Err(libc::EAGAIN);
        }
        match host.failure(me, Call::Descriptor, "*") {
            Some(number) => Err(number),
            None => checked(take()),
        }
    });
    done.map_or_else(take, answer)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept(
    socket: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> c_int {
    // SAFETY: the caller's arguments.
    accepted(socket, || unsafe { real::accept(socket, address, length) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(
    socket: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's arguments.
    accepted(socket, || unsafe { real::accept4(socket, address, length, flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    enter(|host, _| host.state().set_file(descriptor, None));
    // SAFETY: the caller's argument.
    unsafe { real::close(descriptor) }
}
