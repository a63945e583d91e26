//! Messages on their way from a reader to the job: their bytes one behind the other, and what was found in each.

use super::partitions::Key;
use super::routes::Routes;
use evforge_kafka::topic::Change;
use evforge_messages::{Message, RefusedReason, decode};
use std::ops::Range;

/// What was found in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// It is read by the streams of a route.
    Routed {
        /// The route.
        route: usize,
        /// The time of its data, nanoseconds since 1970.
        time_ns: i64,
        /// The number that its source gave it, if its schema has one.
        number: Option<i64>,
        /// CRC-32 of its bytes, if it has a number.
        checksum: u32,
    },
    /// Nobody asks for it.
    OtherSource,
    /// Its time is 0.
    WithoutTime,
    /// It cannot be read.
    Refused(RefusedReason),
}

/// A message in a block.
#[derive(Clone, Debug)]
pub(super) struct Head {
    /// Its partition.
    pub(super) partition: Key,
    /// Its number there.
    pub(super) offset: i64,
    /// Its Kafka time stamp, milliseconds since 1970.
    pub(super) kafka_ms: Option<i64>,
    /// Where its bytes are; nothing for messages that nobody reads.
    pub(super) bytes: Range<usize>,
    /// Its length.
    pub(super) length: usize,
    /// What was found in it.
    pub(super) content: Content,
}

/// Messages in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// What has happened to partitions before.
    pub(super) changes: Vec<Change>,
    pub(super) heads: Vec<Head>,
    pub(super) bytes: Vec<u8>,
    /// What was found first for a reason, in words.
    pub(super) refusals: Vec<(RefusedReason, String)>,
}

/// The bytes of a message begin at such a place, so that its columns of numbers lie as this machine wants them.
const ALIGNMENT: usize = 8;

impl Block {
    /// Empties it, with its memory.
    pub(super) fn clear(&mut self) {
        self.changes.clear();
        self.heads.clear();
        self.bytes.clear();
        self.refusals.clear();
    }

    /// True if there is something in it.
    pub(super) fn has_news(&self) -> bool {
        !self.heads.is_empty() || !self.changes.is_empty()
    }

    /// Reads a message and keeps what a stream will need of it.
    pub(super) fn push(
        &mut self,
        partition: Key,
        offset: i64,
        kafka_ms: Option<i64>,
        payload: &[u8],
        routes: &Routes,
    ) {
        let content = self.judge(partition.0, kafka_ms, payload, routes);
        let start = self.bytes.len().next_multiple_of(ALIGNMENT);
        let bytes = if matches!(content, Content::Routed { .. }) {
            self.bytes.resize(start, 0);
            self.bytes.extend_from_slice(payload);
            start..start + payload.len()
        } else {
            0..0
        };
        self.heads.push(Head { partition, offset, kafka_ms, bytes, length: payload.len(), content });
    }

    fn judge(&mut self, topic: usize, kafka_ms: Option<i64>, payload: &[u8], routes: &Routes) -> Content {
        let message = match decode(payload) {
            Ok(message) => message,
            Err(refused) => {
                let reason = refused.reason();
                if !self.refusals.iter().any(|(known, _)| *known == reason) {
                    self.refusals.push((reason, refused.to_string()));
                }
                return Content::Refused(reason);
            }
        };
        // al00 need not have a source: an alarm of nobody is nobody's.
        let source = message.source_name().unwrap_or_default();
        let Some(route) = routes.find(topic, source, message.schema()) else { return Content::OtherSource };
        // Raw packets have no time of their own.
        let of_kafka = || kafka_ms.map(|ms| ms.saturating_mul(1_000_000));
        let time_ns = match &message {
            Message::Ar51(_) => of_kafka(),
            message => message.time_ns(),
        };
        let Some(time_ns) = time_ns else { return Content::WithoutTime };
        let number = number_of(&message);
        let checksum = number.map_or(0, |_| crc32fast::hash(payload));
        Content::Routed { route, time_ns, number, checksum }
    }
}

/// The number that a source gives its messages, all of its schemas together.
fn number_of(message: &Message<'_>) -> Option<i64> {
    match message {
        Message::Ev44(message) => Some(message.message_id),
        Message::Ev42(message) => Some(message.message_id.cast_signed()),
        Message::Pu00(message) => Some(message.message_id),
        _ => None,
    }
}
