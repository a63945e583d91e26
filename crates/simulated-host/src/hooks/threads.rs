//! Threads, and what they wait for each other with.

use super::{answer, nanoseconds, random};
use crate::faults::Call;
use crate::host::{begin_thread, end_thread, enter};
use crate::real;
use crate::wait::{Wait, Woken};
use std::ffi::{c_int, c_long, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;

/// What a new thread needs.
struct Start {
    number: usize,
    turn: &'static AtomicU32,
    routine: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
}

/// Its value is given to [`ended`] when a thread has ended and the destructors of its variables have run.
static AT_END: OnceLock<libc::pthread_key_t> = OnceLock::new();

extern "C" fn ended(_: *mut c_void) {
    end_thread();
}

extern "C" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below, for this call alone.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    begin_thread(start.number, start.turn);
    let key = *AT_END.get_or_init(|| {
        let mut key = 0;
        // SAFETY: there is room for a key, and the function may be called by any thread.
        unsafe { libc::pthread_key_create(&raw mut key, Some(ended)) };
        key
    });
    let Start { routine, argument, .. } = *start;
    // SAFETY: the key exists; the value is never looked into, and must not be null.
    unsafe { libc::pthread_setspecific(key, std::ptr::dangling::<u8>().cast()) };
    routine(argument)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    let made = enter(|host, me| {
        if let Some(number) = host.failure(me, Call::Thread, "*") {
            return number;
        }
        let (number, turn) = host.state().add_thread();
        let start = Box::into_raw(Box::new(Start { number, turn, routine, argument })).cast();
        // SAFETY: the caller's arguments, and a start that the new thread takes.
        let failed = unsafe { real::pthread_create(thread, attributes, begin, start) };
        if failed == 0 {
            // SAFETY: it has been written.
            host.state().name_thread(number, unsafe { *thread });
            host.state().note(me, format_args!("starts t{number}"));
            host.may_turn(me);
        } else {
            host.state().drop_thread(number);
            // SAFETY: no thread has taken it.
            drop(unsafe { Box::from_raw(start.cast::<Start>()) });
        }
        failed
    });
    // SAFETY: the caller's arguments.
    made.unwrap_or_else(|| unsafe { real::pthread_create(thread, attributes, routine, argument) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: libc::pthread_t, value: *mut *mut c_void) -> c_int {
    enter(|host, me| {
        let ours = host.state().thread_of(thread);
        if let Some(ours) = ours {
            host.wait(me, Wait::End(ours));
        }
    });
    // SAFETY: the caller's arguments. It has ended, or is about to without anybody's help.
    unsafe { real::pthread_join(thread, value) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    // SAFETY: has no conditions.
    enter(|host, me| host.wait(me, Wait::Turn)).map_or_else(|| unsafe { real::sched_yield() }, |_| 0)
}

/// A processor with one core: nobody waits for another core by turning in a circle.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(
    process: libc::pid_t,
    size: usize,
    set: *mut libc::cpu_set_t,
) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe { real::sched_getaffinity(process, size, set) };
    if result >= 0 {
        enter(|_, _| {
            // SAFETY: the C library has written so many bytes of a set.
            let bytes = unsafe { std::slice::from_raw_parts_mut(set.cast::<u8>(), size) };
            let first = bytes.iter().position(|&byte| byte != 0);
            for (index, byte) in bytes.iter_mut().enumerate() {
                *byte = if Some(index) == first { *byte & byte.wrapping_neg() } else { 0 };
            }
        });
    }
    result
}

/// Waits at a word in memory, or wakes who does: what the locks and channels of the standard library are made of.
fn futex(host: &crate::host::Host, me: usize, call: [usize; 6]) -> Option<Result<c_long, c_int>> {
    let [address, operation, value, time, _, _] = call;
    let operation = c_int::try_from(operation).ok()?;
    let kind = operation & 0x7f;
    let value = value as u32;
    match kind {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            // SAFETY: the caller gives the address of a word, and of a time or none.
            let (word, time) = unsafe {
                let time = (time as *const libc::timespec).as_ref();
                (&*(address as *const AtomicU32), time)
            };
            if word.load(std::sync::atomic::Ordering::SeqCst) != value {
                return Some(Err(libc::EAGAIN));
            }
            let deadline = time.map(|time| {
                let state = host.state();
                let time = nanoseconds(*time);
                if kind == libc::FUTEX_WAIT {
                    state.now.saturating_add(time)
                } else if operation & libc::FUTEX_CLOCK_REALTIME != 0 {
                    time.saturating_sub(u64::try_from(state.wall).unwrap_or(0))
                } else {
                    time
                }
            });
            Some(match host.wait(me, Wait::Address(address, deadline)) {
                Woken::Yes => Ok(0),
                Woken::InVain => Err(libc::ETIMEDOUT),
            })
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let woken = host.state().wake(address, value as usize);
            host.may_turn(me);
            Some(Ok(c_long::try_from(woken).unwrap_or(0)))
        }
        _ => None,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let done = match number {
        libc::SYS_futex => enter(|host, me| futex(host, me, [a, b, c, d, e, f])).flatten(),
        // SAFETY: the caller's arguments: an address, and how many bytes there are.
        libc::SYS_getrandom if unsafe { random::fill(a as *mut c_void, b) } => {
            Some(Ok(c_long::try_from(b).unwrap_or(0)))
        }
        libc::SYS_sched_yield => enter(|host, me| host.wait(me, Wait::Turn)).map(|_| Ok(0)),
        _ => None,
    };
    // SAFETY: the caller's arguments.
    done.map_or_else(|| unsafe { real::syscall(number, a, b, c, d, e, f) }, answer)
}
