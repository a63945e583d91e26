//! Streams are told apart and decided by the majority of their packets, whatever else is between them; every packet is
//! counted once, and memory is bounded.

use evforge_core::packet::{ArrivalClock, Packet, PacketOrigin};
use evforge_inspect::skeleton::skeletons;
use evforge_inspect::survey::{Findings, MOST_STREAMS, Survey};
use evforge_wire::caen::{Element, ElementType, JadaqEncoder, Record, RecordEncoder};
use evforge_wire::ess::{EssHeader, R5560Fields, Vmm3aFields, detector_type};
use evforge_wire::srs_vmm::Vmm2Encoder;
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A packet from the host of this number.
fn packet(bytes: &[u8], host: u32, port: u16) -> Packet<'_> {
    let source = SocketAddr::new(IpAddr::V4(Ipv4Addr::from(0x0A00_0000 + host)), 4000);
    let origin =
        PacketOrigin { source, destination_port: port, arrival_ns: 0, arrival_clock: ArrivalClock::None };
    Packet { bytes, original_length: bytes.len() as u32, origin }
}

fn survey<'a>(packets: impl IntoIterator<Item = &'a Vec<u8>>) -> Findings {
    let mut survey = Survey::default();
    packets.into_iter().for_each(|bytes| survey.take(&packet(bytes, 1, 9000)));
    survey.finish()
}

fn records(count: u32) -> Vec<u8> {
    let mut encoder = RecordEncoder::default();
    encoder.begin();
    for number in 0..count {
        let record = Record {
            digitizer: 33,
            channel: (number % 64) as u8,
            adc: 100 + number as u16,
            time: 7 * number,
        };
        assert!(encoder.push(&record));
    }
    encoder.packet().to_vec()
}

fn jadaq() -> Vec<u8> {
    let mut encoder = JadaqEncoder::new(ElementType::OfJune2018);
    // Read as records, all channels would exist.
    encoder.begin(0, 0, 0, 0);
    assert!(encoder.push(&Element { time: 0, channel: 1, charge: 2, baseline: 0 }));
    encoder.packet().to_vec()
}

fn ess(detector_type: u8, records: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let header = EssHeader { version: 1, detector_type, time_source: 1, ..EssHeader::default() };
    header.write_packet(&Vmm3aFields::default().encode().repeat(records), &mut packet);
    packet
}

#[test]
fn the_majority_decides_where_there_is_no_signature_and_the_rest_is_counted_by_reason() {
    let mut packets = vec![records(20); 30];
    packets.extend([jadaq(), b"nothing that fits".to_vec(), b"nor this".to_vec()]);
    let found = survey(&packets);
    assert_eq!(found.streams.len(), 1, "{}", found.text());
    let stream = &found.streams[0];
    assert_eq!(stream.title(), "CAEN records of 8 bytes (2018)");
    assert!(stream.disagreeing.contains_key("of no known format"), "{:?}", stream.disagreeing);

    // The other way around: most packets are jadaq's, though all are like records, too.
    let found = survey(vec![jadaq(); 9].iter().chain(&[records(20)]));
    assert_eq!(found.streams[0].title(), "CAEN jadaq of June 2018", "{}", found.text());
    assert_eq!(found.streams[0].disagreeing.get("like CAEN records"), Some(&1));
}

/// Packets whose length alone fits are no records: beacons, and numbers that mean something else.
#[test]
fn nothing_is_taken_for_records_for_its_length_alone() {
    let beacon = |number: u8| {
        let mut bytes = [0_u8; 16];
        (bytes[1], bytes[5], bytes[6], bytes[7], bytes[11]) = (13, 13, 0x13, 0xC8, number);
        bytes.to_vec()
    };
    let beacons: Vec<_> = (0..200).map(beacon).collect();
    for port in [9000, 5065] {
        let mut survey = Survey::default();
        beacons.iter().for_each(|bytes| survey.take(&packet(bytes, 1, port)));
        let found = survey.finish();
        assert!(found.is_foreign() && found.streams.len() == 1, "{}", found.text());
        assert_eq!((found.streams[0].packets, skeletons(&found).written.len()), (200, 0));
        assert_eq!(found.streams[0].title().contains("Channel Access"), port == 5065);
    }
    let same = [7_u8, 3, 0, 1, 9, 9, 9, 9].repeat(40);
    assert!(survey(&vec![same; 30]).is_foreign(), "one channel and one amplitude");
    assert!(!survey(&[records(20), records(9)]).is_foreign());
}

/// 2 readouts of VMM2 have the length of 2 readouts of VMM3 of 2018.
#[test]
fn vmm2_is_told_from_vmm3_of_2018_by_the_packets_of_other_lengths() {
    let of = |readouts: usize| {
        let mut encoder = Vmm2Encoder::default();
        encoder.begin(7, 3, 1000);
        for _ in 0..readouts {
            assert!(encoder.push(&Default::default()));
        }
        encoder.packet().to_vec()
    };
    let packets: Vec<_> = [2, 2, 2, 1, 3].map(of).to_vec();
    let found = survey(&packets);
    assert_eq!(
        (found.streams.len(), found.streams[0].title().as_str()),
        (1, "SRS with VMM2"),
        "{}",
        found.text()
    );
}

#[test]
fn types_senders_and_ports_are_streams_of_their_own() {
    let mut survey = Survey::default();
    for (detector_type, host, port) in [(0x48, 1, 9000), (0x10, 1, 9000), (0x48, 2, 9000), (0x48, 1, 9001)] {
        survey.take(&packet(&ess(detector_type, 3), host, port));
    }
    assert_eq!(survey.finish().streams.len(), 4);
}

/// As in recordings of CSPEC: many output queues, heartbeats, and empty packets of another type between them.
#[test]
fn tubes_are_distinct_from_heartbeats_of_their_own_and_of_another_type() {
    let mut packets = Vec::new();
    for sequence in 0..3 {
        for output_queue in 0..12_u8 {
            let tube = |fibre| R5560Fields {
                fibre,
                group: output_queue,
                charges: [10, 30, 0, 0],
                ..Default::default()
            };
            // The first packet of a queue is a heartbeat.
            let records = [tube(2).encode(), tube(3).encode()].concat().repeat(sequence as usize);
            for (detector_type, payload) in
                [(detector_type::CSPEC, &records[..]), (detector_type::DREAM, &[])]
            {
                let header = EssHeader {
                    version: 1,
                    detector_type,
                    output_queue,
                    time_source: 1,
                    sequence,
                    ..Default::default()
                };
                let mut packet = Vec::new();
                header.write_packet(payload, &mut packet);
                packets.push(packet);
            }
        }
    }
    let found = survey(&packets);
    let titles: Vec<_> = found.streams.iter().map(|stream| stream.title()).collect();
    assert_eq!(
        titles,
        [
            "ESS readout, header version 1, type 0x3c CSPEC: CAEN R5560 records of 24 bytes (He-3 tubes)",
            "ESS readout, header version 1, type 0x60 DREAM: heartbeats only",
        ]
    );
    let text = found.text();
    for said in [
        "output queue 11  3 packets (1 heartbeats), 6 readouts; none lost",
        "72 readouts (36 even fibre, 36 odd), groups 0-11 (12 of them), A+B 40, A/(A+B) 0.250-0.250",
        "36 readouts have come on both fibres of a ring",
        "none: there are heartbeats only",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let (line, readouts) = evforge_inspect::packet_lines::describe(&packet(&packets[26], 1, 9000), true);
    assert!(line.contains(", 2 readouts (CAEN R5560"), "{line}");
    assert!(readouts[0].starts_with("readout ring  1 FEN  0 group   1 "), "{readouts:?}");
    let written = skeletons(&found);
    assert!(written.written.len() == 1 && written.refused.len() == 1, "{written:?}");
    for said in [
        "geometry = { nx = 256, ny = 12 }",
        "tubes = [\n    { interval = [0.0, 1.0], y = 0 },\n]",
        "{ ring = 1, fen = 0, group = 0, y = 0, groups = [{ count = 12, y = 1 }] },",
        "sums of charges lie between 40 and 40",
    ] {
        assert!(written.written[0].text.contains(said), "{said}: {}", written.written[0].text);
    }
}

#[test]
fn a_detector_with_several_senders_has_one_skeleton() {
    let mut survey = Survey::default();
    (1..5).for_each(|host| survey.take(&packet(&ess(0x48, 3), host, 9000)));
    let written = skeletons(&survey.finish()).written;
    assert_eq!(written.len(), 1);
    assert_eq!(written[0].text.matches("cassette = ").count(), 1, "{}", written[0].text);
}

#[test]
fn what_is_beyond_the_streams_that_are_told_apart_is_counted() {
    let mut survey = Survey::default();
    let packets = MOST_STREAMS as u32 + 100;
    (0..packets).for_each(|host| survey.take(&packet(&ess(0x48, 1), host, 9000)));
    let found = survey.finish();
    let told: u64 = found.streams.iter().map(|stream| stream.packets).sum();
    assert_eq!((found.streams.len(), told + found.not_told_apart.0), (MOST_STREAMS, u64::from(packets)));
    assert!(found.text().contains("not told apart: 100 packets"), "{}", found.text());
}

proptest! {
    /// Whatever comes: every packet is counted, all can be told, and configurations can be tried.
    #[test]
    fn arbitrary_packets_are_counted_and_told(
        packets in vec((vec(any::<u8>(), 0..120), 0..14_usize, 0..3_u32), 0..40),
    ) {
        let starts: [(usize, &[u8]); 14] = [
            (0, b"\0\x01ESS\x48"), (0, b"\0\0ESS\x10"), (4, b"VM2\x05"), (4, b"VM3\x20"), (0, b"\x60"), (24, &[1, 3]),
            (2, &[0x11, 0x11]), (2, &[0x22, 0x22]), (0, b"EVNP\x01"), (0, &[0xD7, 0x09, 1]), (0, &[0, 0xD6]), (0, b""),
            (0, &[0xFF; 8]), (0, &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 1, 16]),
        ];
        let mut survey = Survey::default();
        for (bytes, start, host) in &packets {
            let mut bytes = bytes.clone();
            let (at, start) = starts[*start];
            if let Some(place) = bytes.get_mut(at..at + start.len()) {
                place.copy_from_slice(start);
            }
            if let (Some(b"ESS"), length) = (bytes.get(2..5), bytes.len() as u16)
                && let Some(place) = bytes.get_mut(6..8)
            {
                place.copy_from_slice(&length.to_le_bytes());
            }
            let (described, _) = evforge_inspect::packet_lines::describe(&packet(&bytes, *host, 1), true);
            prop_assert!(!described.is_empty() || bytes.is_empty());
            survey.take(&packet(&bytes, *host, 1));
        }
        let found = survey.finish();
        prop_assert_eq!(found.packets, packets.len() as u64);
        let told: u64 = found.streams.iter().map(|stream| stream.packets + stream.disagreeing.values().sum::<u64>()).sum();
        prop_assert!(told >= found.packets, "{} of {} packets are told", told, found.packets);
        prop_assert!(!found.text().is_empty() && found.json().is_object());
        let written = skeletons(&found);
        prop_assert!(found.streams.is_empty() || written.written.len() + written.refused.len() > 0);
    }
}
