//! Bytes that are no message, or no longer one: refused or read, never more than that.

use crate::examples::messages;
use crate::{Encoder, Refused, RefusedReason, Schema, decode};
use evforge_testkit::properties::cases;
use proptest::collection::vec;
use proptest::prelude::*;

/// What must hold whatever the bytes are.
fn read(bytes: &[u8]) {
    match decode(bytes) {
        Ok(message) => {
            assert!(!message.to_string().chars().any(char::is_control));
            let json = message.to_json();
            let mut encoder = Encoder::new();
            if let Some(again) = message.encode(&mut encoder) {
                // By their JSON: a NaN is not equal to itself.
                assert_eq!(decode(again).expect("what we write").to_json(), json);
            }
        }
        Err(refused) => {
            assert!(!refused.to_string().is_empty());
            assert!(RefusedReason::ALL.contains(&refused.reason()));
        }
    }
}

proptest! {
    // As many forms as the schemas have need more than other properties do, and take no time.
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    /// With an identifier, and a root that is not far off.
    #[test]
    fn any_bytes_behind_an_identifier(mut bytes in vec(any::<u8>(), 16..400), schema in 0..Schema::ALL.len(), root in 0_u8..64) {
        bytes[..4].copy_from_slice(&[root, 0, 0, 0]);
        bytes[4..8].copy_from_slice(Schema::ALL[schema].id().as_bytes());
        read(&bytes);
    }

    #[test]
    fn turned_bits(seed in 0_u64..4, turned in vec((any::<prop::sample::Index>(), 0..8_u32), 1..6)) {
        for (_, mut bytes) in messages(seed) {
            for (place, bit) in &turned {
                let place = place.index(bytes.len());
                bytes[place] ^= 1_u8 << bit;
            }
            read(&bytes);
        }
    }

    #[test]
    fn replaced_bytes(seed in 0_u64..4, place: prop::sample::Index, by in vec(any::<u8>(), 1..9)) {
        for (_, mut bytes) in messages(seed) {
            let place = place.index(bytes.len());
            let end = (place + by.len()).min(bytes.len());
            bytes[place..end].copy_from_slice(&by[..end - place]);
            read(&bytes);
        }
    }

    /// One schema's contents under the identifier of another.
    #[test]
    fn another_identifier(seed: u64, schema in 0..Schema::ALL.len()) {
        for (_, mut bytes) in messages(seed) {
            bytes[4..8].copy_from_slice(Schema::ALL[schema].id().as_bytes());
            read(&bytes);
        }
    }
}

#[test]
fn cut_messages() {
    for (name, bytes) in messages(3) {
        for length in 0..bytes.len() {
            read(&bytes[..length]);
            if length < 16 {
                assert_eq!(decode(&bytes[..length]), Err(Refused::TooShort { length }), "{name}");
            }
        }
    }
}

/// What turned bits once made of a text with the shape of its byte: a text without a shape.
#[test]
fn a_text_of_one_byte_may_have_no_shape() {
    let text = crate::da00::Variable::text("text", "_");
    let message = crate::Da00 { source_name: "a", timestamp: 1, data: vec![text] };
    let mut encoder = Encoder::new();
    let mut bytes = message.encode(&mut encoder).to_vec();
    read(&bytes);
    // The shape is the only vector of one number of eight bytes that is 1.
    let vector = [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let place = bytes.windows(12).position(|window| window == vector).expect("the shape");
    bytes[place] = 0;
    assert_eq!(crate::Da00::decode(&bytes).expect("a text").data[0].shape.to_vec(), [1]);
    read(&bytes);
}

#[test]
fn identifiers_of_nobody() {
    let mut bytes = messages(3)[0].1.clone();
    for id in [b"NDAr", b"\0\0\0\0", b"ev4\xff", b"evnt"] {
        bytes[4..8].copy_from_slice(id);
        let refused = decode(&bytes).unwrap_err();
        assert_eq!(refused, Refused::UnknownSchema(*id));
        assert_eq!(refused.reason().name(), "messages_of_unknown_schema");
    }
    let refused = crate::Ev42::decode(&messages(3)[0].1).unwrap_err();
    assert_eq!(refused.to_string(), "expected a message of ev42, and bytes 4 to 7 are \"ev44\"");
}

#[test]
fn a_message_without_identifier_is_read_if_it_is_monitor_data_of_2018() {
    let made = messages(5);
    let unmarked: Vec<_> =
        made.iter().filter(|(name, _)| name.starts_with("mo01") && name.ends_with("2018")).collect();
    assert_eq!(unmarked.len(), 3);
    for (name, bytes) in unmarked {
        assert_ne!(&bytes[4..8], b"mo01");
        assert_eq!(decode(bytes).unwrap().schema(), Schema::Mo01, "{name}");
    }
    // Other messages are not taken for such data when their identifier is gone.
    for (name, bytes) in made.iter().filter(|(name, _)| !name.starts_with("mo01") || !name.ends_with("2018"))
    {
        let mut bytes = bytes.clone();
        bytes[4..8].copy_from_slice(&[0; 4]);
        let read = decode(&bytes).is_ok();
        assert_eq!(read, name.starts_with("mo01"), "{name}");
    }
}
