//! The messages of several boards, as they come, into frames: `evforge kafka aggregate`.
//!
//! | you look for | it is in |
//! |---|---|
//! | messages into frames, without brokers and clocks | [`Aggregator`] |
//! | a frame that messages may still come for, one that has left | `pending`, `left` |
//! | when a frame leaves | `progress` |
//! | what is committed, and what a restart makes of it | `offsets` |
//! | frames into messages | `messages` |
//! | where the work goes on after a restart | `start` |
//! | brokers: reading, transactions | [`Aggregation`] |
//!
//! Frames and the offsets of their messages are committed in one transaction: a kill at any moment loses nothing, and doubles nothing
//! (`docs/development/decisions/0047-frames-and-offsets-are-one-transaction.md`).

mod aggregation;
mod aggregator;
mod counters;
mod left;
mod messages;
mod offsets;
mod pending;
mod progress;
mod start;
#[cfg(test)]
mod tests;
mod transactions;

pub use aggregation::{Aggregation, AggregationSettings, Step};
pub use aggregator::Aggregator;
pub use counters::AggregateCounters;
pub use transactions::GiveUp;

use std::time::Duration;

/// How frames are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregateRules {
    /// Messages are of the same frame if their reference times differ by this at most, in nanoseconds.
    pub tolerance_ns: i64,
    /// A frame waits for this long, from its first message on.
    pub expiry: Duration,
    /// By how much a message of a source may be earlier than one before it in its partition, in nanoseconds of reference time. A
    /// frame has been passed when all have gone on further than that.
    pub out_of_order_ns: i64,
    /// Frames that wait at most.
    pub most_frames: usize,
    /// Memory that they take at most, but for a single frame that takes more.
    pub most_bytes: usize,
    /// Whether frames are sent whose period or charge nobody has told.
    pub keeps_without_metadata: bool,
}

/// A message of the topic of raw messages.
#[derive(Clone, Copy, Debug)]
pub struct RawMessage<'a> {
    /// Its partition.
    pub partition: i32,
    /// Its number there.
    pub offset: i64,
    /// Kafka's time of it, in milliseconds since 1970.
    pub time_ms: Option<i64>,
    /// Its content.
    pub payload: &'a [u8],
}

/// Where a partition is begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionStart {
    /// Its number.
    pub partition: i32,
    /// The first message that is read.
    pub offset: i64,
    /// What was committed with this offset; empty if nothing was.
    pub metadata: String,
}

/// How far a partition is done with.
pub type PartitionPosition = PartitionStart;

/// A frame that has left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AggregatedFrame {
    /// Nanoseconds since 1970: the smallest of its messages.
    pub reference_ns: i64,
    /// The vetoes that any message has told; none if none was told.
    pub vetoes: Option<u32>,
    /// The period, from 0.
    pub period: Option<u32>,
    /// The proton charge in µAh.
    pub charge: Option<f32>,
    /// Time of flight in nanoseconds and pixel, in this order.
    pub events: Vec<(i32, i32)>,
}
