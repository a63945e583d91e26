//! The reference's cases for the readout draft of 2018 (vectors `readout_ess`), document "EFU formats of
//! 2018", section 5.1.

use evforge_testkit::shared_file;
use evforge_wire::ess_readout_draft::{ReadoutPacket, Rejection, encode};
use proptest::prelude::*;

#[test]
fn section_5_1_good_packet_and_word_count_beyond_the_end() {
    let test = "section_5_1_good_packet_and_word_count_beyond_the_end";
    let Some(bytes) = shared_file(test, "vectors/readout_ess/ok_one_hit.bin") else { return };
    let packet = ReadoutPacket::parse(&bytes).expect("a good packet");
    assert_eq!((packet.readout_type, packet.sequence_number, packet.reserved), (1, 1, 0));
    assert_eq!(packet.words().collect::<Vec<_>>(), [7, 1, 0x1234, 0x5678, 0x5678, 0x1234]);
    assert_eq!(encode(1, 1, &packet.words().collect::<Vec<_>>()), Some(bytes));
    let Some(bytes) = shared_file(test, "vectors/readout_ess/err_size_mismatch.bin") else { return };
    assert_eq!(ReadoutPacket::parse(&bytes), Err(Rejection::TooManyWords));
}

#[test]
fn section_5_1_sizes() {
    for (size, reason) in [
        (0, Rejection::WrongSize),
        (63, Rejection::WrongSize),
        (65, Rejection::NotPadded),
        (8959, Rejection::NotPadded),
        (9024, Rejection::WrongSize),
    ] {
        assert_eq!(ReadoutPacket::parse(&vec![0; size]), Err(reason), "{size} bytes");
    }
    assert!(ReadoutPacket::parse(&[0; 8960]).is_ok());
    assert_eq!(encode(0, 0, &[0; 4475]), None);
}

proptest! {
    #[test]
    fn encode_then_decode_is_identity(kind: u16, number: u16, words in prop::collection::vec(any::<u16>(), 0..4474)) {
        let bytes = encode(kind, number, &words).expect("a packet that fits");
        let packet = ReadoutPacket::parse(&bytes).expect("an encoded packet");
        prop_assert_eq!((packet.readout_type, packet.sequence_number), (kind, number));
        prop_assert_eq!(packet.words().collect::<Vec<_>>(), words);
    }
}
