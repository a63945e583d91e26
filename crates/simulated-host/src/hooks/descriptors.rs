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

/// Another descriptor for what `descriptor` is of.
fn same(descriptor: c_int, other: c_int) -> c_int {
    if other >= 0 {
        enter(|host, _| {
            let mut state = host.state();
            let name = state.file(descriptor);
            state.set_file(other, name);
        });
    }
    other
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup(descriptor: c_int) -> c_int {
    // SAFETY: the caller's argument.
    same(descriptor, unsafe { real::dup(descriptor) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(descriptor: c_int, other: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    same(descriptor, unsafe { real::dup2(descriptor, other) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(descriptor: c_int, other: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    same(descriptor, unsafe { real::dup3(descriptor, other, flags) })
}

fn controlled(descriptor: c_int, command: c_int, work: impl Fn() -> c_int) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => same(descriptor, work()),
        _ => work(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's arguments.
    controlled(descriptor, command, || unsafe { real::fcntl(descriptor, command, argument) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's arguments.
    controlled(descriptor, command, || unsafe { real::fcntl64(descriptor, command, argument) })
}
