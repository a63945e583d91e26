//! Channels that are left out: hot ones, dead ones, whatever the configuration lists.
//!
//! A masked channel's readouts are counted channel by channel, so that nobody forgets what a mask costs.
//! Channels are meant by their index in the detector's
//! [`MonitorPlan`].

use evforge_core::ledger::MaskedChannel;
use evforge_core::monitor::MonitorPlan;

/// A channel to leave out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct MaskEntry {
    /// Index of the channel.
    pub channel: usize,
    /// Why, for the report and the file: "hot", "dead", anything.
    pub reason: String,
}

/// The masked channels of a detector.
#[derive(Clone, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct ChannelMask {
    /// One bit per channel.
    words: Vec<u64>,
    /// The masked channels in order, with their readouts.
    entries: Vec<(MaskEntry, u64)>,
}

impl ChannelMask {
    /// A mask of `entries` over `channels` channels. The first reason given for a channel counts; a channel
    /// beyond the last is left out (settings are checked before).
    pub fn new(channels: usize, entries: &[MaskEntry]) -> Self {
        let mut words = vec![0_u64; channels.div_ceil(64)];
        let mut kept: Vec<(MaskEntry, u64)> = Vec::new();
        for entry in entries.iter().filter(|entry| entry.channel < channels) {
            let bit = 1 << (entry.channel % 64);
            let word = &mut words[entry.channel / 64];
            if *word & bit == 0 {
                *word |= bit;
                kept.push((entry.clone(), 0));
            }
        }
        kept.sort_by_key(|(entry, _)| entry.channel);
        Self { words, entries: kept }
    }

    /// True if no channel is masked.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True if the channel is masked; does not count. For tables that are made before the readouts come.
    pub fn contains(&self, channel: usize) -> bool {
        self.words.get(channel / 64).is_some_and(|word| word >> (channel % 64) & 1 == 1)
    }

    /// True, and counted, if a readout of `channel` is to be left out.
    #[inline]
    pub fn hides(&mut self, channel: usize) -> bool {
        let hidden = self.contains(channel);
        if hidden {
            self.count(channel);
        }
        hidden
    }

    #[cold]
    fn count(&mut self, channel: usize) {
        if let Ok(place) = self.entries.binary_search_by_key(&channel, |(entry, _)| entry.channel) {
            self.entries[place].1 += 1;
        }
    }

    /// Readouts left out, over all channels.
    pub fn readouts(&self) -> u64 {
        self.entries.iter().map(|(_, readouts)| readouts).sum()
    }

    /// The channels with their names from `plan`, for the ledger.
    pub fn ledger(&self, plan: &MonitorPlan) -> Vec<MaskedChannel> {
        self.entries
            .iter()
            .map(|(entry, readouts)| MaskedChannel {
                channel: plan
                    .channel_name(entry.channel)
                    .unwrap_or_else(|| format!("channel {}", entry.channel)),
                reason: entry.reason.clone(),
                readouts: *readouts,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::monitor::ChannelGroup;

    #[test]
    fn masked_channels_are_hidden_and_counted_each_for_itself() {
        let entry = |channel, reason: &str| MaskEntry { channel, reason: reason.into() };
        let entries = [entry(111, "hot"), entry(3, "dead"), entry(3, "again"), entry(500, "beyond")];
        let mut mask = ChannelMask::new(128, &entries);
        let hidden = [111, 3, 111, 4, 1000].map(|channel| mask.hides(channel));
        assert_eq!(hidden, [true, true, true, false, false]);
        let group = |name: &str| ChannelGroup::new(name, 64);
        let plan = MonitorPlan {
            groups: vec![group("digitizer 137"), group("digitizer 143")],
            planes: vec![],
            amplitude_bits: 16,
            cluster_amplitude_bits: 16,
        };
        let told: Vec<_> = mask
            .ledger(&plan)
            .into_iter()
            .map(|masked| (masked.channel, masked.reason, masked.readouts))
            .collect();
        let expected = [("digitizer 137, channel 3", "dead", 1), ("digitizer 143, channel 47", "hot", 2)];
        assert_eq!(told, expected.map(|(name, why, count)| (name.into(), why.into(), count)));
        assert_eq!(mask.readouts(), 3);
    }
}
