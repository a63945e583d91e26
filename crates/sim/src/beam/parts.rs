//! Parts of pulses: what a beam of many neutrons is simulated in, because all of a pulse would not fit into memory.

use std::ops::Range;

/// Parts of pulses that are spread evenly over the time between two pulses. Each pulse has neutrons during one of them
/// only, at the rate that it has there, so that as many pulses as there are parts have the same share of every rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// How many there are.
    pub count: u64,
    /// How long each is, in picoseconds.
    pub length_ps: u64,
    /// Instead: the same part of every pulse, around so many picoseconds since its start.
    pub around_ps: Option<u64>,
}

impl Parts {
    /// The part that a pulse has, counted from 0: picoseconds since its start. `period_ps` lie between two pulses.
    pub fn of_pulse(&self, pulse: u64, period_ps: u64) -> Range<u64> {
        let count = self.count.max(1);
        let middle = u128::from(period_ps) * u128::from(2 * (pulse % count) + 1) / u128::from(2 * count);
        let middle = self.around_ps.unwrap_or(middle as u64);
        let start = middle.saturating_sub(self.length_ps / 2);
        start..start.saturating_add(self.length_ps).min(period_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_spread_evenly_and_come_again() {
        let parts = Parts { count: 4, length_ps: 10, around_ps: None };
        let found: Vec<_> = (0..5).map(|pulse| parts.of_pulse(pulse, 400)).collect();
        assert_eq!(found, [45..55, 145..155, 245..255, 345..355, 45..55]);
        let long = Parts { count: 2, length_ps: 1000, around_ps: None };
        assert_eq!([long.of_pulse(0, 400), long.of_pulse(1, 400)], [0..400, 0..400]);
        let same = Parts { around_ps: Some(60), ..parts };
        assert_eq!([same.of_pulse(0, 400), same.of_pulse(1, 400)], [55..65, 55..65]);
    }
}
