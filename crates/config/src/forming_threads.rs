//! Threads that share the forming of events.

use crate::threads::ThreadSettings;
use evforge_core::settings::SettingsError;
use evforge_detect::workers::Workers;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A fixed number of threads: the one that forms events, and helpers that sleep between steps.
#[derive(Debug)]
pub struct FormingThreads {
    helpers: ThreadPool,
}

impl FormingThreads {
    /// This many threads in all, at least two. Helpers have the cores and the priority that are set for them.
    ///
    /// # Errors
    /// If the system gives no more threads, or does not let them run where they are to.
    pub fn new(count: usize, threads: &ThreadSettings) -> Result<Self, SettingsError> {
        let refuse = |problem: String| SettingsError { key: "threads.form".into(), problem };
        let helpers = ThreadPoolBuilder::new()
            .num_threads(count.saturating_sub(1).max(1))
            .thread_name(|number| format!("form {}", number + 1))
            .build()
            .map_err(|error| refuse(error.to_string()))?;
        let placed = helpers.broadcast(|helper| {
            // An error of another thread cannot travel as it is.
            threads.place_forming(helper.index() + 1).map_err(|error| error.to_string())
        });
        placed.into_iter().collect::<Result<(), _>>().map_err(refuse)?;
        Ok(Self { helpers })
    }
}

impl Workers for FormingThreads {
    fn count(&self) -> usize {
        self.helpers.current_num_threads() + 1
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
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
        self.helpers.in_place_scope(|scope| {
            for _ in 1..pieces.min(self.count()) {
                scope.spawn(|_| take_turns());
            }
            take_turns();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn each_piece_is_done_once() {
        let threads = FormingThreads::new(3, &ThreadSettings::default()).expect("three threads");
        assert_eq!(threads.count(), 3);
        for pieces in [0, 1, 2, 3, 100] {
            let done = Mutex::new(Vec::new());
            threads.run(pieces, &|piece| done.lock().expect("no panic").push(piece));
            let mut done = done.into_inner().expect("no panic");
            done.sort_unstable();
            assert_eq!(done, (0..pieces).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_core_that_is_not_there_is_refused() {
        let settings: ThreadSettings =
            toml::from_str("form = { count = 2, core = [0, 100000] }").expect("a table");
        let refused = FormingThreads::new(2, &settings).expect_err("no such core").to_string();
        assert!(refused.contains("threads.form") && refused.contains("100000"), "{refused}");
    }
}
