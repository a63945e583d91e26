//! Messages of several boards into frames: `evforge kafka aggregate`, without brokers.

use crate::topic_messages::messages;
use evforge_core::counter::{CounterSet, Law};
use evforge_kafka::aggregate::{AggregateRules, AggregatedFrame, Aggregator, PartitionStart, RawMessage};
use std::collections::BTreeSet;
use std::time::Duration;

/// Now, in nanoseconds since 1970: the messages of the corpus are some seconds older.
const NOW: i64 = 1_787_229_300_000_000_000;

/// Bytes of what is committed with an offset, as brokers take it at most.
const MOST_METADATA: usize = 4096;

/// Bits of the first byte of an input: the rules.
pub mod choice {
    /// Two frames wait at most.
    pub const FEW: u8 = 1;
    /// They may take a kilobyte.
    pub const SMALL: u8 = 1 << 1;
    /// Boards may differ by a millisecond.
    pub const TOLERANT: u8 = 1 << 2;
    /// A message may be 20 ms earlier than the one before.
    pub const UNORDERED: u8 = 1 << 3;
    /// Frames without period or charge are dropped.
    pub const DROP: u8 = 1 << 4;
    /// Frames wait for 20 ms.
    pub const IMPATIENT: u8 = 1 << 5;
    /// Only two of four partitions are read.
    pub const TWO: u8 = 1 << 6;
    /// The first message is what was committed before the start.
    pub const RESUMED: u8 = 1 << 7;
}

fn rules(choice: u8) -> AggregateRules {
    let has = |bit: u8| choice & bit != 0;
    AggregateRules {
        tolerance_ns: if has(choice::TOLERANT) { 1_000_000 } else { 10 },
        expiry: Duration::from_millis(if has(choice::IMPATIENT) { 20 } else { 500 }),
        out_of_order_ns: if has(choice::UNORDERED) { 20_000_000 } else { 0 },
        most_frames: if has(choice::FEW) { 2 } else { 200 },
        most_bytes: if has(choice::SMALL) { 1024 } else { 1 << 28 },
        keeps_without_metadata: !has(choice::DROP),
    }
}

/// What is done with messages in turn.
struct Run {
    aggregator: Aggregator,
    frames: Vec<AggregatedFrame>,
}

impl Run {
    fn check(&self, is_resumed: bool) {
        let counters = self.aggregator.counters();
        assert_eq!(counters.imbalance(Law::Packets), 0, "{counters:?}");
        assert_eq!(counters.imbalance(Law::Events), 0, "{counters:?}");
        for position in self.aggregator.positions() {
            let length = position.metadata.len();
            // What an input says was committed may be as long as the input.
            assert!(
                is_resumed || length <= MOST_METADATA,
                "{length} bytes are committed with offset {}",
                position.offset
            );
        }
    }

    fn send(&mut self) {
        let ready = self.aggregator.take_ready();
        let is_sorted = |frame: &AggregatedFrame| frame.events.is_sorted();
        assert!(ready.iter().all(is_sorted) && ready.is_sorted_by_key(|frame| frame.reference_ns));
        self.aggregator.sent(&ready, 0, 0);
        self.frames.extend(ready);
    }
}

/// Puts the messages in `bytes` together, behind a byte that chooses the rules (see [`choice`]). A message can say that it is looked
/// what may leave (its bit 6), or that the work is interrupted behind it and goes on from what is committed (bit 7).
///
/// # Panics
/// If something is unaccounted for after any message, if more is committed with an offset than brokers take, if frames are not in the
/// order of their times, or if a frame is sent twice.
pub fn kafka_aggregate(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    let partitions = if choice & choice::TWO != 0 { 2 } else { 4 };
    let mut messages = messages(rest);
    let is_resumed = choice & choice::RESUMED != 0;
    let metadata = if is_resumed {
        messages
            .next()
            .map(|first| String::from_utf8_lossy(&first.record.payload).into_owned())
            .unwrap_or_default()
    } else {
        String::new()
    };
    let starts: Vec<PartitionStart> = (0..partitions)
        .map(|partition| PartitionStart { partition, offset: 0, metadata: metadata.clone() })
        .collect();
    let mut run = Run { aggregator: Aggregator::new(rules(choice), &starts), frames: Vec::new() };
    let mut now = Duration::ZERO;
    let mut taken = 0_u64;
    for message in messages {
        now += Duration::from_millis(message.wait_ms.into());
        let record = &message.record;
        let raw = RawMessage {
            partition: record.partition,
            offset: record.offset,
            time_ms: record.time_ms,
            payload: &record.payload,
        };
        run.aggregator.take(&raw, now, NOW);
        taken += 1;
        run.check(is_resumed);
        if message.also & 1 != 0 {
            run.aggregator.look(now);
            run.check(is_resumed);
        }
        if message.also & 2 != 0 {
            run.send();
            let positions = run.aggregator.positions();
            let mut next = Aggregator::new(rules(choice), &positions);
            run.frames.iter().for_each(|frame| next.left_before(frame.reference_ns));
            run.aggregator = next;
            taken = 0;
            run.check(is_resumed);
        }
    }
    run.aggregator.close();
    run.send();
    run.check(is_resumed);
    let counters = run.aggregator.counters();
    assert_eq!((counters.messages_read, counters.frames_waiting, counters.events_waiting), (taken, 0, 0));
    let times: BTreeSet<i64> = run.frames.iter().map(|frame| frame.reference_ns).collect();
    assert_eq!(times.len(), run.frames.len(), "a frame twice");
}
