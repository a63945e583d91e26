//! Single FlatBuffers messages of every schema.

use evforge_messages::{Encoder, RefusedReason, decode};

/// Reads `bytes` as a message. What is read is written again, where evforge writes its schema.
///
/// # Panics
/// If a message is read differently at another alignment, does not stay the same when it is written again, would steer a
/// terminal when it is shown, or is refused for no reason.
pub fn messages(bytes: &[u8]) {
    let mut moved = vec![0];
    moved.extend_from_slice(bytes);
    let elsewhere = decode(&moved[1..]).map(|message| message.to_json());
    match decode(bytes) {
        Ok(message) => {
            let line = message.to_string();
            assert!(!line.chars().any(char::is_control), "{line:?}");
            assert!(line.starts_with(message.schema().id()), "{line:?}");
            // By their JSON: a number that is not one is not equal to itself.
            let json = message.to_json();
            assert_eq!(elsewhere.as_ref(), Ok(&json), "another alignment");
            let mut encoder = Encoder::new();
            if let Some(again) = message.encode(&mut encoder) {
                let again = decode(again).map(|message| message.to_json());
                assert_eq!(again, Ok(json), "the message changed on the way");
            }
        }
        Err(refused) => {
            assert_eq!(elsewhere, Err(refused.clone()), "another alignment");
            assert!(RefusedReason::ALL.contains(&refused.reason()));
            assert!(!refused.to_string().is_empty());
        }
    }
}
