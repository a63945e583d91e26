//! Frames and the offsets of their messages, in one transaction: both are there, or neither.

use super::AggregatedFrame;
use super::PartitionPosition;
use super::messages::FrameMessages;
use crate::client::{
    Admin, Cause, ClientError, ClientSettings, Complaint, Consumer, Deadline, Witness, check, explain,
    explain_error,
};
use crate::sending::{config, producer};
use rdkafka::TopicPartitionList;
use rdkafka::consumer::Consumer as _;
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, PurgeConfig};
use rdkafka::topic_partition_list::Offset;
use rdkafka::types::RDKafkaErrorCode as Code;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long one step of a transaction is waited for before it is asked for again.
const STEP: Duration = Duration::from_secs(5);
/// How long the transaction of an instance before may take to be ended.
const TAKE_OVER: Duration = Duration::from_secs(60);
/// Bytes of a message that are not events: names, the table, Kafka's own.
const AROUND_EVENTS: u64 = 1000;
/// Bytes of an event.
const EVENT_BYTES: u64 = 8;

/// What frames are sent with, unless the settings say otherwise.
const MEMORY: (&str, &str) = ("queue.buffering.max.kbytes", "262144");

/// Asked while brokers do not answer, with what the client complains about: whether to give up.
pub type GiveUp<'a> = dyn FnMut(&[Complaint]) -> bool + 'a;

/// What a transaction has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// How often it was aborted before.
    pub(super) aborted: u64,
}

/// Why a transaction did not come to its end.
#[derive(Debug)]
pub(super) enum NotSent {
    /// It was given up, because `stop` said so.
    Stopped,
    /// Nothing can be sent by this client any more.
    Failed(ClientError),
}

/// Sends frames.
pub(super) struct Transactions {
    producer: BaseProducer<Witness>,
    topic: String,
    /// Counts the frames from 0 at each start: the key.
    frames: u64,
    /// Events that a message of the topic has room for.
    room: usize,
}

impl Transactions {
    /// A client that sends to this topic. Whoever has sent under the same `id` before cannot any more, and what it had not committed is
    /// given up.
    pub(super) fn open(
        settings: &ClientSettings,
        topic: &str,
        id: &str,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, ClientError> {
        let opening = Deadline::of_opening().or_when(stop);
        let checked = check(settings, &[topic], opening.of_an_answer())?;
        let admin = Admin::new(settings, opening.of_an_answer())?;
        let exists = checked.topics.first().is_some_and(|topic| !topic.partitions.is_empty());
        let broker = checked.brokers.first().map_or(0, |(number, ..)| *number);
        let largest =
            if exists { admin.largest_message(topic) } else { admin.largest_message_of_broker(broker) };
        // Who may not ask has to do with what every broker takes unless it is told otherwise.
        let largest = largest.unwrap_or(1_048_588).clamp(2 * AROUND_EVENTS, 1_000_000_000);
        let limit = largest.to_string();
        let defaults = [MEMORY, ("message.max.bytes", limit.as_str()), ("transactional.id", id)];
        let mut config = config(settings, &defaults)?;
        // What makes a kill harmless is no choice.
        config.set("enable.idempotence", "true").set("transactional.id", id);
        let producer = producer(&config, Witness::default())?;
        let deadline = Deadline::from(TAKE_OVER).or_when(stop);
        while let Err(error) = producer.init_transactions(STEP) {
            deadline.check()?;
            let may_pass = is_retriable(&error);
            if !may_pass || deadline.is_over() {
                return Err(failed(topic, "transactions cannot be begun", &error));
            }
        }
        let room = (largest - AROUND_EVENTS) / EVENT_BYTES;
        Ok(Self { producer, topic: topic.to_owned(), frames: 0, room: room as usize })
    }

    /// Events that a message has room for.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// What the client has complained about: why nothing is acknowledged.
    pub(super) fn complaints(&self) -> Vec<Complaint> {
        self.producer.context().complaints()
    }

    /// Serves the client while nothing is sent.
    pub(super) fn poll(&self) {
        self.producer.poll(Duration::ZERO);
    }

    /// Sends frames, and with them how far the messages of `consumer` are done with. Goes on until both are there, or `stop`
    /// says to give up.
    pub(super) fn commit(
        &mut self,
        frames: &[AggregatedFrame],
        messages: &mut FrameMessages,
        (consumer, raw_topic, positions): (&Consumer, &str, &[PartitionPosition]),
        stop: &mut GiveUp<'_>,
    ) -> Result<Sent, NotSent> {
        let offsets = offsets_of(raw_topic, positions).map_err(|error| self.failed(&error))?;
        let (last_id, first_frame) = (messages.last_id(), self.frames);
        let mut sent = Sent::default();
        loop {
            messages.go_back(last_id);
            self.frames = first_frame;
            (sent.messages, sent.bytes) = (0, 0);
            let tried = self.attempt(frames, messages, (consumer, &offsets), &mut sent, stop);
            let error = match tried {
                Ok(()) => {
                    self.producer.context().clear();
                    return Ok(sent);
                }
                Err(error) => error,
            };
            if !error.as_ref().is_none_or(requires_abort) {
                return Err(error.map_or(NotSent::Stopped, |error| self.failed(&error)));
            }
            self.abort(stop).map_err(|error| error.map_or(NotSent::Stopped, |error| self.failed(&error)))?;
            sent.aborted += 1;
            if error.is_none() || stop(&self.complaints()) {
                messages.go_back(last_id);
                self.frames = first_frame;
                return Err(NotSent::Stopped);
            }
        }
    }

    fn failed(&self, error: &KafkaError) -> NotSent {
        NotSent::Failed(failed(&self.topic, "frames cannot be sent any more", error))
    }

    /// One transaction. An error without reason: `stop` has said to give up.
    fn attempt(
        &mut self,
        frames: &[AggregatedFrame],
        messages: &mut FrameMessages,
        (consumer, offsets): (&Consumer, &TopicPartitionList),
        sent: &mut Sent,
        stop: &mut GiveUp<'_>,
    ) -> Result<(), Option<KafkaError>> {
        self.producer.begin_transaction().map_err(Some)?;
        for frame in frames {
            let key = self.frames.to_be_bytes();
            self.frames += 1;
            messages.of(frame, |payload| {
                sent.messages += 1;
                sent.bytes += payload.len() as u64;
                self.send(&key, frame.reference_ns / 1_000_000, payload, stop)
            })?;
        }
        // A client without a group has none: this one has.
        let group = consumer.group_metadata().ok_or(Some(KafkaError::Global(Code::UnknownGroup)))?;
        self.again(stop, || self.producer.send_offsets_to_transaction(offsets, &group, STEP))?;
        self.again(stop, || self.producer.commit_transaction(STEP))
    }

    fn send(
        &self,
        key: &[u8; 8],
        timestamp_ms: i64,
        payload: &[u8],
        stop: &mut GiveUp<'_>,
    ) -> Result<(), Option<KafkaError>> {
        loop {
            let record = BaseRecord::to(&self.topic).key(&key[..]).payload(payload).timestamp(timestamp_ms);
            match self.producer.send(record) {
                Ok(()) => break,
                Err((error, _)) if error.rdkafka_error_code() == Some(Code::QueueFull) => {
                    if stop(&self.complaints()) {
                        return Err(None);
                    }
                    self.producer.poll(Duration::from_millis(10));
                }
                Err((error, _)) => return Err(Some(error)),
            }
        }
        self.producer.poll(Duration::ZERO);
        Ok(())
    }

    fn abort(&self, stop: &mut GiveUp<'_>) -> Result<(), Option<KafkaError>> {
        self.producer.purge(PurgeConfig::default().queue().inflight());
        // What was purged is reported before the abort is done.
        self.producer.poll(Duration::from_millis(10));
        self.again(stop, || self.producer.abort_transaction(STEP))
    }

    /// Asks until there is an answer that another try would not change, or `stop` says to give up.
    fn again(
        &self,
        stop: &mut GiveUp<'_>,
        mut ask: impl FnMut() -> Result<(), KafkaError>,
    ) -> Result<(), Option<KafkaError>> {
        loop {
            match ask() {
                Ok(()) => return Ok(()),
                Err(error) if !is_retriable(&error) => return Err(Some(error)),
                Err(_) if stop(&self.complaints()) => return Err(None),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

fn is_retriable(error: &KafkaError) -> bool {
    match error {
        KafkaError::Transaction(error) => error.is_retriable(),
        // Before a commit all messages are waited for.
        KafkaError::Flush(code) => matches!(code, Code::OperationTimedOut | Code::MessageTimedOut),
        _ => false,
    }
}

/// True if the transaction is to be aborted, and may be begun again. A message that is not taken is another such case.
fn requires_abort(error: &KafkaError) -> bool {
    match error {
        KafkaError::Transaction(error) => error.txn_requires_abort(),
        KafkaError::MessageProduction(code) => *code == Code::State,
        _ => false,
    }
}

fn failed(topic: &str, what: &str, error: &KafkaError) -> ClientError {
    let code = match error {
        KafkaError::Transaction(error) => Some(error.code()),
        other => other.rdkafka_error_code(),
    };
    let is_fenced = matches!(code, Some(Code::Fenced | Code::ProducerFenced | Code::InvalidProducerEpoch));
    let why = match (code, error) {
        _ if is_fenced => {
            "another instance has begun with the same --group: only one sends at a time".to_owned()
        }
        (_, KafkaError::Transaction(error)) => error.string(),
        (Some(code), _) => explain(code).sentence(),
        (None, error) => explain_error(error).sentence(),
    };
    ClientError::new(Cause::Other, format!("topic {topic}: {what}: {why}"))
}

fn offsets_of(topic: &str, positions: &[PartitionPosition]) -> Result<TopicPartitionList, KafkaError> {
    let mut list = TopicPartitionList::new();
    for position in positions {
        let mut element = list.add_partition(topic, position.partition);
        element.set_offset(Offset::Offset(position.offset))?;
        element.set_metadata(&position.metadata);
    }
    Ok(list)
}
