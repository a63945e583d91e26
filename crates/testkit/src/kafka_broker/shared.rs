//! A broker that is well, for all tests that need no more: one that a runner has started for all test programs (`EVFORGE_KAFKA`
//! is its host and port), or else one for each program. What a test has there bears its own name.
//!
//! The runner starts it with the settings of the one here: `scripts/kafka.sh serve FOLDER 1 PORT 1@127.0.0.1:PORT2
//! broker.session.timeout.ms=3600000`.

use super::process::remove_at_the_end;
use super::protocol::{self, Topic};
use super::{Broker, BrokerOptions, is_possible};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a test has of the broker that is shared: it cannot be killed, and topics have names that no other test has.
#[derive(Clone, Debug)]
pub struct SharedBroker {
    address: String,
    number: u32,
}

/// The broker that tests share; none, with `test` reported as skipped, where there can be none.
///
/// # Panics
/// If it cannot be started, or `EVFORGE_KAFKA` names no host and port.
pub fn shared(test: &str) -> Option<SharedBroker> {
    static BROKER: OnceLock<Broker> = OnceLock::new();
    static TESTS: AtomicU32 = AtomicU32::new(1);
    let address = std::env::var("EVFORGE_KAFKA").ok().or_else(|| {
        // It takes itself for gone otherwise, and refuses topics, when a busy host keeps it waiting.
        let patient = ("broker.session.timeout.ms".to_owned(), "3600000".to_owned());
        let broker = || {
            let broker =
                Broker::with(BrokerOptions { properties: vec![patient], ..BrokerOptions::default() });
            remove_at_the_end(broker.folder());
            broker
        };
        is_possible(test).then(|| BROKER.get_or_init(broker).address())
    })?;
    Some(SharedBroker { address, number: TESTS.fetch_add(1, Ordering::Relaxed) })
}

impl SharedBroker {
    /// `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The name that this test has for something there: a topic, or a group.
    pub fn name(&self, name: &str) -> String {
        format!("test-{}-{}-{name}", std::process::id(), self.number)
    }

    /// Makes a topic with this many partitions: its name.
    ///
    /// # Panics
    /// If the broker refuses.
    pub fn create_topic(&self, name: &str, partitions: u32) -> String {
        self.create(&Topic { partitions, ..Topic::new(name) })
    }

    /// The same, with settings of its own.
    ///
    /// # Panics
    /// If the broker refuses.
    pub fn create(&self, topic: &Topic) -> String {
        let topic = Topic { name: self.name(&topic.name), ..topic.clone() };
        protocol::create_topic(self.socket_address(), &topic);
        protocol::await_leaders(self.socket_address(), &topic);
        topic.name
    }

    /// Deletes a topic of this name.
    ///
    /// # Panics
    /// If the broker refuses.
    pub fn delete_topic(&self, topic: &str) {
        protocol::delete_topic(self.socket_address(), topic);
    }

    /// Gives a topic more partitions: so many in all.
    ///
    /// # Panics
    /// If the broker refuses.
    pub fn add_partitions(&self, topic: &str, count: u32) {
        protocol::add_partitions(self.socket_address(), topic, count);
    }

    /// Removes the messages of a partition before this number, as retention does.
    ///
    /// # Panics
    /// If the broker refuses.
    pub fn remove_before(&self, topic: &str, partition: u32, first: i64) {
        protocol::remove_before(self.socket_address(), topic, partition, first);
    }

    fn socket_address(&self) -> SocketAddr {
        let mut all = self.address.to_socket_addrs().expect("EVFORGE_KAFKA is HOST:PORT");
        all.next().expect("the host has an address")
    }
}
