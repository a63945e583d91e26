//! What the reports of all senders have in common.

use evforge_core::whole_file;
use evforge_net::departure_counters::DepartureCounters;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How late packets were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentLateness {
    /// On average, in nanoseconds.
    pub mean_ns: u64,
    /// What 99 % of the packets did not exceed, to about 3 %.
    pub p99_ns: u64,
    /// At most.
    pub largest_ns: u64,
}

/// What the sender's host lost meanwhile; other programs' packets are in the counts as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentLosses {
    /// UDP datagrams taken and not sent (Udp SndbufErrors): the queue of the interface was full.
    pub send_buffer_errors: u64,
    /// The interface; none if it could not be found.
    pub interface: Option<String>,
    /// Frames that its driver dropped (TX dropped).
    pub interface_dropped: u64,
    /// Frames that it could not send (TX errs).
    pub interface_errors: u64,
}

impl SentLosses {
    pub(super) fn new(interface: Option<String>, counted: &DepartureCounters) -> Self {
        Self {
            send_buffer_errors: counted.send_buffer_errors,
            interface,
            interface_dropped: counted.interface_dropped,
            interface_errors: counted.interface_errors,
        }
    }

    /// All together: no packet is in two of them.
    pub fn sum(&self) -> u64 {
        self.send_buffer_errors.saturating_add(self.interface_dropped).saturating_add(self.interface_errors)
    }
}

/// Reads the report of a sender, which is of this command; `advice` is what to do about another file.
///
/// # Errors
/// If the file cannot be read or is none, in words that say what to do.
pub(super) fn read_report<R: DeserializeOwned>(
    path: &Path,
    command: &str,
    advice: &str,
) -> Result<R, String> {
    let text = whole_file::text(path, whole_file::RESULTS).map_err(|error| {
        format!(
            "the sender's report {} cannot be read: {error} ({command} --report FILE writes it at its end)",
            path.display()
        )
    })?;
    serde_json::from_str(&text)
        .map_err(|error| format!("{} is no report of {command}: {error}{advice}", path.display()))
}

/// A report as JSON, with a line end.
pub(super) fn report_json(report: &impl Serialize) -> String {
    // Numbers, texts and addresses are always valid JSON.
    serde_json::to_string_pretty(report).unwrap_or_default() + "\n"
}
