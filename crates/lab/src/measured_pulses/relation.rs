//! What a receiver, its buffer and the pulses make of the highest peak.
//!
//! A pulse of *n* packets in the time *t* comes at the peak rate *P* = *n* / *t*. A receiver that serves *S* packets per second has
//! *S t* of them by the end, and the others must fit into the socket's buffer: twice what was asked for, of which a packet takes
//! `truesize` bytes. While the receiver reads, the kernel gives memory back in steps of up to a quarter of the buffer, so that
//! three quarters of it are what can be relied on:
//!
//! ```text
//! (P - S) t truesize <= 2 buffer   at most        (P - S) t truesize <= 1.5 buffer   to be relied on
//! ```
//!
//! Pulses that go on need more: the mean rate must not be above *S*.

use super::{PulsePoint, PulseReceiver};

/// Linux gives twice the buffer that was asked for.
const GRANTED: f64 = 2.0;
/// What can be relied on of it while it is read, over what was asked for.
const RELIABLE: f64 = 1.5;
/// Where the mean rate would be above this share of what is served, it and not the buffer may be what limits.
const MOST_MEAN: f64 = 0.9;

/// The highest peaks of a point, by arithmetic, in packets per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PulseRelation {
    /// Not above this one.
    pub at_most: f64,
    /// This one can be relied on.
    pub reliable: f64,
    /// True if the buffer limits, and not the mean rate.
    pub is_of_buffer: bool,
}

impl PulseRelation {
    /// Of a point whose receiver serves `served` packets per second.
    pub fn new(point: &PulsePoint, served: f64, truesize: f64) -> Self {
        let of_buffer = |share: f64| served + share * waiting_per_second(point, truesize);
        let of_mean = served * point.pulses.peak_factor;
        Self {
            at_most: of_buffer(GRANTED).min(of_mean),
            reliable: of_buffer(RELIABLE).min(of_mean),
            is_of_buffer: of_buffer(GRANTED) <= MOST_MEAN * of_mean,
        }
    }

    /// Of a point and its receiver; none if it is not known what that serves.
    pub fn of(point: &PulsePoint, receiver: &PulseReceiver) -> Option<Self> {
        receiver.served.map(|served| Self::new(point, served, receiver.truesize))
    }

    /// The share of the buffer (1: all of it) that was filled at the end of pulses with this peak, in packets per second.
    pub fn filling(point: &PulsePoint, served: f64, truesize: f64, peak: f64) -> f64 {
        (peak - served) / (GRANTED * waiting_per_second(point, truesize))
    }
}

/// Packets that a buffer as large as was asked for holds, over the time of a pulse.
fn waiting_per_second(point: &PulsePoint, truesize: f64) -> f64 {
    point.buffer as f64 / truesize / point.pulses.pulse_seconds()
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::*;

    fn point(buffer: u64, peak_factor: f64) -> PulsePoint {
        let mut point = plan().points()[0];
        (point.size, point.buffer, point.pulses.peak_factor) = (1472, buffer, peak_factor);
        point
    }

    fn close(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-3
    }

    #[test]
    fn what_does_not_fit_by_the_end_of_a_pulse_must_be_served() {
        // 2 x 100 kB hold 86.8 packets of 2304 bytes; in 7.14 ms that is 12 153 packets per second.
        let relation = PulseRelation::new(&point(100_000, 10.0), 48_000.0, 2304.0);
        assert!(close(relation.at_most, 60_153.0), "{relation:?}");
        assert!(close(relation.reliable, 48_000.0 + 0.75 * 12_153.0), "{relation:?}");
        assert!(relation.is_of_buffer);
        // A shorter pulse may be higher: the same packets wait.
        let short = PulseRelation::new(&point(100_000, 50.0), 48_000.0, 2304.0);
        assert!(close(short.at_most, 48_000.0 + 5.0 * 12_153.0), "{short:?}");
    }

    #[test]
    fn the_mean_rate_limits_where_the_buffer_holds_all_of_a_pulse() {
        let relation = PulseRelation::new(&point(80_000_000, 10.0), 48_000.0, 2304.0);
        assert_eq!(
            (relation.at_most, relation.reliable, relation.is_of_buffer),
            (480_000.0, 480_000.0, false)
        );
    }

    #[test]
    fn at_the_relation_all_of_the_buffer_is_filled_and_what_is_reliable_fills_three_quarters() {
        let point = point(400_000, 50.0);
        let relation = PulseRelation::new(&point, 48_000.0, 2304.0);
        let filling = |peak| PulseRelation::filling(&point, 48_000.0, 2304.0, peak);
        assert!(close(filling(relation.at_most), 1.0) && close(filling(relation.reliable), 0.75));
        assert_eq!(filling(48_000.0), 0.0);
    }
}
