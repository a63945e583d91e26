//! Whose turn it is to be looked at: at a bounded cost, and every module.

use std::time::{Duration, Instant};

/// The time between two looks at one module, at least.
const INTERVAL: Duration = Duration::from_millis(200);
/// The part of the time that may go into looking.
const SHARE: f64 = 0.1;
/// Seconds of looking that may be saved up: the first trains of all modules come at once.
const MOST_SAVED: f64 = 0.25;
/// How long a round waits for modules from which nothing comes.
const LONGEST_ROUND: Duration = Duration::from_secs(1);

/// Modules take turns: in a round each is looked at once.
#[derive(Debug)]
pub(super) struct Turns {
    /// The modules that were looked at in this round.
    done: Vec<bool>,
    round_begun: Option<Instant>,
    /// Seconds that may go into looking now: below zero after a long look.
    saved: f64,
    saved_at: Option<Instant>,
}

impl Turns {
    pub(super) fn new(modules: usize) -> Self {
        Self { done: vec![false; modules], round_begun: None, saved: MOST_SAVED, saved_at: None }
    }

    /// True if it is the turn of this module.
    pub(super) fn is_due(&mut self, module: usize, now: Instant) -> bool {
        let passed = self.saved_at.replace(now).map_or(0.0, |at| (now - at).as_secs_f64());
        self.saved = MOST_SAVED.min(self.saved + SHARE * passed);
        if self.saved <= 0.0 {
            return false;
        }
        let age = self.round_begun.map_or(LONGEST_ROUND, |begun| now.saturating_duration_since(begun));
        let is_over = self.done.iter().all(|done| *done);
        if (is_over && age >= INTERVAL) || age >= LONGEST_ROUND {
            self.done.fill(false);
            self.round_begun = None;
        }
        self.done.get(module).is_some_and(|done| !done)
    }

    /// A module was looked at, at this time, for so long.
    pub(super) fn taken(&mut self, module: usize, at: Instant, took: Duration) {
        if let Some(done) = self.done.get_mut(module) {
            *done = true;
        }
        self.round_begun.get_or_insert(at);
        self.saved -= took.as_secs_f64();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_module_is_looked_at_a_few_times_a_second_and_for_a_tenth_of_the_time() {
        let (mut turns, start) = (Turns::new(1), Instant::now());
        let looks = |turns: &mut Turns, took: Duration| {
            let at = |ms: u32| start + ms * MS;
            let due = (0..10_000).filter(|ms| {
                let is_due = turns.is_due(0, at(*ms));
                if is_due {
                    turns.taken(0, at(*ms), took);
                }
                is_due
            });
            due.count()
        };
        assert_eq!(looks(&mut turns, MS), 50);
        // A second of looking in ten of them, what was saved up, and the end of the last look.
        let slow = looks(&mut Turns::new(1), 100 * MS);
        assert!((12..=13).contains(&slow), "{slow}");
    }

    #[test]
    fn every_module_has_its_turn_and_a_silent_one_holds_nobody_up() {
        let (mut turns, start) = (Turns::new(3), Instant::now());
        let mut looks = [0; 3];
        for ms in (0..10_000).step_by(10) {
            // Always the first one first, and of the last one nothing comes.
            for (module, looks) in looks.iter_mut().enumerate().take(2) {
                if turns.is_due(module, start + ms * MS) {
                    turns.taken(module, start + ms * MS, MS);
                    *looks += 1;
                }
            }
        }
        assert_eq!(looks, [10, 10, 0]);
    }
}
