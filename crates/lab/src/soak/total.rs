//! All segments together.

use super::checkpoint::Checkpoint;
use super::figures::SegmentStream;
use crate::link::drop::{Check, Expectation, Outcome, Verification, WordHistogram, WordPattern};
use evforge_wire::drop::Order;

/// What all finished segments say together.
#[derive(Clone, Debug)]
pub struct SoakTotal {
    /// Seconds that were sent.
    pub seconds: f64,
    /// Packets that the sender reports, of all streams.
    pub sent: u64,
    /// Packets that came and were counted.
    pub received: u64,
    /// Packets that never came.
    pub lost: u64,
    /// Each stream.
    pub streams: Vec<StreamTotal>,
}

/// What all finished segments say of one stream.
#[derive(Clone, Debug)]
pub struct StreamTotal {
    /// Packets that the sender reports.
    pub sent: u64,
    /// Packets that came and were counted.
    pub received: u64,
    /// Packets that never came.
    pub lost: u64,
    /// Payload bytes that the sender reports.
    pub bytes: u64,
    /// Words counted.
    pub words: u64,
    /// Jumps of the identifiers.
    pub jumps: u64,
    /// The merged histogram, verified.
    pub verification: Verification,
    /// What the receiver found wrong in a segment, with its number.
    pub problems: Vec<String>,
}

impl StreamTotal {
    /// True if nothing was wrong in any segment, and all checks of the whole have passed.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
            && self.lost == 0
            && self.jumps == 0
            && self.received == self.sent
            && self.failed().next().is_none()
    }

    /// The checks of the whole that have not passed.
    pub fn failed(&self) -> impl Iterator<Item = &Check> {
        self.verification.checks.iter().filter(|check| check.outcome != Outcome::Passed)
    }
}

impl SoakTotal {
    /// Sums up.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        let streams: Vec<StreamTotal> =
            (0..usize::from(checkpoint.settings.streams)).map(|stream| total(checkpoint, stream)).collect();
        let sum = |count: fn(&StreamTotal) -> u64| streams.iter().map(count).fold(0, u64::saturating_add);
        Self {
            seconds: checkpoint
                .segments
                .iter()
                .map(|segment| segment.seconds)
                .fold(0.0, |sum, seconds| sum + seconds),
            sent: sum(|stream| stream.sent),
            received: sum(|stream| stream.received),
            lost: sum(|stream| stream.lost),
            streams,
        }
    }
}

fn total(checkpoint: &Checkpoint, number: usize) -> StreamTotal {
    let mut histogram = WordHistogram::default();
    let mut problems = Vec::new();
    let segments = || checkpoint.segments.iter().filter_map(|segment| segment.streams.get(number));
    for (segment, stream) in segments().enumerate() {
        for area in &stream.areas {
            histogram.add(area.first, area.last, area.count);
        }
        problems.extend(stream.problems.iter().map(|problem| format!("segment {}: {problem}", segment + 1)));
        if stream.area_count > stream.areas.len() as u64 {
            problems.push(format!(
                "segment {}: its histogram has {} areas, of which {} are known",
                segment + 1,
                stream.area_count,
                stream.areas.len()
            ));
        }
    }
    let sum = |count: fn(&SegmentStream) -> u64| segments().map(count).fold(0, u64::saturating_add);
    let (sent, bytes, received) =
        (sum(|stream| stream.sent), sum(|stream| stream.bytes), sum(|stream| stream.received));
    // Words are sent in the order of counting.
    let pattern = WordPattern::new(Order::Counting);
    let expected =
        Expectation { pattern: &pattern, generators: 1, sent_bytes: Some(bytes), sent_packets: Some(sent) };
    StreamTotal {
        sent,
        received,
        lost: sum(|stream| stream.lost),
        bytes,
        words: sum(|stream| stream.words),
        jumps: sum(|stream| stream.jumps),
        verification: Verification::new(&histogram, received, &expected),
        problems,
    }
}
