//! A value with its declaration: what every format is made of.

use crate::metric::{Kind, Metric};
use evforge_core::counter::{CounterInfo, Unit};
use std::borrow::Cow;
use std::fmt;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Whole(u64),
    /// Any other number.
    Real(f64),
    /// A number of millionths, written exactly: microseconds as seconds.
    Millionths(u64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => write!(f, "{value}"),
            Self::Real(value) if value.is_finite() => write!(f, "{value}"),
            // As Prometheus writes it; Graphite never gets it.
            Self::Real(value) if value.is_nan() => f.write_str("NaN"),
            Self::Real(value) => f.write_str(if *value > 0.0 { "+Inf" } else { "-Inf" }),
            Self::Millionths(value) => write!(f, "{}.{:06}", value / 1_000_000, value % 1_000_000),
        }
    }
}

impl Value {
    /// True of all but what is no number.
    pub fn is_finite(self) -> bool {
        !matches!(self, Self::Real(value) if !value.is_finite())
    }
}

/// A value, and what is declared of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What it belongs to: a stage of the run, or the group of a metric.
    pub group: Cow<'static, str>,
    /// Its name there.
    pub name: Cow<'static, str>,
    /// Its unit, if it has one.
    pub unit: Option<&'static str>,
    /// What its values do.
    pub kind: Kind,
    /// One sentence for people.
    pub help: Cow<'static, str>,
    /// What tells it apart from others of its name: `("output", "nexus")`.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Value,
}

impl Reading {
    /// A value of a counter that is declared with a stage.
    pub fn of_counter(stage: &'static str, info: &'static CounterInfo, value: u64) -> Self {
        let time = info.unit == Unit::Microseconds;
        Self {
            group: stage.into(),
            name: info.name.into(),
            unit: unit(info.unit),
            kind: if info.is_cumulative() { Kind::Counter } else { Kind::Gauge },
            help: info.help.into(),
            labels: Vec::new(),
            value: if time { Value::Millionths(value) } else { Value::Whole(value) },
        }
    }

    /// A value of a metric.
    pub fn of(metric: &Metric, labels: &[&str], value: Value) -> Self {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
        let labels = metric.labels.iter().copied().zip(labels.iter().map(|&label| label.to_owned()));
        Self {
            group: metric.group.into(),
            name: metric.name.into(),
            unit: metric.unit,
            kind: metric.kind,
            help: metric.help.into(),
            labels: labels.collect(),
            value,
        }
    }

    /// The same with a further label.
    #[must_use]
    pub fn with(mut self, label: &'static str, value: &str) -> Self {
        self.labels.push((label, value.to_owned()));
        self
    }

    /// Its name for Prometheus, without `_total`: `evforge_`, group, name, and the unit unless the name has it already.
    pub fn family(&self) -> String {
        family(&self.group, &self.name, self.unit)
    }

    /// Its name for Graphite behind the prefix: group, labels, name, with a dot in between.
    pub fn path(&self) -> String {
        let mut path = in_path(&self.group);
        for (_, label) in &self.labels {
            path.push('.');
            path.push_str(&in_path(label));
        }
        path.push('.');
        path.push_str(&in_path(&self.name));
        path
    }
}

/// The name of a counter of a stage for Prometheus, as it is in queries.
pub fn counter_family(stage: &str, info: &CounterInfo) -> String {
    let total = if info.is_cumulative() { "_total" } else { "" };
    family(stage, info.name, unit(info.unit)) + total
}

impl Metric {
    /// Its name in queries to Prometheus.
    pub fn query_name(&self) -> String {
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        family(self.group, self.name, self.unit) + total
    }
}

/// The name of a family for Prometheus, without `_total`.
pub(crate) fn family(group: &str, name: &str, unit: Option<&str>) -> String {
    let mut family = format!("evforge_{group}_{name}");
    if let Some(unit) = unit.filter(|unit| name.split('_').all(|word| word != *unit)) {
        family.push('_');
        family.push_str(unit);
    }
    family.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// The unit of a counter; none for what is only counted.
pub(crate) fn unit(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::Times => None,
        Unit::Microseconds => Some("seconds"),
        unit => Some(unit.name()),
    }
}

/// A word of a path: carbon makes folders and files of it, so that letters, digits, `_` and `-` are what is left, in small
/// letters, and at most 80 of them.
pub(crate) fn in_path(word: &str) -> String {
    let safe = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' => c.to_ascii_lowercase(),
        _ => '_',
    };
    let path: String = word.trim().chars().take(80).map(safe).collect();
    if path.is_empty() { "_".to_owned() } else { path }
}

/// Readings that have labels in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The labels.
    pub labels: Vec<(&'static str, String)>,
    /// The readings.
    pub readings: Vec<Reading>,
}

impl Section {
    /// Those of a run: `stream` is the instrument, `detector` the name of its section in the configuration.
    pub fn of_run(stream: &str, detector: &str, readings: Vec<Reading>) -> Self {
        let labels = vec![("stream", stream.to_owned()), ("detector", detector.to_owned())];
        Self { labels, readings }
    }

    /// Those of the host and the process, which have nothing in common.
    pub fn of_host(readings: Vec<Reading>) -> Self {
        Self { labels: Vec::new(), readings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::counter::CounterSet;

    evforge_core::counters! {
        /// A stage.
        struct Stage: "stage" {
            lost: Information, Packets, "Lost.";
            packets_cut: Discarded(Packets), Packets, "Cut.";
            held: Held(Hits), Hits, "Held.";
            waits: Information, Times, "Waits.";
            delay: Information, Microseconds, "Delay.";
        }
    }

    #[test]
    fn names_have_the_unit_once() {
        let names: Vec<(String, String, Kind)> = Stage::infos()
            .iter()
            .map(|info| Reading::of_counter("AF_XDP ring", info, 0))
            .map(|reading| (reading.family(), reading.path(), reading.kind))
            .collect();
        let expected = [
            ("evforge_af_xdp_ring_lost_packets", "af_xdp_ring.lost", Kind::Counter),
            ("evforge_af_xdp_ring_packets_cut", "af_xdp_ring.packets_cut", Kind::Counter),
            ("evforge_af_xdp_ring_held_hits", "af_xdp_ring.held", Kind::Gauge),
            ("evforge_af_xdp_ring_waits", "af_xdp_ring.waits", Kind::Counter),
            ("evforge_af_xdp_ring_delay_seconds", "af_xdp_ring.delay", Kind::Gauge),
        ];
        let expected: Vec<_> =
            expected.into_iter().map(|(family, path, kind)| (family.into(), path.into(), kind)).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn paths_have_no_dots_blanks_or_slashes_of_labels() {
        let reading = Reading::of_counter("stage", &Stage::infos()[0], 1).with("source", "FEC 1/../a.b\n");
        assert_eq!(reading.path(), "stage.fec_1____a_b.lost");
        assert_eq!(in_path(""), "_");
    }

    #[test]
    fn microseconds_are_written_as_seconds_exactly() {
        assert_eq!(Value::Millionths(u64::MAX).to_string(), "18446744073709.551615");
        assert_eq!(Value::Millionths(1_000_001).to_string(), "1.000001");
        assert_eq!(Value::Real(f64::INFINITY).to_string(), "+Inf");
    }
}
