//! A partition of a topic at a broker.

use super::headers::{self, BadHeader, Origin};
use super::merge::{Next, Partition};
use super::message::Delivered;
use crate::client::{Witness, explain, serve_client};
use evforge_core::packet_source::SourceError;
use jiff::Timestamp;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Headers, Message};
use rdkafka::types::RDKafkaErrorCode as Code;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// One partition.
pub(super) struct TopicPartition {
    /// The client of all partitions.
    pub(super) consumer: Arc<BaseConsumer<Witness>>,
    pub(super) queue: PartitionQueue<Witness>,
    /// The first message that is not read any more; none to read on for ever.
    pub(super) end: Option<i64>,
    /// True if messages before `end` may be to come: the last one that is there need not be the last one.
    pub(super) waits_for_end: bool,
    pub(super) is_over: bool,
    /// Where topics are followed: the time of the first message that is not read any more.
    pub(super) until_ms: Option<i64>,
    /// True if nothing has come since its end was reached.
    pub(super) is_at_end: bool,
}

/// How long messages may be under way to a topic: so long after its last time it is over.
const UNDER_WAY_MS: i64 = 5000;

impl TopicPartition {
    /// The end has been reached, and nothing has come since.
    fn at_end(&mut self) -> Next {
        self.is_at_end = true;
        let is_late = |until: i64| Timestamp::now().as_millisecond() >= until.saturating_add(UNDER_WAY_MS);
        self.is_over = (self.end.is_some() && !self.waits_for_end) || self.until_ms.is_some_and(is_late);
        Next::AtEnd
    }

    /// Takes note of an error that may pass.
    fn note(&self, error: &KafkaError) -> Result<(), SourceError> {
        let code = error.rdkafka_error_code().unwrap_or(Code::Fail);
        let explanation = explain(code);
        if explanation.is_retriable {
            self.consumer.context().note(code, &error.to_string());
            return Ok(());
        }
        Err(match code {
            Code::AutoOffsetReset | Code::OffsetOutOfRange => {
                "messages were removed from the topic (by its retention) before they were read: read on from what is left".into()
            }
            _ => explanation.sentence().into(),
        })
    }

    /// Hands a message over, if it is one of those that are to be read.
    fn hand_over(
        message: &impl Message,
        end: Option<i64>,
        until_ms: Option<i64>,
        is_over: &mut bool,
        read: &mut dyn FnMut(&Delivered<'_>),
    ) -> Next {
        let time_ms = message.timestamp().to_millis();
        let is_late = until_ms.zip(time_ms).is_some_and(|(until, time)| time >= until);
        let is_behind = is_late || end.is_some_and(|end| message.offset() >= end);
        *is_over = is_behind || end.is_some_and(|end| message.offset() + 1 >= end);
        if is_behind {
            return Next::AtEnd;
        }
        read(&Delivered { payload: message.payload(), origin: origin_of(message, time_ms), time_ms });
        Next::Message
    }
}

impl Partition for TopicPartition {
    fn next(&mut self, wait: Duration, read: &mut dyn FnMut(&Delivered<'_>)) -> Result<Next, SourceError> {
        if self.is_over {
            return Ok(Next::AtEnd);
        }
        match self.queue.poll(wait) {
            None => {
                while let Some(error) = serve_client(&self.consumer)? {
                    self.note(&error)?;
                }
                Ok(if self.is_at_end { self.at_end() } else { Next::Nothing })
            }
            Some(Err(KafkaError::PartitionEOF(_))) => Ok(self.at_end()),
            Some(Err(error)) => {
                self.note(&error)?;
                Ok(Next::Nothing)
            }
            Some(Ok(message)) => {
                self.is_at_end = false;
                Ok(Self::hand_over(&message, self.end, self.until_ms, &mut self.is_over, read))
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn trouble(&self) -> Option<String> {
        self.consumer.context().complaints().last().map(|complaint| complaint.sentence())
    }
}

fn origin_of(message: &impl Message, time_ms: Option<i64>) -> Result<Origin, BadHeader> {
    let Some(all) = message.headers() else { return headers::read(std::iter::empty(), time_ms) };
    // The client library panics where a name is no UTF-8.
    catch_unwind(AssertUnwindSafe(|| {
        headers::read(all.iter().map(|header| (header.key, header.value)), time_ms)
    }))
    .unwrap_or(Err(BadHeader))
}
