//! Single datagrams of the SIS3153.

use super::Seed;
use super::packets::spoilt;
use evforge_wire::mesytec::{DatagramEncoder, TriggerEnd, VmmrReadout, Word, trigger_words};

/// A readout of bus 0.
pub(super) fn readout(channel: u16, adc: u16) -> VmmrReadout {
    VmmrReadout { module: 0, bus: 0, channel, adc, time_difference: 0 }
}

/// A datagram of these triggers.
pub(super) fn datagram(triggers: &[Vec<Word>]) -> Vec<u8> {
    let mut encoder = DatagramEncoder::default();
    encoder.begin(0, 0);
    for (counter, words) in (1..).zip(triggers) {
        assert!(encoder.push(counter, words), "more triggers than a datagram holds");
    }
    encoder.packet().to_vec()
}

/// The words of a trigger of module 0.
pub(super) fn trigger(time: u64, external_trigger: bool, readouts: &[VmmrReadout]) -> Vec<Word> {
    trigger_words(0, readouts, TriggerEnd { time, external_trigger })
}

/// Good datagrams, and datagrams with one fault each.
pub fn seeds() -> Vec<Seed> {
    let neutron = |time| trigger(time, false, &[readout(17, 900), readout(95, 300), readout(94, 200)]);
    let wide: Vec<_> = (0..128).map(|channel| readout(channel, 40 * channel)).collect();
    let far = VmmrReadout { module: 0, bus: 15, channel: 4095, adc: 4095, time_difference: 65_535 };
    let good = datagram(&[
        neutron(1000),
        trigger(2000, true, &[]),
        trigger((1 << 46) - 1, false, &[far, readout(0, 0)]),
        neutron(500),
    ]);
    let words = |words: &[Word]| datagram(&[words.to_vec(), neutron(7)]);
    let header = |words| Word::Header { module: 255, words, external_trigger: false };
    let hit = Word::Readout { bus: 1, channel: 2, adc: 3 };
    vec![
        Seed::new("good", good.clone()),
        Seed::new("all-channels", datagram(&[trigger(9, false, &wide)])),
        Seed::new("full", datagram(&vec![neutron(3); 224])),
        Seed::new(
            "two-events-in-a-trigger",
            words(&[header(1), Word::EndOfEvent(5), header(1), Word::EndOfEvent(4)]),
        ),
        Seed::new("words-missing", words(&[header(3), Word::EndOfEvent(5)])),
        Seed::new("unknown-word", words(&[header(2), hit, Word::Unknown(0x5000_0000), Word::EndOfEvent(5)])),
        Seed::new("no-time", words(&[header(1), hit])),
        Seed::new("no-words", words(&[])),
        Seed::new("no-block", spoilt(good.clone(), 3, &[0x57])),
        Seed::new("no-begin", spoilt(good.clone(), 10, &[0xEE])),
        Seed::new("length-too-short", spoilt(good.clone(), 4, &[0, 2])),
        Seed::new("length-beyond-packet", spoilt(good.clone(), 4, &[0xFF, 0xFF])),
        Seed::new("length-of-two-blocks", spoilt(good.clone(), 4, &[0, 17])),
        Seed::new("no-end-of-data", spoilt(good.clone(), 35, &[0])),
        Seed::new("no-end", spoilt(good.clone(), 42, &[0])),
        Seed::new("ragged", &good[..good.len() - 3]),
        Seed::new("cut-in-block", &good[..good.len() - 12]),
        Seed::new("not-readout-data", spoilt(good.clone(), 0, &[0x59])),
        Seed::new("too-short", &good[..18]),
        Seed::new("no-triggers", &good[..22]),
        Seed::new("nothing", []),
    ]
}
