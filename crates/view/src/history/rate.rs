//! The event rate of the last minutes, one point a second.

use crate::json_object::json_object;
use serde::Serialize;
use std::collections::VecDeque;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Seconds that are kept for browsers that come later.
const LENGTH: usize = 600;

json_object! {
    /// The rate over about one second.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize)]
    pub struct RatePoint {
        /// End of that second: milliseconds since the Unix epoch, by the server's clock.
        pub time_ms: u64,
        /// Events per second.
        pub events_per_second: f64,
        /// Packets that came in that second, from the ledger; null before the first ledger.
        pub packets_received: Option<u64>,
        /// Packets that were lost in that second (less those that turned up late), from the ledger; null where nobody knows.
        pub packets_lost: Option<u64>,
    }
}

/// Totals from which a point is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) events: u64,
    pub(crate) received: Option<u64>,
    pub(crate) lost: Option<u64>,
}

/// The points, with a running number for each.
#[derive(Debug)]
pub(crate) struct History {
    points: VecDeque<RatePoint>,
    /// Number of the first point in `points`.
    first: u64,
    previous: Totals,
    previous_at: Instant,
}

impl History {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            points: VecDeque::with_capacity(LENGTH),
            first: 0,
            previous: Totals::default(),
            previous_at: now,
        }
    }

    /// Adds a point if a second has passed since the last one. Returns true if it did.
    pub(crate) fn update(&mut self, now: Instant, totals: Totals) -> bool {
        let seconds = now.duration_since(self.previous_at).as_secs_f64();
        if seconds < 0.999 {
            return false;
        }
        let more =
            |now: Option<u64>, before: Option<u64>| now.map(|now| now.saturating_sub(before.unwrap_or(0)));
        let point = RatePoint {
            time_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64),
            events_per_second: totals.events.saturating_sub(self.previous.events) as f64 / seconds,
            packets_received: more(totals.received, self.previous.received),
            packets_lost: more(totals.lost, self.previous.lost),
        };
        if self.points.len() == LENGTH {
            self.points.pop_front();
            self.first += 1;
        }
        self.points.push_back(point);
        (self.previous, self.previous_at) = (totals, now);
        true
    }

    /// The number that the next point will have.
    pub(crate) fn next_number(&self) -> u64 {
        self.first + self.points.len() as u64
    }

    /// The points from number `from` on, as far as they are kept.
    pub(crate) fn since(&self, from: u64) -> Vec<RatePoint> {
        self.points.iter().skip(from.saturating_sub(self.first) as usize).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_point_a_second_and_old_ones_go() {
        let start = Instant::now();
        let mut history = History::new(start);
        assert!(!history.update(start + Duration::from_millis(500), Totals::default()));
        let two_seconds = Totals { events: 4000, received: Some(70), lost: Some(3) };
        assert!(history.update(start + Duration::from_secs(2), two_seconds));
        let point = history.since(0)[0];
        let packets = (point.packets_received, point.packets_lost);
        assert_eq!((point.events_per_second, packets), (2000.0, (Some(70), Some(3))));
        for second in 3..1000 {
            history.update(start + Duration::from_secs(second), two_seconds);
        }
        assert_eq!((history.points.len(), history.next_number()), (LENGTH, 998));
        assert_eq!(history.since(996).len(), 2);
        assert_eq!(history.since(5000), []);
        assert_eq!(history.since(0).len(), LENGTH);
    }
}
