//! The formats of capture files: how they are told apart.

use std::path::Path;

use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::pkts::Pkts;
use super::record::{Fault, Record};
use super::window::Window;

/// The format of an open file and what must be remembered between its records.
#[derive(Debug)]
pub(super) enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Pkts(Pkts),
}

impl Format {
    /// Recognises the format by the first bytes, or `.pkts` by the name, and reads the file header.
    pub(super) fn recognise(path: &Path, window: &mut Window) -> Result<Self, Fault> {
        window.require(4).map_err(Fault::Read)?;
        let first_bytes = window.bytes();
        if Pcap::begins(first_bytes) {
            Pcap::open(window).map(Self::Pcap)
        } else if Pcapng::begins(first_bytes) {
            Ok(Self::Pcapng(Pcapng::default()))
        } else if path.extension().is_some_and(|name| name.eq_ignore_ascii_case("pkts")) {
            Ok(Self::Pkts(Pkts))
        } else {
            Err(Fault::Unrecognised)
        }
    }

    /// Brings the next record into the window and returns how long it is; none at the end of the file.
    pub(super) fn next_record(&self, window: &mut Window) -> Result<Option<usize>, Fault> {
        match self {
            Self::Pcap(pcap) => pcap.next_record(window),
            Self::Pcapng(pcapng) => pcapng.next_record(window),
            Self::Pkts(pkts) => pkts.next_record(window),
        }
    }

    /// What the record says. A record that is not a packet may be decoded only once.
    pub(super) fn decode<'a>(&mut self, record: &'a [u8]) -> Result<Record<'a>, Fault> {
        match self {
            Self::Pcap(pcap) => pcap.decode(record),
            Self::Pcapng(pcapng) => pcapng.decode(record),
            Self::Pkts(pkts) => Ok(pkts.decode(record)),
        }
    }
}
