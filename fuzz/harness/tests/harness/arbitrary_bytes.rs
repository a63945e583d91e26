//! The exercises of single packets with bytes by chance, most of which begin as packets do: the bytes that random ones die
//! at are put right.

use evforge_fuzz_harness::adc_readout::adc_readout;
use evforge_fuzz_harness::caen::caen;
use evforge_fuzz_harness::cncs::cncs;
use evforge_fuzz_harness::drop::{drop_packet, jumps};
use evforge_fuzz_harness::isis::isis;
use evforge_fuzz_harness::mesytec::mesytec;
use evforge_fuzz_harness::numbered::numbered;
use evforge_fuzz_harness::recognise::recognise;
use evforge_fuzz_harness::sonde::sonde;
use evforge_fuzz_harness::srs_vmm::srs_vmm;
use evforge_fuzz_harness::train::{IMAGE_BYTES, packet as train_packet, train};
use evforge_wire::adc_readout::{AdcEncoder, Header, RawTime};
use evforge_wire::caen::{JadaqPacket, JadaqVersion};
use evforge_wire::drop::{ByteOrder, DropLayout, IdentifierWidth};
use evforge_wire::train::{Train, TrainHeader, TrainLayout};
use proptest::collection::vec;
use proptest::prelude::*;

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..most)
}

fn width() -> impl Strategy<Value = IdentifierWidth> {
    prop_oneof![Just(IdentifierWidth::Two), Just(IdentifierWidth::Four), Just(IdentifierWidth::Eight)]
}

fn layout() -> impl Strategy<Value = DropLayout> {
    let order = prop_oneof![Just(ByteOrder::Big), Just(ByteOrder::Little)];
    let any_layout = (0..20_usize, width(), order, 0..20_usize).prop_map(|(offset, width, order, rest)| {
        DropLayout::new(offset, width, order, offset + width.bytes() + rest).expect("it lies inside")
    });
    prop_oneof![Just(DropLayout::P1), Just(DropLayout::RAW64BE), any_layout]
}

/// `bytes` with those from `at` on replaced, if there are as many.
fn with(mut bytes: Vec<u8>, at: usize, by: &[u8]) -> Vec<u8> {
    if let Some(place) = bytes.get_mut(at..at + by.len()) {
        place.copy_from_slice(by);
    }
    bytes
}

proptest! {
    #[test]
    fn srs_vmm_packets(bytes in bytes(300), id in 0..4_usize) {
        let ids = [b"VM2\x05", b"VM3\x20", b"VA2\0", b"xxxx"];
        srs_vmm(&with(bytes, 4, ids[id]));
    }

    /// Bytes by chance, with the signature of a format where it belongs.
    #[test]
    fn packets_of_any_format(bytes in bytes(400), format in 0..10_usize) {
        let (at, signature): (usize, &[u8]) = [
            (0, &b"\0\x01ESS\x30"[..]), (4, b"VM2\x05"), (4, b"VM3\x20"), (0, b"\x60"), (24, &[1, 3]),
            (2, &[0x11, 0x11]), (0, b"EVNP\x01"), (0, &[0xD7, 0x09, 1]), (0, b""), (0, &[0xFF; 8]),
        ][format];
        let bytes = with(bytes, at, signature);
        let whole = (bytes.len() as u16).to_le_bytes();
        recognise(&if format == 0 { with(bytes, 6, &whole) } else { bytes });
    }

    #[test]
    fn caen_packets(bytes in bytes(300), number in 0..5_u8, fits: bool) {
        let mut bytes = with(bytes, 24, &[1, 3]);
        if bytes.len() >= 32 {
            bytes = with(bytes, 20, &[number, 0]);
            let size = if number == 2 { 14 } else { 8 };
            if fits {
                let elements = (bytes.len() - 32) / size;
                bytes.truncate(32 + elements * size);
                bytes = with(bytes, 22, &(elements as u16).to_le_bytes());
            }
        }
        caen(&bytes);
        if fits && bytes.len() >= 32 && (1..=2).contains(&number) {
            prop_assert!(JadaqPacket::parse(&bytes, JadaqVersion::V1_3).is_ok());
        }
    }

    #[test]
    fn mesytec_datagrams(bytes in bytes(400), lengths in vec((0..100_usize, 0..40_u8), 0..8)) {
        let mut bytes = with(bytes, 0, &[0x60]);
        for (place, length) in lengths {
            bytes = with(bytes, 3 + 4 * place, &[0x58, 0, length, 0, 0, 0, 0, 0xBB]);
            let end = 3 + 4 * (place + usize::from(length));
            if let Some(start) = end.checked_sub(4) {
                bytes = with(bytes, start, &[0x21, 0x43, 0x65, 0x87, 0, 0, 0, 0xEE]);
            }
        }
        mesytec(&bytes);
    }

    #[test]
    fn cncs_packets(bytes in bytes(400)) {
        cncs(&bytes);
    }

    #[test]
    fn sonde_packets(bytes in bytes(400), packet_type in 0xD3..0xD8_u8, right_length: bool, count: u8) {
        let version = bytes.first().map_or(0, |byte| byte & 0x1F);
        let mut bytes = with(bytes, 0, &[version, packet_type]);
        if right_length && bytes.len() > 10 {
            let length = ((bytes.len() - 10) as u16).to_be_bytes();
            bytes = with(bytes, 8, &[length[0], length[1], count]);
        }
        sonde(&bytes);
    }

    #[test]
    fn adc_readout_packets(bytes in bytes(300), data: bool) {
        let length = (bytes.len() as u16).wrapping_sub(2).to_be_bytes();
        let packet_type = if data { 0x11 } else { 0x22 };
        adc_readout(&with(bytes, 2, &[packet_type, packet_type, length[0], length[1]]));
    }

    /// One byte anywhere is changed.
    #[test]
    fn damaged_adc_readout_packets(
        lengths in vec(0..40_usize, 1..5), filler in 0..40_usize, at: prop::sample::Index, byte: u8,
    ) {
        let mut encoder = AdcEncoder::default();
        encoder.begin(&Header::default());
        for length in lengths {
            prop_assert!(encoder.push_module(1, 1, RawTime::default(), &vec![7; length]));
        }
        encoder.finish(filler);
        let good = encoder.packet().to_vec();
        let at = at.index(good.len());
        adc_readout(&with(good, at, &[byte]));
    }

    /// Messages that begin as those of a version do, one behind the other, with lengths that are mostly those of their bytes.
    #[test]
    fn isis_datagrams(
        messages in vec((bytes(200), any::<bool>(), 13..20_u8, any::<bool>()), 0..4), padding in bytes(20),
    ) {
        let mut datagram = Vec::new();
        for (mut bytes, is_v2, header, fits) in messages {
            bytes.resize(bytes.len().max(80) / 4 * 4, 0);
            let words = ((bytes.len() / 4) as u16 - u16::from(!fits)).to_be_bytes();
            let time = [0x1A, 0x74, 0x32, 0x2E, 0x07, 0xB7, 0x23, 0x15];
            let (word_1, length, clock) = if is_v2 {
                ([0xFF, 0, 1, header], 32, 12)
            } else {
                ([0xFF; 4], 54, 16)
            };
            let bytes = with(with(bytes, length, &words), clock, &time);
            // Bit widths that have room, on every second board.
            let board = if header % 2 == 0 && is_v2 { vec![4, 3, 8, 6] } else { vec![] };
            let bytes = with(bytes, 52, &board);
            let bytes = if is_v2 { with(bytes, 8, &[0x0F, 0x25]) } else { bytes };
            datagram.extend(with(with(bytes, 0, &[0xFF; 4]), 4, &word_1));
        }
        datagram.extend(padding);
        isis(&datagram);
    }

    #[test]
    fn numbered_packets(bytes in bytes(40), good_start: bool) {
        let start: &[u8] = if good_start { &[0x45, 0x56, 0x4E, 0x50, 1] } else { &[] };
        numbered(&with(bytes, 0, start));
    }

    #[test]
    fn drop_packets(layout in layout(), bytes in bytes(100), good_start: bool) {
        let start: &[u8] = if good_start { &[0xD7, 0x09, 1] } else { &[] };
        drop_packet(&layout, &with(bytes, 0, start));
    }

    #[test]
    fn train_packets(bytes in bytes(40)) {
        train_packet(&bytes);
    }

    /// Bytes by chance, most of which begin and end as trains do and have the size that they announce.
    #[test]
    fn trains(
        choice in 0..4_u8, mut bytes in bytes(500), good: [bool; 3], images in 0..6_u8, own in 0..70_u8,
    ) {
        if good[0] {
            bytes.resize(bytes.len().max(64), 0);
            bytes = with(bytes, 0, b"\xCE\xFA\xEF\xBEFDTX");
            bytes = with(bytes, 40, &[images, 0, 0, 0, 0, 0, 0, 0, own, 0, 0, 0, 0, 0, 0, 0]);
        }
        let small = [0, 8].get(usize::from(choice));
        if let (true, Some(header), Some(&image_bytes)) = (good[1], bytes.first_chunk(), small) {
            let layout = TrainLayout::new(&TrainHeader::read(header).1, image_bytes);
            if let Some(total) = layout.map(|layout| layout.total()).filter(|&total| total < 1000) {
                bytes.resize(total, 0xAA);
            }
        }
        let at = bytes.len().saturating_sub(8);
        let bytes = if good[2] { with(bytes, at, b"\xCD\xAB\xAD\xDEFDTX") } else { bytes };
        train(&[&[choice], &bytes[..]].concat());
        if good == [true; 3] && small.is_some() {
            prop_assert!(Train::parse(&bytes, IMAGE_BYTES[usize::from(choice)]).is_ok());
        }
    }

    #[test]
    fn any_identifiers(width in width(), identifiers in vec(any::<u64>(), 0..100)) {
        jumps(width, identifiers.into_iter());
    }

    #[test]
    fn identifiers_near_one_another(width in width(), start: u64, steps in vec(0..12_u64, 0..200)) {
        jumps(width, steps.into_iter().map(|step| start.wrapping_add(step)));
    }
}
