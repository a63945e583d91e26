//! A detector with packets that nobody would send, and its memory; for programs without the test harness, whose
//! threads would allocate meanwhile. The program has `dhat` as its allocator and a profiler running.

use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::packet::{PacketOrigin, PacketSlab};

/// Builds a detector and feeds it the packets one by one. Its memory stays within the bound that it gives, and
/// does not grow; at the end nothing is held or unaccounted for.
///
/// # Panics
/// If any of that does not hold, with the `name` of the stream.
pub(crate) fn check<D: Detector + 'static>(
    name: &str,
    build: impl FnOnce() -> D,
    packets: impl Iterator<Item = Vec<u8>>,
) {
    check_boxed(name, || Box::new(build()), packets);
}

/// As [`check`], of a detector that is one of several kinds.
///
/// # Panics
/// As [`check`].
pub(crate) fn check_boxed(
    name: &str,
    build: impl FnOnce() -> Box<dyn Detector>,
    packets: impl Iterator<Item = Vec<u8>>,
) {
    let before = dhat::HeapStats::get();
    let mut detector = build();
    // What it owns is compared, not the box that it came in.
    let owned = dhat::HeapStats::get().curr_bytes - before.curr_bytes;
    let mut used = owned - size_of_val(detector.as_ref());
    let bound = detector.memory_bound();
    assert!(used <= bound, "{name}: {used} bytes, bound {bound}");
    let mut batch = EventBatch::new(16);
    let mut slab = PacketSlab::new(1, 0);
    for (number, bytes) in packets.enumerate() {
        slab.clear();
        assert!(slab.push(&bytes, bytes.len(), PacketOrigin::default()));
        drop(bytes);
        let before = dhat::HeapStats::get();
        form(detector.as_mut(), &slab.batch(), &mut batch, EventBatch::clear);
        batch.clear();
        let after = dhat::HeapStats::get();
        used = used + after.curr_bytes - before.curr_bytes;
        assert_eq!(after.total_blocks, before.total_blocks, "{name}: packet {number} allocated");
    }
    assert!(used <= bound, "{name}: {used} bytes at the end, bound {bound}");
    form_rest(detector.as_mut(), &mut batch, EventBatch::clear);
    let ledger = detector.ledger();
    assert_eq!((ledger.unaccounted(), ledger.counters.value("held")), (0, Some(0)), "{name}");
}
