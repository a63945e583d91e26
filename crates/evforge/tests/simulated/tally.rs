//! How many faults of each kind the program has been given.

use std::collections::BTreeMap;
use std::fmt;

/// Counts by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(BTreeMap<String, u64>);

impl Tally {
    /// Of what happened in a run.
    pub(crate) fn of(trace: &str) -> Self {
        let mut tally = Self::default();
        for line in trace.lines() {
            let mut words = line.splitn(3, ' ').nth(2).unwrap_or_default().split(' ');
            let kind = match (words.next(), words.next(), words.next()) {
                (Some("fault"), Some(_), Some(call)) => {
                    let last = line.rsplit(": ").next().unwrap_or_default();
                    format!("{} {}", call.to_lowercase(), what(last))
                }
                (Some("signal"), Some(number), _) => format!("signal {number}"),
                (Some("clock"), _, _) => "clock set".into(),
                (Some(kind @ ("remove" | "replace")), _, Some("done")) => format!("{kind} file"),
                (Some("client"), _, Some(verb)) => format!("client {verb}"),
                _ => continue,
            };
            *tally.0.entry(kind).or_default() += 1;
        }
        tally
    }

    /// Adds what `count` packets had happen to them.
    pub(crate) fn packets(&mut self, kind: &str, count: u64) {
        *self.0.entry(format!("packets {kind}")).or_default() += count;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            *self.0.entry(kind.clone()).or_default() += count;
        }
    }

    /// All of them.
    pub(crate) fn faults(&self) -> u64 {
        self.0.values().sum()
    }
}

fn what(fault: &str) -> String {
    let number = fault.strip_prefix("Fails(").and_then(|rest| rest.strip_suffix(')'));
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => std::io::Error::from_raw_os_error(number).to_string(),
        None if fault.starts_with("Slow") => "slow".into(),
        None => fault.to_lowercase(),
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(kind, count)| writeln!(f, "{count:>9}  {kind}"))
    }
}
