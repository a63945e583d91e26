//! Codes of librdkafka as sentences: what happened, what fixes it, and whether another try may help.

use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode as Code;

/// What a code means to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What happened.
    pub what: String,
    /// What fixes it; empty where nothing but waiting does.
    pub remedy: &'static str,
    /// True if the same may succeed later without anybody changing anything.
    pub is_retriable: bool,
}

impl Explanation {
    /// Both in one sentence.
    pub fn sentence(&self) -> String {
        if self.remedy.is_empty() { self.what.clone() } else { format!("{}: {}", self.what, self.remedy) }
    }
}

/// Where each code stands: a sentence, a remedy, and if another try may help. Codes that are not here keep librdkafka's words.
const SENTENCES: &[(Code, &str, &str, bool)] = &[
    (Code::BrokerTransportFailure, "the connection to the broker broke", "", true),
    (Code::AllBrokersDown, "no broker can be reached", "are they running, and is the network up?", true),
    (Code::NetworkException, "the broker closed the connection before it answered", "", true),
    (
        Code::Resolve,
        "the name of the broker is not known here",
        "check its name, or give its address in numbers",
        true,
    ),
    (
        Code::SSL,
        "TLS with the broker failed",
        "check security.protocol, ssl.ca.location and the broker's certificate",
        false,
    ),
    (
        Code::Authentication,
        "the broker refused name or password",
        "check sasl.username, the password and sasl.mechanism",
        false,
    ),
    (
        Code::SaslAuthenticationFailed,
        "the broker refused name or password",
        "check sasl.username, the password and sasl.mechanism",
        false,
    ),
    (
        Code::UnsupportedSASLMechanism,
        "the broker does not have this way to log in",
        "set sasl.mechanism to one of the broker's (sasl.enabled.mechanisms there)",
        false,
    ),
    (
        Code::TopicAuthorizationFailed,
        "this user may not use the topic",
        "have the broker's access list (kafka-acls) allow it",
        false,
    ),
    (
        Code::ClusterAuthorizationFailed,
        "this user may not do that on the cluster",
        "have the broker's access list (kafka-acls) allow it; an idempotent producer of brokers before 2.8 needs IdempotentWrite",
        false,
    ),
    (
        Code::UnknownTopicOrPartition,
        "there is no such topic or partition",
        "create it, or check its name: evforge kafka topics lists all",
        false,
    ),
    (
        Code::UnknownTopic,
        "there is no such topic",
        "create it, or check its name: evforge kafka topics lists all",
        false,
    ),
    (
        Code::UnknownPartition,
        "the topic has no such partition",
        "evforge kafka topics tells how many it has",
        false,
    ),
    (
        Code::InvalidTopic,
        "the name of the topic is not allowed",
        "letters, digits, `.`, `_` and `-`, at most 249",
        false,
    ),
    (
        Code::MessageSizeTooLarge,
        "the message is larger than the topic takes",
        "send smaller messages, or raise max.message.bytes of the topic or message.max.bytes of the broker",
        false,
    ),
    (
        Code::MessageBatchTooLarge,
        "the batch is larger than the broker takes",
        "lower batch.size, or raise max.message.bytes of the topic",
        false,
    ),
    (
        Code::InvalidMessageSize,
        "the message is larger than the client sends",
        "raise message.max.bytes",
        false,
    ),
    (
        Code::MessageTimedOut,
        "the message was not acknowledged in time (message.timeout.ms)",
        "is the broker reachable, and fast enough?",
        false,
    ),
    (Code::OperationTimedOut, "no answer in time", "is the broker reachable, and fast enough?", true),
    (Code::RequestTimedOut, "the broker could not do it in time", "", true),
    (Code::TimedOutQueue, "no answer in time: the request waited in this client", "", true),
    (
        Code::QueueFull,
        "too much waits for the broker (queue.buffering.max.messages, queue.buffering.max.kbytes)",
        "",
        true,
    ),
    (Code::LeaderNotAvailable, "no broker leads the partition at the moment", "", true),
    (Code::NotLeaderForPartition, "another broker leads the partition now", "", true),
    (Code::BrokerNotAvailable, "the broker is not available", "", true),
    (Code::ReplicaNotAvailable, "a copy of the partition is not available", "", true),
    (
        Code::NotEnoughReplicas,
        "too few brokers have a copy of the partition (min.insync.replicas)",
        "have the other brokers started",
        true,
    ),
    (
        Code::NotEnoughReplicasAfterAppend,
        "too few brokers took a copy of the message in time (min.insync.replicas)",
        "have the other brokers started",
        true,
    ),
    (Code::InvalidRequiredAcks, "the broker does not take this value of acks", "acks is all, 1 or 0", false),
    (
        Code::InvalidTimestamp,
        "the broker does not take the time of the message",
        "are the clocks right? message.timestamp.before.max.ms and .after.max.ms of the topic say what it takes",
        false,
    ),
    (Code::UnsupportedVersion, "the broker is too old for this", "Kafka 2.1 or later is needed", false),
    (Code::UnsupportedFeature, "the broker is too old for this", "Kafka 2.1 or later is needed", false),
    (
        Code::UnsupportedCompressionType,
        "the broker does not know this compression",
        "set compression.type to one that it knows: lz4",
        false,
    ),
    (Code::InvalidRecord, "the broker refused the content of the message", "", false),
    (Code::PolicyViolation, "a policy of the broker forbids it", "ask whoever runs the cluster", false),
    (
        Code::KafkaStorageError,
        "the broker cannot write to its disk",
        "is the disk of the broker full or broken?",
        true,
    ),
    (Code::ThrottlingQuotaExceeded, "the broker limits the rate of this client (quota)", "", true),
    (
        Code::OutOfOrderSequenceNumber,
        "the broker misses messages before this one",
        "the producer begins again with a new identity",
        false,
    ),
    (
        Code::UnknownProducerId,
        "the broker has forgotten this producer",
        "the producer begins again with a new identity",
        false,
    ),
    (
        Code::InvalidProducerEpoch,
        "another producer has taken this one's place",
        "only one may have its transactional.id",
        false,
    ),
    (
        Code::GaplessGuarantee,
        "a message could not be delivered, and those after it would have left a gap (enable.gapless.guarantee)",
        "",
        false,
    ),
    (Code::Fatal, "the client cannot go on", "the message before it says why", false),
    (Code::PurgeQueue, "the message was given up before it was sent", "", false),
    (Code::PurgeInflight, "the message was given up while it was on its way: it may have arrived", "", false),
    (Code::AutoOffsetReset, "the place to read on from is not there any more", "", true),
    (
        Code::OffsetOutOfRange,
        "there is no message at this offset any more",
        "evforge kafka topics tells the lowest and the highest",
        false,
    ),
    (Code::BadMessage, "the answer cannot be read", "is it a Kafka broker?", false),
    (Code::BadCompression, "a message cannot be decompressed", "", false),
    (Code::SecurityDisabled, "the broker has no access lists", "", false),
];

/// What a code means.
pub fn explain(code: Code) -> Explanation {
    match SENTENCES.iter().find(|(known, ..)| *known == code) {
        Some((_, what, remedy, is_retriable)) => {
            Explanation { what: (*what).to_owned(), remedy, is_retriable: *is_retriable }
        }
        None => Explanation { what: code.to_string(), remedy: "", is_retriable: false },
    }
}

/// What an error of the library means; none where it is about nothing but settings.
pub fn explain_error(error: &KafkaError) -> Explanation {
    match error.rdkafka_error_code() {
        Some(code) => explain(code),
        None => Explanation { what: without_secrets(error), remedy: "", is_retriable: false },
    }
}

/// An error as the library words it; one about an option has its value in it.
fn without_secrets(error: &KafkaError) -> String {
    match error {
        KafkaError::ClientConfig(_, _, key, _) => format!("option `{key}` is refused"),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_one_sentence_and_says_no_word_of_the_library() {
        for (index, (code, what, ..)) in SENTENCES.iter().enumerate() {
            assert!(SENTENCES[..index].iter().all(|(before, ..)| before != code), "{code:?} twice");
            assert!(!what.contains("Local:") && !what.contains("Broker:"), "{what}");
        }
        assert!(explain(Code::NotEnoughReplicas).is_retriable);
        assert!(!explain(Code::MessageSizeTooLarge).is_retriable);
        // What nobody has worded keeps what the library says.
        assert!(explain(Code::FencedInstanceId).what.contains("Fenced"));
    }

    #[test]
    fn an_error_about_an_option_does_not_show_its_value() {
        let mut config = rdkafka::ClientConfig::new();
        config.set("sasl.passwort", "hidden");
        let error = config.create_native_config().err().unwrap();
        assert!(!explain_error(&error).sentence().contains("hidden"));
    }
}
