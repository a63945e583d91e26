//! Moved packets, read by the decoders: the same readouts, later; and whatever is no packet stays as it is.

use super::*;
use crate::caen::{JadaqPacket, JadaqVersion, RecordPacket};
use crate::ess::{EssHeader, EssTime, R5560Fields, R5560Payload, R5560Readout, TICKS_PER_SECOND};
use crate::mesytec::DatagramEncoder;
use crate::recognise::{look_at_ess, recognise};
use crate::srs_vmm::{MARKER_BITS, Vmm3Packet, Vmm3Variant, Word};
use proptest::prelude::*;

fn moved_by(movable: Movable, bytes: &[u8], step: Step) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    movable.move_on(&mut bytes, step);
    bytes
}

fn numbers(movable: Movable, bytes: &[u8]) -> Vec<(u32, u64)> {
    let mut numbers = Vec::new();
    movable.visit_numbers(bytes, &mut |source, number| numbers.push((source, number)));
    numbers
}

fn times(movable: Movable, bytes: &[u8]) -> Vec<(u32, u64)> {
    let mut times = Vec::new();
    movable.visit_times(bytes, &mut |clock, time| times.push((clock, time)));
    times
}

/// A packet of a VMM3a with a marker and a readout, of a FEC with this number.
fn vmm3a(number: u32, stamp: u64) -> Vec<u8> {
    let mut bytes = [number.to_be_bytes(), 0x564D_3320_u32.to_be_bytes(), [0; 4], [0; 4]].concat();
    bytes.extend(((stamp >> 10) as u32).to_be_bytes());
    bytes.extend((3_u16 << 10 | stamp as u16 & 0x3FF).to_be_bytes());
    bytes.extend([0x08, 0xC1, 0x23, 0x45, 0xC7, 0x89]);
    bytes
}

#[test]
fn markers_of_a_vmm3a_are_later_and_readouts_stay() {
    let step = Step { ticks: 5, nanoseconds: 0, count: 7 };
    let bytes = vmm3a(u32::MAX, (1 << MARKER_BITS) - 3);
    assert_eq!(recognise(&bytes).best().map(|best| Movable::of(best.format)), Some(Some(Movable::SrsVmm3)));
    let moved = moved_by(Movable::SrsVmm3, &bytes, step);
    let packet = Vmm3Packet::parse(&moved, Vmm3Variant::Vmm3a).expect("a packet");
    assert_eq!((packet.frame_counter, packet.send_stamp, packet.fec), (6, 5, 2));
    let before = Vmm3Packet::parse(&bytes, Vmm3Variant::Vmm3a).expect("a packet");
    let words: Vec<(Word, Word)> = before.words().zip(packet.words()).collect();
    let [(Word::Marker(old), Word::Marker(new)), (readout, same)] = words[..] else { panic!("{words:?}") };
    assert_eq!((old.chip, new.chip, new.stamp), (3, 3, 2));
    assert_eq!(readout, same);
}

#[test]
fn records_are_later_but_for_the_end_of_a_run() {
    let mut bytes = vec![1, 2, 3, 4, 0xFE, 0xFF, 0xFF, 0xFF];
    bytes.extend([0xFF; 8]);
    let moved = moved_by(Movable::CaenRecords, &bytes, Step { ticks: 5, ..Step::default() });
    let packet = RecordPacket::parse(&moved).expect("records");
    let records: Vec<_> = packet.records().collect();
    assert_eq!((records[0].digitizer, records[0].channel, records[0].time), (1, 2, 3));
    assert!(records[1].is_end_of_run());
}

#[test]
fn elements_of_jadaq_are_later_and_their_packets_numbered_on() {
    let mut bytes = [0_u64.to_le_bytes(), 1000_u64.to_le_bytes()].concat();
    bytes.extend(9_u32.to_le_bytes());
    bytes.extend([2, 0, 1, 0, 1, 3]);
    bytes.extend(41_u32.to_le_bytes());
    bytes.extend([0, 0]);
    bytes.extend((u64::from(u32::MAX)).to_le_bytes());
    bytes.extend([1, 0, 2, 0, 3, 0]);
    let step = Step { ticks: 2, nanoseconds: 3_000_000, count: 1 };
    let moved = moved_by(Movable::Jadaq1_3, &bytes, step);
    let packet = JadaqPacket::parse(&moved, JadaqVersion::V1_3).expect("a packet");
    assert_eq!((packet.global_time, numbers(Movable::Jadaq1_3, &moved)), (1003, vec![(9, 42)]));
    assert_eq!(packet.elements().next().map(|element| element.time), Some(u64::from(u32::MAX) + 2));
}

#[test]
fn triggers_of_a_mesytec_carry_into_their_upper_time() {
    use crate::mesytec::Word as W;
    let low = (1 << 30) - 1;
    let words = [
        W::Header { module: 1, words: 3, external_trigger: false },
        W::HighTime(7),
        W::Readout { bus: 1, channel: 2, adc: 3 },
        W::EndOfEvent(low),
    ];
    let mut encoder = DatagramEncoder::default();
    encoder.begin(0, 0);
    assert!(encoder.push(41, &words));
    let bytes = encoder.packet().to_vec();
    assert_eq!(times(Movable::Mesytec, &bytes), [(0, 7 << 30 | u64::from(low))]);
    let moved = moved_by(Movable::Mesytec, &bytes, Step { ticks: 2, nanoseconds: 0, count: 5 });
    assert_eq!(
        (numbers(Movable::Mesytec, &bytes), numbers(Movable::Mesytec, &moved)),
        (vec![(0, 41)], vec![(0, 46)])
    );
    let found: Vec<W> = moved[crate::mesytec::HEADER..].as_chunks().0[2..6]
        .iter()
        .map(|word| W::decode(u32::from_le_bytes(*word)))
        .collect();
    assert_eq!(found[1..], [W::HighTime(8), words[2], W::EndOfEvent(1)]);
}

#[test]
fn frames_of_isis_are_later_in_both_versions_and_their_events_stay() {
    use crate::isis::{Header, IsisEncoder, Messages, Rules, Version};
    let mut encoder = IsisEncoder::default();
    // The last nanosecond of a day.
    let headers =
        [(Version::V1, u32::MAX, 41), (Version::V2, 7, 42)].map(|(version, frame, streamed_frame)| {
            let gps_ns = 1_735_689_599_999_999_999;
            Header { version, frame, streamed_frame, gps_ns, ..Header::default() }
        });
    for header in &headers {
        assert!(encoder.begin(header) && encoder.push_event(0xE000_0005, 6));
    }
    encoder.pad(&[0; 3]);
    let bytes = encoder.finish();
    assert_eq!(recognise(&bytes).best().map(|best| Movable::of(best.format)), Some(Some(Movable::Isis)));
    let moved = moved_by(Movable::Isis, &bytes, Step { ticks: 3, nanoseconds: 0, count: 2 });
    assert_eq!(numbers(Movable::Isis, &moved), [(0, 43), (0, 44)]);
    let found: Vec<_> =
        Messages::new(&moved, Rules::default()).map(|message| message.expect("sound")).collect();
    for ((message, before), frame) in found.iter().zip(headers).zip([1, 9]) {
        let (gps_ns, streamed_frame) = (before.gps_ns + 3, before.streamed_frame + 2);
        assert_eq!(message.header, Header { gps_ns, frame, streamed_frame, ..before });
        assert_eq!(message.events(), [[0xE0, 0, 0, 5, 0, 0, 0, 6]]);
    }
    assert_eq!((found.len(), &moved[moved.len() - 3..]), (2, &[0; 3][..]));
}

#[test]
fn pulses_of_the_ess_go_on_by_ticks() {
    let start = EssTime { seconds: 10, ticks: TICKS_PER_SECOND - 1 };
    assert_eq!(moved(start, 2), EssTime { seconds: 11, ticks: 1 });
}

#[test]
fn tubes_are_later_and_their_charges_stay() {
    let time = EssTime { seconds: 10, ticks: 7 };
    let tube = R5560Fields { group: 3, counter: 9, charges: [1, 2, 3, 4], time, ..Default::default() };
    let header = EssHeader { detector_type: 0x34, pulse: time, previous_pulse: time, ..Default::default() };
    let mut bytes = Vec::new();
    header.write_packet(&tube.encode().repeat(5), &mut bytes);
    let moved = moved_by(Movable::Ess, &bytes, Step { ticks: 5, nanoseconds: 0, count: 2 });
    let look = look_at_ess(&moved).expect("a packet");
    assert_eq!((look.packet.sequence, look.packet.pulse.ticks), (2, 12));
    let later = R5560Fields { time: EssTime { ticks: 12, ..time }, ..tube };
    let moved: Vec<_> =
        R5560Payload::parse(look.packet.payload).readouts().map(R5560Readout::fields).collect();
    assert_eq!(moved, [later; 5]);
}

proptest! {
    /// Nothing panics, and what is moved forth by two steps is what is moved by their sum.
    #[test]
    fn any_bytes_are_moved_or_stay(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        ticks in 0..1_u64 << 40,
        count in 0..1_u64 << 34,
    ) {
        for movable in Movable::ALL {
            let step = Step { ticks, nanoseconds: 0, count };
            let twice = moved_by(movable, &moved_by(movable, &bytes, step), step);
            let at_once = moved_by(movable, &bytes, Step { ticks: 2 * ticks, nanoseconds: 0, count: 2 * count });
            prop_assert_eq!(twice.len(), bytes.len());
            // Ticks of damaged times need not add up, and the number of a sound packet can become that of an end of frame.
            let is_packet = !numbers(movable, &bytes).is_empty() || !times(movable, &bytes).is_empty();
            let is_still = !numbers(movable, &twice).is_empty() || !times(movable, &twice).is_empty();
            if !is_packet && !matches!(movable, Movable::JadaqOfJune2018) {
                prop_assert_eq!(&twice, &bytes);
            } else if movable != Movable::Ess && is_still {
                prop_assert_eq!(twice, at_once);
            }
        }
    }

    #[test]
    fn times_of_a_vmm3a_are_as_much_later_as_asked_for(number: u32, stamp in 0..1_u64 << 42, ticks in 0..1_u64 << 41) {
        let bytes = vmm3a(number.min(0xFA00_0000), stamp);
        let moved = moved_by(Movable::SrsVmm3, &bytes, Step { ticks, nanoseconds: 0, count: 0 });
        let expected = (stamp + ticks) & ((1 << 42) - 1);
        prop_assert_eq!(times(Movable::SrsVmm3, &moved), [(2, expected)]);
    }
}
