//! Making and taking packets does not allocate.
//!
//! A program of its own, without the test harness: a second thread would allocate meanwhile.

use evforge_core::packet::PacketSlab;
use evforge_lab::link::drop::{
    BLOCK_UNIT, GeneratorSettings, SendStream, StreamAccount, StreamSettings, WordPattern,
};
use evforge_wire::drop::{DropLayout, Order};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let generator = GeneratorSettings {
        block_bytes: BLOCK_UNIT,
        packet_bytes: 2000,
        blocks: None,
        pause_per_word: 10,
        pause_per_packet: 0,
    };
    let settings = StreamSettings {
        layout: DropLayout::P1,
        order: Order::Random(3),
        number: 0,
        first_identifier: 0,
        pattern: Arc::new(WordPattern::new(Order::Counting)),
        generators: vec![generator; 2],
        rate: None,
        largest_bytes: None,
        faults: vec!["lose:packet=1000000000".parse().expect("a fault")],
    };
    let mut stream = SendStream::new(settings).expect("possible settings");
    let mut account = StreamAccount::new(DropLayout::P1, Order::Random(3));
    let mut slab = PacketSlab::new(256, 1 << 20);
    // One damaged packet: its reason is counted without memory as well.
    let damaged = [0xD7, 0x09, 1];
    let mut turn = || {
        slab.clear();
        assert!(slab.push(&damaged, 3, Default::default()));
        stream.fill(&mut slab, u64::MAX);
        slab.batch().iter().for_each(|packet| account.take(&packet));
    };
    turn();
    let before = dhat::HeapStats::get().total_blocks;
    (0..100).for_each(|_| turn());
    let allocated = dhat::HeapStats::get().total_blocks - before;
    assert_eq!(allocated, 0, "100 slabs of packets must not allocate");
    let counters = account.counters();
    assert!(counters.packets_counted > 20_000 && counters.packets_too_short == 101);
    assert_eq!(account.jumps().jumps(), 0);
    println!("drop_memory: {} packets made and taken without allocating", counters.packets_received);
}
