//! A message of a topic, with where it was.

use crate::client::{Header, headers_of};
use evforge_messages::{Message, Refused, decode};
use rdkafka::message::{BorrowedMessage, Message as _};

/// A message of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its partition.
    pub partition: i32,
    /// Its number in the partition.
    pub offset: i64,
    /// The time that Kafka has of it, in milliseconds since 1970: when it was sent, or written by the broker.
    pub time_ms: Option<i64>,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// What travels with it: names and values, in their order.
    pub headers: Vec<Header>,
    /// Its content; empty where there is none.
    pub payload: Vec<u8>,
}

impl Record {
    /// What librdkafka has.
    pub(super) fn of(message: &BorrowedMessage<'_>) -> Self {
        Self {
            partition: message.partition(),
            offset: message.offset(),
            time_ms: message.timestamp().to_millis(),
            key: message.key().map(<[u8]>::to_vec),
            headers: headers_of(message),
            payload: message.payload().map(<[u8]>::to_vec).unwrap_or_default(),
        }
    }

    /// What it says.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn decode(&self) -> Result<Message<'_>, Refused> {
        decode(&self.payload)
    }
}
