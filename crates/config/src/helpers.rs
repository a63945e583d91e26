//! Threads that help the one that asks, and sleep in between.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};

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

    /// Does `work` for each number below `pieces` once, and returns when all is done.
    pub(crate) fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        // Who is free takes the next piece: the thread that asks does not wait for helpers that are slow to wake.
        let next = AtomicUsize::new(0);
        let take_turns = || {
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= pieces {
                    return;
                }
                work(piece);
            }
        };
        self.pool.in_place_scope(|scope| {
            for _ in 1..pieces.min(self.threads()) {
                scope.spawn(|_| take_turns());
            }
            take_turns();
        });
    }
}
