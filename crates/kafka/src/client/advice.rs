//! What each cause means at a place, and what fixes it.

use super::{Cause, cause_of, explain};
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode as Code;

/// What is wrong, and what fixes it, at the broker or brokers `at`.
pub(super) fn sentence_for(cause: Cause, at: &str, code: Code, text: &str) -> String {
    let (what, remedy) = match cause {
        Cause::HostNotFound => {
            ("the host is not known here", "check its name, or give its address in numbers")
        }
        Cause::NothingListens => (
            "nothing listens there (connection refused)",
            "is the broker running, and is this its port? 9092 is usual, 9093 for TLS",
        ),
        Cause::Unreachable => {
            ("the host does not answer", "is it running, and does a firewall let the port through?")
        }
        Cause::NotKafka => {
            ("something else than a Kafka broker answers there", "give the port of the broker: 9092 is usual")
        }
        Cause::Silent => (
            "the connection is taken, and then nothing is answered",
            "is it a Kafka broker, is it running well, and is this the right port?",
        ),
        Cause::TlsExpected => (
            "the broker expects TLS there",
            "set the option security.protocol to \"ssl\" or \"sasl_ssl\", or give the port without TLS",
        ),
        Cause::PlainExpected => (
            "the broker does not expect TLS there",
            "give the port with TLS (9093 is usual), or set the option security.protocol to \"plaintext\" or \"sasl_plaintext\"",
        ),
        Cause::CertificateUntrusted => (
            "the certificate of the broker was signed by nobody who is trusted here",
            "set the option ssl.ca.location to the certificate of the authority that signed it",
        ),
        Cause::CertificateExpired => (
            "the certificate of the broker has expired, or is not valid yet",
            "have it renewed; check the clock of this host as well",
        ),
        Cause::CertificateOfAnother => (
            "the certificate of the broker is for another name",
            "call the broker by the name in its certificate",
        ),
        Cause::CertificateRefused => (
            "the broker wants a certificate of this client, or does not take the one it has",
            "set the options ssl.certificate.location and ssl.key.location",
        ),
        Cause::AuthenticationRefused => (
            "the broker refused name or password",
            "check the options sasl.username and sasl.mechanism, and the password (password_file)",
        ),
        Cause::LoginExpected => (
            "the broker expects a login there",
            "set the options security.protocol (\"sasl_plaintext\", \"sasl_ssl\"), sasl.mechanism and sasl.username, and the \
             password (password_file)",
        ),
        Cause::AuthenticationMismatch => (
            "the broker expects another way to log in there, or none",
            "set the option sasl.mechanism to one of the broker's, and security.protocol to what the port expects",
        ),
        Cause::BrokerTooOld => (
            "the broker closes the connection at the first request: it is older than the protocol (Kafka 0.10), or expects TLS or \
             a login there",
            "is it Kafka 2.1 or later, and does the option security.protocol fit the port?",
        ),
        Cause::NotAllowed => {
            ("this user may not do that", "have the broker's access list (kafka-acls) allow it")
        }
        Cause::NoLeader => ("no broker leads the partition at the moment", "are all brokers running?"),
        Cause::UnknownTopic => ("there is no such topic", "create it, or check its name"),
        Cause::Settings | Cause::Connection | Cause::AskedToEnd | Cause::Other => {
            let said = explain(code).sentence();
            return match text.is_empty() {
                true => format!("{at}: {said}"),
                false => format!("{at}: {said} ({text})"),
            };
        }
    };
    format!("{at}: {what}: {remedy}")
}

/// The cause of an error of the library, without the text that comes with it elsewhere.
pub(super) fn cause_of_error(error: &KafkaError) -> Cause {
    error.rdkafka_error_code().map_or(Cause::Settings, |code| cause_of(code, ""))
}
