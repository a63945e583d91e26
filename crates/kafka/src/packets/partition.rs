//! A partition of a topic at a broker.

use super::headers::{self, BadHeader, Origin};
use super::merge::{Next, Partition};
use super::message::Delivered;
use crate::client::{Witness, explain};
use evforge_core::packet_source::SourceError;
use jiff::Timestamp;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Headers, Message, OwnedMessage};
use rdkafka::types::RDKafkaErrorCode as Code;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The consumer of all partitions, and what came through its common queue before the partitions had queues of their own.
pub(super) struct Common {
    pub(super) consumer: Arc<BaseConsumer<Witness>>,
    early: Mutex<HashMap<i32, VecDeque<Early>>>,
}

/// What came of a partition through the common queue.
enum Early {
    Message(OwnedMessage),
    /// Its end was reached, at that moment.
    End,
}

impl Common {
    pub(super) fn new(consumer: Arc<BaseConsumer<Witness>>) -> Self {
        Self { consumer, early: Mutex::default() }
    }

    /// Serves what comes through the common queue: errors, and the first messages.
    fn serve(&self) -> Result<(), SourceError> {
        while let Some(result) = self.consumer.poll(Duration::ZERO) {
            match result {
                Ok(message) => self.keep(message.partition(), Early::Message(message.detach())),
                Err(KafkaError::PartitionEOF(partition)) => self.keep(partition, Early::End),
                Err(error) => self.note(&error)?,
            }
        }
        Ok(())
    }

    fn keep(&self, partition: i32, what: Early) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.entry(partition).or_default().push_back(what);
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

    fn early_of(&self, partition: i32) -> Option<Early> {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        early.get_mut(&partition)?.pop_front()
    }
}

/// One partition.
pub(super) struct TopicPartition {
    pub(super) common: Arc<Common>,
    pub(super) queue: PartitionQueue<Witness>,
    pub(super) number: i32,
    /// The first message that is not read any more; none to read on for ever.
    pub(super) end: Option<i64>,
    /// True if messages before `end` may be to come: the last one that is there need not be the last one.
    pub(super) waits_for_end: bool,
    /// True once its own queue has had something: the common one has nothing of it any more then.
    pub(super) has_begun: bool,
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

    /// Hands over what came through the common queue.
    fn hand_over_early(&mut self, early: &Early, read: &mut dyn FnMut(&Delivered<'_>)) -> Next {
        match early {
            Early::Message(message) => {
                self.is_at_end = false;
                Self::hand_over(message, self.end, self.until_ms, &mut self.is_over, read)
            }
            Early::End => self.at_end(),
        }
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
        if let Some(early) = self.common.early_of(self.number) {
            return Ok(self.hand_over_early(&early, read));
        }
        let came = match self.queue.poll(wait) {
            None => {
                self.common.serve()?;
                return Ok(if self.is_at_end { self.at_end() } else { Next::Nothing });
            }
            Some(Err(KafkaError::PartitionEOF(_))) if self.has_begun => return Ok(self.at_end()),
            Some(Err(KafkaError::PartitionEOF(_))) => None,
            Some(Err(error)) => {
                self.common.note(&error)?;
                return Ok(Next::Nothing);
            }
            Some(Ok(message)) => Some(message),
        };
        self.is_at_end = false;
        if !std::mem::replace(&mut self.has_begun, true) {
            self.common.serve()?;
            if let Some(early) = self.common.early_of(self.number) {
                // What came first is behind all that came through the common queue.
                let came = came.map_or(Early::End, |message| Early::Message(message.detach()));
                self.common.keep(self.number, came);
                return Ok(self.hand_over_early(&early, read));
            }
        }
        Ok(match came {
            Some(message) => Self::hand_over(&message, self.end, self.until_ms, &mut self.is_over, read),
            None => self.at_end(),
        })
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn trouble(&self) -> Option<String> {
        self.common.consumer.context().complaints().last().map(|complaint| complaint.sentence())
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
