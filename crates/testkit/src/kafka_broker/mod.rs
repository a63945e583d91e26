//! Real Kafka brokers for tests: each with free ports and a folder of its own, killed when it is dropped and, by the kernel, when
//! the test program ends in whatever way. `scripts/kafka.sh` says what a broker consists of and how it is set up.
//!
//! ```no_run
//! use evforge_testkit::kafka_broker::{Broker, is_possible, shared};
//! // Most tests need one that is well, and topics that no other test has.
//! let Some(broker) = shared("events_arrive") else { return };
//! let topic = broker.create_topic("events", 1);
//! // … produce to that topic at broker.address() …
//!
//! // A test that kills it, or needs it set up otherwise, has its own.
//! if !is_possible("a_broker_is_killed") { return }
//! let mut broker = Broker::start();
//! broker.create_topic("events", 1);
//! broker.kill();
//! ```

mod options;
mod ports;
mod process;
mod protocol;
mod shared;

use crate::patience::{wait_for, wait_until};
pub use options::BrokerOptions;
pub use ports::Listener;
use ports::Ports;
use process::Process;
pub use protocol::Topic;
pub use shared::{SharedBroker, shared};
use std::path::Path;

/// True if brokers can be started here; else `test` is reported as skipped.
pub fn is_possible(test: &str) -> bool {
    let said = process::what_is_missing();
    if let Some(missing) = &said {
        crate::skip(test, &format!("no Kafka broker can be started: {missing}"));
    }
    said.is_none()
}

/// One broker.
#[derive(Debug)]
pub struct Broker {
    cluster: Cluster,
}

impl Broker {
    /// Starts a broker and waits until it answers.
    ///
    /// # Panics
    /// If it cannot be started, with what it said.
    pub fn start() -> Self {
        Self::with(BrokerOptions::default())
    }

    /// The same, set up otherwise.
    ///
    /// # Panics
    /// As [`Broker::start`].
    pub fn with(options: BrokerOptions) -> Self {
        Self { cluster: Cluster::with(1, options) }
    }

    /// `127.0.0.1:PORT` of the listener without encryption and names, which every broker has.
    pub fn address(&self) -> String {
        self.cluster.address(1)
    }

    /// `localhost:PORT` of a further listener.
    ///
    /// # Panics
    /// If the options did not ask for it.
    pub fn address_of(&self, listener: Listener) -> String {
        self.cluster.nodes[0].ports.further(listener)
    }

    /// Makes a topic with this many partitions.
    ///
    /// # Panics
    /// If the broker refuses.
    pub fn create_topic(&self, name: &str, partitions: u32) {
        self.cluster.create_topic(&Topic { partitions, ..Topic::new(name) });
    }

    /// Makes a topic with settings of its own, such as `max.message.bytes`.
    ///
    /// # Panics
    /// If the broker refuses.
    pub fn create(&self, topic: &Topic) {
        self.cluster.create_topic(topic);
    }

    /// Kills it as SIGKILL does: nothing is written to the end, no connection is closed in peace.
    pub fn kill(&mut self) {
        self.cluster.kill(1);
    }

    /// Starts it again with the same ports and the same data, and waits until it answers.
    pub fn restart(&mut self) {
        self.cluster.restart(1);
    }

    /// Makes it stand still: connections stay, nothing is answered.
    pub fn freeze(&self) {
        self.cluster.freeze(1);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.cluster.thaw(1);
    }

    /// Waits until it has dealt with what clients sent that are gone: it closes their connections then.
    pub fn await_end_of_the_gone(&self) {
        let at = self.cluster.nodes[0].ports.plain();
        wait_until(format_args!("{at} closes the connections of who is gone"), || {
            !ports::has_half_closed(at.port())
        });
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.cluster.folder.path()
    }
}

/// Several brokers that are one cluster, numbered from 1.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    voters: String,
    options: BrokerOptions,
    // Behind the nodes: the folder goes when no process writes to it any more.
    folder: tempfile::TempDir,
}

#[derive(Debug)]
struct Node {
    ports: Ports,
    process: Option<Process>,
}

impl Cluster {
    /// Starts this many brokers and waits until each knows all.
    ///
    /// # Panics
    /// If they cannot be started, with what they said.
    pub fn start(brokers: usize) -> Self {
        Self::with(brokers, BrokerOptions::default())
    }

    /// The same, set up otherwise.
    ///
    /// # Panics
    /// As [`Cluster::start`].
    pub fn with(brokers: usize, options: BrokerOptions) -> Self {
        // A port that was free may be taken before the broker has it: another program of tests looks for one as well.
        for attempt in 0.. {
            let folder = tempfile::Builder::new().prefix("evforge-kafka").tempdir().expect("a folder");
            let nodes: Vec<Node> = (0..brokers)
                .map(|_| Node { ports: Ports::free(&options.listeners), process: None })
                .collect();
            let voters = (1..)
                .zip(&nodes)
                .map(|(number, node)| format!("{number}@127.0.0.1:{}", node.ports.controller))
                .collect::<Vec<_>>()
                .join(",");
            let mut cluster = Self { nodes, voters, options: options.clone(), folder };
            (1..=brokers).for_each(|node| cluster.launch(node));
            match cluster.wait() {
                Ok(()) => return cluster,
                Err(said) if attempt < 3 && said.contains("Address already in use") => {}
                Err(said) => panic!("the broker cannot be started: {said}"),
            }
        }
        unreachable!("the last attempt panics")
    }

    /// Addresses of all, with commas between: what clients begin with.
    pub fn addresses(&self) -> String {
        (1..=self.nodes.len()).map(|node| self.address(node)).collect::<Vec<_>>().join(",")
    }

    /// `127.0.0.1:PORT` of one.
    pub fn address(&self, node: usize) -> String {
        self.nodes[node - 1].ports.plain().to_string()
    }

    /// Makes a topic and waits until all of its partitions have a leader.
    ///
    /// # Panics
    /// If the brokers refuse.
    pub fn create_topic(&self, topic: &Topic) {
        protocol::create_topic(self.nodes[0].ports.plain(), topic);
        let running = self.nodes.iter().filter(|node| node.process.is_some());
        running.for_each(|node| protocol::await_leaders(node.ports.plain(), topic));
    }

    /// The brokers that lead the partitions of a topic, as asked from `node`.
    ///
    /// # Panics
    /// If that one does not answer.
    pub fn leaders(&self, node: usize, topic: &str) -> Vec<usize> {
        protocol::leaders(self.nodes[node - 1].ports.plain(), topic)
    }

    /// As [`Broker::kill`].
    pub fn kill(&mut self, node: usize) {
        self.nodes[node - 1].process = None;
    }

    /// As [`Broker::restart`], of one.
    ///
    /// # Panics
    /// If it cannot be started, with what it said.
    pub fn restart(&mut self, node: usize) {
        self.kill(node);
        self.launch(node);
        self.wait().unwrap_or_else(|said| panic!("broker {node} cannot be started again: {said}"));
    }

    /// As [`Broker::freeze`].
    pub fn freeze(&self, node: usize) {
        self.signal(node, rustix::process::Signal::STOP);
    }

    /// As [`Broker::thaw`].
    pub fn thaw(&self, node: usize) {
        self.signal(node, rustix::process::Signal::CONT);
    }

    fn signal(&self, node: usize, signal: rustix::process::Signal) {
        let process = self.nodes[node - 1].process.as_ref().expect("the broker runs");
        process.signal(signal);
    }

    fn launch(&mut self, node: usize) {
        let folder = self.folder.path().join(node.to_string());
        let brokers = self.nodes.len();
        let it = &mut self.nodes[node - 1];
        let lines = self.options.lines(&it.ports, brokers);
        it.process = Some(Process::launch(&folder, node, it.ports.broker, &self.voters, &lines));
    }

    /// Waits until each of those that run knows all that run.
    fn wait(&mut self) -> Result<(), String> {
        let running = self.nodes.iter().filter(|node| node.process.is_some()).count();
        for node in &mut self.nodes {
            let Some(process) = &mut node.process else { continue };
            let log = process.log().clone();
            wait_for(format_args!("the broker answers, which says {log}"), || match process.has_ended() {
                Some(said) => Some(Err(said)),
                None => (protocol::known_brokers(node.ports.plain()) >= running).then_some(Ok(())),
            })?;
        }
        Ok(())
    }
}
