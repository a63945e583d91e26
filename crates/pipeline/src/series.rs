//! The ledger of a live run over time, for its report: a point a second at first, and half as many whenever there are too many.

use evforge_core::run_state::RunState;
use serde_json::{Value, json};
use std::time::Duration;

/// Points that are kept at most.
const MOST: usize = 600;

/// One moment: totals since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    at: Duration,
    sent: Option<u64>,
    received: u64,
    lost: Option<u64>,
    events: u64,
}

/// Packets and events over time.
#[derive(Clone, Debug, Default)]
pub struct LedgerSeries {
    points: Vec<Point>,
    /// Of so many states one is kept, as a power of two.
    thinned: u32,
    /// States seen.
    seen: u64,
}

impl LedgerSeries {
    /// Takes note of a state; they are to come at equal intervals.
    pub(crate) fn observe(&mut self, state: &RunState) {
        let seen = self.seen;
        self.seen += 1;
        if seen.trailing_zeros() < self.thinned {
            return;
        }
        if self.points.len() >= MOST {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.thinned += 1;
            if seen.trailing_zeros() < self.thinned {
                return;
            }
        }
        self.points.push(point(state));
    }

    /// Takes note of the last state, whatever the interval.
    pub(crate) fn end(&mut self, state: &RunState) {
        self.points.push(point(state));
    }

    /// As reports have it: columns of totals, null where something is not known.
    pub(crate) fn to_json(&self) -> Value {
        let column = |value: fn(&Point) -> Value| self.points.iter().map(value).collect::<Vec<_>>();
        json!({
            "time_s": column(|point| json!(point.at.as_secs_f64())),
            "packets_sent": column(|point| json!(point.sent)),
            "packets_received": column(|point| json!(point.received)),
            "packets_lost": column(|point| json!(point.lost)),
            "events": column(|point| json!(point.events)),
        })
    }

    /// True if there is nothing to tell: a file has no times of its own.
    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

fn point(state: &RunState) -> Point {
    let packets = state.ledger.packets();
    Point {
        at: state.elapsed,
        sent: packets.sent,
        received: packets.received,
        lost: state.loss().exactly(),
        events: state.ledger.events(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_as_many_points_as_a_short_one() {
        let mut series = LedgerSeries::default();
        for second in 0..5000_u64 {
            series.observe(&RunState { elapsed: Duration::from_secs(second), ..RunState::default() });
        }
        let times: Vec<u64> = series.points.iter().map(|point| point.at.as_secs()).collect();
        assert!(times.len() > MOST / 2 && times.len() <= MOST, "{}", times.len());
        let step = times[1] - times[0];
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == step), "{times:?}");
        series.end(&RunState { elapsed: Duration::from_secs(5000), ..RunState::default() });
        assert_eq!(series.to_json()["time_s"].as_array().unwrap().last(), Some(&json!(5000.0)));
        // Packets without numbers: null, and not 0.
        assert_eq!(series.to_json()["packets_lost"][0], Value::Null);
    }
}
