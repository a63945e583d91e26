//! What a sender says it has sent: a file that the receiver's verification can take.

use crate::link::sent::{SentLosses, read_report, report_json};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::Path;

/// What was sent in all streams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentReport {
    /// One entry for each stream.
    pub streams: Vec<SentStream>,
    /// What the sender's host says it lost of all it sent meanwhile.
    #[serde(default)]
    pub losses: SentLosses,
}

/// What was sent in one stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentStream {
    /// Where to; its port names the stream.
    pub destination: SocketAddr,
    /// Where from.
    pub source: SocketAddr,
    /// Layout of the header, as text.
    pub layout: String,
    /// Order of the identifiers, as text.
    pub order: String,
    /// Order of the words, as text.
    pub pattern: String,
    /// The first identifier, before its order was applied.
    pub first_identifier: u64,
    /// The data generators.
    pub generators: Vec<SentGenerator>,
    /// Packets made, those that a provoked fault lost included.
    pub packets: u64,
    /// Payload bytes made, those that a provoked fault lost included, headers not.
    pub payload_bytes: u64,
    /// UDP datagrams given to the kernel, after all provoked faults.
    pub datagrams: u64,
    /// Their UDP payload bytes, headers of the stream included.
    pub datagram_bytes: u64,
    /// Provoked faults, as text.
    pub faults: Vec<String>,
    /// The rate asked for, as text; none if as fast as possible.
    pub asked_rate: Option<String>,
    /// Seconds from the first packet to the end of the last call of the kernel.
    pub seconds: f64,
    /// Datagrams per second reached.
    pub packets_per_second: f64,
    /// Bits of UDP payload per second reached.
    pub bits_per_second: f64,
    /// How often the other side said that nobody listens; these datagrams count as sent.
    pub refused: u64,
    /// Datagrams that the network interface has taken from AF_XDP and dropped; they count as sent, and never arrive.
    #[serde(default)]
    pub dropped: u64,
    /// How late packets were on average, in nanoseconds; none without a schedule.
    pub mean_lateness_ns: Option<u64>,
    /// How late the latest packet was, in nanoseconds; none without a schedule.
    pub largest_lateness_ns: Option<u64>,
}

/// One data generator of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentGenerator {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Largest payload of a packet.
    pub packet_bytes: usize,
    /// Payload bytes made.
    pub bytes: u64,
}

impl SentReport {
    /// Reads a sender's report.
    ///
    /// # Errors
    /// If the file cannot be read or is none, in words that say what to do.
    pub fn read(path: &Path) -> Result<Self, String> {
        read_report(path, "evforge drop send", "")
    }

    /// The stream to this port.
    pub fn stream(&self, port: u16) -> Option<&SentStream> {
        self.streams.iter().find(|stream| stream.destination.port() == port)
    }

    /// As JSON, with a line end.
    pub fn json(&self) -> String {
        report_json(self)
    }
}
