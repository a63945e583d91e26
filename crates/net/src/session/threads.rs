//! Threads that receive, and the caller's thread that watches them.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};

use super::handler::PacketHandler;
use super::limits::SessionClock;
use super::receiver::PacketReceiver;
use super::receiving::{PATIENCE, SessionEnd, receive};
use super::state::ReceiveState;

/// Time after which a thread tells its state again.
const TELL_INTERVAL: Duration = PATIENCE;

/// What a thread is to receive.
#[derive(Debug)]
pub struct ReceivingThread<R, H> {
    /// Name of the thread, as the system shows it.
    pub name: String,
    /// Where its packets come from.
    pub receiver: R,
    /// What happens to them.
    pub handler: H,
}

/// What is left of a thread.
#[derive(Debug)]
pub struct Received<R, H> {
    /// Where its packets came from.
    pub receiver: R,
    /// What happened to them.
    pub handler: H,
    /// How it ended, and what it knew then.
    pub end: SessionEnd,
}

/// Why a session could not be held.
#[derive(Debug, thiserror::Error)]
pub enum SessionError<E> {
    /// The system gives no more threads.
    #[error("the system gives no more threads: {0}")]
    NoThread(io::Error),
    /// A thread could not be put where it was to run.
    #[error("{0}")]
    Place(E),
}

/// What whoever watches a session wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attend {
    /// To be called again after a pause of 20 ms.
    Pause,
    /// To be called again at once: it has waited itself.
    Again,
    /// The end of the session. It is called again until the threads have ended.
    End,
}

/// How a session goes.
#[derive(Debug)]
pub struct SessionProgress<'a> {
    /// Time since the beginning.
    pub elapsed: Duration,
    /// Packets received so far, by all threads.
    pub packets: u64,
    told: &'a [Told],
}

impl SessionProgress<'_> {
    /// What all threads together knew a moment ago.
    pub fn state(&self) -> ReceiveState {
        let mut state = ReceiveState::default();
        for told in self.told {
            state.add(&told.state.lock().unwrap_or_else(PoisonError::into_inner));
        }
        state
    }
}

/// What a thread tells on the way.
#[derive(Debug, Default)]
struct Told {
    packets: AtomicU64,
    /// The last look found no packet; before the first one as well.
    has_none: AtomicBool,
    state: Mutex<ReceiveState>,
}

/// Ends the session for all when it is dropped: nothing would be complete without the thread that has it.
struct EndsForAll<'a>(&'a AtomicBool);

impl Drop for EndsForAll<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Receives in threads until the session is over and what the sockets hold has been fetched. `place` is called first in each
/// thread, with its number, and puts it where it is to run. `attend` is called in this thread again and again until all
/// threads have ended; so it may as well take what they hand over.
///
/// What each thread has, in the order given; a failure to receive is in its [`SessionEnd`].
///
/// # Errors
/// If the system gives no more threads, or one cannot be put where it is to run.
///
/// # Panics
/// If a handler has panicked, with its panic.
pub fn receive_with_threads<R, H, E>(
    mut clock: SessionClock<'_>,
    threads: Vec<ReceivingThread<R, H>>,
    place: &(impl Fn(usize) -> Result<(), E> + Sync),
    mut attend: impl FnMut(&SessionProgress<'_>) -> Attend,
) -> Result<Vec<Received<R, H>>, SessionError<E>>
where
    R: PacketReceiver + Send,
    H: PacketHandler + Send,
    E: Send,
{
    // What is over already is so for every thread from its first look on, and not from when this one has got round to telling.
    let over = AtomicBool::new(clock.is_over());
    let told: Vec<Told> = threads.iter().map(|_| Told::default()).collect();
    std::thread::scope(|scope| {
        // However this ends, also if `attend` panics: threads that have begun must not go on for ever.
        let _ending = EndsForAll(&over);
        let mut running = Vec::new();
        for (number, (thread, told)) in threads.into_iter().zip(&told).enumerate() {
            let ReceivingThread { name, receiver, handler } = thread;
            let over = &over;
            let work = move || {
                let _ending = EndsForAll(over);
                place(number)?;
                Ok(receive_and_tell(receiver, handler, told, over))
            };
            let thread = Builder::new().name(name).spawn_scoped(scope, work);
            running.push(thread.map_err(SessionError::NoThread)?);
        }
        while !running.iter().all(ScopedJoinHandle::is_finished) {
            let packets = told.iter().map(|told| told.packets.load(Ordering::Acquire)).sum();
            clock.note(packets);
            if !told.iter().all(|told| told.has_none.load(Ordering::Relaxed)) {
                clock.note_work();
            }
            let wish = attend(&SessionProgress { elapsed: clock.elapsed(), packets, told: &told });
            if wish == Attend::End || clock.is_over() {
                over.store(true, Ordering::Relaxed);
            }
            if wish != Attend::Again {
                std::thread::sleep(PATIENCE);
            }
        }
        // All are joined before the first error is looked at.
        let ended: Vec<_> = running.into_iter().map(ScopedJoinHandle::join).collect();
        let resumed =
            ended.into_iter().map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        resumed.collect::<Vec<_>>().into_iter().collect::<Result<_, E>>().map_err(SessionError::Place)
    })
}

/// The work of a thread.
fn receive_and_tell<R: PacketReceiver, H: PacketHandler>(
    mut receiver: R,
    mut handler: H,
    told: &Told,
    over: &AtomicBool,
) -> Received<R, H> {
    let mut last_told = Instant::now();
    let end = receive(&mut receiver, &mut handler, |receiver, handler, packets| {
        let before = told.packets.load(Ordering::Relaxed);
        told.has_none.store(packets == before, Ordering::Relaxed);
        // Whoever sees these packets sees that as well.
        told.packets.store(packets, Ordering::Release);
        if last_told.elapsed() >= TELL_INTERVAL {
            last_told = Instant::now();
            let state = ReceiveState::of(receiver, handler.dropped());
            *told.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        }
        over.load(Ordering::Relaxed)
    });
    Received { receiver, handler, end }
}
