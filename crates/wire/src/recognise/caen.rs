//! Packets of CAEN digitisers. Records have no signature at all, jadaq of June 2018 next to none.

use super::candidates::{Candidates, Certainty, Format};
use crate::caen::{CHANNELS, JadaqPacket, JadaqVersion, RecordPacket, Rejection};

pub(super) fn add(bytes: &[u8], candidates: &mut Candidates) {
    match JadaqPacket::parse(bytes, JadaqVersion::V1_3) {
        Ok(_) => candidates.add(Format::Jadaq1_3, Certainty::Strong, None),
        Err(Rejection::Waveform(_)) => {
            candidates.add(Format::Jadaq1_3, Certainty::Fair, Some("elements with a waveform"));
        }
        Err(Rejection::RaggedLength) => {
            candidates.add(
                Format::Jadaq1_3,
                Certainty::Fair,
                Some("not as many elements as its header says"),
            );
        }
        // The version alone is 16 bits that may be anything.
        Err(_) => {}
    }
    if let Ok(packet) = JadaqPacket::parse(bytes, JadaqVersion::OfJune2018)
        && packet.elements().all(|element| usize::from(element.channel) < CHANNELS)
    {
        let certainty = if packet.is_empty() { Certainty::Weak } else { Certainty::Fair };
        candidates.add(Format::JadaqOfJune2018, certainty, None);
    }
    if let Ok(packet) = RecordPacket::parse(bytes)
        && packet.records().all(|record| record.is_end_of_run() || usize::from(record.channel) < CHANNELS)
    {
        candidates.add(Format::CaenRecords, Certainty::Weak, None);
    }
}
