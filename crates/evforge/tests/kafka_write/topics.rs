//! A topic that is deleted and made again while a file is written from it, or while its writer is away: all that was in either is in the file,
//! and it is not called complete.

use super::support::path;
use crate::common::{PROGRAM, send_signal};
use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_messages::f144::Value as Logged;
use evforge_messages::{Encoder, F144, Scalar};
use evforge_testkit::kafka_broker::{SharedBroker, shared};
use evforge_testkit::patience::{patience, wait_until};
use hdf5_metno::File;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;

/// Messages before, and after.
const BEFORE: i64 = 571;

/// A topic with values of a log, and a file that is written from it.
struct Log {
    broker: SharedBroker,
    topic: String,
    template: PathBuf,
    folder: tempfile::TempDir,
}

impl Log {
    fn new(test: &str) -> Option<Self> {
        let broker = shared(test)?;
        let folder = tempfile::tempdir().unwrap();
        let topic = broker.create_topic("log", 1);
        let template = folder.path().join("template.json");
        let stream =
            json!({"module": "f144", "config": {"topic": topic, "source": "temperature", "dtype": "int"}});
        let class = json!({"name": "NX_class", "values": "NXentry"});
        let entry = json!({"type": "group", "name": "entry", "attributes": [class], "children": [stream]});
        std::fs::write(&template, json!({"children": [entry]}).to_string()).unwrap();
        Some(Self { broker, topic, template, folder })
    }

    /// Sends values, one a second from the first one of 1970 on.
    fn send(&self, values: std::ops::Range<i64>) {
        let client = ClientSettings::new(self.broker.address().parse::<Brokers>().unwrap());
        let mut sender = Sender::open(&client, &self.topic, &Deadline::from(patience())).unwrap();
        let (run, mut encoder) = (AtomicBool::new(false), Encoder::new());
        for value in values {
            let message = F144 {
                source_name: "temperature",
                timestamp: (value + 1) * 1_000_000_000,
                value: Logged::Scalar(Scalar::Int32(i32::try_from(value).unwrap())),
            };
            let payload = message.encode(&mut encoder);
            assert!(sender.send(&Outgoing { payload, ..Outgoing::default() }, &run).unwrap());
        }
        assert!(sender.finish(patience(), &run).is_complete());
    }

    fn make_anew(&self) {
        self.broker.delete_topic(&self.topic);
        self.broker.create_topic("log", 1);
    }

    fn write(&self) -> Writer {
        let said = self.folder.path().join("said");
        let output = std::fs::File::create(&said).unwrap();
        let (file, _) = path(self.folder.path(), "run.nxs");
        let mut command = Command::new(PROGRAM);
        command.arg("write").arg(&self.template).arg("--output").arg(&file);
        command.args([
            "--brokers",
            self.broker.address(),
            "--start",
            "1970-01-01T00:00:00Z",
            "--after",
            "0s",
        ]);
        command.args(["--flush-interval", "50ms", "--no-sync", "--json"]);
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        Writer { child: command.spawn().unwrap(), said, file }
    }
}

struct Writer {
    child: Child,
    said: PathBuf,
    file: PathBuf,
}

impl Writer {
    /// The last state, or the report.
    fn last(&self) -> Value {
        let said = std::fs::read_to_string(&self.said).unwrap();
        let state = |line: &str| serde_json::from_str::<Value>(line).ok().filter(Value::is_object);
        said.lines().rev().find_map(state).unwrap_or_default()
    }

    fn wait_for(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) {
        wait_until(what, || {
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "{}",
                std::fs::read_to_string(&self.said).unwrap()
            );
            is_so(&self.last())
        });
    }

    fn read(&mut self, messages: i64) {
        self.wait_for(&format!("{messages} messages are read"), |state| {
            state["counters"]["messages_read"].as_i64() >= Some(messages)
        });
    }

    /// Ends the run: the exit status, the report, and the values in the file.
    fn end(mut self) -> (Option<i32>, Value, Vec<i32>) {
        send_signal(self.child.id(), "INT");
        let status = self.child.wait().unwrap().code();
        (status, self.last(), values(&self.file))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn values(file: &Path) -> Vec<i32> {
    File::open(file).unwrap().dataset("entry/value").unwrap().read_raw().unwrap()
}

fn check((status, report, values): (Option<i32>, Value, Vec<i32>), total: i64, log: &Log) {
    let mut once = values.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once, (0..i32::try_from(total).unwrap()).collect::<Vec<_>>(), "{report:#}");
    assert_eq!((status, &report["is_whole"]), (Some(3), &json!(false)), "{report:#}");
    let changes = report["topics"].as_array().unwrap();
    let is_named = |text: &Value| {
        text.as_str().is_some_and(|text| text.contains(&log.topic) && text.contains("made again"))
    };
    assert!(changes.iter().any(is_named), "{report:#}");
    let file = File::open(log.folder.path().join("run.nxs")).unwrap();
    let said = file.dataset("entry/evforge_writer/completeness/topics/change").unwrap();
    assert_eq!(said.shape(), [changes.len()], "{report:#}");
}

#[test]
fn a_topic_that_is_made_anew_while_it_is_read_is_written_from_its_beginning() {
    let Some(log) = Log::new("a_topic_that_is_made_anew_while_it_is_read_is_written_from_its_beginning")
    else {
        return;
    };
    log.send(0..BEFORE);
    let mut writer = log.write();
    writer.read(BEFORE);
    // Fewer messages than there were, and more.
    log.make_anew();
    log.send(BEFORE..BEFORE + 288);
    writer.read(BEFORE + 288);
    log.make_anew();
    log.send(BEFORE + 288..2 * BEFORE + 288);
    writer.read(2 * BEFORE + 288);
    check(writer.end(), 2 * BEFORE + 288, &log);
}

#[test]
fn a_topic_that_is_made_anew_while_the_writer_is_away_is_written_from_its_beginning() {
    let test = "a_topic_that_is_made_anew_while_the_writer_is_away_is_written_from_its_beginning";
    let Some(log) = Log::new(test) else { return };
    for messages in [288, BEFORE + 1] {
        log.send(0..BEFORE);
        let mut writer = log.write();
        writer.read(BEFORE);
        writer.wait_for("they are committed", |state| state["counters"]["commits"].as_i64() >= Some(1));
        writer.child.kill().unwrap();
        drop(writer);
        log.make_anew();
        log.send(BEFORE..BEFORE + messages);
        let mut writer = log.write();
        writer.read(BEFORE + messages);
        check(writer.end(), BEFORE + messages, &log);
        std::fs::remove_file(log.folder.path().join("run.nxs")).unwrap();
        log.make_anew();
    }
}
