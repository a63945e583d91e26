//! Messages to Kafka, by librdkafka.

use super::producer::producer;
use super::record::{FailureKind, OnDisk, OwnedRecord, Record, Refused, Report, Ticket, Transport, Trouble};
use crate::client::{ClientError, Complaint, Witness, explain, explain_error, headers_of};
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, DeliveryResult, Header, Message as _, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext, PurgeConfig};
use rdkafka::statistics::Statistics;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Reports served by one poll, so that a call has an end.
const MOST_POLLS: usize = 64;

/// What librdkafka says, while the client lives, of messages that came to a partition as it was taken away
/// (`rd_kafka_toppar_destroy_final`). Its text speaks of a broker.
const PARTITION_REMOVED: RDKafkaErrorCode = RDKafkaErrorCode::BrokerDestroy;

/// Sends messages to Kafka.
pub(crate) struct KafkaTransport {
    producer: BaseProducer<Context>,
}

/// What librdkafka says between two polls.
#[derive(Default)]
pub(crate) struct Context {
    reports: Mutex<Vec<Report>>,
    witness: Witness,
    retries: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.witness.log(level, facility, message);
    }

    fn stats(&self, statistics: Statistics) {
        let retries = statistics.brokers.values().map(|broker| broker.txretries).sum();
        self.retries.store(retries, Ordering::Relaxed);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.witness.error(error, reason);
    }
}

impl ProducerContext for Context {
    type DeliveryOpaque = Box<Ticket>;

    fn delivery(&self, result: &DeliveryResult<'_>, ticket: Box<Ticket>) {
        let failure = result
            .as_ref()
            .err()
            .map(|(error, message)| (kind(error), format!("topic {}: {}", message.topic(), reason(error))));
        if failure.is_none() {
            self.witness.clear();
        }
        if let Some((kind, why)) = &failure {
            tracing::debug!(target: evforge_log::group::KAFKA, kind = ?kind, "a message was not delivered: {why}");
        }
        let given_up = match (result, &failure) {
            (Err((_, message)), Some((FailureKind::Purged, _))) => given_up(message, &ticket),
            _ => None,
        };
        locked(&self.reports).push(Report { ticket: *ticket, failure, given_up });
    }
}

/// A message that was given up, if it belongs on the disk. Its source and number are in its payload.
fn given_up(message: &BorrowedMessage<'_>, ticket: &Ticket) -> Option<OwnedRecord> {
    if !matches!(ticket.on_disk, OnDisk::Then { .. }) {
        return None;
    }
    Some(OwnedRecord {
        topic: message.topic().to_owned(),
        // Not yet chosen where the topic was not known.
        partition: Some(message.partition()).filter(|partition| *partition >= 0),
        key: message.key().map(<[u8]>::to_vec),
        timestamp_ms: message.timestamp().to_millis().unwrap_or(0),
        payload: message.payload().unwrap_or_default().to_vec(),
        headers: headers_of(message),
        events: ticket.events,
        arrival_ns: ticket.arrival_ns,
        ..OwnedRecord::default()
    })
}

fn kind(error: &KafkaError) -> FailureKind {
    use RDKafkaErrorCode as Code;
    match error.rdkafka_error_code() {
        Some(Code::MessageTimedOut | Code::OperationTimedOut | Code::RequestTimedOut) => {
            FailureKind::TimedOut
        }
        Some(Code::MessageSizeTooLarge | Code::InvalidMessageSize) => FailureKind::TooLarge,
        Some(
            Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition | PARTITION_REMOVED,
        ) => FailureKind::UnknownTopic,
        Some(Code::TopicAuthorizationFailed | Code::ClusterAuthorizationFailed) => FailureKind::NotAuthorised,
        Some(Code::PurgeQueue | Code::PurgeInflight) => FailureKind::Purged,
        _ => FailureKind::Other,
    }
}

/// Why a message was not delivered, for a person.
fn reason(error: &KafkaError) -> String {
    if error.rdkafka_error_code() == Some(PARTITION_REMOVED) {
        return format!(
            "the partition is gone: its topic was deleted, or has fewer partitions now ({error})"
        );
    }
    error.rdkafka_error_code().map_or_else(|| explain_error(error), explain).sentence()
}

impl KafkaTransport {
    /// Makes the client; connections come by themselves.
    ///
    /// # Errors
    /// If librdkafka refuses an option.
    pub(crate) fn new(config: &ClientConfig) -> Result<Self, ClientError> {
        Ok(Self { producer: producer(config, Context::default())? })
    }
}

impl Transport for KafkaTransport {
    fn send(&mut self, record: &Record<'_>, ticket: Ticket) -> Result<(), Refused> {
        let mut message = BaseRecord::with_opaque_to(record.topic, Box::new(ticket))
            .payload(record.payload)
            .timestamp(record.timestamp_ms);
        message.key = record.key;
        message.partition = record.partition;
        if !record.headers.is_empty() {
            let headers = OwnedHeaders::new_with_capacity(record.headers.len());
            message.headers = Some(record.headers.iter().fold(headers, |headers, (name, value)| {
                headers.insert(Header { key: name, value: value.as_ref() })
            }));
        }
        match self.producer.send(message) {
            Ok(()) => Ok(()),
            Err((error, _)) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull) => {
                Err(Refused::Full)
            }
            Err((error, _)) => Err(Refused::Never(kind(&error), error.to_string())),
        }
    }

    fn poll(&mut self, wait: Duration, reports: &mut Vec<Report>) {
        // A poll that waits does so to its end, whatever comes, and one that does not serves one event.
        self.producer.poll(wait);
        for _ in 0..MOST_POLLS {
            let mut new = locked(&self.producer.context().reports);
            if new.is_empty() {
                return;
            }
            reports.append(&mut new);
            drop(new);
            self.producer.poll(Duration::ZERO);
        }
        reports.append(&mut locked(&self.producer.context().reports));
    }

    fn trouble(&self) -> Option<Trouble> {
        let complaints = self.producer.context().witness.complaints();
        let is_summary = |complaint: &&Complaint| complaint.code == RDKafkaErrorCode::AllBrokersDown;
        let is_total = complaints.iter().any(|complaint| is_summary(&complaint));
        // The cause says more than that all brokers are down, which comes with it.
        let cause = complaints.iter().find(|complaint| !is_summary(complaint)).or(complaints.first())?;
        Some(Trouble { words: cause.sentence(), is_total })
    }

    fn complaints(&self) -> Vec<Complaint> {
        self.producer.context().witness.complaints()
    }

    fn fatal(&self) -> Option<String> {
        let (code, reason) = self.producer.client().fatal_error()?;
        Some(format!("librdkafka cannot go on without losing or doubling messages: {reason} ({code})"))
    }

    fn retries(&self) -> u64 {
        self.producer.context().retries.load(Ordering::Relaxed)
    }

    fn purge(&mut self) {
        self.producer.purge(PurgeConfig::default().queue().inflight());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_deleted_while_messages_come_is_an_unknown_topic_whatever_librdkafka_calls_it() {
        for code in
            [RDKafkaErrorCode::UnknownTopicOrPartition, RDKafkaErrorCode::UnknownPartition, PARTITION_REMOVED]
        {
            let error = KafkaError::MessageProduction(code);
            assert_eq!(kind(&error), FailureKind::UnknownTopic, "{error}");
            assert!(reason(&error).to_lowercase().contains("partition"), "{}", reason(&error));
        }
        let error = KafkaError::MessageProduction(RDKafkaErrorCode::MessageSizeTooLarge);
        assert_eq!(kind(&error), FailureKind::TooLarge);
    }
}
