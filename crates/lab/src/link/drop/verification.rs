//! Can a histogram be that of a transfer without loss? (XDP paper, chapter on long duration tests.)
//!
//! Data generators send all words in turn, from the first one on, in blocks of whole turns (131 072 bytes). When a
//! generator is stopped at a random point, the words before that point have occurred once more than the others.
//! Hence, with the receiver there first:
//!
//! * *spread*: the largest and the smallest count differ by at most the number of generators (the paper: one);
//! * *areas*: in the order of the pattern the counts never rise, and there are at most as many steps as generators
//!   (the paper: at most two monochromatic areas);
//! * *sum*: all counts together are half the bytes that **the sender** reports; what the receiver counted itself
//!   proves nothing;
//! * *packets*: as many have arrived as the sender reports. It is what shows a loss at the very end to the
//!   identifiers, which end with it.
//!
//! What each of them cannot see:
//!
//! | | spread | areas | sum | packets | identifiers |
//! |---|---|---|---|---|---|
//! | a packet lost | only if the spread was at its limit and one of its words among the rarest | unless its words end at a step | yes | yes | yes |
//! | the last packet lost | no | no | yes | yes | no |
//! | a bit flipped | with one generator: mostly; with several: rarely | unless word and flipped word lie just before and just behind steps | no | no | no |
//! | a whole turn lost (131 072 bytes) | no | no | yes | yes | yes |
//! | one packet lost, another of equal length twice | mostly, with one generator | mostly | no | no | yes |
//! | the same with equal payload | no | no | no | no | yes |
//! | packets in another order | no | no | no | no | yes |
//! | words in another order inside a packet | no | no | no | no | no |
//! | a receiver that began late | no | yes, unless by whole turns | yes | yes | no |
//!
//! The true spread of several generators is mostly smaller than their number, which is why a flipped bit can hide
//! in the spread then.

use super::histogram::{WORDS, WordHistogram};
use super::pattern::WordPattern;
use std::fmt::Write as _;

/// Areas and odd places that a verification keeps; there may be as many as words.
const KEPT: usize = 16;

/// What is known of the sender.
#[derive(Clone, Copy, Debug)]
pub struct Expectation<'a> {
    /// The pattern of all its generators.
    pub pattern: &'a WordPattern,
    /// Data generators in this stream, at least 1.
    pub generators: u32,
    /// Payload bytes that it reports to have sent, if it does.
    pub sent_bytes: Option<u64>,
    /// Packets that it reports to have sent, if it does.
    pub sent_packets: Option<u64>,
}

/// Successive words of the pattern with equal counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Place of its first word in the pattern (with a counting pattern: the word).
    pub first: u16,
    /// Place of its last word.
    pub last: u16,
    /// How often each of its words occurred.
    pub count: u64,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As in a transfer without loss.
    Passed,
    /// Not possible without loss or damage (or other settings of the sender than those expected).
    Failed,
    /// Something that is needed is not known.
    Unknown,
}

impl Outcome {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// One check, with what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name: `spread`, `areas`, `sum` or `packets`.
    pub name: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, in words.
    pub reason: String,
}

/// The verdict on one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Smallest count; 0 if words were not counted.
    pub smallest: u64,
    /// Largest count; 0 if words were not counted.
    pub largest: u64,
    /// The first areas in the order of the pattern.
    pub areas: Vec<Area>,
    /// How many areas there are.
    pub area_count: usize,
    /// Areas with lower or higher counts than both their neighbours or, at the front, than those behind: words
    /// that are missing, or too many.
    pub odd_areas: Vec<Area>,
    /// The four checks.
    pub checks: [Check; 4],
}

impl Verification {
    /// Verifies a histogram, and the packets counted, against what is known of the sender.
    pub fn new(histogram: &WordHistogram, packets: u64, expected: &Expectation<'_>) -> Self {
        let counts = histogram.counts();
        let smallest = counts.iter().copied().min().unwrap_or(0);
        let largest = counts.iter().copied().max().unwrap_or(0);
        let areas = areas(counts, expected.pattern);
        let odd = odd_areas(&areas);
        let checks = [
            spread(smallest, largest, expected.generators),
            monochromatic(&areas, &odd, expected.generators),
            sum(histogram, expected.sent_bytes),
            arrived(packets, expected.sent_packets),
        ];
        Self {
            smallest,
            largest,
            area_count: areas.len(),
            areas: areas.into_iter().take(KEPT).collect(),
            odd_areas: odd.into_iter().take(KEPT).collect(),
            checks,
        }
    }

    /// Verifies the packets of a stream whose words were not counted: nothing is known of spread, areas and sum.
    pub fn without_words(packets: u64, expected: &Expectation<'_>) -> Self {
        let unknown = |name| {
            let reason = "words were not counted, as asked: receive without --count off".to_owned();
            Check { name, outcome: Outcome::Unknown, reason }
        };
        Self {
            smallest: 0,
            largest: 0,
            areas: Vec::new(),
            area_count: 0,
            odd_areas: Vec::new(),
            checks: [
                unknown("spread"),
                unknown("areas"),
                unknown("sum"),
                arrived(packets, expected.sent_packets),
            ],
        }
    }

    /// True if no check failed. Checks that could not be made do not count.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.outcome != Outcome::Failed)
    }

    /// The check of this name.
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }
}

fn areas(counts: &[u64; WORDS], pattern: &WordPattern) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for (place, word) in (0..=u16::MAX).zip(pattern.words()) {
        let count = counts[usize::from(*word)];
        match areas.last_mut() {
            Some(area) if area.count == count => area.last = place,
            _ => areas.push(Area { first: place, last: place, count }),
        }
    }
    areas
}

/// Where the counts rise, the fault lies before the rise (words missing) or behind it (words too many): of the two
/// areas the smaller one is the likelier.
fn odd_areas(areas: &[Area]) -> Vec<Area> {
    let width = |area: &Area| area.last - area.first;
    let mut odd: Vec<Area> = Vec::new();
    for (before, behind) in areas.iter().zip(areas.iter().skip(1)) {
        if behind.count > before.count {
            let smaller = if width(behind) < width(before) { behind } else { before };
            if odd.last() != Some(smaller) {
                odd.push(*smaller);
            }
        }
    }
    odd
}

fn check(name: &'static str, passed: bool, reason: String) -> Check {
    Check { name, outcome: if passed { Outcome::Passed } else { Outcome::Failed }, reason }
}

fn spread(smallest: u64, largest: u64, generators: u32) -> Check {
    let difference = largest - smallest;
    let reason = format!(
        "words occurred {smallest} to {largest} times: they differ by {difference}, at most {generators} can be"
    );
    check("spread", difference <= u64::from(generators), reason)
}

fn monochromatic(areas: &[Area], odd: &[Area], generators: u32) -> Check {
    let most = generators as usize + 1;
    let mut reason = format!("{} areas of equal counts, at most {most} can be", areas.len());
    if !odd.is_empty() {
        let _ = write!(reason, "; counts rise {} times, near the words in places", odd.len());
        for area in odd.iter().take(4) {
            let _ = write!(reason, " {:#06x} to {:#06x} ({} times)", area.first, area.last, area.count);
        }
        if odd.len() > 4 {
            reason.push_str(" …");
        }
    }
    check("areas", odd.is_empty() && areas.len() <= most, reason)
}

fn sum(histogram: &WordHistogram, sent_bytes: Option<u64>) -> Check {
    let (sum, odd) = (histogram.sum(), histogram.odd_bytes());
    let Some(sent) = sent_bytes else {
        let reason = format!("{sum} words were counted, but the sender's report is not there");
        return Check { name: "sum", outcome: Outcome::Unknown, reason };
    };
    let mut reason = format!("{sum} words were counted, half the {sent} bytes sent are {}", sent / 2);
    if odd > 0 {
        let _ = write!(reason, "; {odd} bytes were no half of a word");
    }
    check("sum", sent.is_multiple_of(2) && sum == sent / 2 && odd == 0, reason)
}

fn arrived(packets: u64, sent_packets: Option<u64>) -> Check {
    let Some(sent) = sent_packets else {
        let reason = format!("{packets} packets came, but the sender's report is not there");
        return Check { name: "packets", outcome: Outcome::Unknown, reason };
    };
    check("packets", packets == sent, format!("{packets} packets came, {sent} were sent"))
}
