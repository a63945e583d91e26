//! The host of a detector from outside takes its memory when the detector is built, within the bound that it gives, and
//! none while events are formed. What the library takes is its own affair: the allocator here sees only Rust's.
//!
//! A program of its own, without the test harness: a second thread would allocate meanwhile.

use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_plugin::{PluginDetector, PluginLibrary};
use evforge_testkit::outside::c_example;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// A packet of the example; some are damaged, some numbers are missing.
fn packet(number: u32) -> Vec<u8> {
    let readouts = number * 7919 % 200;
    let mut bytes = b"PXST".to_vec();
    for word in [number + number / 50, readouts + u32::from(number.is_multiple_of(17)), 0] {
        bytes.extend(word.to_le_bytes());
    }
    for readout in 0..readouts {
        bytes.extend((number * 1000 + readout).to_le_bytes());
        bytes.extend([(readout % 70) as u8, 0, (number % 70) as u8, 0]);
    }
    bytes
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = PluginLibrary::load(&c_example(folder.path())).expect("a good library");
    let mut slab = PacketSlab::new(2000, 4 << 20);
    for number in 0..2000 {
        let packet = packet(number);
        assert!(slab.push(&packet, packet.len(), PacketOrigin::default()));
    }
    let mut batch = EventBatch::new(1000);
    let _profiler = dhat::Profiler::builder().testing().build();

    let mut detector = PluginDetector::new(library, "").expect("good settings");
    let built = dhat::HeapStats::get();
    let bound = detector.memory_bound();
    assert!(built.curr_bytes <= bound, "{} bytes, bound {bound}", built.curr_bytes);
    let mut events = 0;
    let mut deliver = |batch: &mut EventBatch| {
        events += batch.len();
        batch.clear();
    };
    for _ in 0..3 {
        form(&mut detector, &slab.batch(), &mut batch, &mut deliver);
        while detector.publish_closed(&mut batch) {
            deliver(&mut batch);
        }
    }
    form_rest(&mut detector, &mut batch, &mut deliver);
    let formed = dhat::HeapStats::get();
    assert_eq!(formed.total_blocks, built.total_blocks, "forming events allocated");

    let ledger = detector.ledger();
    assert_eq!((detector.failure(), ledger.unaccounted()), (None, 0));
    assert!(events > 100_000 && ledger.counters.value("events") == Some(events as u64), "{events} events");
    println!("plugins form events without allocating: ok");
}
