//! Threads that cluster the regions of a partitioned panel.

use evforge_core::settings::SettingsError;
use evforge_detect::partition::{Region, RegionExecutor};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::slice::IterMut;
use std::sync::{Mutex, PoisonError};

/// A fixed number of threads: the one that forms events, and helpers that sleep between steps.
#[derive(Debug)]
pub struct RegionThreads {
    helpers: ThreadPool,
}

impl RegionThreads {
    /// This many threads in all, at least two.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn new(threads: usize) -> Result<Self, SettingsError> {
        let helpers = ThreadPoolBuilder::new()
            .num_threads(threads.saturating_sub(1).max(1))
            .thread_name(|number| format!("regions {number}"))
            .build()
            .map_err(|error| SettingsError { key: "partition.threads".into(), problem: error.to_string() })?;
        Ok(Self { helpers })
    }
}

impl RegionExecutor for RegionThreads {
    fn run(&self, regions: &mut [Region], work: &(dyn Fn(&mut Region) + Sync)) {
        // Who is free takes the next region: the thread that asks does not wait for helpers that are slow to wake.
        let waiting = Mutex::new(regions.iter_mut());
        self.helpers.in_place_scope(|scope| {
            for _ in 0..self.helpers.current_num_threads() {
                scope.spawn(|_| take_turns(&waiting, work));
            }
            take_turns(&waiting, work);
        });
    }
}

fn take_turns(waiting: &Mutex<IterMut<'_, Region>>, work: &(dyn Fn(&mut Region) + Sync)) {
    // The lock is not held while a region is worked on, and nothing is lost if another thread has panicked: its
    // panic comes out of the scope.
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    while let Some(region) = next() {
        work(region);
    }
}
