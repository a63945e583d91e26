//! Messages for tests, and what is made of them.

use super::*;
use evforge_core::counter::{CounterSet, Law};
use evforge_core::event::EventBatch;

pub(super) const PULSE: i64 = 1_600_000_000_000_000_000;

pub(super) fn record(payload: &[u8]) -> Record {
    Record {
        partition: 0,
        offset: 0,
        time_ms: None,
        key: None,
        headers: Vec::new(),
        payload: payload.to_vec(),
    }
}

/// The pixels of what is made of messages, and the counters, whose laws hold.
pub(super) fn taken(topics: &mut EventTopics, role: TopicRole, records: &[Record]) -> Vec<PixelId> {
    let mut pixels = Vec::new();
    let mut hand_on = |batch: &EventBatch| pixels.extend_from_slice(batch.pixel_ids());
    let mut batch = EventBatch::new(4);
    let mut filler = BatchFiller::new(&mut batch, &mut hand_on);
    for record in records {
        topics.take((0, role), record, &mut filler);
        let counters = topics.counters();
        assert_eq!((counters.imbalance(Law::Packets), counters.imbalance(Law::Events)), (0, 0));
        assert!(topics.sources().iter().all(|source| source.packets.imbalance() == 0));
    }
    filler.finish();
    assert_eq!(topics.counters().events_shown, pixels.len() as u64);
    pixels
}
