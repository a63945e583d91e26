//! What a sender says it has sent: a file that the receiver takes.

use crate::link::sent::{SentLateness, SentLosses, read_report, report_json};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::Path;

/// What was asked for and what was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentReport {
    /// Where to.
    pub destination: SocketAddr,
    /// Sizes of the packets, as text.
    pub sizes: String,
    /// The mean rate asked for, as text; none: as fast as possible.
    pub asked: Option<String>,
    /// Packets made, those that a provoked fault lost included.
    pub packets: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Datagrams given to the kernel, after all provoked faults.
    pub datagrams: u64,
    /// Provoked faults, as text.
    pub faults: Vec<String>,
    /// True if runs of equally long packets were given to the kernel in one piece (UDP_SEGMENT).
    pub segmented: bool,
    /// True if they left by AF_XDP.
    #[serde(default)]
    pub by_xdp: bool,
    /// Seconds from the start to the end of the last call of the kernel.
    pub elapsed_s: f64,
    /// When the last packet was due, in seconds after the start; none without a rate.
    pub scheduled_s: Option<f64>,
    /// Packets per second achieved.
    pub packets_per_second: f64,
    /// Bits of UDP payload per second achieved.
    pub bits_per_second: f64,
    /// How late packets were given to the kernel; none without a rate.
    pub lateness: Option<SentLateness>,
    /// The pulses; none without.
    pub pulses: Option<SentPulses>,
    /// How often the other side said that nobody listens; these datagrams count as sent.
    pub refused: u64,
    /// What the sender's host says it lost.
    pub losses: SentLosses,
    /// The flows.
    pub flows: Vec<SentFlow>,
}

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentFlow {
    /// Its number in the headers.
    pub flow: u16,
    /// Where from.
    pub source: SocketAddr,
    /// Packets made, those that a provoked fault lost included.
    pub packets: u64,
    /// Their payload bytes.
    pub bytes: u64,
}

/// Pulses asked for and sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentPulses {
    /// Pulses in a second.
    pub frequency_hz: f64,
    /// The rate in a pulse over the mean rate, as asked for.
    pub peak_factor: f64,
    /// Pulses begun.
    pub count: u64,
    /// Packets per second in the pulses, achieved: all packets over the time from the beginning of each pulse to the end of the
    /// last call of the kernel for it.
    pub peak_packets_per_second: f64,
    /// Bits of UDP payload per second in the pulses, achieved.
    pub peak_bits_per_second: f64,
    /// The rate in the pulses over the mean rate asked for.
    pub peak_factor_achieved: f64,
}

impl SentReport {
    /// Reads a sender's report.
    ///
    /// # Errors
    /// If the file cannot be read or is none, in words that say what to do.
    pub fn read(path: &Path) -> Result<Self, String> {
        read_report(path, "evforge send", " (give --sent the file of --report)")
    }

    /// The share of the rate asked for that was achieved: the time that the packets were to take over the time that they took.
    /// None without a rate, or if all packets were due at once.
    pub fn share_achieved(&self) -> Option<f64> {
        let scheduled = self.scheduled_s.filter(|&scheduled| scheduled > 0.0)?;
        Some(scheduled / self.elapsed_s.max(1e-9))
    }

    /// As JSON, with a line end.
    pub fn json(&self) -> String {
        report_json(self)
    }
}
