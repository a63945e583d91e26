//! Threads that help the one that asks, and sleep in between.

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How often the thread that asks looks whether the others are done before it sleeps: for some 100 us. Not for longer: with a
/// real-time priority it would keep them from its core.
const LOOKS: usize = 4096;

/// A fixed number of threads: the one that asks, and its helpers.
#[derive(Debug)]
pub(crate) struct Helpers {
    pool: ThreadPool,
}

impl Helpers {
    /// This many threads in all, at least two; `name` names the helpers, which are numbered from 0.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub(crate) fn new(threads: usize, name: impl Fn(usize) -> String + 'static) -> Result<Self, String> {
        let builder = ThreadPoolBuilder::new().num_threads(threads.saturating_sub(1).max(1));
        let pool = builder.thread_name(name).build().map_err(|error| error.to_string())?;
        Ok(Self { pool })
    }

    /// Has every helper do `work`, given its number.
    ///
    /// # Errors
    /// The first error of any.
    pub(crate) fn each(&self, work: impl Fn(usize) -> Result<(), String> + Sync) -> Result<(), String> {
        self.pool.broadcast(|helper| work(helper.index())).into_iter().collect()
    }

    /// All threads, the one that asks included.
    pub(crate) fn threads(&self) -> usize {
        self.pool.current_num_threads() + 1
    }

    /// Keeps the helpers awake while `work` is done: pieces of work that it has for them ([`Helpers::run`]) begin at once.
    /// One that sleeps takes some 50 us to wake.
    pub(crate) fn attend(&self, work: &mut dyn FnMut()) {
        let over = AtomicBool::new(false);
        self.pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, _| {
                while !over.load(Ordering::Acquire) {
                    if rayon::yield_now() != Some(Yield::Executed) {
                        // Others may need this core, the thread that asks among them.
                        std::thread::yield_now();
                    }
                }
            });
            let _over = SetOnDrop(&over);
            work();
        });
    }

    /// Does `work` for each number below `pieces` once, and returns when all is done.
    pub(crate) fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        // Who is free takes the next piece: the thread that asks does not wait for helpers that are slow to wake.
        let next = AtomicUsize::new(0);
        let finished = AtomicUsize::new(0);
        let take_turns = || {
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= pieces {
                    return;
                }
                let _finished = AddOnDrop(&finished);
                work(piece);
            }
        };
        self.pool.in_place_scope(|scope| {
            for _ in 1..pieces.min(self.threads()) {
                scope.spawn(|_| take_turns());
            }
            take_turns();
            // Others are at their last pieces: to sleep and be woken would take longer.
            for _ in 0..LOOKS {
                if finished.load(Ordering::Acquire) == pieces {
                    break;
                }
                std::hint::spin_loop();
            }
        });
    }
}

/// Sets a flag, also if what comes before panics.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Counts a piece of work as finished, also if it panics.
struct AddOnDrop<'a>(&'a AtomicUsize);

impl Drop for AddOnDrop<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}
