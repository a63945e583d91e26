//! Packets of sampled channels of 2018.

use crate::channels::Span;
use crate::report::{Line, line, listed, sequence_in_words, sequence_json};
use evforge_core::quantity::grouped;
use evforge_core::sequence::{SequenceTracker, Stamp};
use evforge_wire::adc_readout::{AdcPacket, Content, GLOBAL_COUNT_BITS};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Channels that are told apart: a number of 16 bits may be anything.
const MOST: usize = 256;

/// What one channel has sent.
#[derive(Debug, Default)]
struct Channel {
    modules: u64,
    samples: u64,
    oversampling: Span,
}

/// Channels and heartbeats.
#[derive(Debug)]
pub struct AdcContent {
    channels: BTreeMap<u16, Channel>,
    not_kept: u64,
    heartbeats: u64,
    faults: u64,
    tracker: SequenceTracker,
}

impl Default for AdcContent {
    fn default() -> Self {
        let tracker = SequenceTracker::of_packets(GLOBAL_COUNT_BITS, u64::BITS);
        Self { channels: BTreeMap::new(), not_kept: 0, heartbeats: 0, faults: 0, tracker }
    }
}

impl AdcContent {
    pub(super) fn take(&mut self, bytes: &[u8], arrival_ns: u64) {
        if let Some(numbering) = AdcPacket::numbering(bytes) {
            let stamp = Stamp::of(bytes, arrival_ns, None);
            self.tracker.observe_packet(u64::from(numbering.global_count), stamp);
        }
        let Ok(packet) = AdcPacket::parse(bytes) else { return };
        let Content::Data(data) = packet.content else {
            self.heartbeats += 1;
            return;
        };
        for module in data.modules() {
            let Ok(module) = module else {
                self.faults += 1;
                continue;
            };
            if self.channels.len() >= MOST && !self.channels.contains_key(&module.channel) {
                self.not_kept += 1;
                continue;
            }
            let channel = self.channels.entry(module.channel).or_default();
            channel.modules += 1;
            channel.samples += module.len() as u64;
            channel.oversampling.take(module.oversampling);
        }
    }

    /// Largest number of a channel.
    pub fn last_channel(&self) -> Option<u16> {
        self.channels.keys().next_back().copied()
    }

    pub(super) fn readouts(&self) -> u64 {
        self.not_kept + self.channels.values().map(|channel| channel.modules).sum::<u64>()
    }

    pub(super) fn places(&self) -> String {
        format!("channels {}", listed(self.channels.keys()))
    }

    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = vec![
            line("numbers", sequence_in_words(&self.tracker)),
            line("heartbeats", grouped(self.heartbeats)),
        ];
        if self.faults > 0 {
            lines.push(line("  faults", format!("{} damaged modules or trailers", grouped(self.faults))));
        }
        for (number, channel) in &self.channels {
            let text = format!(
                "{} runs, {} samples, oversampling {}",
                grouped(channel.modules),
                grouped(channel.samples),
                channel.oversampling
            );
            lines.push(line(format!("channel {number}"), text));
        }
        if self.not_kept > 0 {
            lines
                .push(line("not told apart", format!("{} runs of further channels", grouped(self.not_kept))));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let channel = |(number, channel): (&u16, &Channel)| {
            json!({
                "channel": number, "runs": channel.modules, "samples": channel.samples,
                "oversampling": channel.oversampling.ends(),
            })
        };
        json!({
            "readouts": { "count": self.readouts() },
            "heartbeats": self.heartbeats,
            "faults": self.faults,
            "sequence": sequence_json(&self.tracker),
            "channels": self.channels.iter().map(channel).collect::<Vec<_>>(),
        })
    }
}
