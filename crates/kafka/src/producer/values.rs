//! Numbers for a control system, as da00 with names that stay the same: totals and rates of sources and monitors.
//!
//! One message per value and second: `signal` (the value), `start_time` (when the run began: a new one means that
//! counting has started over), `end_time` (now). All times in nanoseconds since 1970.

use evforge_messages::da00::Variable;
use evforge_messages::{Da00, Encoder};
use std::time::Duration;

/// A value, with its name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) value: f64,
}

impl Value {
    pub(super) fn encode<'e>(&self, encoder: &'e mut Encoder, start_ns: i64, now_ns: i64) -> &'e [u8] {
        let (value, start, end) = ([self.value], [start_ns], [now_ns]);
        let data = vec![
            Variable::single("signal", Some(self.unit), &value),
            Variable::single("start_time", Some("ns"), &start),
            Variable::single("end_time", Some("ns"), &end),
        ];
        Da00 { source_name: &self.name, timestamp: now_ns, data }.encode(encoder)
    }
}

/// Totals, and rates from the totals of the last time.
#[derive(Debug, Default)]
pub(super) struct Rates {
    before: Vec<f64>,
    at: Option<Duration>,
}

impl Rates {
    /// The totals (name, unit, value) and their rates.
    pub(super) fn with_rates(&mut self, totals: &[(String, f64)], now: Duration) -> Vec<Value> {
        let seconds = self.at.map(|at| now.saturating_sub(at).as_secs_f64()).filter(|&seconds| seconds > 0.0);
        let mut values = Vec::with_capacity(2 * totals.len());
        for (index, (name, total)) in totals.iter().enumerate() {
            values.push(Value { name: format!("{name}/counts"), unit: "counts", value: *total });
            if let (Some(seconds), Some(before)) = (seconds, self.before.get(index)) {
                let value = (total - before) / seconds;
                values.push(Value { name: format!("{name}/rate"), unit: "Hz", value });
            }
        }
        self.before = totals.iter().map(|(_, total)| *total).collect();
        self.at = Some(now);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_differences_per_second() {
        let mut rates = Rates::default();
        let first = rates.with_rates(&[("a".into(), 10.0)], Duration::from_secs(1));
        assert_eq!(first.len(), 1);
        let second = rates.with_rates(&[("a".into(), 30.0)], Duration::from_secs(3));
        assert_eq!(second[1], Value { name: "a/rate".into(), unit: "Hz", value: 10.0 });
        // Asked twice at one moment, there is no rate, and no infinite one.
        assert_eq!(rates.with_rates(&[("a".into(), 30.0)], Duration::from_secs(3)).len(), 1);
    }
}
