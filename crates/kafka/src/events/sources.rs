//! The sources of a topic's events: which numbers of messages are missing, which came twice.

use crate::message_ids::{Arrival, MessageIds};
use crate::topic::Record;
use evforge_core::ledger::{PacketLedger, SourceLedger};
use evforge_core::sequence::{Gap, REMEMBERED_GAPS};
use evforge_messages::Message;
use std::collections::{BTreeMap, HashMap};

/// Sources that are told apart, in all topics together.
const MOST: usize = 4096;

/// All sources.
#[derive(Debug, Default)]
pub(super) struct Sources {
    of_topics: Vec<HashMap<String, Source>>,
    number: usize,
    untold: u64,
}

#[derive(Debug, Default)]
struct Source {
    ids: MessageIds,
    messages: u64,
}

impl Sources {
    /// Takes note of a message; false if it was here before.
    pub(super) fn is_new(&mut self, topic: usize, record: &Record, message: &Message<'_>) -> bool {
        let id = match message {
            Message::Ev44(events) => events.message_id,
            Message::Ev42(events) => i64::try_from(events.message_id).unwrap_or(i64::MAX),
            // They count together with the events.
            Message::Pu00(pulse) => pulse.message_id,
            _ => return true,
        };
        if self.of_topics.len() <= topic {
            self.of_topics.resize_with(topic + 1, HashMap::new);
        }
        let name = message.source_name().unwrap_or_default();
        let of_topic = &mut self.of_topics[topic];
        if !of_topic.contains_key(name) {
            if self.number >= MOST {
                self.untold += 1;
                return true;
            }
            self.number += 1;
            of_topic.insert(name.to_owned(), Source::default());
        }
        let Some(source) = of_topic.get_mut(name) else { return true };
        source.messages += 1;
        let partition = usize::try_from(record.partition).unwrap_or(0);
        let checksum = crc32fast::hash(&record.payload);
        let arrival = source.ids.take(partition, id, checksum, message.time_ns().unwrap_or(0));
        arrival == Arrival::New
    }

    fn all(&self) -> impl Iterator<Item = (&String, &Source)> {
        self.of_topics.iter().flatten()
    }

    /// Messages that are missing.
    pub(super) fn missing(&self) -> u64 {
        self.all().map(|(_, source)| source.ids.lost()).fold(0, u64::saturating_add)
    }

    /// Messages of sources beyond those that are told apart.
    pub(super) fn untold(&self) -> u64 {
        self.untold
    }

    /// As ledgers, by name.
    pub(super) fn ledgers(&self) -> Vec<SourceLedger> {
        let by_name: BTreeMap<_, _> = self.all().collect();
        by_name.into_iter().map(|(name, source)| source.ledger(name)).collect()
    }
}

impl Source {
    fn ledger(&self, name: &str) -> SourceLedger {
        let ids = &self.ids;
        if !ids.is_numbered() {
            return SourceLedger::unnumbered(name.to_owned(), self.messages);
        }
        let gap = |gap: &crate::message_ids::Gap| Gap {
            first: u64::try_from(gap.after.saturating_add(1)).unwrap_or(0),
            count: gap.missing,
            noticed_ns: u64::try_from(gap.to_ns).unwrap_or(0),
        };
        // Hostile numbers can be as far apart as there are numbers: no more are missing than the sum has room for.
        let new = self.messages - ids.duplicated;
        let lost = ids.lost().min(u64::MAX - new);
        SourceLedger {
            name: name.to_owned(),
            packets: PacketLedger {
                sent: Some(new + lost),
                received: self.messages,
                lost,
                reordered: ids.late,
                duplicated: ids.duplicated,
                unconfirmed: ids.unconfirmed,
                restarts: ids.restarts,
            },
            gaps: ids.gaps.iter().take(REMEMBERED_GAPS).map(gap).collect(),
            gaps_forgotten: ids.gaps.len().saturating_sub(REMEMBERED_GAPS) as u64,
            ..SourceLedger::default()
        }
    }
}
