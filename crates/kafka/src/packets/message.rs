//! A message of a topic, read: the packet in it, with its source and number.

use super::counters::TopicCounters;
use super::headers::{BadHeader, Origin};
use super::sources::Sources;
use crate::topic::Change;
use evforge_core::packet::{ArrivalClock, LARGEST_PAYLOAD};
use evforge_messages::{Ar51, RefusedCounters};

/// A message as a partition gives it.
#[derive(Debug)]
pub(super) struct Delivered<'a> {
    pub(super) payload: Option<&'a [u8]>,
    pub(super) origin: Result<Origin, BadHeader>,
    /// When it was written, in milliseconds since 1970.
    pub(super) time_ms: Option<i64>,
}

/// The packet of the last message that was read; its memory is used again.
#[derive(Debug, Default)]
pub(super) struct ReadPacket {
    pub(super) bytes: Vec<u8>,
    pub(super) origin: Origin,
    /// The number of its source.
    pub(super) source: usize,
    pub(super) id: i64,
    /// For the order among sources, in nanoseconds since 1970.
    pub(super) time_ns: u64,
}

/// Counts of messages, and which are wanted.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) counters: TopicCounters,
    pub(super) refused: RefusedCounters,
    pub(super) sources: Sources,
    /// Only packets to this port are wanted.
    pub(super) port: Option<u16>,
    /// The identifier of the first message that is no ar51.
    pub(super) stranger: Option<String>,
    /// What has happened to partitions.
    pub(super) changes: Vec<Change>,
}

impl Reading {
    /// Reads a message. False if it is left out, which is counted.
    pub(super) fn read(&mut self, message: &Delivered<'_>, into: &mut ReadPacket) -> bool {
        self.counters.messages += 1;
        let Some(payload) = message.payload.filter(|payload| !payload.is_empty()) else {
            self.counters.empty += 1;
            return false;
        };
        let raw = match Ar51::decode(payload) {
            Ok(raw) => raw,
            Err(refused) => {
                self.refused.count(refused.reason());
                if self.stranger.is_none() {
                    self.stranger = Some(refused.to_string());
                }
                return false;
            }
        };
        let Ok(origin) = message.origin else {
            self.counters.bad_headers += 1;
            return false;
        };
        if raw.raw_data.len() > LARGEST_PAYLOAD {
            self.counters.too_long += 1;
            return false;
        }
        let is_other = |port: u16| origin.origin.destination_port != port;
        if self.port.is_some_and(is_other) {
            self.counters.other_port += 1;
            let source = self.sources.number(raw.source_name);
            self.sources.observe(source, raw.message_id);
            return false;
        }
        into.bytes.clear();
        into.bytes.extend_from_slice(raw.raw_data);
        into.origin = origin;
        into.source = self.sources.number(raw.source_name);
        into.id = raw.message_id;
        let written = message.time_ms.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0);
        into.time_ns = match origin.origin.arrival_clock {
            ArrivalClock::None => written.saturating_mul(1_000_000),
            _ => origin.origin.arrival_ns,
        };
        true
    }
}
