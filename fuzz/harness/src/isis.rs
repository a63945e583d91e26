//! Datagrams of the ISIS streaming readout, of either version.

use evforge_wire::isis::event::{v1, v2, words};
use evforge_wire::isis::{
    BitOrder, Fault, Format, Header, IsisEncoder, Message, Messages, Numbering, Rules, Version, gps_words,
    numbering,
};

/// Walks over `bytes` as a datagram, by every rule. What is sound is encoded and read again.
///
/// # Panics
/// If a byte belongs to nothing, if a message is found that is not expected, if numbering and messages disagree, or if frames or events
/// change on the way.
pub fn isis(bytes: &[u8]) {
    for format in [Format::V1, Format::V2, Format::Auto] {
        for bit_order in [BitOrder::Lsb, BitOrder::Msb] {
            walk(bytes, Rules { format, bit_order });
        }
    }
}

fn walk(bytes: &[u8], rules: Rules) {
    let mut messages = Messages::new(bytes, rules);
    let mut number = numbering(bytes, rules);
    loop {
        let rest = messages.rest();
        let begins = rest.starts_with(&[0xFF; 4]);
        let Some(message) = messages.next() else { break };
        assert!(begins, "a message without a marker");
        let taken = rest.len() - messages.rest().len();
        match message {
            Ok(message) => {
                assert_eq!(message.bytes(), &rest[..taken]);
                assert!(rules.format.allows(message.header.version));
                if rest.len() == bytes.len() {
                    let known = number.take().expect("a sound message has a number");
                    assert_eq!(known, of_header(&message.header));
                }
                encode_again(&message, rules);
            }
            Err(fault) if fault.ends_datagram() => {
                assert_eq!((taken, messages.next().is_none()), (0, true), "{fault:?}");
                return;
            }
            Err(Fault::WrongVersion(version)) => assert!(!rules.format.allows(version)),
            Err(_) => assert!((14 * 4..=4095 * 4).contains(&taken)),
        }
    }
    assert!(!messages.rest().starts_with(&[0xFF; 4]), "a message that was left out");
    assert_eq!(messages.rest_is_zero(), messages.rest().iter().all(|&byte| byte == 0));
    assert!(messages.next().is_none());
}

fn of_header(header: &Header) -> Numbering {
    let &Header { version, frame, streamed_frame, pcb, board, .. } = header;
    Numbering { version, frame, streamed_frame, pcb, address: board.map(|board| board.address) }
}

fn encode_again(message: &Message<'_>, rules: Rules) {
    let header = message.header;
    // The last second of 2255 may be a leap second.
    if gps_words(header.gps_ns).is_none() {
        return;
    }
    let mut encoder = IsisEncoder::new(message.bytes().len(), rules.bit_order);
    assert!(encoder.begin(&header));
    for pair in message.events() {
        let (first, second) = words(pair);
        assert!(encoder.push_event(first, second), "more events than a message holds");
        event(&header, first, second);
    }
    let mut again = Messages::new(encoder.datagram(), rules);
    let found = again.next().expect("a message").expect("a sound one");
    assert_eq!((found.header, found.len(), again.rest().len()), (header, message.len(), 0));
    assert!(found.events() == message.events(), "events changed on the way");
}

/// The parts of an event are the word again, but for bits without a meaning.
fn event(header: &Header, first: u32, second: u32) {
    match (header.version, header.board) {
        (Version::V1, _) => {
            assert_eq!(v1::first_word(v1::raw_time(first)), first | 0xFF00_0000);
            assert_eq!(v1::Wlsf::of(second).word(), second | 0xF000_0000);
            assert_eq!(v1::Madc::of(second).word(), second | 0xE300_0000);
        }
        (Version::V2, Some(board)) => {
            assert!(board.bits() <= 32);
            let parts = v2::SelfDescribed::of(second, &board);
            assert_eq!(v2::is_event(first), v2::first_word(v2::raw_time25(first)) == first);
            assert_eq!(v2::SelfDescribed::of(parts.word(&board), &board), parts);
            // Bits between channel and diagnostic data have no meaning.
            let difference = parts.word(&board) ^ second;
            assert!(difference.count_ones() <= 32 - u32::from(board.bits()), "{board:?}");
            let pixels = 1_u64 << (board.position_bits + board.channel_bits);
            assert!(parts.pixel(&board) < pixels + u64::from(board.detector_id_offset));
        }
        (Version::V2, None) => {}
    }
}
