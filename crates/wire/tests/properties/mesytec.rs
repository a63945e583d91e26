//! Encode then decode is identity. What holds for arbitrary bytes is in `fuzz/harness`.

use evforge_wire::mesytec::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        8 => (0..16_u8, 0..4096_u16, 0..4096_u16)
            .prop_map(|(bus, channel, adc)| Word::Readout { bus, channel, adc }),
        2 => Just(Word::Fill),
        1 => any::<u16>().prop_map(Word::HighTime),
        1 => (0..16_u8, any::<u16>()).prop_map(|(bus, difference)| Word::TimeDifference { bus, difference }),
        1 => (any::<u8>(), 0..1024_u16, any::<bool>())
            .prop_map(|(module, words, external_trigger)| Word::Header { module, words, external_trigger }),
        1 => (0..1_u32 << LOW_TIME_BITS).prop_map(Word::EndOfEvent),
        1 => (0x5000_0000..0xC000_0000_u32).prop_map(Word::Unknown),
    ]
}

fn readout() -> impl Strategy<Value = VmmrReadout> {
    (0..16_u8, 0..4096_u16, 0..4096_u16, 0..3_u16).prop_map(|(bus, channel, adc, time_difference)| {
        VmmrReadout { module: 5, bus, channel, adc, time_difference }
    })
}

/// Counter and words of a trigger.
type Content = (u32, Vec<Word>);

fn datagram(triggers: &[Content]) -> Vec<u8> {
    let mut encoder = DatagramEncoder::default();
    encoder.begin(17, 34);
    for (counter, words) in triggers {
        assert!(encoder.push(*counter, words), "a datagram without room");
    }
    encoder.packet().to_vec()
}

/// Triggers and damage; checks that together they are all words.
fn accounted(bytes: &[u8]) -> Option<(Vec<Content>, Vec<Damage>)> {
    let datagram = Datagram::parse(bytes).ok()?;
    let (mut triggers, mut damage, mut words) = (Vec::new(), Vec::new(), 0);
    let mut found = datagram.triggers();
    loop {
        let left = found.words_left();
        match found.next() {
            Some(Ok(trigger)) => {
                words += trigger.words().len() + 4;
                triggers.push((trigger.counter, trigger.words().collect()));
            }
            Some(Err(fault)) => {
                words += fault.words;
                damage.push(fault);
            }
            None => {
                assert!(left <= 4, "{left} words were not looked at");
                words += left;
                break;
            }
        }
        let resumed = datagram.triggers_from(words);
        assert_eq!(resumed.words_left(), found.words_left(), "resumed elsewhere");
    }
    assert_eq!((words, 3 + 4 * words + datagram.left_over_bytes()), (datagram.word_count(), bytes.len()));
    assert_eq!(datagram.is_undamaged(), damage.is_empty());
    Some((triggers, damage))
}

proptest! {
    #[test]
    fn every_word_is_encoded_as_it_was_decoded(word in word()) {
        prop_assert_eq!(Word::decode(word.encode()), word);
    }

    #[test]
    fn encode_then_decode_is_identity(triggers in vec((0..1_u32 << 24, vec(word(), 1..40)), 1..40)) {
        let bytes = datagram(&triggers);
        let parsed = Datagram::parse(&bytes).unwrap();
        prop_assert_eq!((parsed.packet_id, parsed.status), (17, 34));
        prop_assert_eq!(accounted(&bytes), Some((triggers, vec![])));
    }

    #[test]
    fn readouts_and_time_arrive_as_they_were_sent(
        readouts in vec(readout(), 0..130), time in 0..1_u64 << 46, external_trigger: bool,
    ) {
        let end = TriggerEnd { time, external_trigger };
        let words = trigger_words(5, &readouts, end);
        prop_assert!(words.len().is_multiple_of(2), "modules send whole 64-bit words");
        let bytes = datagram(&[(1, words)]);
        let trigger = Datagram::parse(&bytes).unwrap().triggers().next().unwrap().unwrap();
        let taken = trigger.read(&mut TriggerClock::extended(), Vec::new(), |found, word, context| {
            let half = usize::from(word.is_readout()) * ADDRESSES;
            assert_eq!(word.slot(), half + usize::from(word.address()));
            found.extend(VmmrReadout::of(word, context));
        });
        prop_assert_eq!(taken, (readouts, Ok(end)));
    }

    #[test]
    fn damage_in_one_trigger_costs_no_other(
        triggers in vec((0..1_u32 << 24, vec(word(), 1..20)), 1..9), which: prop::sample::Index,
        // 0x58, the length (far too large then), the begin, the end of data, the end.
        place in 0..5_usize, flip in 1..=255_u8,
    ) {
        let mut bytes = datagram(&triggers);
        let which = which.index(triggers.len());
        let start = 3 + triggers[..which].iter().map(|(_, words)| 4 * (words.len() + 4)).sum::<usize>();
        let length = 4 * (triggers[which].1.len() + 4);
        let places = [start, start + 1, start + 7, start + length - 6, start + length - 1];
        bytes[places[place]] ^= flip;
        let (found, damage) = accounted(&bytes).unwrap();
        let mut others = triggers;
        others.remove(which);
        prop_assert_eq!((found, damage.len()), (others, 1));
        prop_assert_eq!(damage[0].words * 4, length);
    }

    /// A length that points at the end of a later block by chance makes one trigger of both, with words in it
    /// that no module sends.
    #[test]
    fn two_triggers_in_one_are_noticed(first in vec(word(), 1..20), second in vec(word(), 1..20)) {
        let mut bytes = datagram(&[(0, first.clone()), (1, second.clone())]);
        bytes[5] += second.len() as u8 + 4;
        let (triggers, damage) = accounted(&bytes).unwrap();
        prop_assert_eq!((triggers.len(), damage), (1, vec![]));
        let trigger = Datagram::parse(&bytes).unwrap().triggers().next().unwrap().unwrap();
        prop_assert!(trigger.read(&mut TriggerClock::extended(), (), |(), _, _| ()).1.is_err());
    }

    #[test]
    fn a_full_datagram_refuses_and_stays_within_the_largest_payload(words in vec(word(), 1..100)) {
        let mut encoder = DatagramEncoder::default();
        encoder.begin(0, 0);
        prop_assert!(encoder.is_empty());
        while encoder.push(0, &words) {}
        let (full, trigger) = (encoder.packet().len(), 4 * (words.len() + 4));
        prop_assert!(!encoder.is_empty() && full <= LARGEST_PACKET && full + trigger > LARGEST_PACKET);
    }
}
