//! Single datagrams of the SIS3153 with VMMR words.

use evforge_wire::mesytec::{
    Datagram, DatagramEncoder, LARGEST_ADC, Rejection, TriggerClock, TriggerFault, VmmrReadout, Word,
};

/// Parses `bytes` as a datagram, reads its triggers with both clocks, and encodes them again.
///
/// # Panics
/// If a word is unaccounted for, if a trigger and its words disagree, or if the content changes on the way.
pub fn mesytec(bytes: &[u8]) {
    let datagram = match Datagram::parse(bytes) {
        Ok(datagram) => datagram,
        Err(Rejection::NotReadoutData(kind)) => {
            return assert!(bytes.first() == Some(&kind) && kind != 0x60, "readout data are refused");
        }
        Err(Rejection::TooShort | Rejection::NoTriggers) => {
            return assert!(bytes.len() < 23, "{} bytes are too short", bytes.len());
        }
    };
    let mut encoder = DatagramEncoder::default();
    encoder.begin(datagram.packet_id, datagram.status);
    let (mut extended, mut counted) = (TriggerClock::extended(), TriggerClock::counted());
    let (mut words, mut damaged, mut encoded) = (0, false, Vec::new());
    let mut triggers = datagram.triggers();
    while let Some(found) = triggers.next() {
        match found {
            Ok(trigger) => {
                let content: Vec<_> = trigger.words().collect();
                words += content.len() + 4;
                read(trigger, &content, &mut extended);
                read(trigger, &content, &mut counted);
                if encoder.push(trigger.counter, &content) {
                    encoded.push((trigger.counter, content));
                }
            }
            Err(damage) => {
                assert!(damage.words > 0, "damage that is nothing");
                words += damage.words;
                damaged = true;
            }
        }
        // Where the walk is resumed, it goes on in the same way.
        assert_eq!(datagram.triggers_from(words).words_left(), triggers.words_left());
    }
    assert!((words..=words + 4).contains(&datagram.word_count()), "words were not looked at");
    assert_eq!(bytes.len(), 3 + 4 * datagram.word_count() + datagram.left_over_bytes());
    assert_eq!(datagram.is_undamaged(), !damaged);
    assert_eq!(encoder.is_empty(), encoded.is_empty());
    if let Ok(again) = Datagram::parse(encoder.packet()) {
        assert_eq!((again.packet_id, again.status), (datagram.packet_id, datagram.status));
        let again: Vec<_> = again
            .triggers()
            .map(|trigger| trigger.expect("an encoded trigger is damaged"))
            .map(|trigger| (trigger.counter, trigger.words().collect::<Vec<_>>()))
            .collect();
        assert!(encoded.starts_with(&again), "triggers changed on the way");
        // Four words at the end of a datagram are too short to be seen.
        let unseen = &encoded[again.len()..];
        assert!(unseen.is_empty() || matches!(unseen, [(_, words)] if words.is_empty()));
    }
}

/// Reads a trigger and compares with its words.
fn read(trigger: evforge_wire::mesytec::Trigger<'_>, words: &[Word], clock: &mut TriggerClock) {
    let (readouts, end) = trigger
        .read(clock, Vec::new(), |readouts, word, context| readouts.extend(VmmrReadout::of(word, context)));
    let expected: Vec<_> = words
        .iter()
        .filter_map(|word| match *word {
            Word::Readout { bus, channel, adc } => Some((bus, channel, adc)),
            _ => None,
        })
        .collect();
    let found: Vec<_> = readouts.iter().map(|readout| (readout.bus, readout.channel, readout.adc)).collect();
    assert!(expected.starts_with(&found), "readouts that are not in the trigger");
    assert!(readouts.iter().all(|readout| readout.bus < 16 && readout.adc <= LARGEST_ADC));
    let is_end = |word: &Word| matches!(word, Word::EndOfEvent(_));
    match end {
        Ok(end) => {
            assert_eq!(found, expected);
            let last = words.iter().rev().find(|word| is_end(word));
            assert_eq!(last, Some(&Word::EndOfEvent((end.time & 0x3FFF_FFFF) as u32)));
        }
        Err(TriggerFault::NoTime) => assert!(!words.iter().any(is_end), "a time was overlooked"),
        Err(TriggerFault::UnknownWord(nibble)) => assert!((5..=11).contains(&nibble)),
        Err(TriggerFault::WordsMissing) => {}
    }
}
