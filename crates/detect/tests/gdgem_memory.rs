//! The memory of a pipeline is bounded whatever it is fed, and forming events does not allocate.
//!
//! A program of its own, without the test harness: a second thread would allocate meanwhile.

mod common;

use common::{packet, settings};
use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::gdgem::settings::PartitionSettings;
use evforge_detect::gdgem::{GdGem, GdGemSettings};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Streams that try to make the pipeline hold more and more: (name, packet of a FEC by number).
type Hostile = (&'static str, fn(u64) -> Vec<u8>);

const STREAMS: &[Hostile] = &[
    ("time stands still", |number| {
        packet(2, number as u32, &(0..1400).map(|n| (5, 100, (n % 64) as u8)).collect::<Vec<_>>())
    }),
    ("one source is silent", |number| {
        packet(2, number as u32, &(0..1000).map(|n| (number, n * 60, (n % 64) as u8)).collect::<Vec<_>>())
    }),
    ("time leaps with every packet", |number| {
        packet(2, number as u32, &(0..700).map(|n| (number * 100_000, n, 3)).collect::<Vec<_>>())
    }),
    ("time leaps with every hit", |number| {
        let hits: Vec<_> = (0..700).map(|n| ((number * 700 + n) * 300, 7, 3)).collect();
        packet(2, number as u32, &hits)
    }),
    ("time runs back", |number| {
        packet(2, number as u32, &(0..700).map(|n| (3_000_000 - number * 1000, n, 3)).collect::<Vec<_>>())
    }),
    ("one endless group", |number| {
        let hits: Vec<_> = (0..1300).map(|n| (number, n * 50, (n % 64) as u8)).collect();
        packet(if number % 2 == 0 { 1 } else { 2 }, (number / 2) as u32, &hits)
    }),
];

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    // Regions take memory as they need it, within the bound as well.
    let cut = PartitionSettings { regions: 3, overlap: 2, threads: 1 };
    let cases = STREAMS.iter().flat_map(|stream| [(stream, None), (stream, Some(cut))]);
    for ((name, stream), partition) in cases {
        let before = dhat::HeapStats::get();
        let mut detector = GdGem::new(&GdGemSettings { partition, ..settings() }).expect("sound settings");
        let built = dhat::HeapStats::get();
        let mut used = built.curr_bytes - before.curr_bytes;
        assert!(used <= detector.memory_bound(), "{name}: {used} bytes, bound {}", detector.memory_bound());
        let mut batch = EventBatch::new(16);
        let mut slab = PacketSlab::new(1, 0);
        for number in 0..300 {
            slab.clear();
            let bytes = stream(number);
            assert!(slab.push(&bytes, bytes.len(), PacketOrigin::default()));
            drop(bytes);
            let before = dhat::HeapStats::get();
            form(&mut detector, &slab.batch(), &mut batch, EventBatch::clear);
            batch.clear();
            let after = dhat::HeapStats::get();
            used += after.curr_bytes - before.curr_bytes;
            if partition.is_none() {
                assert_eq!(after.total_blocks, before.total_blocks, "{name}: packet {number} allocated");
            }
        }
        assert!(used <= detector.memory_bound(), "{name}: {used} bytes, bound {}", detector.memory_bound());
        form_rest(&mut detector, &mut batch, EventBatch::clear);
        let ledger = detector.ledger();
        assert_eq!(ledger.unaccounted(), 0, "{name}");
        assert_eq!(ledger.counters.value("held"), Some(0), "{name}");
    }
    println!("hostile streams stay within the bound and allocate nothing");
}
