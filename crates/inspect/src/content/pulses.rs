//! The pulses that one output queue reports: how many, and how far apart.

use evforge_core::quantity::grouped;
use evforge_wire::ess::{EssTime, TICKS_PER_SECOND};
use serde_json::{Value, json};

/// Distances that are kept: the median of the first ones is that of all.
const MOST: usize = 4096;

/// Pulse times of a queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Pulses {
    latest: Option<EssTime>,
    /// Pulse times that differ from the one before.
    count: u64,
    /// Packets with pulse time 0.
    zero: u64,
    /// Pulses before the one before.
    backwards: u64,
    /// Distances of successive pulses in ticks.
    distances: Vec<u64>,
}

impl Pulses {
    /// Takes the pulse time of a packet.
    pub(super) fn take(&mut self, pulse: EssTime) {
        if pulse == EssTime::default() {
            self.zero += 1;
            return;
        }
        if self.latest == Some(pulse) {
            return;
        }
        self.count += 1;
        if let Some(latest) = self.latest.replace(pulse) {
            match pulse.total_ticks().checked_sub(latest.total_ticks()) {
                None => self.backwards += 1,
                Some(distance) if self.distances.len() < MOST => self.distances.push(distance),
                Some(_) => {}
            }
        }
    }

    /// The median distance of successive pulses in ticks; none with fewer than two pulses.
    pub(super) fn period_ticks(&self) -> Option<u64> {
        let mut distances = self.distances.clone();
        let middle = distances.len().checked_sub(1)? / 2;
        let (_, median, _) = distances.select_nth_unstable(middle);
        Some(*median).filter(|&ticks| ticks > 0)
    }

    /// The same in nanoseconds, rounded.
    pub(super) fn period_ns(&self) -> Option<u64> {
        let rate = u128::from(TICKS_PER_SECOND);
        let ns = (u128::from(self.period_ticks()?) * 1_000_000_000 + rate / 2) / rate;
        u64::try_from(ns).ok()
    }

    /// In words.
    pub(super) fn in_words(&self) -> String {
        let mut text = match (self.count, self.period_ticks()) {
            (0, _) => "no pulse time".to_owned(),
            (1, _) => "a single pulse time".to_owned(),
            (count, None) => format!("{} pulse times, in no order", grouped(count)),
            (count, Some(ticks)) => {
                let frequency = f64::from(TICKS_PER_SECOND) / ticks as f64;
                format!("{} pulses, {frequency:.3} Hz", grouped(count))
            }
        };
        if self.backwards > 0 {
            text += &format!(", {} before the one before", grouped(self.backwards));
        }
        if self.zero > 0 {
            text += &format!(", pulse time 0 in {} packets", grouped(self.zero));
        }
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let ticks = self.period_ticks();
        json!({
            "count": self.count,
            "frequency_hz": ticks.map(|ticks| f64::from(TICKS_PER_SECOND) / ticks as f64),
            "period_ns": self.period_ns(),
            "packets_with_pulse_time_0": self.zero,
            "backwards": self.backwards,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(ticks: u64) -> EssTime {
        EssTime::from_total_ticks(1_700_000_000 * u64::from(TICKS_PER_SECOND) + ticks).unwrap()
    }

    #[test]
    fn the_rate_is_the_median_of_the_distances() {
        let mut pulses = Pulses::default();
        assert_eq!(pulses.in_words(), "no pulse time");
        for number in 0..50 {
            // One is left out, and each comes twice.
            let pulse = after(3_828_370 * (number + number / 25));
            pulses.take(pulse);
            pulses.take(pulse);
        }
        assert_eq!(pulses.in_words(), "50 pulses, 23.000 Hz");
        assert_eq!(pulses.period_ns(), Some(43_478_266));
    }

    #[test]
    fn a_single_pulse_and_pulse_time_0_are_said_so() {
        let mut pulses = Pulses::default();
        pulses.take(after(0));
        pulses.take(after(0));
        assert_eq!((pulses.in_words().as_str(), pulses.period_ns()), ("a single pulse time", None));
        let mut pulses = Pulses::default();
        pulses.take(EssTime::default());
        assert_eq!(pulses.in_words(), "no pulse time, pulse time 0 in 1 packets");
    }
}
