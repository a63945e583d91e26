//! What waits for an output takes as much memory as the queue says, measured at the allocator.

mod common;

use common::{Scripted, batches, start};
use evforge_outputs::{QueueSettings, WhenFull};
use evforge_testkit::patience::wait_until;
use std::sync::atomic::AtomicBool;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

#[test]
fn a_full_queue_takes_the_memory_that_was_promised() {
    let profiler = dhat::Profiler::builder().testing().build();
    // Large batches, as from a file, and small ones, as live at a low rate.
    for (size, limit) in [(8192, 4_000_000), (1, 1_000_000)] {
        let settings = QueueSettings {
            memory: limit,
            events: 1 << 40,
            when_full: WhenFull::DropNewest,
            ..QueueSettings::COMPLETE
        };
        let output = Scripted::stalled();
        let mut set = start(&[(&output, settings)], true);
        let before = dhat::HeapStats::get().curr_bytes as u64;
        let mut next = 0;
        while set.states()[0].counters.dropped == 0 {
            for batch in batches(next..next + size as u64, size) {
                set.offer(batch, &AtomicBool::new(false));
            }
            next += size as u64;
        }
        wait_until("the first offer", || !output.script().calls.is_empty());
        let held = dhat::HeapStats::get().curr_bytes as u64 - before;
        let counted = set.states()[0].counters.queued_bytes;
        println!("batches of {size}: promised {limit}, counted {counted}, measured {held}");
        assert!(counted <= limit && counted * 10 > limit * 9, "{counted} of {limit}");
        assert!(held * 10 < limit * 11 && held * 10 > limit * 9, "{held} of {limit}");
        output.script().is_stalled = false;
        set.end(None, || true);
    }
    drop(profiler);
}
