//! What the receiver of DROP streams has reported, as far as a soak keeps it.

use super::settings::SoakSettings;
use crate::measured_link::reports;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Areas of equal counts that the receiver's report has at most.
const MOST_AREAS: usize = 16;
/// Largest count of a segment: with as many segments as there can be, the sum of all is a number of 64 bits.
const MOST_COUNTED: u64 = 1 << 44;
/// Problems of a stream that are kept, and letters of each.
const MOST_PROBLEMS: usize = 16;
const MOST_LETTERS: usize = 400;

/// A segment that has been sent to its end, received, and accounted for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// How long it was to take, in seconds.
    pub asked_seconds: f64,
    /// How long was sent, in seconds.
    pub seconds: f64,
    /// Its streams.
    pub streams: Vec<SegmentStream>,
}

/// A stream of a segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentStream {
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
    /// UDP payload received, in bits per second.
    pub bits_per_second: f64,
    /// How many areas of equal counts its histogram has.
    pub area_count: u64,
    /// The first of them: up to 16 areas are the whole histogram.
    pub areas: Vec<WordArea>,
    /// Where packets were lost.
    pub locations: BTreeMap<String, u64>,
    /// Whatever the receiver found wrong, in words.
    pub problems: Vec<String>,
}

/// Successive words with equal counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordArea {
    /// The first word.
    pub first: u16,
    /// The last one.
    pub last: u16,
    /// How often each occurred.
    pub count: u64,
}

/// What a receiver showed of streams that were stopped and started with other identifiers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvokedJump {
    /// Each stream.
    pub streams: Vec<JumpSeen>,
}

/// The jump of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JumpSeen {
    /// Packets sent before the jump and behind it.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Identifiers that were left out on purpose.
    pub left_out: u64,
    /// Jumps forward that were reported.
    pub forward: u64,
    /// Other jumps that were reported.
    pub others: u64,
    /// Packets that they reported lost.
    pub reported: u64,
}

impl JumpSeen {
    /// True if exactly the jump was reported that was provoked.
    pub const fn is_exact(&self) -> bool {
        self.left_out > 0
            && self.forward == 1
            && self.others == 0
            && self.reported == self.left_out
            && self.sent > 0
            && self.received == self.sent
    }
}

impl ProvokedJump {
    /// True if every stream showed exactly the jump that was provoked.
    pub fn is_exact(&self) -> bool {
        !self.streams.is_empty() && self.streams.iter().all(JumpSeen::is_exact)
    }

    /// What was seen, in a sentence.
    pub fn sentence(&self) -> String {
        let exact = self.streams.iter().filter(|stream| stream.is_exact()).count();
        let seen: Vec<String> = self
            .streams
            .iter()
            .map(|seen| format!("{} of {} identifiers left out", seen.reported, seen.left_out))
            .collect();
        format!("{exact} of {} streams showed exactly the jump ({})", self.streams.len(), seen.join(", "))
    }
}

impl SegmentStream {
    /// Of the receiver's report, which has that of the sender in it.
    pub(super) fn read(stream: &Value) -> Result<Self, String> {
        let count = |pointer: &str| reports::count(stream, pointer);
        let areas = stream["words"]["areas"].as_array().ok_or("has no /words/areas")?;
        let areas = areas.iter().map(|area| serde_json::from_value(area.clone()));
        let areas = areas.collect::<Result<_, _>>().map_err(|error| format!("has areas with {error}"))?;
        Ok(Self {
            sent: count("/sent/packets")?,
            received: count("/counters/packets_counted")?,
            lost: count("/packets/lost")?,
            bytes: count("/sent/payload_bytes")?,
            words: count("/words/sum")?,
            jumps: count("/jumps/forward")? + count("/jumps/zero")? + count("/jumps/negative")?,
            bits_per_second: stream["bits_per_second"].as_f64().ok_or("has no /bits_per_second")?,
            area_count: count("/words/area_count")?,
            areas,
            locations: reports::locations(stream)?,
            problems: problems(stream),
        })
    }

    /// Makes sure that it can be what a receiver has reported, and can be summed up.
    pub(super) fn check(&self) -> Result<(), String> {
        let counts = [self.sent, self.received, self.lost, self.bytes, self.words, self.jumps];
        if counts.iter().chain(self.locations.values()).any(|count| *count > MOST_COUNTED) {
            return Err(format!("a count is larger than {MOST_COUNTED}"));
        }
        if !self.bits_per_second.is_finite() || self.bits_per_second < 0.0 {
            return Err("a rate is no number".to_owned());
        }
        if self.locations.len() > 100 || self.problems.len() > MOST_PROBLEMS {
            return Err("there are too many locations or problems".to_owned());
        }
        let mut next = 0;
        let mut words = 0_u128;
        for area in &self.areas {
            if u32::from(area.first) != next || area.last < area.first {
                return Err(format!("an area begins at word {}: expected {next}", area.first));
            }
            next = u32::from(area.last) + 1;
            words += u128::from(area.count) * u128::from(next - u32::from(area.first));
        }
        let is_whole = self.area_count == self.areas.len() as u64;
        if self.areas.len() > MOST_AREAS || (self.area_count < self.areas.len() as u64) {
            return Err(format!("there are {} areas of {}", self.areas.len(), self.area_count));
        }
        if words > u128::from(self.words) || is_whole && (words != u128::from(self.words) || next != 65_536) {
            return Err(format!("the areas have {words} words: expected {}", self.words));
        }
        Ok(())
    }
}

impl Segment {
    /// Makes sure that it is one of a run with these settings.
    pub(super) fn check(&self, settings: &SoakSettings) -> Result<(), String> {
        if self.streams.len() != usize::from(settings.streams) {
            return Err(format!("it has {} streams: expected {}", self.streams.len(), settings.streams));
        }
        for seconds in [self.seconds, self.asked_seconds] {
            if !(0.0..=1e9).contains(&seconds) {
                return Err(format!("it took {seconds} s"));
            }
        }
        self.streams.iter().try_for_each(SegmentStream::check)
    }

    /// Sum of a count over its streams.
    pub fn sum(&self, count: fn(&SegmentStream) -> u64) -> u64 {
        self.streams.iter().map(count).fold(0, u64::saturating_add)
    }
}

/// Checks that failed or were not made, jumps, packets of no use, mismatches.
fn problems(stream: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, check) in stream["words"]["checks"].as_object().into_iter().flatten() {
        if check["outcome"] != "passed" {
            problems.push(format!("{name}: {}", check["reason"].as_str().unwrap_or("failed")));
        }
    }
    problems.extend(
        stream["mismatches"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned),
    );
    if stream["passed"] != true && problems.is_empty() {
        problems.push("the receiver reports jumps, or packets of no use".to_owned());
    }
    problems.truncate(MOST_PROBLEMS);
    problems.into_iter().map(|problem| problem.chars().take(MOST_LETTERS).collect()).collect()
}
