//! Messages to topics: in order, each once, also over hours without brokers.

use crate::control::{ECHO, Sent};
use evforge_kafka::client::{ClientError, ClientSettings, Complaint, Witness, explain, explain_error};
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, Message as _, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext, PurgeConfig};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the producer is set to, unless the settings say otherwise.
const SPEAKING: [(&str, &str); 6] = [
    ("enable.idempotence", "true"),
    ("acks", "all"),
    ("linger.ms", "5"),
    // An end that is said late is better than one that is never said.
    ("message.timeout.ms", "0"),
    ("queue.buffering.max.kbytes", "1048576"),
    // An echo is as large as the start was, which the brokers have taken.
    ("message.max.bytes", "1000000000"),
];
/// States wait in line no longer than this, so that those of hours are not sent at once when brokers are back.
const WAITING_AT_MOST: i32 = 100;

/// What failed, for people, each once until something is delivered.
#[derive(Default)]
struct Reports {
    witness: Witness,
    news: Mutex<News>,
}

#[derive(Default)]
struct News {
    fresh: Vec<String>,
    said: BTreeSet<String>,
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
            Ok(_) => {
                self.witness.clear();
                self.news.lock().unwrap_or_else(PoisonError::into_inner).said.clear();
            }
            Err((error, message)) => {
                let why = error.rdkafka_error_code().map_or_else(|| explain_error(error), explain).sentence();
                self.note(format!("a message to {} is not delivered: {why}", message.topic()));
            }
        }
    }
}

impl Reports {
    fn note(&self, sentence: String) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        // Names of topics come from others: what is remembered is bounded.
        if news.said.len() < 64 && news.said.insert(sentence.clone()) {
            news.fresh.push(sentence);
        }
    }
}

fn producer(settings: &ClientSettings) -> Result<BaseProducer<Reports>, ClientError> {
    let producer = settings.config(&SPEAKING)?.create_with_context(Reports::default());
    producer.map_err(|error| ClientError::settings(explain_error(&error).sentence()))
}

/// Sends messages.
pub(super) struct Speaker {
    settings: ClientSettings,
    producer: BaseProducer<Reports>,
}

impl Speaker {
    pub(super) fn new(settings: &ClientSettings) -> Result<Self, ClientError> {
        Ok(Self { settings: settings.clone(), producer: producer(settings)? })
    }

    /// Sends a message, if it is not a state while others wait.
    pub(super) fn send(&self, topic: &str, payload: &[u8], kind: Sent) {
        if kind == Sent::Status && self.producer.in_flight_count() > WAITING_AT_MOST {
            return;
        }
        let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(topic).payload(payload);
        if kind == Sent::Echo {
            let mark = Header { key: ECHO, value: None::<&[u8]> };
            record.headers = Some(OwnedHeaders::new().insert(mark));
        }
        if let Err((error, _)) = self.producer.send(record) {
            let (bytes, why) = (payload.len(), explain_error(&error).sentence());
            let sentence = format!("a message of {bytes} bytes cannot be sent to {topic}: {why}");
            self.producer.context().note(sentence);
        }
        self.producer.poll(Duration::ZERO);
    }

    /// Serves the client; what is new for people.
    pub(super) fn poll(&mut self) -> Vec<String> {
        self.producer.poll(Duration::ZERO);
        if let Some((_, why)) = self.producer.client().fatal_error() {
            // Of no use any more. Another one begins where this one ended; what was on its way is lost.
            let lost = format!("Kafka: messages may be lost, another producer is made: {why}");
            match producer(&self.settings) {
                Ok(other) => self.producer = other,
                Err(error) => self.producer.context().note(error.to_string()),
            }
            self.producer.context().note(lost);
        }
        let reports = self.producer.context();
        for complaint in reports.witness.complaints() {
            reports.note(format!("Kafka: {}", Complaint::sentence(&complaint)));
        }
        std::mem::take(&mut reports.news.lock().unwrap_or_else(PoisonError::into_inner).fresh)
    }

    /// Waits until all is delivered, `within` at most; what is left is given up: how many messages.
    pub(super) fn finish(self, within: Duration) -> i32 {
        let deadline = Instant::now() + within;
        while self.producer.in_flight_count() > 0 && Instant::now() < deadline {
            // It ends early when nothing is on its way any more.
            let _ = self.producer.flush(Duration::from_millis(100));
        }
        let left = self.producer.in_flight_count();
        self.producer.purge(PurgeConfig::default().queue().inflight());
        left
    }
}
