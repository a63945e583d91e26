//! Waiting for time and for descriptors.

use super::{answer, nanoseconds};
use crate::host::{Host, enter};
use crate::real;
use crate::wait::{Wait, Woken};
use std::ffi::{c_int, c_uint};

/// Sleeps until a time since the start.
fn sleep_until(host: &Host, me: usize, time: u64) {
    host.wait(me, Wait::Until(time));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    let slept = enter(|host, me| {
        // SAFETY: the caller gives a time.
        let time = nanoseconds(unsafe { *time });
        let (now, wall) = {
            let state = host.state();
            (state.now, u64::try_from(state.wall).unwrap_or(0))
        };
        let until = match (flags & libc::TIMER_ABSTIME != 0, clock) {
            (false, _) => now.saturating_add(time),
            (true, libc::CLOCK_REALTIME) => time.saturating_sub(wall),
            (true, _) => time,
        };
        sleep_until(host, me, until);
    });
    // SAFETY: the caller's arguments.
    slept.map_or_else(|| unsafe { real::clock_nanosleep(clock, flags, time, left) }, |()| 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    // SAFETY: the caller's arguments.
    let number = unsafe { clock_nanosleep(libc::CLOCK_MONOTONIC, 0, time, left) };
    answer(if number == 0 { Ok(0) } else { Err(number) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(time: c_uint) -> c_int {
    let time = u64::from(time);
    let time = libc::timespec {
        tv_sec: (time / 1_000_000).cast_signed(),
        tv_nsec: (time % 1_000_000 * 1000).cast_signed(),
    };
    // SAFETY: a time, and nothing for what is left.
    unsafe { nanosleep(&raw const time, std::ptr::null_mut()) }
}

/// Waits for descriptors; none: without end.
fn wait_for(
    host: &Host,
    me: usize,
    descriptors: *mut libc::pollfd,
    count: usize,
    time: Option<u64>,
) -> Result<c_int, c_int> {
    // SAFETY: so many descriptors are there, for as long as the call lasts.
    let look = || unsafe { super::checked(real::poll(descriptors, count as libc::nfds_t, 0)) };
    let ready = look()?;
    if ready > 0 || time == Some(0) {
        host.may_turn(me);
        return Ok(ready);
    }
    let deadline = time.map(|time| host.state().now.saturating_add(time));
    match host.wait(me, Wait::Descriptors(descriptors, count, deadline)) {
        Woken::Yes => look(),
        Woken::InVain => Ok(0),
    }
}

/// Waits until a descriptor is ready that a call would wait for, as the system would: not if it is not to block. False if the time
/// that the socket has for it is over.
pub(super) fn ready(host: &Host, me: usize, descriptor: c_int, events: i16, waits: bool) -> bool {
    let mut one = libc::pollfd { fd: descriptor, events, revents: 0 };
    // SAFETY: there is one.
    let is_ready = unsafe { real::poll(&raw mut one, 1, 0) } != 0;
    // SAFETY: asks for the flags of a descriptor.
    let blocks = || unsafe { libc::fcntl(descriptor, libc::F_GETFL) } & libc::O_NONBLOCK == 0;
    if is_ready || !waits || !blocks() {
        return true;
    }
    let which = if events == libc::POLLIN { libc::SO_RCVTIMEO } else { libc::SO_SNDTIMEO };
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut length = size_of::<libc::timeval>() as libc::socklen_t;
    // SAFETY: there is room for a time; of what is no socket it stays zero.
    unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, which, (&raw mut time).cast(), &raw mut length) };
    let time = time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1000;
    let deadline = (time > 0).then(|| host.state().now.saturating_add(time));
    host.wait(me, Wait::Descriptors(&raw mut one, 1, deadline)) == Woken::Yes
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poll(descriptors: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int {
    let time = u64::try_from(timeout).ok().map(|time| time * 1_000_000);
    let done = enter(|host, me| wait_for(host, me, descriptors, count as usize, time));
    // SAFETY: the caller's arguments.
    done.map_or_else(|| unsafe { real::poll(descriptors, count, timeout) }, answer)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(
    descriptors: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    let done = enter(|host, me| {
        // SAFETY: the caller gives a time or none.
        let time = unsafe { timeout.as_ref() }.map(|time| nanoseconds(*time));
        wait_for(host, me, descriptors, count as usize, time)
    });
    // SAFETY: the caller's arguments.
    done.map_or_else(|| unsafe { real::ppoll(descriptors, count, timeout, mask) }, answer)
}

/// Waits for events of a queue, and fetches them.
fn events_of(queue: c_int, events: *mut libc::epoll_event, count: c_int, timeout: c_int) -> Option<c_int> {
    let done = enter(|host, me| {
        // SAFETY: the caller gives room for so many.
        let fetch = || unsafe { super::checked(real::epoll_wait(queue, events, count, 0)) };
        let fetched = fetch()?;
        if fetched > 0 || timeout == 0 {
            host.may_turn(me);
            return Ok(fetched);
        }
        let time = u64::try_from(timeout).ok().map(|time| time * 1_000_000);
        let mut one = libc::pollfd { fd: queue, events: libc::POLLIN, revents: 0 };
        let deadline = time.map(|time| host.state().now.saturating_add(time));
        host.wait(me, Wait::Descriptors(&raw mut one, 1, deadline));
        fetch()
    });
    done.map(answer)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    queue: c_int,
    events: *mut libc::epoll_event,
    count: c_int,
    timeout: c_int,
) -> c_int {
    let done = events_of(queue, events, count, timeout);
    // SAFETY: the caller's arguments.
    done.unwrap_or_else(|| unsafe { real::epoll_wait(queue, events, count, timeout) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait(
    queue: c_int,
    events: *mut libc::epoll_event,
    count: c_int,
    timeout: c_int,
    mask: *const libc::sigset_t,
) -> c_int {
    let done = events_of(queue, events, count, timeout);
    // SAFETY: the caller's arguments.
    done.unwrap_or_else(|| unsafe { real::epoll_pwait(queue, events, count, timeout, mask) })
}
