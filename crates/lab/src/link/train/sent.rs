//! What a sender of trains says it has sent.

use crate::link::sent::{SentLateness, SentLosses, read_report, report_json};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

/// What was sent of all modules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentReport {
    /// One entry for each module.
    pub modules: Vec<SentModule>,
    /// What the sender's host says it lost of all it sent meanwhile.
    pub losses: SentLosses,
}

/// What was sent of one module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentModule {
    /// Its number: the link of the detector in the headers.
    pub module: u32,
    /// Images in a train.
    pub images: u32,
    /// Bytes of an image.
    pub image_bytes: usize,
    /// Bytes of a train in each packet but the last.
    pub data_bytes: usize,
    /// Packets made of a train.
    pub packets_per_train: u32,
    /// Number of the first train.
    pub first_train: u64,
    /// Step of the numbers from one train to the next.
    pub stride: u64,
    /// Number of the first frame.
    pub first_frame: u32,
    /// What was made, and which faults, by the names of the counters of `evforge_train::generate::SentCounters`.
    pub counters: BTreeMap<String, u64>,
    /// The nodes, in the order in which trains are dealt.
    pub nodes: Vec<SentNode>,
    /// Seconds from the start to the end of the last call of the kernel.
    pub seconds: f64,
    /// Datagrams per second reached.
    pub packets_per_second: f64,
    /// Bits of UDP payload per second reached.
    pub bits_per_second: f64,
    /// True if the rate asked for is too low for the trains: the packets of a train take longer than there is until the next one.
    pub is_too_slow: bool,
    /// How late packets were given to the kernel; none if there were no packets.
    pub lateness: Option<SentLateness>,
}

/// What was sent to one node by one module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentNode {
    /// Where to.
    pub destination: SocketAddr,
    /// Where from.
    pub source: SocketAddr,
    /// UDP datagrams given to the kernel.
    pub datagrams: u64,
    /// Their UDP payload bytes.
    pub datagram_bytes: u64,
    /// How often the other side said that nobody listens; these datagrams count as sent.
    pub refused: u64,
    /// Datagrams that the network interface has taken from AF_XDP and dropped; they count as sent, and never arrive.
    pub dropped: u64,
}

impl SentModule {
    /// A counter by its name; 0 if there is none of that name.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}

impl SentReport {
    /// Reads a sender's report.
    ///
    /// # Errors
    /// If the file cannot be read or is none, in words that say what to do.
    pub fn read(path: &Path) -> Result<Self, String> {
        read_report(path, "evforge train send", "")
    }

    /// As JSON, with a line end.
    pub fn json(&self) -> String {
        report_json(self)
    }
}
