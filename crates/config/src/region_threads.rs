//! Threads that cluster the regions of a partitioned panel.

use crate::helpers::Helpers;
use evforge_core::settings::SettingsError;
use evforge_detect::partition::{Region, RegionExecutor};
use std::sync::{Mutex, PoisonError};

/// A fixed number of threads: the one that forms events, and helpers that sleep between steps.
#[derive(Debug)]
pub struct RegionThreads {
    helpers: Helpers,
}

impl RegionThreads {
    /// This many threads in all, at least two.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn new(threads: usize) -> Result<Self, SettingsError> {
        let refuse = |problem| SettingsError { key: "partition.threads".into(), problem };
        let helpers = Helpers::new(threads, |number| format!("regions {number}")).map_err(refuse)?;
        Ok(Self { helpers })
    }
}

impl RegionExecutor for RegionThreads {
    fn run(&self, regions: &mut [Region], work: &(dyn Fn(&mut Region) + Sync)) {
        let pieces = regions.len();
        let waiting = Mutex::new(regions.iter_mut());
        self.helpers.run(pieces, &|_| {
            // The lock is not held while a region is worked on, and nothing is lost if another thread has panicked: its
            // panic comes out of the scope.
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            if let Some(region) = next {
                work(region);
            }
        });
    }
}
