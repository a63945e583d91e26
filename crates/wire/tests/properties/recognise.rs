//! What our encoders make is recognised as what it is, and damage is told by its name.

use evforge_wire::adc_readout::{AdcEncoder, Header, RawTime};
use evforge_wire::caen::{Element, ElementType, JadaqEncoder, Record, RecordEncoder};
use evforge_wire::cncs::{Group, GroupEncoder};
use evforge_wire::ess::{EssHeader, Vmm3aFields, detector_type};
use evforge_wire::isis::{self, IsisEncoder};
use evforge_wire::numbered::NumberedHeader;
use evforge_wire::recognise::{Candidate, Certainty, Format, recognise};
use proptest::collection::vec;
use proptest::prelude::*;

fn ess(records: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let header = EssHeader { version: 1, detector_type: detector_type::FREIA, ..EssHeader::default() };
    header.write_packet(&Vmm3aFields::default().encode().repeat(records), &mut packet);
    packet
}

fn records(count: u32) -> Vec<u8> {
    let mut encoder = RecordEncoder::default();
    encoder.begin();
    for number in 0..count {
        let channel = (number * 7 % 64) as u8;
        assert!(encoder.push(&Record { digitizer: 137, channel, adc: 100, time: 50 * number }));
    }
    encoder.packet().to_vec()
}

fn jadaq(element_type: ElementType) -> Vec<u8> {
    let mut encoder = JadaqEncoder::new(element_type);
    encoder.begin(7, 1_528_800_000_000, 137, 1);
    for number in 0..3 {
        assert!(encoder.push(&Element { time: 50, channel: number, charge: 100, baseline: 0 }));
    }
    encoder.packet().to_vec()
}

fn best(packet: &[u8]) -> Candidate {
    recognise(packet).best().expect("a known format")
}

#[test]
fn packets_of_our_encoders_are_recognised() {
    let mut groups = GroupEncoder::default();
    groups.begin();
    assert!(groups.push(&Group::default()));
    let mut adc = AdcEncoder::default();
    adc.begin(&Header::default());
    assert!(adc.push_module(1, 1, RawTime::default(), &[7; 20]));
    adc.finish(5);
    let isis = |version| {
        let mut encoder = IsisEncoder::default();
        let header = isis::Header { version, gps_ns: 1_800_000_000_000_000_000, ..isis::Header::default() };
        assert!(encoder.begin(&header) && encoder.push_event(0xFF00_0001, 5));
        encoder.finish()
    };
    for (packet, format, certainty) in [
        (isis(isis::Version::V1), Format::Isis, Certainty::Strong),
        (isis(isis::Version::V2), Format::Isis, Certainty::Strong),
        (ess(3), Format::Ess, Certainty::Strong),
        (ess(0), Format::Ess, Certainty::Strong),
        (jadaq(ElementType::List422), Format::Jadaq1_3, Certainty::Strong),
        (jadaq(ElementType::List8222), Format::Jadaq1_3, Certainty::Strong),
        (jadaq(ElementType::OfJune2018), Format::JadaqOfJune2018, Certainty::Fair),
        (records(9), Format::CaenRecords, Certainty::Weak),
        (groups.packet().to_vec(), Format::Cncs, Certainty::Strong),
        (adc.packet().to_vec(), Format::AdcReadout, Certainty::Strong),
        (NumberedHeader::default().bytes().to_vec(), Format::Numbered, Certainty::Strong),
    ] {
        assert_eq!(best(&packet), Candidate { format, certainty, fault: None }, "{packet:?}");
    }
}

#[test]
fn a_signature_is_worth_more_than_none_and_a_fault_has_its_name() {
    // 32 + 4 * 20 bytes: CAEN records have as many, too.
    let packet = ess(4);
    assert_eq!(packet.len() % 8, 0);
    assert_eq!(best(&packet).format, Format::Ess);
    let mut longer = packet.clone();
    longer.push(0);
    assert_eq!(best(&longer).fault, Some("its length field is not the number of its bytes"));
    // Ones throughout: CAEN records that end a run.
    assert_eq!(best(&[0xFF; 64]).format, Format::CaenRecords);
    assert_eq!(recognise(b"no format that anyone knows").best(), None);
    assert_eq!(recognise(b"").best(), None);
}

proptest! {
    /// Any bytes have candidates in order, each once; the property with the parsers is in `fuzz/harness`.
    #[test]
    fn any_bytes_have_their_candidates_in_order(bytes in vec(any::<u8>(), 0..300)) {
        let found: Vec<_> = recognise(&bytes).iter().collect();
        prop_assert!(found.is_sorted_by(|a, b| a.certainty >= b.certainty));
    }

    /// What is cut anywhere is of the same format or of none, but never a sound packet of a signature.
    #[test]
    fn a_cut_packet_with_a_signature_is_not_sound(at in 0..112_usize) {
        let cut = &ess(4)[..at];
        let sound = recognise(cut).iter().any(|found| found.format == Format::Ess && found.fault.is_none());
        prop_assert!(!sound);
    }
}
