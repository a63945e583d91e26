//! Messages into a topic, each accounted for: acknowledged, or failed with its reason.

use crate::client::{
    Admin, Cause, ClientError, ClientSettings, Complaint, Deadline, Witness, check, explain, explain_error,
};
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext, PurgeConfig};
use rdkafka::types::RDKafkaErrorCode as Code;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a sender is set to, unless the settings say otherwise. Each message arrives once, in its order, and is confirmed by all.
const SENDING: [(&str, &str); 5] = [
    ("enable.idempotence", "true"),
    ("acks", "all"),
    ("linger.ms", "5"),
    ("message.timeout.ms", "30000"),
    ("queue.buffering.max.kbytes", "65536"),
];
/// What a batch adds to a message, at most.
const OVERHEAD: u64 = 512;
/// The most that librdkafka takes for `message.max.bytes`.
const LARGEST: u64 = 1_000_000_000;

/// What has happened to messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Given to the client.
    pub sent: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Confirmed by the brokers.
    pub acknowledged: u64,
    /// Not delivered, with why and how many.
    pub failed: Vec<(String, u64)>,
    /// Neither, at the end.
    pub pending: u64,
}

impl Delivery {
    /// True if all were confirmed.
    pub fn is_complete(&self) -> bool {
        self.acknowledged == self.sent
    }
}

/// A message to be sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outgoing<'a> {
    /// Messages with the same key go to the same partition.
    pub key: Option<&'a [u8]>,
    /// Its content.
    pub payload: &'a [u8],
    /// To the partition of this number, modulo those of the topic; none: to that of its key, or any.
    pub partition: Option<i32>,
    /// What travels with it.
    pub headers: &'a [(String, Option<Vec<u8>>)],
}

fn headers(of_message: &[(String, Option<Vec<u8>>)]) -> Option<OwnedHeaders> {
    (!of_message.is_empty()).then(|| {
        of_message.iter().fold(OwnedHeaders::new(), |headers, (key, value)| {
            headers.insert(Header { key, value: value.as_ref() })
        })
    })
}

#[derive(Default)]
struct Reports {
    acknowledged: AtomicU64,
    failed: Mutex<BTreeMap<String, u64>>,
    witness: Witness,
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, said: &str) {
        self.witness.log(level, facility, said);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.witness.error(error, reason);
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(_) => drop(self.acknowledged.fetch_add(1, Ordering::Relaxed)),
            Err((error, _)) => {
                let why = error.rdkafka_error_code().map_or_else(|| explain_error(error), explain).sentence();
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner).entry(why).or_default() += 1;
            }
        }
    }
}

/// Sends messages to a topic.
pub struct Sender {
    producer: BaseProducer<Reports>,
    topic: String,
    /// How many it has; none if the brokers make it with the first message.
    partitions: Option<u64>,
    largest: u64,
    sent: u64,
    bytes: u64,
}

impl Sender {
    /// A sender to a topic, which must be there unless the brokers make it, with what brokers say until the deadline.
    ///
    /// # Errors
    /// If the brokers cannot be reached, or there is no such topic, or the end was asked for.
    pub fn open(settings: &ClientSettings, topic: &str, deadline: &Deadline) -> Result<Self, ClientError> {
        let checked = check(settings, &[topic], deadline.of_an_answer())?;
        let partitions = checked.topics.first().map_or(0, |topic| topic.partitions.len() as u64);
        let admin = Admin::new(settings, deadline.of_an_answer())?;
        let broker = checked.brokers.first().map_or(0, |(number, ..)| *number);
        let largest = match partitions {
            0 => admin.largest_message_of_broker(broker),
            _ => admin.largest_message(topic),
        };
        // Who may not ask has to do with what every broker takes unless it is told otherwise.
        let largest = largest.unwrap_or(1_048_588).min(LARGEST);
        let limit = largest.max(1000).to_string();
        let mut defaults = SENDING.to_vec();
        defaults.push(("message.max.bytes", &limit));
        let producer = settings
            .config(&defaults)?
            .create_with_context(Reports::default())
            .map_err(|error| ClientError::settings(explain_error(&error).sentence()))?;
        Ok(Self {
            producer,
            topic: topic.to_owned(),
            partitions: Some(partitions).filter(|partitions| *partitions > 0),
            largest: largest.saturating_sub(OVERHEAD),
            sent: 0,
            bytes: 0,
        })
    }

    /// The largest message, in bytes, that the topic takes.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Sends a message. Waits while too much is on its way; false if `stop` was set meanwhile.
    ///
    /// # Errors
    /// If the message cannot be sent at all: it is larger than the topic takes.
    pub fn send(&mut self, message: &Outgoing<'_>, stop: &AtomicBool) -> Result<bool, ClientError> {
        let payload = message.payload;
        let partition = match (message.partition.map(u64::try_from), self.partitions) {
            (Some(Ok(number)), Some(partitions)) => i32::try_from(number % partitions).ok(),
            _ => None,
        };
        loop {
            let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(&self.topic).payload(payload);
            record.key = message.key;
            record.partition = partition;
            record.headers = headers(message.headers);
            match self.producer.send(record) {
                Ok(()) => break,
                Err((error, _)) if error.rdkafka_error_code() == Some(Code::QueueFull) => {
                    if stop.load(Ordering::Relaxed) {
                        return Ok(false);
                    }
                    self.producer.poll(Duration::from_millis(10));
                }
                Err((error, _)) => {
                    return Err(ClientError::new(
                        Cause::Other,
                        format!(
                            "a message of {} bytes cannot be sent to {}: {}",
                            payload.len(),
                            self.topic,
                            explain_error(&error).sentence()
                        ),
                    ));
                }
            }
        }
        self.sent += 1;
        self.bytes += payload.len() as u64;
        self.producer.poll(Duration::ZERO);
        Ok(true)
    }

    /// Serves the client while nothing is sent.
    pub fn poll(&self, wait: Duration) {
        self.producer.poll(wait);
    }

    /// What the client has complained about: why nothing is acknowledged.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.producer.context().witness.complaints()
    }

    /// Waits until all messages are acknowledged or have failed, `within` at most or until `stop` is set; what is left is given up.
    pub fn finish(self, within: Duration, stop: &AtomicBool) -> Delivery {
        let deadline = Instant::now() + within;
        while self.producer.in_flight_count() > 0
            && Instant::now() < deadline
            && !stop.load(Ordering::Relaxed)
        {
            // It ends early when nothing is on its way any more.
            let _ = self.producer.flush(Duration::from_millis(100));
        }
        let pending = u64::try_from(self.producer.in_flight_count()).unwrap_or(0);
        let delivery = self.delivery(pending);
        self.producer.purge(PurgeConfig::default().queue().inflight());
        delivery
    }

    fn delivery(&self, pending: u64) -> Delivery {
        let reports = self.producer.context();
        let failed = reports.failed.lock().unwrap_or_else(PoisonError::into_inner);
        Delivery {
            sent: self.sent,
            bytes: self.bytes,
            acknowledged: reports.acknowledged.load(Ordering::Relaxed),
            failed: failed.iter().map(|(why, count)| (why.clone(), *count)).collect(),
            pending,
        }
    }
}
