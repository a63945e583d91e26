//! Proposes channels to mask, from how often each has sent.
//!
//! A channel is compared with its neighbours, because a picture may be bright in one place and dark in another
//! but changes little from one channel to the next:
//!
//! * *expected* is the larger of two medians: that of the eight channels on either side in the same group, and
//!   that of all channels of the group that have sent anything;
//! * **hot**: more than ten times expected, and more than a hundred readouts above that;
//! * **dead**: nothing at all, although 20 readouts or more are expected: by chance that happens once in
//!   5 × 10^8 times.
//!
//! It is a proposal: the configuration decides.

use evforge_core::monitor::MonitorData;
use std::fmt::Write as _;

/// Channels on either side that a channel is compared with.
const NEIGHBOURS: usize = 8;
/// A hot channel has this many times what is expected…
const HOT_FACTOR: u64 = 10;
/// … and this many readouts more.
const HOT_EXCESS: u64 = 100;
/// Readouts that must be expected for a silent channel to be called dead.
const DEAD_EXPECTED: u64 = 20;

/// Why a channel is proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Far more readouts than its neighbours.
    Hot,
    /// No readouts although its neighbours have some.
    Dead,
}

impl Fault {
    /// As a reason in a mask.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Dead => "dead",
        }
    }
}

/// A channel to mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Index of the channel.
    pub index: usize,
    /// What people call it: "digitizer 143, channel 47".
    pub channel: String,
    /// Why.
    pub fault: Fault,
    /// Its readouts.
    pub readouts: u64,
    /// What its neighbours let expect.
    pub expected: u64,
}

/// The channels that should be looked at: the hot ones by their readouts, the largest first, then the dead ones
/// in order.
pub fn propose_masks(monitor: &MonitorData) -> Vec<Proposal> {
    let plan = monitor.plan();
    let mut proposals = Vec::new();
    let mut first = 0;
    for group in &plan.groups {
        let counts = monitor.readouts().get(first..first + group.channels).unwrap_or_default();
        let of_group = median(counts.iter().copied().filter(|&count| count > 0));
        for (channel, &readouts) in counts.iter().enumerate() {
            let near = channel.saturating_sub(NEIGHBOURS)..(channel + NEIGHBOURS + 1).min(counts.len());
            let others = near.filter(|&other| other != channel).map(|other| counts[other]);
            let expected = median(others).max(of_group);
            let fault = if readouts > HOT_FACTOR * expected + HOT_EXCESS {
                Fault::Hot
            } else if readouts == 0 && expected >= DEAD_EXPECTED {
                Fault::Dead
            } else {
                continue;
            };
            proposals.push(Proposal {
                index: first + channel,
                channel: plan.channel_name(first + channel).unwrap_or_default(),
                fault,
                readouts,
                expected,
            });
        }
        first += group.channels;
    }
    proposals.sort_by_key(|proposal| (std::cmp::Reverse(proposal.readouts), proposal.index));
    proposals
}

/// The lower median; 0 of nothing.
fn median(counts: impl Iterator<Item = u64>) -> u64 {
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable();
    counts.get(counts.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// The proposals for people, a line each.
pub fn mask_text(monitor: &MonitorData) -> String {
    let all: u64 = monitor.readouts().iter().sum();
    let proposals = propose_masks(monitor);
    let mut text = String::new();
    for proposal in &proposals {
        let share = 100.0 * proposal.readouts as f64 / all.max(1) as f64;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<4}  {}: {} of {all} readouts ({share:.1} %), {} expected from its neighbours",
            proposal.fault.name(),
            proposal.channel,
            proposal.readouts,
            proposal.expected,
        );
    }
    if proposals.is_empty() {
        let _ = writeln!(text, "no channel stands out among {all} readouts");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::monitor::{ChannelGroup, MonitorPlan};

    fn monitor(counts: &[u64]) -> MonitorData {
        let mut monitor = MonitorData::new(MonitorPlan {
            groups: vec![
                ChannelGroup { name: "chip 0".into(), channels: 64 },
                ChannelGroup { name: "chip 1".into(), channels: counts.len() },
            ],
            planes: vec![],
            amplitude_bits: 10,
            cluster_amplitude_bits: 10,
        });
        for (channel, &count) in counts.iter().enumerate() {
            for _ in 0..count {
                monitor.count(64 + channel);
            }
        }
        monitor
    }

    #[test]
    fn hot_and_dead_channels_are_named_and_a_bright_spot_is_not() {
        // A spot that rises to 40 times the rim, a hot channel on the rim, a dead one in the spot.
        let mut counts: Vec<u64> =
            (0..64_i64).map(|at| 50 + 2000 / (1 + (at - 40) * (at - 40) / 30) as u64).collect();
        counts[3] = 9000;
        counts[41] = 0;
        let found: Vec<_> = propose_masks(&monitor(&counts))
            .into_iter()
            .map(|proposal| (proposal.channel, proposal.fault))
            .collect();
        assert_eq!(
            found,
            [("chip 1, channel 3".into(), Fault::Hot), ("chip 1, channel 41".into(), Fault::Dead)]
        );
    }

    #[test]
    fn too_few_readouts_prove_nothing() {
        assert_eq!(propose_masks(&monitor(&[3, 0, 2, 60, 1, 0, 0, 4])), []);
        assert!(mask_text(&monitor(&[1, 1])).contains("no channel stands out among 2 readouts"));
    }
}
