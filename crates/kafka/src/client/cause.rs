//! What kind of trouble it is, from a code of librdkafka and the text that comes with it.
//!
//! Codes alone do not tell an untrusted certificate from an expired one, or a broker that is absent from a web server at its
//! port: the text of librdkafka, or of OpenSSL in it, does. librdkafka is pinned; `tests/client/connection.rs` makes each of these happen.

use rdkafka::types::RDKafkaErrorCode as Code;

/// What stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The settings are wrong; no broker was asked.
    Settings,
    /// A name of a host that nobody knows.
    HostNotFound,
    /// No program listens at the port.
    NothingListens,
    /// The host or its network does not answer.
    Unreachable,
    /// What listens at the port is no broker.
    NotKafka,
    /// It takes the connection, and does not answer.
    Silent,
    /// The listener expects TLS.
    TlsExpected,
    /// The listener expects no TLS.
    PlainExpected,
    /// The certificate of the broker was signed by nobody whom this host trusts.
    CertificateUntrusted,
    /// The certificate of the broker is out of date, or not yet valid.
    CertificateExpired,
    /// The certificate of the broker is for another host.
    CertificateOfAnother,
    /// The broker does not take the certificate of this client, or wants one.
    CertificateRefused,
    /// Name or password are wrong, or the mechanism is not the broker's.
    AuthenticationRefused,
    /// The listener expects another way to log in, or none.
    AuthenticationMismatch,
    /// The listener expects a login, and the client has none.
    LoginExpected,
    /// The name is known, and may not do this.
    NotAllowed,
    /// The broker does not know the requests of this client.
    BrokerTooOld,
    /// There is no such topic.
    UnknownTopic,
    /// No broker leads the partition at the moment.
    NoLeader,
    /// Another way in which the connection broke.
    Connection,
    /// Nobody wants the answer any more.
    AskedToEnd,
    /// Anything else.
    Other,
}

impl Cause {
    /// True if another try with the same settings cannot help until somebody changes something.
    pub fn is_final(self) -> bool {
        !matches!(
            self,
            Self::NothingListens
                | Self::Unreachable
                | Self::Silent
                | Self::NoLeader
                | Self::Connection
                | Self::HostNotFound
                | Self::Other
        )
    }
}

/// The four characters that another protocol answers with, where a broker answers with a length.
fn first_letters(text: &str) -> Option<[u8; 4]> {
    let (_, number) = text.split_once("Invalid response size ")?;
    let number: String = number.chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
    Some(number.parse::<i32>().ok()?.to_be_bytes())
}

/// What a code and the text that librdkafka gives with it mean.
pub fn cause_of(code: Code, text: &str) -> Cause {
    let says = |part: &str| text.contains(part);
    // A listener with TLS answers a plain request with an alert: 0x15, version 3.
    match first_letters(text) {
        Some([0x15, 3, ..]) => return Cause::TlsExpected,
        Some(_) => return Cause::NotKafka,
        None => {}
    }
    match code {
        Code::Resolve => Cause::HostNotFound,
        Code::SSL | Code::BrokerTransportFailure
            if says("SSL handshake failed") || says("SSL") && says("alert") =>
        {
            // Why, librdkafka does not say: `tls` asks once more.
            if says("certificate verify failed") {
                Cause::CertificateUntrusted
            } else if says("alert") {
                Cause::CertificateRefused
            } else if says("wrong version number") || says("PLAINTEXT broker listener") {
                Cause::PlainExpected
            } else {
                Cause::Connection
            }
        }
        Code::Authentication | Code::SaslAuthenticationFailed => match says("handshake failed") {
            true => Cause::AuthenticationMismatch,
            false => Cause::AuthenticationRefused,
        },
        Code::UnsupportedSASLMechanism | Code::IllegalSASLState => Cause::AuthenticationMismatch,
        Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed => Cause::NotAllowed,
        Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition | Code::InvalidTopic => {
            Cause::UnknownTopic
        }
        Code::LeaderNotAvailable | Code::NotLeaderForPartition => Cause::NoLeader,
        Code::UnsupportedVersion | Code::UnsupportedFeature => Cause::BrokerTooOld,
        Code::BrokerTransportFailure | Code::AllBrokersDown => {
            if says("Connection refused") {
                Cause::NothingListens
            } else if says("Connection timed out")
                || says("setup timed out")
                || says("unreachable")
                || says("No route")
            {
                Cause::Unreachable
            } else if says("ApiVersionRequest failed: Local: Timed out") {
                Cause::Silent
            } else if says("requesting ApiVersion")
                || says("ApiVersionRequest failed")
                || says("APIVERSION_QUERY")
            {
                Cause::BrokerTooOld
            } else if says("Disconnected") && says("in state AUTH") {
                Cause::AuthenticationMismatch
            } else {
                Cause::Connection
            }
        }
        Code::OperationTimedOut | Code::MessageTimedOut | Code::RequestTimedOut => Cause::Silent,
        _ => Cause::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_protocol_is_known_by_its_first_letters() {
        let text =
            |number: i32| format!("Receive failed: Invalid response size {number} (0..1000): increase");
        let http = text(i32::from_be_bytes(*b"HTTP"));
        assert_eq!(cause_of(Code::BadMessage, &http), Cause::NotKafka);
        let alert = text(i32::from_be_bytes([0x15, 3, 3, 0]));
        assert_eq!(cause_of(Code::BadMessage, &alert), Cause::TlsExpected);
        assert_eq!(cause_of(Code::BadMessage, &text(-5)), Cause::NotKafka);
    }
}
