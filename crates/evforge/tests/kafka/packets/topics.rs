//! Topics with raw packets, written by the code that outputs use, and read by the program.

use crate::common::{PROGRAM, text};
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::Fill;
use evforge_kafka::packets::{PacketMessage, PacketMessages};
use evforge_net::capture::CaptureReader;
use evforge_outputs::packet_tap::{PacketTap, SampleRule};
use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
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

pub(crate) fn producer(brokers: &str) -> BaseProducer {
    ClientConfig::new().set("bootstrap.servers", brokers).set("linger.ms", "5").create().expect("a producer")
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
    producer.flush(Duration::from_secs(30)).expect("all messages are taken");
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
                .fold(none, |all, (name, value)| all.insert(Header { key: name, value: Some(value) })),
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

/// Runs the program with a configuration and these arguments.
pub(crate) fn run(config: &Path, arguments: &[&str]) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let (events, report) = (folder.path().join("events.csv"), folder.path().join("report.json"));
    let mut command = Command::new(PROGRAM);
    command.arg("run").arg("--config").arg(config);
    command.arg("--events").arg(&events).arg("--report").arg(&report).args(arguments);
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let report =
        std::fs::read(&report).map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).expect("JSON"));
    Run {
        status: status.code(),
        events: std::fs::read_to_string(&events).unwrap_or_default(),
        report,
        said: text(&stdout) + &text(&stderr),
    }
}
