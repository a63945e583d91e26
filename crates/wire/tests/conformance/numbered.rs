//! Numbered packets: byte by byte as their table says; encode then decode is identity.

use evforge_wire::numbered::{HEADER_BYTES, NumberedHeader, NumberedLayout, Rejection};
use proptest::collection::vec;
use proptest::prelude::*;

const EXAMPLE: [u8; HEADER_BYTES] = [
    0x45, 0x56, 0x4E, 0x50, 1, 0, 0x01, 0x02, 0, 0, 0, 0, 0, 0, 0x03, 0x04, 0x11, 0x22, 0x33, 0x44, 0x55,
    0x66, 0x77, 0x88,
];

#[test]
fn the_header_is_as_its_table_says() {
    let header = NumberedHeader { flow: 0x102, number: 0x304, sent_ns: 0x1122_3344_5566_7788 };
    assert_eq!(header.bytes(), EXAMPLE);
    assert_eq!(NumberedHeader::parse(&EXAMPLE), Ok(header));
    assert_eq!(NumberedHeader::parse(&[&EXAMPLE[..], &[9; 40]].concat()), Ok(header));
}

#[test]
fn other_packets_are_told_apart() {
    assert_eq!(NumberedHeader::parse(&EXAMPLE[..23]), Err(Rejection::TooShort));
    let spoilt = |place: usize, value| {
        let mut bytes = EXAMPLE;
        bytes[place] = value;
        NumberedHeader::parse(&bytes)
    };
    assert_eq!(spoilt(3, 0x51), Err(Rejection::WrongMagic(0x4556_4E51)));
    assert_eq!(spoilt(4, 2), Err(Rejection::WrongVersion(2)));
    assert!(spoilt(5, 0xFF).is_ok());
}

proptest! {
    #[test]
    fn encode_then_decode_is_identity(flow: u16, number: u64, sent_ns: u64, filling in vec(any::<u8>(), 0..50)) {
        let header = NumberedHeader { flow, number, sent_ns };
        prop_assert_eq!(NumberedHeader::parse(&[&header.bytes()[..], &filling].concat()), Ok(header));
    }
}

#[test]
fn packets_of_udptx_have_their_number_little_endian_at_the_front() {
    let layout: NumberedLayout = "udptx".parse().unwrap();
    let header = |number| NumberedHeader { number, ..NumberedHeader::default() };
    assert_eq!(layout.parse(&[1, 0, 0, 0]), Ok(header(1)));
    assert_eq!(layout.parse(&[4, 3, 2, 1, 99, 98]), Ok(header(0x0102_0304)));
    assert_eq!(layout.parse(&[1, 2, 3]), Err(Rejection::TooShort));
    let mut packet = [9; 6];
    layout.write(&header(0x1_FFFF_FFFE), &mut packet);
    assert_eq!(packet, [0xFE, 0xFF, 0xFF, 0xFF, 9, 9]);
    assert_eq!((layout.first_number(), layout.bits(), layout.header_bytes()), (1, 32, 4));
    assert!(!layout.has_time());
    let error = "udprx".parse::<NumberedLayout>().unwrap_err();
    assert!(error.contains("evforge or udptx"), "{error}");
}

proptest! {
    #[test]
    fn what_a_layout_writes_it_reads(number: u64, flow: u16, sent_ns: u64, size in 24_usize..64) {
        for layout in NumberedLayout::ALL {
            let mut packet = vec![7; size];
            layout.write(&NumberedHeader { flow, number, sent_ns }, &mut packet);
            let expected = match layout {
                NumberedLayout::Evforge => NumberedHeader { flow, number, sent_ns },
                NumberedLayout::Udptx => NumberedHeader { number: number & 0xFFFF_FFFF, ..NumberedHeader::default() },
            };
            prop_assert_eq!(layout.parse(&packet), Ok(expected));
            prop_assert!(packet[layout.header_bytes()..].iter().all(|byte| *byte == 7));
        }
    }
}
