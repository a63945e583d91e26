//! Packets of the ESS readout: which records they carry, decoded by evforge or not.

use super::candidates::{Candidates, Certainty, Format};
use crate::ess::{
    EssPacket, HeaderFault, HeaderRelaxations, HeaderRules, R5560_RECORD, RECORD, detector_type as types,
};

/// What the records of a packet are. The lengths that they state decide, and the type only between records of the same
/// length: LET sends VMM3a records under the type of LOKI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EssRecords {
    /// No records: a heartbeat.
    None,
    /// VMM3a, 20 bytes.
    Vmm3a,
    /// Beam monitors, 20 bytes.
    BeamMonitors,
    /// He-3 tubes with CAEN R5560, 24 bytes.
    R5560,
    /// CDT, 16 bytes. Not decoded.
    Cdt,
    /// SKADI with SoNDe modules, 20 bytes. Not decoded.
    Skadi,
    /// Something else.
    Unknown,
}

impl EssRecords {
    /// Their name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "heartbeats only",
            Self::Vmm3a => "VMM3a records of 20 bytes",
            Self::BeamMonitors => "beam-monitor records of 20 bytes",
            Self::R5560 => "CAEN R5560 records of 24 bytes (He-3 tubes)",
            Self::Cdt => "CDT records of 16 bytes",
            Self::Skadi => "SKADI records of 20 bytes",
            Self::Unknown => "records of an unknown kind",
        }
    }

    /// Whether evforge decodes them.
    pub fn are_decoded(self) -> bool {
        matches!(self, Self::Vmm3a | Self::BeamMonitors | Self::R5560)
    }
}

/// A packet of the ESS readout as it is, whatever rules it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EssLook<'a> {
    /// Header and payload; `relaxed` has the rules that were broken, but that of the type.
    pub packet: EssPacket<'a>,
    /// What the records are.
    pub records: EssRecords,
    /// Whether the records state their length in bits.
    pub length_in_bits: bool,
    /// Whether the header states 8 bytes more than the packet has, as boards do that give lengths in bits.
    pub header_counts_udp: bool,
}

/// Header and records of a packet of the ESS readout.
///
/// # Errors
/// The first rule that no configuration can relax.
pub fn look_at_ess(bytes: &[u8]) -> Result<EssLook<'_>, HeaderFault> {
    let detector_type = bytes.get(5).copied().unwrap_or(0);
    // How far pulses are apart is broken only where the pulse comes before the previous one.
    let rules =
        HeaderRules { relaxed: HeaderRelaxations::ALL, ..HeaderRules::strict(detector_type, u64::MAX) };
    let packet = EssPacket::parse(bytes, &rules)?;
    let header_counts_udp = packet.relaxed.contains(HeaderRelaxations::LENGTH);
    let (records, length_in_bits) = records(packet.detector_type, packet.payload);
    // Both go together: else it is a packet that lacks its last 8 bytes.
    if header_counts_udp && !length_in_bits && records != EssRecords::None {
        return Err(HeaderFault::Length);
    }
    Ok(EssLook { packet, records, length_in_bits, header_counts_udp })
}

/// What the records are, and whether they state their length in bits.
fn records(detector_type: u8, payload: &[u8]) -> (EssRecords, bool) {
    if payload.is_empty() {
        return (EssRecords::None, false);
    }
    // The length that most records state; some may lie.
    let sizes =
        [(RECORD, of_20_bytes(detector_type)), (R5560_RECORD, EssRecords::R5560), (16, EssRecords::Cdt)];
    let agreeing = sizes.map(|(size, records)| {
        let stated = |factor| {
            let chunks = payload.chunks_exact(size);
            chunks.filter(|record| record[2..4] == ((factor * size) as u16).to_le_bytes()).count()
        };
        let (bytes, bits) = (stated(1), stated(8));
        (size * (bytes + bits), records, bits > bytes)
    });
    match agreeing.into_iter().max_by_key(|(bytes, ..)| *bytes) {
        Some((bytes, records, in_bits)) if 2 * bytes >= payload.len() => (records, in_bits),
        _ => (EssRecords::Unknown, false),
    }
}

fn of_20_bytes(detector_type: u8) -> EssRecords {
    match detector_type {
        types::CBM | types::BEER => EssRecords::BeamMonitors,
        types::SKADI => EssRecords::Skadi,
        _ => EssRecords::Vmm3a,
    }
}

/// What a fault of the header is, in words.
fn in_words(fault: HeaderFault) -> &'static str {
    match fault {
        HeaderFault::Empty | HeaderFault::Size => "too short for its header, or too long",
        HeaderFault::Padding => "its first byte is not 0",
        HeaderFault::Version => "an unknown header version",
        HeaderFault::Cookie => "no letters ESS",
        HeaderFault::Length => "its length field is not the number of its bytes",
        HeaderFault::Type => "another type",
        HeaderFault::OutputQueue => "an impossible output queue",
        HeaderFault::TimeSource(_) => "times that are not to be trusted",
        HeaderFault::TimeFraction => "an impossible pulse time",
        HeaderFault::PulseDistance => "pulses too far apart",
    }
}

pub(super) fn add(bytes: &[u8], candidates: &mut Candidates) {
    match look_at_ess(bytes) {
        Ok(_) => candidates.add(Format::Ess, Certainty::Strong, None),
        // Before the letters nothing speaks for this format.
        Err(HeaderFault::Empty | HeaderFault::Padding | HeaderFault::Version | HeaderFault::Cookie) => {}
        Err(HeaderFault::Size) if !has_letters(bytes) => {}
        Err(fault) => candidates.add(Format::Ess, Certainty::Strong, Some(in_words(fault))),
    }
}

/// Whether the letters are where the header has them.
fn has_letters(bytes: &[u8]) -> bool {
    bytes.get(2..5) == Some(b"ESS")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ess::{EssHeader, MonitorFields, R5560Fields, Vmm3aFields};

    fn packet(detector_type: u8, version: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        EssHeader { version, detector_type, time_source: 1, ..EssHeader::default() }
            .write_packet(payload, &mut packet);
        packet
    }

    #[test]
    fn records_are_told_by_the_length_that_they_state() {
        let vmm = Vmm3aFields::default().encode();
        let bits = Vmm3aFields { length: 160, ..Vmm3aFields::default() }.encode();
        let tube = R5560Fields::default().encode();
        let cdt = [[0, 0, 16, 0], [0; 4], [0; 4], [0; 4]].concat();
        for (detector_type, payload, records, in_bits) in [
            (types::LOKI, vmm.to_vec(), EssRecords::Vmm3a, false),
            // 120 bytes: five records of one kind or six of the other.
            (types::LOKI, vmm.repeat(6), EssRecords::Vmm3a, false),
            (types::LOKI, tube.repeat(5), EssRecords::R5560, false),
            (types::TBL3HE, tube.to_vec(), EssRecords::R5560, false),
            (types::BIFROST, tube.repeat(372), EssRecords::R5560, false),
            (types::MIRACLES, [&tube.repeat(2)[..], &[9; 10]].concat(), EssRecords::R5560, false),
            (
                types::CSPEC,
                [tube, R5560Fields { length: 25, ..Default::default() }.encode()].concat(),
                EssRecords::R5560,
                false,
            ),
            (types::CSPEC, Vec::new(), EssRecords::None, false),
            (types::DREAM, cdt.repeat(5), EssRecords::Cdt, false),
            (types::SKADI, vmm.to_vec(), EssRecords::Skadi, false),
            (types::CBM, MonitorFields::default().encode().to_vec(), EssRecords::BeamMonitors, false),
            (types::FREIA, bits.repeat(3), EssRecords::Vmm3a, true),
            (types::FREIA, vec![7; 20], EssRecords::Unknown, false),
            (types::FREIA, Vec::new(), EssRecords::None, false),
        ] {
            for version in [0, 1] {
                let packet = packet(detector_type, version, &payload);
                let look = look_at_ess(&packet).expect("a sound header");
                assert_eq!((look.records, look.length_in_bits), (records, in_bits), "{payload:?}");
                assert!(!look.header_counts_udp && look.packet.payload == payload);
            }
        }
    }

    #[test]
    fn a_header_may_state_the_length_of_udp_and_nothing_else() {
        let bits = Vmm3aFields { length: 160, ..Vmm3aFields::default() }.encode();
        for version in [0, 1] {
            let mut changed = packet(types::FREIA, version, &bits.repeat(3));
            let length = changed.len() as u16;
            changed[6..8].copy_from_slice(&(length + 8).to_le_bytes());
            let look = look_at_ess(&changed).expect("the length of UDP");
            assert!(look.header_counts_udp && look.length_in_bits);
            assert_eq!((look.packet.payload.len(), look.packet.version), (60, version));
            changed[6..8].copy_from_slice(&(length + 7).to_le_bytes());
            assert_eq!(look_at_ess(&changed), Err(HeaderFault::Length));
        }
        // Lengths in bytes, 8 of which are cut off.
        let packet = packet(types::FREIA, 1, &Vmm3aFields::default().encode().repeat(4));
        assert_eq!(look_at_ess(&packet[..packet.len() - 8]), Err(HeaderFault::Length));
    }
}
