//! Where events of a measurement go that go to Kafka.

use super::hosts::HostsArguments;
use crate::CommandError;
use clap::Args;
use evforge_core::endpoint::endpoint;
use evforge_lab::measured_formation::{Destination, KafkaTopic};
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where events go that go to Kafka.
#[derive(Args)]
pub(super) struct KafkaArguments {
    /// Broker for `--into kafka`, over loopback: events go onto a topic of its own, which stays there
    #[arg(long, value_name = "HOST:PORT", value_parser = endpoint)]
    kafka: Option<SocketAddr>,
}

impl KafkaArguments {
    /// The topic, if events go to Kafka; `command` is the name of the measurement. To be called before anything is measured.
    ///
    /// # Errors
    /// If there is no broker for them, or one that nothing goes to; if the run is in namespaces, where no broker is.
    pub(super) fn topic(
        &self,
        command: &str,
        into: &[Destination],
        hosts: &HostsArguments,
    ) -> Result<Option<KafkaTopic>, CommandError> {
        let works =
            |broker: &str| format!("evforge measure {command} --into kafka --loopback --kafka {broker}");
        match (into.contains(&Destination::Kafka), self.kafka) {
            (false, None) => Ok(None),
            (false, Some(broker)) => {
                Err(format!("--kafka names a broker, and nothing goes to it; {}", works(&broker.to_string()))
                    .into())
            }
            (true, None) => {
                let works = works("127.0.0.1:9092");
                Err(format!(
                    "--into kafka needs a broker. One for trials on this host: make kafka; then: {works}"
                )
                .into())
            }
            (true, Some(broker)) if hosts.has_namespaces() => Err(format!(
                "a broker cannot be reached from the namespaces of a measurement, only over loopback: {}",
                works(&broker.to_string())
            )
            .into()),
            (true, Some(broker)) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
                Ok(Some(KafkaTopic { broker, topic: format!("evforge_measure_{command}_{now}") }))
            }
        }
    }
}
