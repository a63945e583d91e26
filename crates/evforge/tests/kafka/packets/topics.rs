//! Topics with raw packets, written by the code that outputs use, and read by the program.

use crate::common::{PROGRAM, send_signal, written};
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::Fill;
use evforge_kafka::packets::{PacketMessage, PacketMessages};
use evforge_net::capture::CaptureReader;
use evforge_outputs::packet_tap::{PacketTap, SampleRule};
use evforge_testkit::patience::{patience, wait_for, wait_until};
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How a message is written.
#[derive(Clone, Copy)]
pub(crate) struct Written {
    /// None: by the key.
    pub(crate) partition: Option<i32>,
    /// As the event formation unit of ESS writes: without headers.
    pub(crate) has_headers: bool,
}

/// By the key, with headers.
pub(crate) const PLAIN: Written = Written { partition: None, has_headers: true };

/// Idempotent, as that of the outputs: what a busy broker asks for once more would come in another order.
pub(crate) fn producer(brokers: &str) -> BaseProducer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers).set("linger.ms", "5").set("enable.idempotence", "true");
    config.create().expect("a producer")
}

/// Writes all packets of a capture into a topic, each as `how` says; those for which it says nothing are left out, though they
/// have their numbers.
pub(crate) fn write_capture(
    producer: &BaseProducer,
    topic: &str,
    source: &str,
    capture: &Path,
    how: impl Fn(&PacketMessage<'_>) -> Option<Written>,
) {
    let tap = PacketTap::default();
    let samples = tap.subscribe(SampleRule::ALL, 1 << 24).expect("before the run");
    let mut inlets = tap.begin(false).expect("somebody has asked");
    let mut messages = PacketMessages::new(samples, source, 1);
    let mut reader = CaptureReader::open(capture).expect("a capture");
    let mut slab = PacketSlab::new(256, 1 << 20);
    let mut fill = Fill::More;
    while fill == Fill::More {
        slab.clear();
        fill = reader.fill(&mut slab).expect("a good capture");
        inlets.take(&slab.batch(), &AtomicBool::new(false));
        inlets.publish();
        messages.hand_on(usize::MAX, |message| write(producer, topic, message, how(message)));
    }
    inlets.close();
    messages.hand_on(usize::MAX, |message| write(producer, topic, message, how(message)));
    assert!(messages.has_ended());
    producer.flush(patience()).expect("all messages are taken");
}

fn write(producer: &BaseProducer, topic: &str, message: &PacketMessage<'_>, how: Option<Written>) -> bool {
    let Some(Written { partition, has_headers }) = how else { return true };
    let mut record = BaseRecord::to(topic).payload(message.payload).key(message.key);
    record.partition = partition;
    if has_headers {
        let none = OwnedHeaders::new();
        record.headers = Some(
            message
                .headers
                .iter()
                .fold(none, |all, (name, value)| all.insert(Header { key: name, value: value.as_ref() })),
        );
    }
    producer.send(record).map_err(|(error, _)| error).expect("the queue has room");
    producer.poll(Duration::ZERO);
    true
}

/// What a run has come to.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) events: String,
    pub(crate) report: Value,
    pub(crate) said: String,
}

/// A run under way.
pub(crate) struct Running {
    child: Child,
    folder: tempfile::TempDir,
}

impl Running {
    pub(crate) fn start(config: &Path, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let said = File::create(at("said")).expect("a file");
        let mut command = Command::new(PROGRAM);
        command.arg("run").arg("--config").arg(config);
        command.arg("--events").arg(at("events.csv")).arg("--report").arg(at("report.json")).args(arguments);
        command.stdout(said.try_clone().expect("a file")).stderr(said);
        Self { child: command.spawn().expect("the program starts"), folder }
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Waits until it has opened its topic: it begins files then.
    pub(crate) fn await_begin(&self) {
        wait_until("the run begins", || written(self.folder.path(), "events.csv").is_some());
    }

    /// Waits until this much of its events is in the file.
    pub(crate) fn await_events(&self, bytes: usize) {
        wait_until(format_args!("{bytes} bytes of events"), || {
            written(self.folder.path(), "events.csv").is_some_and(|events| events.len() >= bytes)
        });
    }

    /// Waits until it says something.
    pub(crate) fn await_said(&self, words: &str) {
        wait_until(format_args!("`{words}`"), || self.file("said").contains(words));
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        send_signal(self.child.id(), "INT");
    }

    pub(crate) fn end(mut self) -> Run {
        let status = wait_for("the end of the run", || self.child.try_wait().expect("a child"));
        let report = std::fs::read(self.folder.path().join("report.json"));
        let report = report.map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).expect("JSON"));
        Run { status: status.code(), events: self.file("events.csv"), report, said: self.file("said") }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the program with a configuration and these arguments.
pub(crate) fn run(config: &Path, arguments: &[&str]) -> Run {
    Running::start(config, arguments).end()
}
