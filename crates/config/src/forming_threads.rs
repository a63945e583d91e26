//! Threads that share the forming of events.

use crate::helpers::Helpers;
use crate::threads::ThreadSettings;
use evforge_core::settings::SettingsError;
use evforge_detect::workers::Workers;

/// A fixed number of threads: the one that forms events, and helpers that sleep when nothing is to be formed.
#[derive(Debug)]
pub struct FormingThreads {
    helpers: Helpers,
}

impl FormingThreads {
    /// This many threads in all, at least two. Helpers have the cores and the priority that are set for them.
    ///
    /// # Errors
    /// If the system gives no more threads, or does not let them run where they are to.
    pub fn new(count: usize, threads: &ThreadSettings) -> Result<Self, SettingsError> {
        let refuse = |problem| SettingsError { key: "threads.form".into(), problem };
        let helpers = Helpers::new(count, |number| format!("form {}", number + 1)).map_err(refuse)?;
        // An error of another thread cannot travel as it is.
        let place = |number| threads.place_forming(number + 1).map_err(|error| error.to_string());
        helpers.each(place).map_err(refuse)?;
        Ok(Self { helpers })
    }
}

impl Workers for FormingThreads {
    fn count(&self) -> usize {
        self.helpers.threads()
    }

    fn run(&self, pieces: usize, work: &(dyn Fn(usize) + Sync)) {
        self.helpers.run(pieces, work);
    }

    fn attend(&self, work: &mut dyn FnMut()) {
        self.helpers.attend(work);
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
