//! A host for tests of the whole program: everything that evforge gets from its system is played by this library, from a seed.
//!
//! The program runs as it is shipped. This library is loaded in front of the C library (`LD_PRELOAD`) and stands in for the
//! functions by which a process waits, reads clocks, starts threads, and uses files, sockets and randomness: those of the
//! standard library, of libhdf5 and of everything else in the process. That is the one interface that all of them share, so nothing
//! of the program is left out and nothing of it is built differently.
//!
//! ```text
//!   evforge (as shipped)                       plan (text, made from a seed)
//!      │ calls of the C library                   │
//!      ▼                                          ▼
//!   hooks ───► Host: one thread runs at a time; who is next is drawn from the seed
//!      │            the clock moves when all wait; packets, clients, signals and faults happen at planned times
//!      ▼
//!   C library, kernel: what is really read and written
//! ```
//!
//! | part | what it does |
//! |---|---|
//! | [`plan`] | what is to happen: packets, clients, signals, clock steps, files that vanish, faults between two times |
//! | `host` | the threads, the clock, and who runs next |
//! | `world` | makes happen what the plan has for a time |
//! | [`faults`] | whether a call on a file or for a descriptor fails now |
//! | `hooks` | the functions that stand in for those of the C library |
//! | `trace` | what happened, for people and to compare two runs of a seed |
//!
//! # Rules
//!
//! * One thread has the *turn*. It gives it up only inside a hook: when it waits, and now and then (drawn) when it wakes another, reads
//!   or writes. So a seed and a plan give the same run again, call for call.
//! * The clock stands still while a thread computes, moves by a fraction of a microsecond with every reading, and jumps to the next
//!   thing that happens when all threads wait. Minutes take milliseconds.
//! * If all threads wait and nothing is to happen any more, that is a deadlock: the process ends with status 97 and the trace says
//!   who waits for what. After the plan's `limit` it ends with 98.
//!
//! # Limits
//!
//! Only what passes a function of the C library is seen: raw system calls are not, nor are locks of pthreads (libraries in C with
//! threads of their own, such as librdkafka, cannot be run here). Between two hooks a thread is not interrupted; weak orders of memory
//! are the matter of the models (`docs/development/sanitizers.md`). Without `EVFORGE_SIMULATED_HOST`, which names the plan, every
//! hook passes its call on.
//!
//! x86-64 and 64-bit ARM with Linux and glibc: some functions have more arguments in C than are named here, which both pass alike.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

pub mod faults;
// Unit tests must not have their own calls replaced.
#[cfg(not(test))]
mod hooks;
#[cfg(not(test))]
mod host;
pub mod plan;
pub mod random;
#[cfg(not(test))]
mod real;
#[cfg(not(test))]
mod trace;
#[cfg(not(test))]
mod turn;
#[cfg(not(test))]
mod wait;
#[cfg(not(test))]
mod world;

/// Names the plan; without it nothing is simulated.
pub const PLAN: &str = "EVFORGE_SIMULATED_HOST";
/// Exit status if all threads wait and nothing can wake them.
pub const DEADLOCK: i32 = 97;
/// Exit status if the plan's limit is reached.
pub const TOO_LONG: i32 = 98;
/// Exit status if the plan cannot be read.
pub const BAD_PLAN: i32 = 99;

#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Runs before the program's `main`, in its thread.
#[cfg(not(test))]
extern "C" fn begin() {
    let Ok(path) = std::env::var(PLAN) else { return };
    // Programs that this one starts are not simulated: its calls wait for them as they are.
    for name in [PLAN, "LD_PRELOAD"] {
        // SAFETY: no other thread is there yet.
        unsafe { std::env::remove_var(name) };
    }
    match plan::Plan::read(path.as_ref()) {
        Ok(plan) => host::start(plan),
        Err(error) => {
            eprintln!("simulated host: {path}: {error}");
            std::process::exit(BAD_PLAN);
        }
    }
}
