//! Waiting for a condition, with one patience for all tests.
//!
//! A test waits for what it needs and never for a time: a host that is busy, or stopped for a second, makes it slower and
//! changes nothing else. `EVFORGE_PATIENCE` sets the patience in seconds, for hosts that are slower still.

use std::fmt::Display;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Two minutes: nothing here takes that long on a busy host, unless it hangs.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks at a condition: a tenth of what was waited, so that looking costs little, within these.
const STEPS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(100)];

/// A wait that took longer is in the output of its test.
const LONG: Duration = Duration::from_secs(1);

/// How long a test waits for one condition: `EVFORGE_PATIENCE` in seconds, or else two minutes.
///
/// # Panics
/// If `EVFORGE_PATIENCE` is not a number of seconds.
pub fn patience() -> Duration {
    static PATIENCE: OnceLock<Duration> = OnceLock::new();
    *PATIENCE.get_or_init(|| match std::env::var("EVFORGE_PATIENCE") {
        Ok(seconds) => Duration::from_secs(seconds.parse().expect("EVFORGE_PATIENCE is a number of seconds")),
        Err(_) => DEFAULT_PATIENCE,
    })
}

/// Waits until `is_so` holds.
///
/// # Panics
/// If it does not within [`patience`], with `what` the test waited for.
#[track_caller]
pub fn wait_until(what: impl Display, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

/// Waits until `attempt` returns something, and returns it.
///
/// # Panics
/// If it does not within [`patience`], with `what` the test waited for.
#[track_caller]
pub fn wait_for<T>(what: impl Display, mut attempt: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        let found = attempt();
        let waited = begin.elapsed();
        if let Some(found) = found {
            if waited > LONG {
                eprintln!("waited {:.1} s for: {what}", waited.as_secs_f64());
            }
            return found;
        }
        assert!(waited < patience(), "not within {:?} (EVFORGE_PATIENCE): {what}", patience());
        std::thread::sleep((waited / 10).clamp(STEPS[0], STEPS[1]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_later_is_waited_for() {
        let mut looks = 0;
        let found = wait_for("the third look", || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found, 3);
    }
}
