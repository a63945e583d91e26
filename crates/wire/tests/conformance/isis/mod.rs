//! Datagrams of the ISIS streaming readout byte by byte: twelve of version 1, which the receiving program of ISIS reads the same
//! way, and five of version 2, which no other program reads yet.

mod datagrams;

use datagrams::*;
use evforge_wire::isis::event::{self, v1, v2};
use evforge_wire::isis::*;

/// 2026-08-20 12:34:56.123456789.
const GPS: u64 = 1_787_229_296_123_456_789;

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hexadecimal.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A header and the words of its events.
type Frame = (Header, Vec<(u32, u32)>);

/// The walk over a datagram, the bytes that are left and whether these are zero.
struct Walk {
    found: Vec<Result<Frame, Fault>>,
    rest: usize,
    rest_is_zero: bool,
}

fn walk_with(datagram: &[u8], rules: Rules) -> Walk {
    let mut messages = Messages::new(datagram, rules);
    let found = messages
        .by_ref()
        .map(|message| message.map(|m| (m.header, m.events().iter().map(event::words).collect())))
        .collect();
    Walk { found, rest: messages.rest().len(), rest_is_zero: messages.rest_is_zero() }
}

fn walk(hexadecimal: &str) -> Walk {
    walk_with(&bytes(hexadecimal), Rules::default())
}

/// The only message of a datagram that has nothing else.
fn only(hexadecimal: &str) -> Frame {
    let walk = walk(hexadecimal);
    assert_eq!((walk.found.len(), walk.rest), (1, 0));
    walk.found.into_iter().next().and_then(Result::ok).expect("a sound message")
}

fn header_v1(kind: Kind, frame: u32, events_in_frame: u32) -> Header {
    Header { version: Version::V1, kind, gps_ns: GPS, frame, events_in_frame, ..Header::default() }
}

#[test]
fn v1_wlsf() {
    let (header, events) = only(V1_WLSF);
    let expected = header_v1(Kind::NeutronData, 0x0102_0304, 3);
    assert_eq!(header, Header { period: 2, protons: 200, vetoes: 0x42, ..expected });
    let events: Vec<_> = events.iter().map(|e| (20 * v1::raw_time(e.0), v1::Wlsf::of(e.1))).collect();
    let expected = [(20_000, 5, 0xFFF), (456_000, 123, 0xFFF), (335_544_300, 65_535, 0xFFF)]
        .map(|(time, position, height)| (time, v1::Wlsf { position, height }));
    assert_eq!(events, expected);
}

#[test]
fn v1_madc() {
    let (header, events) = only(V1_MADC);
    assert_eq!(header, header_v1(Kind::NeutronData, 7, 4));
    // Six channels of 256 pixels each, the first ids 1000 apart; nothing is wired to channel 7.
    let pixel =
        |channel: u8, position: u16| 11_101_001 + 1000 * u32::from(channel) + u32::from(position) / 16;
    let found = events.iter().map(|e| {
        let v1::Madc { position, channel, .. } = v1::Madc::of(e.1);
        (v1::raw_time(e.0), channel, (channel < 6).then(|| pixel(channel, position)))
    });
    let expected = [
        (456_000, 2, Some(11_103_078)),
        (456_001, 5, Some(11_106_256)),
        (7, 7, None),
        (8, 0, Some(11_101_001)),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(v1::Madc::of(events[1].1).height, 0x123);
}

#[test]
fn v1_lvds() {
    let (header, events) = only(V1_LVDS);
    assert_eq!(header, Header { period: 1, protons: 1, ..header_v1(Kind::NeutronData, 8, 2) });
    let found: Vec<_> = events.iter().map(|e| (v1::raw_time(e.0), 3257 + e.1)).collect();
    assert_eq!(found, [(65_535, 3257), (1, 3288)]);
}

#[test]
fn v1_two_messages_and_padding() {
    let walk = walk(V1_TWO_AND_PADDING);
    let header = Header { protons: 5, ..header_v1(Kind::NeutronData, 9, 2) };
    let message = |number: u32| Ok((header, vec![(0xFF00_0000 | number, 0xFFFF_0000 | number)]));
    assert_eq!(walk.found, [message(1), message(2)]);
    assert_eq!((walk.rest, walk.rest_is_zero), (10, true));
}

#[test]
fn v1_messages_without_events() {
    let (header, events) = only(V1_VETO_FRAME);
    assert_eq!(header, Header { period: 3, protons: 9, vetoes: 1, ..header_v1(Kind::Veto, 10, 0) });
    assert!(events.is_empty());
    assert_eq!(only(V1_END_OF_RUN), (header_v1(Kind::EndOfRun, 11, 0), vec![]));
    assert_eq!(only(V1_SE_FRAME), (header_v1(Kind::SampleEnvironment, 12, 0), vec![]));
}

#[test]
fn v1_messages_whose_end_is_not_known_end_the_datagram() {
    for (datagram, fault) in [
        (V1_TOO_LONG, Fault::LengthBeyondDatagram { words: 19, bytes: 72 }),
        (V1_TOO_SHORT, Fault::LengthTooShort { words: 15, least: 16 }),
    ] {
        let alone = walk(datagram);
        assert_eq!((alone.found, alone.rest), (vec![Err(fault)], 72));
        // What follows is lost, and still the number is known.
        let followed = [bytes(datagram), bytes(V1_END_OF_RUN)].concat();
        let walk = walk_with(&followed, Rules::default());
        if let Err(Fault::LengthTooShort { .. }) = walk.found[0] {
            assert_eq!((walk.found.len(), walk.rest, walk.rest_is_zero), (1, 136, false));
        }
        let numbering = numbering(&bytes(datagram), Rules::default()).expect("a number");
        assert!(numbering.frame == 13 || numbering.frame == 14);
    }
}

#[test]
fn v1_faults_of_a_message_leave_the_next_one() {
    let odd = walk(V1_ODD);
    assert_eq!((odd.found, odd.rest, odd.rest_is_zero), (vec![Err(Fault::HalfEvent(1))], 4, false));
    let day_zero = Fault::InvalidTime(0x1A00_322E_07B7_2315);
    for (datagram, fault) in [
        (bytes(V1_DAY_ZERO), day_zero),
        (bytes(V1_ODD)[..68].to_vec(), Fault::HalfEvent(1)),
        (bytes(&V1_END_OF_RUN.replace("7fffffff", "1fffffff")), Fault::UnknownType(0x1FFF_FFFF)),
    ] {
        let followed = [datagram, bytes(V1_VETO_FRAME)].concat();
        let walk = walk_with(&followed, Rules::default());
        assert_eq!((walk.found.len(), walk.rest), (2, 0), "{fault:?}");
        assert_eq!(walk.found[0], Err(fault));
        assert!(matches!(walk.found[1], Ok((Header { kind: Kind::Veto, .. }, _))));
    }
}

#[test]
fn v1_the_last_nanosecond_of_a_leap_year() {
    let (header, events) = only(V1_LEAP_YEAR);
    assert_eq!((header.gps_ns, header.frame), (1_735_689_599_999_999_999, 17));
    assert_eq!(events, [(0xFF00_0001, 0xFFFF_0001)]);
}

fn header_v2(frame: u32, events_in_frame: u32, pcb: u16, board: BoardParameters) -> Header {
    let board = (board != BoardParameters::default()).then_some(board);
    Header { version: Version::V2, gps_ns: GPS, frame, events_in_frame, pcb, board, ..Header::default() }
}

/// Times in ticks, and pixels.
fn pixels(header: &Header, events: &[(u32, u32)]) -> Vec<(u32, u64)> {
    let board = header.board.expect("a board that describes its events");
    assert!(events.iter().all(|event| v2::is_event(event.0)));
    events.iter().map(|e| (v2::raw_time25(e.0), v2::SelfDescribed::of(e.1, &board).pixel(&board))).collect()
}

const WLSF: BoardParameters = BoardParameters {
    position_bits: 6,
    diagnostic_bits: 8,
    channel_bits: 3,
    address: 4,
    detector_id_offset: 1000,
};

#[test]
fn v2_wlsf() {
    let (header, events) = only(V2_WLSF);
    let expected = header_v2(0x0102_0304, 3, 3877, WLSF);
    assert_eq!(header, Header { period: 2, repeat: 1, vetoes: 0x0010_0002, protons: 200, ..expected });
    let expected = [(20_000, 1161), (671_088_620, 1511), (0, 1000)].map(|(time, pixel)| (time / 20, pixel));
    assert_eq!(pixels(&header, &events), expected);
    let diagnostic = |event: (u32, u32)| v2::SelfDescribed::of(event.1, &WLSF).diagnostic;
    assert_eq!(events.iter().map(|&event| diagnostic(event)).collect::<Vec<_>>(), [0x5A, 0, 0xFF]);
}

#[test]
fn v2_delay() {
    let (header, events) = only(V2_DELAY);
    assert_eq!((header.frame, header.frame_sync_delay, header.pcb), (5, 30_000, 3877));
    assert_eq!(pixels(&header, &events), [(1000, 1)]);
}

#[test]
fn v2_a_board_without_parameters() {
    let (header, events) = only(V2_CONTROL);
    let expected = header_v2(6, 0, 0x0F0F, BoardParameters::default());
    assert_eq!(header, Header { kind: Kind::Veto, period: 7, vetoes: 0x41, protons: 123, ..expected });
    assert!(events.is_empty());
}

#[test]
fn v2_two_boards_in_a_datagram() {
    let walk = walk(V2_MIXED);
    assert_eq!((walk.rest, walk.rest_is_zero), (3, true));
    let found: Vec<_> = walk.found.into_iter().map(|m| m.expect("a sound message")).collect();
    let madc = BoardParameters { position_bits: 8, channel_bits: 3, ..BoardParameters::default() };
    let lvds = BoardParameters { position_bits: 5, detector_id_offset: 3257, ..BoardParameters::default() };
    let address = |header: &Header| header.board.map_or(0, |board| board.address);
    for ((header, events), (pcb, board, event)) in
        found.iter().zip([(3544, madc, (5, 511)), (3634, lvds, (6, 3288))])
    {
        let board = BoardParameters { address: address(header), ..board };
        assert_eq!(*header, Header { protons: 1, ..header_v2(6, 3, pcb, board) });
        assert_eq!(pixels(header, events), [event]);
    }
    assert_eq!((found.len(), address(&found[1].0)), (2, 1));
}

#[test]
fn v2_words_that_are_no_event_stay_in_the_message() {
    let (header, events) = only(V2_NOT_EVENT);
    assert_eq!((header.frame, events.len()), (7, 1));
    assert!(!v2::is_event(events[0].0));
}

/// The same bytes with other values in single words.
fn changed(hexadecimal: &str, words: &[(usize, u32)]) -> Vec<u8> {
    let mut bytes = bytes(hexadecimal);
    for &(index, word) in words {
        bytes[4 * index..4 * index + 4].copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

#[test]
fn v2_faults_and_whether_they_end_the_datagram() {
    let beyond = |words, bytes| Fault::LengthBeyondDatagram { words, bytes };
    for (changes, fault) in [
        (vec![(1, 0xFF00_010D)], Fault::MalformedWord1(0xFF00_010D)),
        (vec![(1, 0xFF00_01FF)], Fault::MalformedWord1(0xFF00_01FF)),
        (vec![(1, 0xFE00_0110)], Fault::MalformedWord1(0xFE00_0110)),
        (vec![(1, 0xFF00_0113)], Fault::LengthTooShort { words: 18, least: 19 }),
        (vec![(8, 0x000F_0001)], Fault::LengthTooShort { words: 15, least: 16 }),
        (vec![(8, 0x0FFF_0001)], beyond(4095, 72)),
        (vec![(8, 0x0011_0001)], Fault::HalfEvent(1)),
        (vec![(3, 0x1A74_33FE)], Fault::InvalidTime(0x1A74_33FE_07B7_2315)),
        (vec![(13, 0x0011_0806)], Fault::WidthsTooLarge(31)),
        (vec![(13, 0x00FF_FFFF)], Fault::WidthsTooLarge(765)),
    ] {
        let walk = walk_with(&changed(V2_DELAY, &changes), Rules::default());
        if fault == Fault::WidthsTooLarge(31) {
            assert!(walk.found[0].is_ok(), "31 bits have room");
            continue;
        }
        assert_eq!(walk.found, [Err(fault)], "{changes:x?}");
        let left = if fault.ends_datagram() {
            72
        } else if fault == Fault::HalfEvent(1) {
            4
        } else {
            0
        };
        assert_eq!(walk.rest, left, "{fault:?}");
    }
    // Cut in the header, from the marker on.
    for length in 4..36 {
        let walk = walk_with(&bytes(V2_DELAY)[..length], Rules::default());
        assert_eq!((walk.found, walk.rest), (vec![Err(Fault::HeaderCut(length))], length));
    }
    let walk = walk_with(&bytes(V2_DELAY)[..36], Rules::default());
    assert_eq!(walk.found, [Err(beyond(18, 36))]);
    let walk = walk_with(&bytes(V2_DELAY)[..3], Rules::default());
    assert_eq!((walk.found.len(), walk.rest), (0, 3));
}

#[test]
fn a_version_that_is_not_expected_is_walked_over() {
    let datagram = [bytes(V1_WLSF), bytes(V2_WLSF), bytes(V1_VETO_FRAME)].concat();
    for (format, expected) in [
        (Format::Auto, [None, None, None]),
        (Format::V1, [None, Some(Version::V2), None]),
        (Format::V2, [Some(Version::V1), None, Some(Version::V1)]),
    ] {
        assert_eq!(Format::named(format.name()), Some(format));
        let rules = Rules { format, ..Rules::default() };
        let walk = walk_with(&datagram, rules);
        let faults = walk.found.iter().map(|message| message.as_ref().err().copied());
        assert_eq!(faults.collect::<Vec<_>>(), expected.map(|version| version.map(Fault::WrongVersion)));
        assert_eq!(numbering(&datagram, rules).is_some(), format != Format::V2);
    }
}

#[test]
fn numbers_are_known_where_the_message_is_not_sound() {
    let numbered = |bytes: &[u8]| numbering(bytes, Rules::default());
    let of_v1 = Numbering { version: Version::V1, frame: 16, streamed_frame: 9, pcb: 0, address: None };
    assert_eq!(numbered(&changed(V1_DAY_ZERO, &[(12, 9)])), Some(of_v1));
    let of_v2 = Numbering {
        version: Version::V2,
        frame: 0x0102_0304,
        streamed_frame: 9,
        pcb: 3877,
        address: Some(4),
    };
    let datagram = changed(V2_WLSF, &[(11, 9), (4, u32::MAX)]);
    assert_eq!(numbered(&datagram), Some(of_v2));
    assert_eq!(numbered(&datagram[..56]), Some(Numbering { address: None, ..of_v2 }));
    assert_eq!(numbered(&datagram[..55]), None);
    assert_eq!(numbered(&bytes(V2_CONTROL)).and_then(|n| n.address), None);
    assert_eq!(numbered(&datagram[1..]), None);
}

#[test]
fn the_other_order_of_bits() {
    assert_eq!(BitOrder::named("msb"), Some(BitOrder::Msb));
    let rules = Rules { bit_order: BitOrder::Msb, ..Rules::default() };
    // End of run and pause; period 2, repeat 1; 200 protons, 22 words; SMP veto and fast chopper 0.
    let words = [(2, 0xA000_0F25), (6, 0x0002_0001), (8, 0xC800_0160), (9, 0x4000_0800)];
    let walk = walk_with(&changed(V2_WLSF, &words), rules);
    let Ok((header, events)) = &walk.found[0] else { panic!("no message") };
    assert_eq!((header.kind, header.is_paused, header.pcb), (Kind::EndOfRun, true, 3877));
    assert_eq!((header.period, header.repeat, header.protons, header.vetoes), (2, 1, 200, 0x0010_0002));
    assert_eq!((pixels(header, events)[0], walk.rest), ((1000, 1161), 0));
    // Read the other way the length is not that of the datagram.
    assert!(walk_with(&changed(V2_WLSF, &words), Rules::default()).found[0].is_err());
}
