//! Packets of any format, whose format is to be found.

use evforge_wire::adc_readout::AdcPacket;
use evforge_wire::caen::{JadaqPacket, JadaqVersion, RecordPacket};
use evforge_wire::cncs::groups;
use evforge_wire::drop::{DropLayout, DropPacket};
use evforge_wire::ess::{EssPacket, HeaderRelaxations, HeaderRules};
use evforge_wire::isis::{Messages, Rules};
use evforge_wire::mesytec::Datagram;
use evforge_wire::numbered::NumberedHeader;
use evforge_wire::recognise::{Format, look_at_ess, recognise as formats_of};
use evforge_wire::sonde::SondePacket;
use evforge_wire::srs_vmm::{Vmm2Packet, Vmm3Packet, Vmm3Variant};

/// Finds the formats of `bytes`.
///
/// # Panics
/// If a format is named twice or after a less certain one, or if the parser of a format refuses what is said to be sound.
pub fn recognise(bytes: &[u8]) {
    let found: Vec<_> = formats_of(bytes).iter().collect();
    for pair in found.windows(2) {
        assert!(pair[0].certainty >= pair[1].certainty, "{found:?}");
    }
    for (index, candidate) in found.iter().enumerate() {
        assert!(found[..index].iter().all(|other| other.format != candidate.format), "{found:?}");
        assert!(candidate.fault.is_some() || is_read(candidate.format, bytes), "{candidate:?}");
    }
    if let Ok(look) = look_at_ess(bytes) {
        assert!(bytes.ends_with(look.packet.payload));
        let (detector_type, relaxed) = (look.packet.detector_type, HeaderRelaxations::ALL);
        let rules = HeaderRules { relaxed, ..HeaderRules::strict(detector_type, u64::MAX) };
        assert_eq!(EssPacket::parse(bytes, &rules), Ok(look.packet));
    }
}

fn is_read(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Ess => look_at_ess(bytes).is_ok(),
        Format::SrsVmm2 => Vmm2Packet::parse(bytes).is_ok(),
        Format::SrsVmm3Of2018 => Vmm3Packet::parse(bytes, Vmm3Variant::Of2018).is_ok(),
        Format::SrsVmm3a => Vmm3Packet::parse(bytes, Vmm3Variant::Vmm3a).is_ok(),
        Format::Mesytec => Datagram::parse(bytes).is_ok(),
        Format::Cncs => groups(bytes).next().is_some(),
        Format::CaenRecords => RecordPacket::parse(bytes).is_ok(),
        Format::JadaqOfJune2018 => JadaqPacket::parse(bytes, JadaqVersion::OfJune2018).is_ok(),
        Format::Jadaq1_3 => JadaqPacket::parse(bytes, JadaqVersion::V1_3).is_ok(),
        Format::Sonde => SondePacket::parse(bytes).is_ok(),
        Format::AdcReadout => AdcPacket::parse(bytes).is_ok(),
        Format::Isis => {
            let mut messages = Messages::new(bytes, Rules::default()).peekable();
            messages.peek().is_some() && messages.all(|message| message.is_ok())
        }
        Format::Numbered => NumberedHeader::parse(bytes).is_ok(),
        Format::DropP1 => DropPacket::parse(&DropLayout::P1, bytes).is_ok(),
    }
}
