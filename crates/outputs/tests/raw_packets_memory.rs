//! Raw packets for outputs allocate nothing, however many there are, and take the memory that was promised: measured at the
//! allocator.

use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_outputs::packet_tap::{PacketTap, SampleRule};
use std::sync::atomic::AtomicBool;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

#[test]
fn packets_allocate_nothing_and_wait_in_the_memory_that_was_promised() {
    let profiler = dhat::Profiler::builder().testing().build();
    let mut slab = PacketSlab::new(256, 256 * 1500);
    for number in 0..256_u16 {
        let source = ([10, 0, 0, (number % 8) as u8], 9000).into();
        slab.push(&[7; 1400], 1400, PacketOrigin { source, ..PacketOrigin::default() });
    }
    let stop = AtomicBool::new(false);
    for (memory, rule) in [(4 << 20, SampleRule::ALL), (32 << 20, SampleRule::new(10, 3).unwrap())] {
        let before = dhat::HeapStats::get().curr_bytes;
        let tap = PacketTap::default();
        let mut samples = tap.subscribe(rule, memory).unwrap();
        let mut inlets = tap.begin(false).unwrap();
        let held = dhat::HeapStats::get().curr_bytes - before;
        let promised = PacketTap::memory_bound(memory);
        assert!(held < promised + 8192 && held * 20 > promised * 19, "{held} of {promised}");
        assert!(promised.abs_diff(memory) < memory / 100, "{promised} for {memory}");
        // The first packet of each stream makes its counter, and channels their first entry.
        for _ in 0..4 {
            inlets.take(&slab.batch(), &stop);
            while samples.take().is_some() {}
        }
        let blocks = dhat::HeapStats::get().total_blocks;
        for round in 0..2000 {
            inlets.take(&slab.batch(), &stop);
            // Now and then it is behind, so that packets are dropped.
            if round % 100 > 80 {
                while samples.take().is_some() {}
            }
        }
        assert_eq!(dhat::HeapStats::get().total_blocks, blocks, "packets have allocated");
        let counters = inlets.counters();
        let value = |name| counters.value(name).unwrap();
        assert!(value("taken") > 10_000 && value("offered") >= 150_000);
        assert_eq!(value("dropped") > 0, rule.is_all());
    }
    drop(profiler);
}
