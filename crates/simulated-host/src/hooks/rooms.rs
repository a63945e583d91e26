//! Room on the disk: lengths, reservations, and how much there is.

use super::{answer, checked, text};
use crate::faults::Call;
use crate::host::enter;
use crate::real;
use std::ffi::{c_char, c_int};

/// Changes a length or reserves room, or does not. `work` and the result are as `posix_fallocate` has them, the number of the error,
/// if `is_number`.
fn room(descriptor: c_int, is_number: bool, work: impl Fn() -> c_int) -> c_int {
    let done = enter(|host, me| {
        let name = host.state().file(descriptor);
        name.and_then(|name| host.failure(me, Call::Room, &name))
    });
    match done.flatten() {
        Some(number) if is_number => number,
        Some(number) => answer(Err(number)),
        None => work(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(descriptor: c_int, length: i64) -> c_int {
    // SAFETY: the caller's arguments.
    room(descriptor, false, || unsafe { real::ftruncate(descriptor, length) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate64(descriptor: c_int, length: i64) -> c_int {
    // SAFETY: the caller's arguments.
    room(descriptor, false, || unsafe { real::ftruncate64(descriptor, length) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fallocate(descriptor: c_int, mode: c_int, place: i64, length: i64) -> c_int {
    // SAFETY: the caller's arguments.
    room(descriptor, false, || unsafe { real::fallocate(descriptor, mode, place, length) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fallocate64(descriptor: c_int, mode: c_int, place: i64, length: i64) -> c_int {
    // SAFETY: the caller's arguments.
    room(descriptor, false, || unsafe { real::fallocate64(descriptor, mode, place, length) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_fallocate(descriptor: c_int, place: i64, length: i64) -> c_int {
    // SAFETY: the caller's arguments.
    room(descriptor, true, || unsafe { real::posix_fallocate(descriptor, place, length) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_fallocate64(descriptor: c_int, place: i64, length: i64) -> c_int {
    // SAFETY: the caller's arguments.
    room(descriptor, true, || unsafe { real::posix_fallocate64(descriptor, place, length) })
}

/// Says how much room there is: none while a rule has it so.
fn asked(
    name: impl FnOnce(&crate::host::Host) -> Option<Box<str>>,
    room: *mut libc::statvfs64,
    work: impl Fn() -> c_int,
) -> c_int {
    let done = enter(|host, me| {
        checked(work())?;
        if name(host).and_then(|name| host.failure(me, Call::Room, &name)).is_some() {
            // SAFETY: the C library has written it.
            let room = unsafe { &mut *room };
            (room.f_bavail, room.f_bfree) = (0, 0);
        }
        Ok(0)
    });
    done.map_or_else(work, answer)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn statvfs64(path: *const c_char, room: *mut libc::statvfs64) -> c_int {
    // SAFETY: the caller's arguments.
    let name = |host: &crate::host::Host| host.state().name_of(unsafe { text(path) });
    // SAFETY: the caller's arguments.
    asked(name, room, || unsafe { real::statvfs64(path, room) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fstatvfs64(descriptor: c_int, room: *mut libc::statvfs64) -> c_int {
    let name = |host: &crate::host::Host| host.state().file(descriptor);
    // SAFETY: the caller's arguments.
    asked(name, room, || unsafe { real::fstatvfs64(descriptor, room) })
}
