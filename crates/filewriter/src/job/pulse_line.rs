//! How many pulses a source had until when: exact for the first hundreds, in ever larger steps for long runs.

use serde::{Deserialize, Serialize};

/// Points that are kept at most. When there are as many, every second one is left out.
const POINTS: usize = 512;

/// Pulses of a source over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulseLine {
    count: u64,
    last_ns: i64,
    /// Pulses between two points.
    step: u64,
    /// Times, and the number of pulses up to and with them.
    points: Vec<(i64, u64)>,
}

impl Default for PulseLine {
    fn default() -> Self {
        Self { count: 0, last_ns: i64::MIN, step: 1, points: Vec::new() }
    }
}

impl PulseLine {
    /// Takes note of a pulse. One that is not later than the last one is that one, or came late: it is not counted.
    pub fn take(&mut self, time_ns: i64) {
        if time_ns <= self.last_ns {
            return;
        }
        self.last_ns = time_ns;
        self.count += 1;
        if self.count.is_multiple_of(self.step) {
            self.points.push((time_ns, self.count));
        }
        if self.points.len() >= POINTS {
            self.step *= 2;
            let step = self.step;
            self.points.retain(|(_, count)| count.is_multiple_of(step));
        }
    }

    /// The time of the last pulse, if there was one.
    pub fn last_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.last_ns)
    }

    /// Pulses behind a time and before another one, to a step.
    pub fn between(&self, from_ns: i64, to_ns: i64) -> u64 {
        // Before `to`, but up to and with `from`.
        let until = |time_ns: i64, is_inside: bool| {
            if time_ns > self.last_ns || (time_ns == self.last_ns && is_inside) {
                return self.count;
            }
            let behind = self
                .points
                .partition_point(|(point, _)| if is_inside { *point <= time_ns } else { *point < time_ns });
            behind.checked_sub(1).and_then(|place| self.points.get(place)).map_or(0, |(_, count)| *count)
        };
        until(to_ns, false).saturating_sub(until(from_ns, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pulses: i64) -> PulseLine {
        let mut line = PulseLine::default();
        (0..pulses).for_each(|pulse| line.take(pulse * 10));
        line
    }

    #[test]
    fn hundreds_are_exact() {
        let line = line(400);
        assert_eq!(line.between(i64::MIN, i64::MAX), 400);
        assert_eq!(line.between(990, i64::MAX), 300);
        assert_eq!(line.between(990, 1050), 5);
        assert_eq!(line.between(995, 1005), 1);
        assert_eq!(line.between(i64::MIN, 0), 0);
        assert_eq!(line.last_ns(), Some(3990));
        assert_eq!(PulseLine::default().between(i64::MIN, i64::MAX), 0);
    }

    #[test]
    fn long_runs_are_known_to_a_step_and_take_no_more_memory() {
        let line = line(1_000_000);
        assert!(line.points.len() < POINTS);
        let found = line.between(5_000_000, i64::MAX);
        assert!(found.abs_diff(500_000) <= line.step, "{found}");
        assert_eq!(line.between(i64::MIN, i64::MAX), 1_000_000);
    }
}
