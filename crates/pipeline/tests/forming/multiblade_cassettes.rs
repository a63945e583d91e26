//! The Multi-Blade of 50 cassettes: a neutron in each of them, in packets of jadaq 1.3, lands on its pixel.

use evforge_config::Config;
use evforge_core::detector;
use evforge_core::event::{Event, EventBatch};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_wire::caen::{Element, ElementType, JadaqEncoder};
use std::collections::BTreeMap;
use std::path::Path;

/// A millisecond of 2018.
const START: u64 = 1_540_000_000_000;

/// Digitizer and channel of a wire: three digitisers read two cassettes.
fn wire_channel(cassette: u32, wire: u16) -> (u32, u16) {
    let first = cassette / 2 * 3;
    if cassette.is_multiple_of(2) { (first, wire) } else { (first + 1, 32 + wire) }
}

/// Digitizer and channel of a strip.
fn strip_channel(cassette: u32, strip: u16) -> (u32, u16) {
    let first = cassette / 2 * 3;
    match (cassette % 2, strip) {
        (0, 0..32) => (first, 32 + strip),
        (0, _) => (first + 1, strip - 32),
        _ => (first + 2, strip),
    }
}

#[test]
fn a_neutron_in_each_of_50_cassettes_lands_on_its_pixel() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/multiblade-50.toml");
    let config = Config::read(&path, &[]).unwrap();
    let mut sequences = BTreeMap::<u32, u32>::new();
    let (mut packets, mut expected) = (Vec::new(), Vec::new());
    for cassette in 0..50_u32 {
        // The strips of some cassettes lie on both sides of the border between two digitisers.
        let (wire, strip) = ((cassette * 7 % 31) as u16, (30 + cassette * 11) as u16 % 62);
        let (millisecond, tick) = (START + u64::from(cassette), 1000 + 3 * u64::from(cassette));
        let readouts = [
            (wire_channel(cassette, wire), 300, 0),
            (wire_channel(cassette, wire + 1), 100, 1),
            (strip_channel(cassette, strip), 100, 2),
            (strip_channel(cassette, strip + 1), 210, 2),
            (strip_channel(cassette, strip + 2), 90, 3),
        ];
        let mut by_digitizer = BTreeMap::<u32, Vec<Element>>::new();
        for ((digitizer, channel), charge, later) in readouts {
            let element = Element { time: tick + later, channel, charge, baseline: 0 };
            by_digitizer.entry(digitizer).or_default().push(element);
        }
        for (digitizer, elements) in by_digitizer {
            let sequence = sequences.entry(digitizer).or_default();
            let mut encoder = JadaqEncoder::new(ElementType::List422);
            encoder.begin(1, millisecond, digitizer, *sequence);
            assert!(elements.iter().all(|element| encoder.push(element)));
            packets.push(encoder.packet().to_vec());
            *sequence += 1;
        }
        // A quarter of the way from the first wire to the second; the middle one of the strips.
        let (row, column) = (cassette * 32 + u32::from(wire), u32::from(strip) + 1);
        let time_ns = millisecond * 1_000_000 + tick * 16;
        expected.push(Event { time_ns, pixel_id: 1 + column + 64 * row });
    }
    assert!(sequences.len() > 60, "only {} digitisers have sent", sequences.len());

    let mut detector = config.build_detector().unwrap();
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(Vec::len).sum());
    for packet in &packets {
        assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
    }
    let mut batch = EventBatch::new(7);
    let mut events = Vec::new();
    let mut keep = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    detector::form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
    detector::form_rest(detector.as_mut(), &mut batch, &mut keep);
    assert_eq!(events, expected);
    let ledger = detector.ledger();
    assert_eq!((ledger.unaccounted(), ledger.packets().lost), (0, 0));
    assert_eq!(
        (ledger.counters.value("readouts"), ledger.counters.value("hits_in_events")),
        (Some(250), Some(250))
    );
}
