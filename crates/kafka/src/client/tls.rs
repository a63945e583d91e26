//! A closer look at a connection with TLS: librdkafka says that a certificate is refused, and not why; and a listener with TLS that
//! is asked without it does what an old broker does, it closes the connection.

use super::{Cause, Complaint};
use openssl::ssl::{SslConnector, SslMethod, SslVerifyMode};
use openssl::x509::X509;
use rdkafka::ClientConfig;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

/// How long each step of a look may take.
const WITHIN: Duration = Duration::from_secs(2);

// Results of OpenSSL's verification of certificates (x509_vfy.h).
const NOT_YET_VALID: i32 = 9;
const HAS_EXPIRED: i32 = 10;
const HOST_MISMATCH: i32 = 62;
const ADDRESS_MISMATCH: i32 = 64;

/// What is behind a complaint, as far as another look can tell; else the cause that it has.
pub(super) fn closer_look(complaint: &Complaint, config: &ClientConfig) -> Cause {
    let protocol = config.get("security.protocol").unwrap_or("plaintext").to_ascii_lowercase();
    match complaint.cause {
        Cause::CertificateUntrusted => {
            let Some(result) = handshake(&complaint.broker, config) else { return complaint.cause };
            match result {
                NOT_YET_VALID | HAS_EXPIRED => Cause::CertificateExpired,
                HOST_MISMATCH | ADDRESS_MISMATCH => Cause::CertificateOfAnother,
                _ => Cause::CertificateUntrusted,
            }
        }
        Cause::BrokerTooOld | Cause::Connection if !protocol.ends_with("ssl") => {
            match handshake(&complaint.broker, config) {
                Some(_) => Cause::TlsExpected,
                // It closed the connection after it had told its version: at the first request that needs a login.
                None if complaint.cause == Cause::Connection
                    && complaint.text.contains("Disconnected")
                    && protocol == "plaintext" =>
                {
                    Cause::LoginExpected
                }
                None => complaint.cause,
            }
        }
        cause => cause,
    }
}

/// What OpenSSL says of the broker's certificate; none if the other side does not speak TLS.
fn handshake(broker: &str, config: &ClientConfig) -> Option<i32> {
    let (host, _) = broker.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']);
    let mut addresses = broker.to_socket_addrs().ok()?;
    let stream = addresses.find_map(|address| TcpStream::connect_timeout(&address, WITHIN).ok())?;
    stream.set_read_timeout(Some(WITHIN)).ok()?;
    stream.set_write_timeout(Some(WITHIN)).ok()?;
    let mut connector = SslConnector::builder(SslMethod::tls_client()).ok()?;
    // It is looked at, and nothing is sent: no reason to end before.
    connector.set_verify(SslVerifyMode::NONE);
    if let Some(location) = config.get("ssl.ca.location") {
        let path = Path::new(location);
        let (file, folder) = if path.is_dir() { (None, Some(path)) } else { (Some(path), None) };
        connector.load_verify_locations(file, folder).ok()?;
    }
    for certificate in X509::stack_from_pem(config.get("ssl.ca.pem").unwrap_or("").as_bytes()).ok()? {
        connector.cert_store_mut().add_cert(certificate).ok()?;
    }
    let stream = connector.build().connect(host, stream).ok()?;
    Some(stream.ssl().verify_result().as_raw())
}
