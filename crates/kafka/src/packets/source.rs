//! A topic with raw packets as a source of packets.

use super::merge::{Found, Lanes, Merge};
use super::message::{ReadPacket, Reading};
use super::partitions::TopicLanes;
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::packet::{ArrivalClock, PacketSlab};
use evforge_core::packet_source::{Fill, PacketSource, SourceError};
use evforge_core::quantity::grouped;
use evforge_core::run_state::InputFault;
use evforge_messages::RefusedReason;
use std::path::{Path, PathBuf};

use super::counters::TopicCounters;

/// After so many messages without a single packet the topic is taken for another one.
const STRANGERS: u64 = 1000;
/// Sources with losses that are named.
const NAMED: usize = 3;

/// The packets of a topic.
pub struct TopicPackets(Packets<TopicLanes>);

impl TopicPackets {
    pub(super) fn new(name: String, merge: Merge<TopicLanes>, port: Option<u16>) -> Self {
        Self(Packets::new(name, merge, port))
    }
}

impl std::fmt::Debug for TopicPackets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TopicPackets").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl PacketSource for TopicPackets {
    fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        self.0.fill(slab)
    }

    fn path(&self) -> &Path {
        &self.0.name
    }

    fn packets(&self) -> u64 {
        self.0.reading.counters.packets
    }

    fn position(&self) -> u64 {
        self.0.reading.counters.bytes
    }

    fn total_bytes(&self) -> Option<u64> {
        None
    }

    fn stage(&self) -> &'static str {
        TopicCounters::STAGE
    }

    fn counters(&self) -> CounterSnapshot {
        self.0.counters()
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped
    }

    fn faults(&self) -> Vec<InputFault> {
        self.0.faults()
    }
}

/// The same over partitions of any kind.
pub(super) struct Packets<P> {
    /// What it is, for people.
    name: PathBuf,
    merge: Merge<P>,
    pub(super) reading: Reading,
    /// The partition with a packet that did not fit any more.
    waiting: Option<usize>,
    failure: Option<String>,
    pub(super) is_stopped: bool,
}

impl<P: Lanes> Packets<P> {
    pub(super) fn new(name: String, merge: Merge<P>, port: Option<u16>) -> Self {
        let reading = Reading { port, ..Reading::default() };
        Self { name: name.into(), merge, reading, waiting: None, failure: None, is_stopped: false }
    }

    pub(super) fn fill(&mut self, slab: &mut PacketSlab) -> Result<Fill, SourceError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        loop {
            let found = match self.waiting.take() {
                Some(partition) => Ok(Found::Packet(partition)),
                None => self.merge.next(&mut self.reading, slab.is_empty()),
            };
            match found {
                Ok(Found::Packet(partition)) => {
                    if !self.push(partition, slab) {
                        self.waiting = Some(partition);
                        return Ok(Fill::More);
                    }
                }
                Ok(Found::Nothing) => {
                    self.is_stopped = self.merge.is_stopped();
                    let is_over = self.is_stopped || self.is_of_others();
                    return Ok(if is_over { Fill::End } else { Fill::More });
                }
                Ok(Found::End) => return Ok(Fill::End),
                Err(error) => return self.fail(slab, error),
            }
        }
    }

    /// The failure now, or with the next call if there are packets to be taken first.
    fn fail(&mut self, slab: &PacketSlab, error: SourceError) -> Result<Fill, SourceError> {
        self.failure = Some(error.to_string());
        if slab.is_empty() { Err(error) } else { Ok(Fill::More) }
    }

    /// Puts the packet of a partition into the slab; false if it does not fit.
    fn push(&mut self, partition: usize, slab: &mut PacketSlab) -> bool {
        let ReadPacket { bytes, origin, source, id, .. } = self.merge.packet(partition);
        let original_length = origin.original_length.map_or(bytes.len(), |length| length as usize);
        if !slab.push(bytes, original_length, origin.origin) {
            return false;
        }
        let counters = &mut self.reading.counters;
        counters.packets += 1;
        counters.bytes += bytes.len() as u64;
        counters.cut += u64::from(original_length > bytes.len());
        counters.unstamped += u64::from(origin.origin.arrival_clock == ArrivalClock::None);
        self.reading.sources.observe(*source, *id);
        self.merge.taken(partition);
        true
    }

    /// True if nothing of the topic is a raw packet: known long before its end.
    fn is_of_others(&self) -> bool {
        let messages = self.reading.counters.messages;
        messages >= STRANGERS && messages == self.reading.refused.total()
    }

    pub(super) fn counters(&self) -> CounterSnapshot {
        let counts = self.reading.sources.counts();
        let counters = TopicCounters {
            messages_lost: counts.lost,
            messages_reordered: counts.reordered,
            messages_duplicated: counts.duplicated,
            restarts: counts.restarts,
            ..self.reading.counters
        };
        CounterSnapshot::of(&counters).and(&self.reading.refused)
    }

    /// What is wrong with the topic.
    pub(super) fn faults(&self) -> Vec<InputFault> {
        let Reading { counters, refused, sources, changes, .. } = &self.reading;
        let losses = changes.iter().filter(|change| change.what.is_loss());
        let mut faults: Vec<_> = losses.map(|change| InputFault::incomplete(change.to_string())).collect();
        if counters.messages > 0 && counters.messages == refused.total() {
            let example = self.reading.stranger.as_deref().unwrap_or_default();
            faults.push(InputFault::no_use(format!(
                "{} holds no raw packets (ar51): none of its first {} messages is one ({example}). `evforge kafka topics` shows \
                 which schemas are in which topic",
                self.name.display(),
                grouped(counters.messages)
            )));
            return faults;
        }
        let lost = sources.counts().lost;
        if lost > 0 {
            let of: Vec<String> = sources
                .lost()
                .take(NAMED)
                .map(|(name, lost, gap)| {
                    let first = gap.map(|(first, last)| format!(", the first {first} to {last}"));
                    format!("{} of {name}{}", grouped(lost), first.unwrap_or_default())
                })
                .collect();
            faults.push(InputFault::incomplete(format!(
                "{} messages are missing in the topic, by the numbers of their sources: {}",
                grouped(lost),
                of.join("; ")
            )));
        }
        let mut reasons: Vec<String> = RefusedReason::ALL
            .iter()
            .filter(|reason| refused.of(**reason) > 0)
            .map(|reason| {
                format!("{} ({})", grouped(refused.of(*reason)), reason.help().trim_end_matches('.'))
            })
            .collect();
        for (count, what) in [
            (counters.empty, "without contents"),
            (counters.too_long, "longer than any UDP packet"),
            (counters.bad_headers, "with headers that make no sense"),
        ] {
            if count > 0 {
                reasons.push(format!("{} ({what})", grouped(count)));
            }
        }
        if !reasons.is_empty() {
            faults.push(InputFault::incomplete(format!(
                "messages of the topic were left out: {}",
                reasons.join(", ")
            )));
        }
        faults
    }
}
