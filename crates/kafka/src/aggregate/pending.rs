//! A frame to which messages may still come.

use std::time::Duration;

/// Which of two messages was written later, whatever order they are read in: time of Kafka in ms, partition, offset.
pub(super) type Rank = (i64, usize, i64);

/// What has come of a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingFrame {
    /// The smallest and the largest reference time of its messages: boards differ by some nanoseconds.
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    /// All that any message has said; none if none has.
    pub(super) vetoes: Option<u32>,
    /// What the last message has said that says it.
    pub(super) period: Option<(Rank, u32)>,
    pub(super) charge: Option<(Rank, f32)>,
    /// Time of flight and pixel.
    pub(super) events: Vec<(i32, i32)>,
    /// Partition and offset of its messages.
    pub(super) offsets: Vec<(usize, i64)>,
    /// When its first message was read.
    pub(super) since: Duration,
    /// Kafka's time of the message that is earliest by it, in milliseconds since 1970, if it has one.
    pub(super) written_ms: Option<i64>,
    /// Counts the frames, in the order in which they were begun.
    pub(super) number: u64,
}

/// Bytes that a frame takes besides its events and messages.
const FRAME: usize = size_of::<PendingFrame>() + 64;

impl PendingFrame {
    /// Memory that it takes, at most: columns grow by doubling.
    pub(super) fn bytes(&self) -> usize {
        FRAME
            + self.events.capacity() * size_of::<(i32, i32)>()
            // As a place in it, and in the set of its partition.
            + self.offsets.capacity() * 3 * size_of::<(usize, i64)>()
    }

    /// Takes note of the period that a message tells.
    pub(super) fn set_period(&mut self, rank: Rank, period: u32) {
        if self.period.is_none_or(|(known, _)| known <= rank) {
            self.period = Some((rank, period));
        }
    }

    /// Takes note of the charge that a message tells.
    pub(super) fn set_charge(&mut self, rank: Rank, charge: f32) {
        if self.charge.is_none_or(|(known, _)| known <= rank) {
            self.charge = Some((rank, charge));
        }
    }

    /// Takes note of vetoes that a message tells.
    pub(super) fn add_vetoes(&mut self, vetoes: u32) {
        self.vetoes = Some(self.vetoes.unwrap_or(0) | vetoes);
    }

    /// Takes note of the time of a message.
    pub(super) fn add_time(&mut self, reference_ns: i64, written_ms: Option<i64>) {
        self.first_ns = self.first_ns.min(reference_ns);
        self.last_ns = self.last_ns.max(reference_ns);
        self.written_ms = match (self.written_ms, written_ms) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
    }

    /// Adds a frame that turned out to be the same one: a message between the two has come.
    pub(super) fn add_frame(&mut self, other: Self) {
        self.add_time(other.first_ns, other.written_ms);
        self.add_time(other.last_ns, None);
        other.vetoes.into_iter().for_each(|vetoes| self.add_vetoes(vetoes));
        other.period.into_iter().for_each(|(rank, period)| self.set_period(rank, period));
        other.charge.into_iter().for_each(|(rank, charge)| self.set_charge(rank, charge));
        self.events.extend(other.events);
        self.offsets.extend(other.offsets);
        self.since = self.since.min(other.since);
        self.number = self.number.min(other.number);
    }
}
