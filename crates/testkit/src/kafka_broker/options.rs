//! What a broker for tests is set up with, beyond what `scripts/kafka.sh` gives all.

use super::ports::{Listener, Ports};
use std::path::PathBuf;

/// What is set up otherwise than usual.
#[derive(Clone, Debug, Default)]
pub struct BrokerOptions {
    /// Largest batch that the broker takes (`message.max.bytes`, 1 048 588 by default).
    pub message_max_bytes: Option<u64>,
    /// Certificate, its chain and its key (PKCS #8), as PEM in one file: for listeners with TLS.
    pub certificate: Option<PathBuf>,
    /// Names and passwords: for listeners with SASL.
    pub users: Vec<(String, String)>,
    /// Listeners besides the plain one.
    pub listeners: Vec<Listener>,
    /// Further lines of `server.properties`.
    pub properties: Vec<(String, String)>,
}

impl BrokerOptions {
    /// The lines of `server.properties`.
    pub(super) fn lines(&self, ports: &Ports, brokers: usize) -> Vec<String> {
        let mut lines = vec![format!("default.replication.factor={brokers}")];
        lines.extend(self.message_max_bytes.map(|bytes| format!("message.max.bytes={bytes}")));
        if !self.listeners.is_empty() {
            let further: Vec<String> = self
                .listeners
                .iter()
                .map(|listener| format!("{}://{}", listener.name(), ports.further(*listener)))
                .collect();
            let plain = format!("PLAINTEXT://127.0.0.1:{}", ports.broker);
            let further = further.join(",");
            lines.push(format!("listeners={plain},CONTROLLER://127.0.0.1:{},{further}", ports.controller));
            lines.push(format!("advertised.listeners={plain},{further}"));
        }
        if let Some(certificate) = &self.certificate {
            lines.push("ssl.keystore.type=PEM".to_owned());
            lines.push(format!("ssl.keystore.location={}", certificate.display()));
        }
        if !self.users.is_empty() {
            let users: String =
                self.users.iter().map(|(name, password)| format!(" user_{name}=\"{password}\"")).collect();
            lines.push("sasl.enabled.mechanisms=PLAIN".to_owned());
            for listener in [Listener::Sasl, Listener::SaslTls] {
                lines.push(format!(
                    "listener.name.{}.plain.sasl.jaas.config=\
                     org.apache.kafka.common.security.plain.PlainLoginModule required{users};",
                    listener.name().to_lowercase()
                ));
            }
        }
        lines.extend(self.properties.iter().map(|(key, value)| format!("{key}={value}")));
        lines
    }
}
