//! Files: opened, read, written, brought to the disk, renamed, removed.

use super::{answer, checked, text, waits};
use crate::faults::{Call, Fault};
use crate::host::{Host, enter};
use crate::real;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Opens a file, which may fail; its descriptor is under the rules from then on.
///
/// # Safety
/// The path must be one.
unsafe fn opened(path: *const c_char, open: impl Fn() -> c_int) -> c_int {
    let done = enter(|host, me| {
        // SAFETY: the caller's promise.
        let name = host.state().name_of(unsafe { text(path) });
        if let Some(number) = name.as_deref().and_then(|name| host.failure(me, Call::Open, name)) {
            return Err(number);
        }
        let descriptor = checked(open())?;
        host.state().set_file(descriptor, name);
        Ok(descriptor)
    });
    done.map_or_else(open, answer)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { opened(path, || real::open(path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { opened(path, || real::open64(path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { opened(path, || real::openat(folder, path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { opened(path, || real::openat64(folder, path, flags, mode)) }
}

/// How many bytes of `count` a call on a file moves, or that it fails. On what is no file of the rules it waits as the system would.
fn allowed(host: &Host, me: usize, descriptor: c_int, call: Call, count: usize) -> Result<usize, c_int> {
    let name = host.state().file(descriptor);
    let Some(name) = name else {
        let events = if call == Call::Read { libc::POLLIN } else { libc::POLLOUT };
        let is_ready = waits::ready(host, me, descriptor, events, true);
        return if is_ready { Ok(count) } else { Err(libc::EAGAIN) };
    };
    host.may_turn(me);
    match host.fault(me, call, &name) {
        Some(Fault::Fails(number)) => Err(number),
        Some(Fault::Short) => Ok(count.div_ceil(2)),
        Some(Fault::Slow(_)) | None => Ok(count),
    }
}

/// Reads or writes `count` bytes with `work`, or as many as the rules have it.
fn moved(descriptor: c_int, call: Call, count: usize, work: impl Fn(usize) -> isize) -> isize {
    let done = enter(|host, me| checked(work(allowed(host, me, descriptor, call, count)?)));
    done.map_or_else(|| work(count), answer)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(descriptor: c_int, bytes: *mut c_void, count: usize) -> isize {
    // SAFETY: the caller's arguments; never more bytes.
    moved(descriptor, Call::Read, count, |count| unsafe { real::read(descriptor, bytes, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread(descriptor: c_int, bytes: *mut c_void, count: usize, place: i64) -> isize {
    // SAFETY: the caller's arguments; never more bytes.
    moved(descriptor, Call::Read, count, |count| unsafe { real::pread(descriptor, bytes, count, place) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(descriptor: c_int, bytes: *mut c_void, count: usize, place: i64) -> isize {
    // SAFETY: the caller's arguments; never more bytes.
    moved(descriptor, Call::Read, count, |count| unsafe { real::pread64(descriptor, bytes, count, place) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize {
    // SAFETY: the caller's arguments; never more bytes.
    moved(descriptor, Call::Write, count, |count| unsafe { real::write(descriptor, bytes, count) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(descriptor: c_int, bytes: *const c_void, count: usize, place: i64) -> isize {
    // SAFETY: the caller's arguments; never more bytes.
    moved(descriptor, Call::Write, count, |count| unsafe { real::pwrite(descriptor, bytes, count, place) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(descriptor: c_int, bytes: *const c_void, count: usize, place: i64) -> isize {
    // SAFETY: the caller's arguments; never more bytes.
    moved(descriptor, Call::Write, count, |count| unsafe { real::pwrite64(descriptor, bytes, count, place) })
}

/// Parts count as one here: all of them, or the first one.
#[unsafe(no_mangle)]
unsafe extern "C" fn writev(descriptor: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    let all = usize::try_from(count).unwrap_or(0);
    moved(descriptor, Call::Write, all, |some| {
        let count = c_int::try_from(some).unwrap_or(count);
        // SAFETY: the caller's arguments; never more parts.
        unsafe { real::writev(descriptor, parts, count) }
    })
}

/// Brings a file to the disk, or does not.
fn synced(descriptor: c_int, work: impl Fn() -> c_int) -> c_int {
    let done = enter(|host, me| {
        let name = host.state().file(descriptor);
        let failure = name.and_then(|name| host.failure(me, Call::Sync, &name));
        host.may_turn(me);
        failure.map_or_else(|| checked(work()), Err)
    });
    done.map_or_else(work, answer)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(descriptor: c_int) -> c_int {
    // SAFETY: the caller's argument.
    synced(descriptor, || unsafe { real::fsync(descriptor) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    // SAFETY: the caller's argument.
    synced(descriptor, || unsafe { real::fdatasync(descriptor) })
}

/// Does something with a file of a name, or does not.
///
/// # Safety
/// The path must be one.
unsafe fn named(path: *const c_char, call: Call, work: impl Fn() -> c_int) -> c_int {
    let done = enter(|host, me| {
        // SAFETY: the caller's promise.
        let name = host.state().name_of(unsafe { text(path) });
        let failure = name.and_then(|name| host.failure(me, call, &name));
        failure.map_or_else(|| checked(work()), Err)
    });
    done.map_or_else(work, answer)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { named(from, Call::Rename, || real::rename(from, to)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn renameat2(
    from_folder: c_int,
    from: *const c_char,
    to_folder: c_int,
    to: *const c_char,
    flags: c_uint,
) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { named(from, Call::Rename, || real::renameat2(from_folder, from, to_folder, to, flags)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller's arguments.
    unsafe { named(path, Call::Remove, || real::unlink(path)) }
}
