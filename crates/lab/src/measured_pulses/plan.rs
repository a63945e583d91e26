//! What to measure.

use crate::LabError;
use crate::link::numbered::Sizes;
use crate::link::{Pulses, Schedule};
use evforge_core::quantity::{Frequency, Rate};
use std::time::Duration;

/// Sizes × works × peak factors × buffers, in rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct PulsePlan {
    /// Bytes of UDP payload.
    pub sizes: Vec<usize>,
    /// Time that the receiver spends on each packet.
    pub works: Vec<Duration>,
    /// Receive buffers to ask the kernel for, in bytes; it gives twice that.
    pub buffers: Vec<u64>,
    /// Pulses in a second.
    pub frequency: Frequency,
    /// The period over the time of a pulse.
    pub peak_factors: Vec<f64>,
    /// Pulses of each measurement.
    pub pulses: u64,
    /// How often each peak is searched.
    pub rounds: usize,
}

/// A receiver, its buffer, and the pulses that it gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PulsePoint {
    /// Bytes of UDP payload of each packet.
    pub size: usize,
    /// Time that the receiver spends on each packet.
    pub work: Duration,
    /// Receive buffer to ask the kernel for, in bytes; it gives twice that.
    pub buffer: u64,
    /// The pulses.
    pub pulses: Pulses,
}

impl PulsePlan {
    /// Makes sure that there is something to measure, and that it can be sent.
    ///
    /// # Errors
    /// The first size, frequency or peak factor that is impossible; if a list is empty or a number 0.
    pub fn check(&self) -> Result<(), LabError> {
        for &size in &self.sizes {
            Sizes::all(size)?;
        }
        for &peak_factor in &self.peak_factors {
            // Any rate but 0 would do.
            Schedule::new(Rate::Packets(1), Some(Pulses { frequency: self.frequency, peak_factor }))?;
        }
        let is_empty = self.points().is_empty() || self.pulses == 0 || self.rounds == 0;
        match is_empty {
            true => Err(
                "nothing is to be measured: give at least one size, work, buffer, peak factor, pulse and \
                         round"
                    .into(),
            ),
            false => Ok(()),
        }
    }

    /// The points, by size, work, peak factor and buffer.
    pub fn points(&self) -> Vec<PulsePoint> {
        let mut points = Vec::new();
        let receivers = self.sizes.iter().flat_map(|&size| self.works.iter().map(move |&work| (size, work)));
        for (size, work) in receivers {
            for &peak_factor in &self.peak_factors {
                let pulses = Pulses { frequency: self.frequency, peak_factor };
                let of = |&buffer: &u64| PulsePoint { size, work, buffer, pulses };
                points.extend(self.buffers.iter().map(of));
            }
        }
        points
    }
}

impl PulsePoint {
    /// Packets per second on average, in whole ones, of a peak rate in packets per second.
    pub fn mean_rate(&self, peak: f64) -> u64 {
        ((peak / self.pulses.peak_factor).round() as u64).max(1)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::measured_pulses) fn plan() -> PulsePlan {
        PulsePlan {
            sizes: vec![64, 1472],
            works: vec![Duration::from_micros(20)],
            buffers: vec![100_000, 800_000],
            frequency: Frequency { millihertz: 14_000 },
            peak_factors: vec![10.0, 50.0],
            pulses: 14,
            rounds: 1,
        }
    }

    #[test]
    fn points_are_all_combinations() {
        let plan = plan();
        plan.check().expect("a possible plan");
        let points = plan.points();
        assert_eq!(points.len(), 2 * 2 * 2);
        assert_eq!((points[1].size, points[1].buffer, points[1].pulses.peak_factor), (64, 800_000, 10.0));
        assert_eq!(points[7].mean_rate(140_000.0), 2800);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anything_is_measured() {
        let said = |plan: PulsePlan| plan.check().expect_err("it is refused").to_string();
        assert!(said(PulsePlan { sizes: vec![1], ..plan() }).contains('1'));
        assert!(said(PulsePlan { peak_factors: vec![0.5], ..plan() }).contains("a peak factor of 0.5"));
        assert!(said(PulsePlan { frequency: Frequency { millihertz: 0 }, ..plan() }).contains("0 Hz"));
        for nothing in [
            PulsePlan { buffers: Vec::new(), ..plan() },
            PulsePlan { pulses: 0, ..plan() },
            PulsePlan { rounds: 0, ..plan() },
        ] {
            assert!(said(nothing).contains("nothing is to be measured"));
        }
    }
}
