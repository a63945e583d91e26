//! Streams that were changed by chance: the laws hold, nothing panics, and a good connection next to them loses nothing.

use super::common::{received, settings, streamed};
use evforge_testkit::properties::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::Write;

/// What is done to a stream of three trains.
#[derive(Clone, Debug)]
enum Change {
    Byte(prop::sample::Index, u8),
    Removed(prop::sample::Index, usize),
    Inserted(prop::sample::Index, Vec<u8>),
    Cut(prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    // Most of a stream is pixels: what stands before trains is changed as often.
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (any::<prop::sample::Index>(), 1..100_usize).prop_map(|(at, bytes)| Change::Removed(at, bytes)),
        (any::<prop::sample::Index>(), vec(any::<u8>(), 1..100))
            .prop_map(|(at, bytes)| Change::Inserted(at, bytes)),
        any::<prop::sample::Index>().prop_map(Change::Cut),
    ]
}

fn changed(mut stream: Vec<u8>, changes: &[(bool, Change)]) -> Vec<u8> {
    for (is_in_header, change) in changes {
        let place = |at: &prop::sample::Index, length: usize| match is_in_header {
            true => at.index(48.min(length)),
            false => at.index(length),
        };
        let length = stream.len();
        if length == 0 {
            break;
        }
        match change {
            Change::Byte(at, byte) => stream[place(at, length)] = *byte,
            Change::Removed(at, bytes) => {
                let start = place(at, length);
                stream.drain(start..(start + bytes).min(length));
            }
            Change::Inserted(at, bytes) => {
                let start = place(at, length);
                stream.splice(start..start, bytes.iter().copied());
            }
            Change::Cut(at) => stream.truncate(place(at, length)),
        }
    }
    stream
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(8)))]

    #[test]
    fn any_stream_is_accounted_for(changes in vec((any::<bool>(), change()), 0..4), noise in vec(any::<u8>(), 0..200)) {
        let stream = changed((0..3).flat_map(|place| streamed(1, place)).collect(), &changes);
        let (_, assembly, streams) = received(&settings(3), &mut [], |node| {
            let mut good = node.connect();
            good.write_all(&streamed(2, 0)).expect("it is taken");
            node.until("the first train", |assembly| assembly.trains_good >= 1);
            for bytes in [&stream, &noise] {
                // The node may close it before all is written.
                let _ = node.connect().write_all(bytes);
            }
            good.write_all(&streamed(2, 1)).expect("it is taken");
            node.until("the good trains", |assembly| assembly.trains_good >= 2);
        });
        prop_assert!(assembly.trains_good >= 2 && assembly.trains_good <= 5);
        prop_assert!(streams.connections_accepted >= 1);
        if changes.is_empty() && streams.connections_accepted == 3 {
            prop_assert_eq!(assembly.trains_opened, 5);
        }
    }
}
