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
//! Channels to which nothing is wired are not looked at. It is a proposal, in the words of the configuration, which
//! decides.

use evforge_core::monitor::MonitorData;
use std::collections::BTreeMap;
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
    /// How a mask names the channel: keys with their values, and the number in `channels`; none if the detector has no
    /// masks.
    pub mask: Option<(Vec<(&'static str, u32)>, usize)>,
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
        for (channel, &readouts) in counts.iter().enumerate().filter(|(channel, _)| group.is_wired(*channel))
        {
            let near = channel.saturating_sub(NEIGHBOURS)..(channel + NEIGHBOURS + 1).min(counts.len());
            let others = near.filter(|&other| other != channel && group.is_wired(other));
            let others = others.map(|other| counts[other]);
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
                mask: group.mask_of(channel).map(|(mask, number)| (mask.keys.clone(), number)),
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

/// The proposals for people, a comment each, and the entries that mask them, to be appended to a configuration with the
/// detector's section `section`.
pub fn mask_text(section: &str, monitor: &MonitorData) -> String {
    let all: u64 = monitor.readouts().iter().sum();
    let proposals = propose_masks(monitor);
    let mut text = String::new();
    for proposal in &proposals {
        let share = 100.0 * proposal.readouts as f64 / all.max(1) as f64;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "# {:<4}  {}: {} of {all} readouts ({share:.1} %), {} expected from its neighbours",
            proposal.fault.name(),
            proposal.channel,
            proposal.readouts,
            proposal.expected,
        );
    }
    if proposals.is_empty() {
        let _ = writeln!(text, "# no channel stands out among {all} readouts");
    }
    if proposals.iter().any(|proposal| proposal.mask.is_none()) {
        let _ = writeln!(text, "# [{section}] has no masks for such channels");
    }
    text + &entries(section, &proposals)
}

/// What an entry says: its keys with their values, and the reason.
type Entry<'a> = (&'a [(&'static str, u32)], &'static str);

/// Entries of `[[section.mask]]`: one for the channels with the same keys and the same reason.
fn entries(section: &str, proposals: &[Proposal]) -> String {
    let mut entries: BTreeMap<Entry<'_>, Vec<usize>> = BTreeMap::new();
    for proposal in proposals {
        if let Some((keys, channel)) = &proposal.mask {
            entries.entry((keys, proposal.fault.name())).or_default().push(*channel);
        }
    }
    let mut text = String::new();
    for ((keys, reason), mut channels) in entries {
        channels.sort_unstable();
        let _ = writeln!(text, "\n[[{section}.mask]]");
        for (key, value) in keys {
            let _ = writeln!(text, "{key} = {value}");
        }
        let _ = writeln!(text, "channels = {channels:?}\nreason = {reason:?}");
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
                ChannelGroup::new("chip 0", 64),
                ChannelGroup::new("chip 1", counts.len())
                    .masked_by(32, &[("fen", 5), ("vmm", 2)])
                    .masked_by(counts.len(), &[("fen", 5), ("vmm", 3)])
                    .without(50..54),
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
        // Nothing is wired to these.
        counts[50..54].fill(0);
        let monitor = monitor(&counts);
        let found: Vec<_> =
            propose_masks(&monitor).into_iter().map(|proposal| (proposal.channel, proposal.fault)).collect();
        assert_eq!(
            found,
            [("chip 1, channel 3".into(), Fault::Hot), ("chip 1, channel 41".into(), Fault::Dead)]
        );
        let text = mask_text("d", &monitor);
        let entries = text.split_once("\n\n").unwrap().1;
        assert_eq!(
            entries,
            "[[d.mask]]\nfen = 5\nvmm = 2\nchannels = [3]\nreason = \"hot\"\n\n\
             [[d.mask]]\nfen = 5\nvmm = 3\nchannels = [9]\nreason = \"dead\"\n"
        );
    }

    #[test]
    fn too_few_readouts_prove_nothing() {
        assert_eq!(propose_masks(&monitor(&[3, 0, 2, 60, 1, 0, 0, 4])), []);
        assert!(mask_text("x", &monitor(&[1, 1])).contains("no channel stands out among 2 readouts"));
    }
}
