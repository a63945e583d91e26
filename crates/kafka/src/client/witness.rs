//! What librdkafka says of itself while it runs: kept for whoever asks, said to nobody by itself.

use super::advice::sentence_for;
use super::{Cause, cause_of};
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::ProducerContext;
use rdkafka::types::RDKafkaErrorCode as Code;
use std::sync::{Mutex, PoisonError};

/// Complaints that are kept apart. A client of a broken cluster repeats a few.
const KEPT: usize = 64;

/// Something that librdkafka has complained about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// What it is.
    pub cause: Cause,
    /// Its code.
    pub code: Code,
    /// The broker that it is about, as librdkafka names it.
    pub broker: String,
    /// What librdkafka said.
    pub text: String,
    /// How often.
    pub times: u64,
}

impl Complaint {
    /// What is wrong, and what fixes it.
    pub fn sentence(&self) -> String {
        let at = if self.broker.is_empty() { "the brokers" } else { &self.broker };
        sentence_for(self.cause, at, self.code, &self.text)
    }
}

/// The context of a client that keeps what librdkafka complains about. Another context may hand its calls to one of these.
#[derive(Debug, Default)]
pub struct Witness {
    complaints: Mutex<Vec<Complaint>>,
}

impl Witness {
    /// What was complained about since the beginning, the oldest first, each once.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets them: the next complaint is news.
    pub fn clear(&self) {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Takes note of an error.
    pub fn note(&self, code: Code, said: &str) {
        let (broker, text) = split(said);
        let cause = cause_of(code, text);
        let text = text.split(" (after ").next().unwrap_or(text);
        tracing::debug!(target: evforge_log::group::KAFKA, broker, cause = ?cause, "{text}");
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        let count = complaints.len();
        let known = complaints.iter_mut().find(|known| known.cause == cause && known.broker == broker);
        match known {
            Some(known) => {
                known.times += 1;
                known.code = code;
                text.clone_into(&mut known.text);
            }
            None if count < KEPT => {
                let (broker, text) = (broker.to_owned(), text.to_owned());
                complaints.push(Complaint { cause, code, broker, text, times: 1 });
            }
            None => {}
        }
    }
}

/// The broker that a text of librdkafka begins with (`ssl://host:9093/bootstrap: …`), and the rest.
fn split(said: &str) -> (&str, &str) {
    let (broker, text) = match said.split_once(": ") {
        Some((broker, text)) if broker.contains("://") || broker.contains("/") => (broker, text),
        // `host:9092/1: …` and `host:9092/bootstrap: …` have a colon without a blank before.
        _ => return ("", said),
    };
    let broker = broker.split_once("://").map_or(broker, |(_, host)| host);
    let broker = broker.rsplit_once('/').map_or(broker, |(host, _)| host);
    (broker, text)
}

impl ClientContext for Witness {
    // What matters comes as an error as well, but for connections that the broker closes.
    fn log(&self, _: RDKafkaLogLevel, facility: &str, said: &str) {
        if facility == "FAIL" && said.contains("Disconnected") {
            // The name of a thread is in front.
            let said = said.split_once("]: ").map_or(said, |(_, said)| said);
            self.note(Code::BrokerTransportFailure, said);
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        // The end of a partition comes as an error, to each reader that asks for it.
        if matches!(error.rdkafka_error_code(), Some(Code::PartitionEOF)) {
            return;
        }
        self.note(error.rdkafka_error_code().unwrap_or(Code::Fail), reason);
    }
}

impl ConsumerContext for Witness {}

impl ProducerContext for Witness {
    type DeliveryOpaque = ();

    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_partition_is_no_complaint() {
        let witness = Witness::default();
        witness.error(KafkaError::Global(Code::PartitionEOF), "Broker: No more messages");
        assert_eq!(witness.complaints(), []);
        witness.error(KafkaError::Global(Code::AllBrokersDown), "1/1 brokers are down");
        assert_eq!(witness.complaints().len(), 1);
    }

    #[test]
    fn the_broker_is_told_from_what_is_said_of_it() {
        let said = "ssl://localhost:9093/bootstrap: Connect to ipv4#127.0.0.1:9093 failed: Connection refused (after 0ms in state CONNECT)";
        let witness = Witness::default();
        witness.note(Code::BrokerTransportFailure, said);
        witness.note(Code::BrokerTransportFailure, said);
        witness.note(Code::AllBrokersDown, "1/1 brokers are down");
        let complaints = witness.complaints();
        assert_eq!((complaints[0].broker.as_str(), complaints[0].times), ("localhost:9093", 2));
        assert_eq!(complaints[0].cause, Cause::NothingListens);
        assert!(complaints[0].sentence().starts_with("localhost:9093: nothing listens there"));
        assert_eq!(
            (complaints[1].broker.as_str(), complaints[1].text.as_str()),
            ("", "1/1 brokers are down")
        );
    }
}
