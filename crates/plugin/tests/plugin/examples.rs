//! The examples in C and in Rust: any packets give both the same events, counters and sources, in slabs and batches of any
//! size.

use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::{Event, EventBatch};
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_plugin::{PluginDetector, PluginLibrary};
use evforge_testkit::outside::{c_example, rust_example};
use evforge_testkit::properties::cases;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

/// A packet as the examples read it, with `count` in the place of the number of readouts.
fn packet(sequence: u32, count: u32, readouts: &[(u32, u16, u16)]) -> Vec<u8> {
    let mut bytes = b"PXST".to_vec();
    for number in [sequence, count, 0] {
        bytes.extend(number.to_le_bytes());
    }
    for (time, x, y) in readouts {
        bytes.extend(time.to_le_bytes());
        bytes.extend(x.to_le_bytes());
        bytes.extend(y.to_le_bytes());
    }
    bytes
}

/// Good packets, damaged ones, and arbitrary bytes; how many bytes are missing at the end.
fn packets() -> impl Strategy<Value = Vec<(Vec<u8>, usize)>> {
    let readout = (any::<u32>(), 0..70_u16, 0..70_u16);
    let sequence = prop_oneof![4 => 0..40_u32, 1 => any::<u32>()];
    let good = (sequence, prop::collection::vec(readout, 0..20), 0..6_u32, 0..12_usize).prop_map(
        |(sequence, readouts, damage, cut)| {
            let count = readouts.len() as u32 + u32::from(damage == 0);
            let mut bytes = packet(sequence, count, &readouts);
            let cut = if damage == 1 { cut } else { 0 };
            bytes.truncate(bytes.len() - cut);
            // Not every packet that lacks bytes is known to lack them.
            (bytes, if cut % 2 == 0 { cut } else { 0 })
        },
    );
    let any_bytes = (prop::collection::vec(any::<u8>(), 0..40), 0..2_usize);
    prop::collection::vec(prop_oneof![5 => good, 1 => any_bytes], 0..60)
}

fn run(
    library: &'static PluginLibrary,
    packets: &[(Vec<u8>, usize)],
    per_slab: usize,
    per_batch: usize,
) -> (Vec<Event>, DetectorLedger) {
    let mut detector = PluginDetector::new(library, "nx = 64\nny = 66\n").expect("good settings");
    let (mut batch, mut events) = (EventBatch::new(per_batch), Vec::new());
    let mut deliver = |batch: &mut EventBatch| {
        events.extend(batch.iter());
        batch.clear();
    };
    for packets in packets.chunks(per_slab) {
        let mut slab = PacketSlab::new(per_slab, 1 << 18);
        for (bytes, missing) in packets {
            assert!(slab.push(bytes, bytes.len() + missing, PacketOrigin::default()));
        }
        form(&mut detector, &slab.batch(), &mut batch, &mut deliver);
    }
    form_rest(&mut detector, &mut batch, &mut deliver);
    assert_eq!(detector.failure(), None);
    (events, detector.ledger())
}

#[test]
fn both_languages_agree_on_any_packets() {
    let folder = tempfile::tempdir().unwrap();
    let in_c = PluginLibrary::load(&c_example(folder.path())).unwrap();
    let in_rust = PluginLibrary::load(&rust_example(folder.path(), &[])).unwrap();
    assert_eq!((in_c.name(), in_rust.name()), ("pixel stream", "pixel stream"));
    assert_eq!(in_c.counters(), in_rust.counters());
    let formed = Cell::new(0);
    let config = Config { cases: cases(64), failure_persistence: None, ..Config::default() };
    let strategy = (packets(), 1..30_usize, 1..50_usize);
    TestRunner::new(config)
        .run(&strategy, |(packets, per_slab, per_batch)| {
            let (events, ledger) = run(in_c, &packets, 1000, 10_000);
            prop_assert_eq!(ledger.unaccounted(), 0);
            prop_assert_eq!(ledger.counters.value("packets_received"), Some(packets.len() as u64));
            formed.set(formed.get() + events.len());
            for library in [in_c, in_rust] {
                let (again, again_ledger) = run(library, &packets, per_slab, per_batch);
                prop_assert_eq!(&again, &events);
                prop_assert_eq!(&again_ledger, &ledger);
            }
            Ok(())
        })
        .unwrap();
    assert!(formed.get() > 30 * cases(64) as usize, "{} events: the packets are too bad", formed.get());
}

#[test]
fn each_way_out_of_the_examples_has_its_counter() {
    let folder = tempfile::tempdir().unwrap();
    let largest = vec![(5, 1, 1); 8186];
    let packets = vec![
        (packet(10, 2, &[(7, 3, 2), (u32::MAX - 5, 64, 0)]), 0),
        (packet(12, 1, &[(100, 63, 65)]), 0),
        (packet(11, 0, &[]), 0),
        (packet(12, 0, &[]), 0),
        (packet(13, 3, &[(0, 0, 0)]), 0),
        (packet(14, 1, &[(0, 0, 0)]), 8),
        (b"PXST".to_vec(), 0),
        (b"PX".to_vec(), 100),
        (b"not a packet of this".to_vec(), 0),
        (packet(15, 8186, &largest), 0),
        (packet(1 << 31, 0, &[]), 0),
        (packet(15 + (2 << 20), 0, &[]), 0),
    ];
    for library in [c_example(folder.path()), rust_example(folder.path(), &[])] {
        let (events, ledger) = run(PluginLibrary::load(&library).unwrap(), &packets, 4, 8192);
        let values: Vec<(&str, u64)> =
            ledger.counters.iter().map(|(info, value)| (info.name, value)).collect();
        let expected = [
            ("packets_received", 12),
            ("packets_after_failure", 0),
            ("events", 8188),
            ("events_refused", 0),
            ("packets_used", 6),
            ("packets_cut", 2),
            ("packets_no_header", 1),
            ("packets_wrong_magic", 1),
            ("packets_wrong_length", 1),
            ("packets_duplicated", 1),
            ("readouts", 8189),
            ("readouts_outside", 1),
            ("hits", 8188),
            ("hits_in_events", 8188),
            ("clock_wraps", 0),
        ];
        assert_eq!(values, expected);
        assert_eq!(events[0], Event { time_ns: 70, pixel_id: 2 * 64 + 3 + 1 });
        assert_eq!(events[1], Event { time_ns: 1000, pixel_id: 66 * 64 });
        let packets = ledger.packets();
        assert_eq!((packets.received, packets.sent, packets.restarts), (9, Some(8), 2));
        assert_eq!((packets.lost, packets.reordered, packets.duplicated), (0, 1, 1));
    }
}
