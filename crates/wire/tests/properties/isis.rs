//! Encode then decode is identity, for both versions. What holds for arbitrary bytes is in `fuzz/harness`.

use evforge_wire::isis::event::{self, v1, v2};
use evforge_wire::isis::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::NeutronData), Just(Kind::Veto), Just(Kind::EndOfRun)]
}

fn board() -> impl Strategy<Value = BoardParameters> {
    let bits = (0..=32_u8, 0..=32_u8, 0..=32_u8).prop_filter("32 bits", |(p, d, c)| p + d + c <= 32);
    (bits, any::<u8>(), any::<u32>()).prop_map(
        |((position_bits, diagnostic_bits, channel_bits), address, detector_id_offset)| BoardParameters {
            position_bits,
            diagnostic_bits,
            channel_bits,
            address,
            detector_id_offset,
        },
    )
}

/// Any time between 2000 and 2255.
fn time() -> impl Strategy<Value = u64> {
    946_684_800_000_000_000..9_025_257_600_000_000_000_u64
}

fn header() -> impl Strategy<Value = Header> {
    let numbers = (any::<[u32; 4]>(), any::<[u16; 2]>(), any::<u8>(), any::<u32>());
    (any::<bool>(), kind(), time(), numbers, any::<u32>(), prop::option::of(board()), 0..3_usize).prop_map(
        |(is_v2, kind, gps_ns, (words, halves, protons, vetoes), delay, board, pcb)| {
            let common = Header {
                kind,
                gps_ns,
                frame: words[0],
                period: halves[0],
                events_in_frame: words[1],
                protons,
                streamed_frame: words[2],
                next_frame_address: words[3],
                ..Header::default()
            };
            if is_v2 {
                let pcb = if board.is_some() { DETECTOR_BOARDS[pcb] } else { 999 };
                Header {
                    version: Version::V2,
                    repeat: halves[1],
                    vetoes,
                    frame_sync_delay: delay,
                    pcb,
                    is_paused: delay % 2 == 1,
                    board,
                    ..common
                }
            } else {
                Header { repeat: halves[1] & 0xFF, vetoes: vetoes & 0xFFFF, ..common }
            }
        },
    )
}

proptest! {
    #[test]
    fn encode_then_decode_is_identity(
        sent in vec((header(), vec(any::<(u32, u32)>(), 0..40)), 0..6), padding in 0..20_usize, msb: bool,
    ) {
        let bit_order = if msb { BitOrder::Msb } else { BitOrder::Lsb };
        let rules = Rules { format: Format::Auto, bit_order };
        let mut encoder = IsisEncoder::new(LARGEST_DATAGRAM, bit_order);
        for (header, events) in &sent {
            prop_assert!(encoder.begin(header));
            prop_assert!(events.iter().all(|&(first, second)| encoder.push_event(first, second)));
        }
        encoder.pad(&vec![0; padding]);
        prop_assert!(!encoder.push_event(0, 0), "no message is open");
        let datagram = encoder.finish();
        prop_assert!(encoder.datagram().is_empty());
        let mut walk = Messages::new(&datagram, rules);
        for (header, events) in &sent {
            let message = walk.next().expect("a message").expect("a sound one");
            prop_assert_eq!(message.header, *header);
            let found: Vec<_> = message.events().iter().map(event::words).collect();
            prop_assert_eq!((&found, message.len()), (events, events.len()));
        }
        prop_assert!(walk.next().is_none() && walk.rest_is_zero());
        prop_assert_eq!(walk.rest().len(), padding);
        if let Some((header, _)) = sent.first() {
            let number = numbering(&datagram, rules).expect("a number");
            prop_assert_eq!((number.frame, number.streamed_frame), (header.frame, header.streamed_frame));
        }
    }

    #[test]
    fn times_encode_then_decode_is_identity(time in time()) {
        let words = gps_words(time).expect("a time between 2000 and 2255");
        prop_assert_eq!(gps_nanoseconds(words), Some(time));
    }

    #[test]
    fn any_two_words_are_a_time_or_none(words: u64) {
        if let Some(time) = gps_nanoseconds(words) {
            // Second 60 is the first one of the next minute.
            prop_assert!(gps_words(time) == Some(words) || (words >> 30) & 63 == 60);
        }
    }

    #[test]
    fn parts_of_an_event_are_those_that_were_put_in(board in board(), parts: [u32; 3], time: u32) {
        let lowest = |value: u32, bits: u8| (u64::from(value) & ((1_u64 << bits) - 1)) as u32;
        let sent = v2::SelfDescribed {
            channel: lowest(parts[0], board.channel_bits),
            diagnostic: lowest(parts[1], board.diagnostic_bits),
            position: lowest(parts[2], board.position_bits),
        };
        prop_assert_eq!(v2::SelfDescribed::of(sent.word(&board), &board), sent);
        let pixel = u64::from(board.detector_id_offset)
            + u64::from(sent.position)
            + (u64::from(sent.channel) << board.position_bits);
        prop_assert_eq!(sent.pixel(&board), pixel);
        let first = v2::first_word(time);
        prop_assert!(v2::is_event(first));
        prop_assert_eq!(v2::raw_time25(first), time % (1 << v2::TIME_BITS));
        prop_assert_eq!(v1::raw_time(v1::first_word(time)), time % (1 << v1::TIME_BITS));
    }

    #[test]
    fn any_widths_do_no_harm(widths: [u8; 3], offset: u32, second: u32) {
        let [position_bits, diagnostic_bits, channel_bits] = widths;
        let board = BoardParameters {
            position_bits, diagnostic_bits, channel_bits, address: 0, detector_id_offset: offset,
        };
        let parts = v2::SelfDescribed::of(second, &board);
        let _ = (parts.pixel(&board), parts.word(&board));
    }
}

#[test]
fn a_full_message_refuses_and_so_does_a_full_datagram() {
    for (version, header_words, room) in
        [(Version::V1, 16, (4095 - 16) / 2), (Version::V2, 14, (4095 - 14) / 2)]
    {
        let header = Header { version, gps_ns: 1_800_000_000_000_000_000, ..Header::default() };
        let mut encoder = IsisEncoder::new(65_507, BitOrder::Lsb);
        assert!(!encoder.push_event(1, 2) && encoder.begin(&header));
        assert_eq!((0..5000).filter(|_| encoder.push_event(1, 2)).count(), room);
        // A second one goes on behind it, and both are read.
        assert!(encoder.begin(&header) && encoder.push_event(3, 4));
        let datagram = encoder.finish();
        let lengths: Vec<_> =
            Messages::new(&datagram, Rules::default()).map(|message| message.expect("sound").len()).collect();
        assert_eq!(lengths, [room, 1]);
        let mut small = IsisEncoder::new(4 * header_words + 20, BitOrder::Lsb);
        assert!(small.begin(&header));
        assert_eq!((0..9).filter(|_| small.push_event(1, 2)).count(), 2);
        assert!(!small.begin(&header));
        small.pad(&[0; 100]);
        assert_eq!(small.datagram().len(), 4 * header_words + 20);
        assert!(!small.begin(&Header { gps_ns: 0, ..header }), "1970 cannot be told");
    }
}
