//! The program with `[outputs.kafka]`, under way.

use crate::common::PROGRAM;
use crate::common::kafka::TopicEnd;
use crate::truth::{Event, config, events_of_csv};
use evforge_testkit::kafka_broker::BrokerOptions;
use evforge_testkit::patience::{wait_for, wait_until};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Small messages, so that there are many.
pub(crate) const MESSAGE_EVENTS: u64 = 20;

/// A run of the program, killed if the test ends early.
pub(crate) struct Run {
    child: Child,
    said: Arc<Mutex<String>>,
    reader: Option<std::thread::JoinHandle<()>>,
    folder: PathBuf,
    name: String,
}

/// How a run has ended.
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    /// On standard error, then on standard output.
    pub(crate) said: String,
    pub(crate) report: Value,
    /// What was formed.
    pub(crate) events: Vec<Event>,
    pub(crate) took: Duration,
}

impl Drop for Run {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Brokers that others take for gone soon after they were killed, and that may come back as soon.
pub(crate) fn back_soon() -> BrokerOptions {
    let properties = [("broker.session.timeout.ms", "3000"), ("broker.heartbeat.interval.ms", "500")];
    let properties = properties.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    BrokerOptions { properties, ..BrokerOptions::default() }
}

/// The keys that all runs have.
fn keys(brokers: &str, topic: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let few = format!("outputs.kafka.message_events={MESSAGE_EVENTS}");
    for key in [
        format!("outputs.kafka.brokers={brokers}"),
        format!("outputs.kafka.topic={topic}"),
        "outputs.kafka.source=freia".into(),
        "outputs.kafka.create_topics=true".into(),
        "outputs.kafka.finish_within=60s".into(),
        few,
    ] {
        arguments.extend(["--set".to_owned(), key]);
    }
    arguments
}

impl Run {
    /// Starts a live run, which ends a second after the last packet; events go to a topic of its name. `further` are keys of
    /// `[outputs.kafka]`, which replace those that all runs have.
    pub(crate) fn live(folder: &Path, name: &str, brokers: &str, further: &[&str]) -> Self {
        Self::live_by(Command::new(PROGRAM), folder, name, brokers, further)
    }

    /// The same, by a command that runs the program with the arguments after its own.
    pub(crate) fn live_by(
        command: Command,
        folder: &Path,
        name: &str,
        brokers: &str,
        further: &[&str],
    ) -> Self {
        let input = ["--address", "127.0.0.1", "--port", "0", "--idle", "1s", "--for", "180s"];
        Self::start(command, folder, name, brokers, &input, further)
    }

    /// Starts a run over a capture.
    pub(crate) fn over(folder: &Path, name: &str, capture: &Path, brokers: &str, further: &[&str]) -> Self {
        let input = [capture.to_str().expect("text")];
        Self::start(Command::new(PROGRAM), folder, name, brokers, &input, further)
    }

    fn start(
        mut command: Command,
        folder: &Path,
        name: &str,
        brokers: &str,
        input: &[&str],
        further: &[&str],
    ) -> Self {
        command.args(["run", "--overwrite", "--config", &config()]).args(input);
        command.arg("--report").arg(folder.join(format!("{name}.json")));
        command.arg("--events").arg(folder.join(format!("{name}.csv")));
        // What is behind has the last word.
        command.args(keys(brokers, name));
        for key in further {
            command.args(["--set", &format!("outputs.kafka.{key}")]);
        }
        let printed = std::fs::File::create(folder.join(format!("{name}.out"))).expect("a file");
        command.current_dir(folder).stdout(printed).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let said = Arc::new(Mutex::new(String::new()));
        let (mut source, seen) = (child.stderr.take().expect("piped"), Arc::clone(&said));
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = source.read(&mut piece) {
                seen.lock().expect("no panic").push_str(&String::from_utf8_lossy(&piece[..length]));
            }
        });
        Self { child, said, reader: Some(reader), folder: folder.to_owned(), name: name.to_owned() }
    }

    /// What it has said up to now.
    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    /// Waits until it says something.
    pub(crate) fn await_said(&mut self, words: &str) {
        self.await_saying(words, |said| said.contains(words));
    }

    /// Waits until it says that so many events were dropped so far.
    pub(crate) fn await_dropped(&mut self, number: usize) {
        let dropped = |said: &str| {
            let (before, _) = said.rsplit_once(" events were dropped so far")?;
            before.split_whitespace().last()?.parse::<usize>().ok()
        };
        self.await_saying("how many were dropped", |said| dropped(said) >= Some(number));
    }

    fn await_saying(&mut self, what: &str, is_said: impl Fn(&str) -> bool) {
        wait_until(format_args!("{} says {what}", self.name.clone()), || {
            let has_ended = !self.is_running();
            let is_said = is_said(&self.said());
            assert!(!has_ended || is_said, "it has ended: {}", self.said());
            is_said
        });
    }

    /// The address at which it receives, once it does.
    pub(crate) fn address(&mut self) -> String {
        self.await_said("received by");
        let said = self.said();
        let line = said.lines().find_map(|line| line.strip_prefix("receiving at UDP "));
        line.expect("an address").to_owned()
    }

    /// True as long as it runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().expect("kill").success());
    }

    /// Kills it as SIGKILL does; false if it had ended before.
    pub(crate) fn kill(mut self) -> bool {
        let ran = self.is_running();
        self.child.kill().expect("a child");
        self.child.wait().expect("it ends");
        ran
    }

    /// The messages of its topic.
    pub(crate) fn sent(&self, brokers: &str) -> TopicEnd {
        TopicEnd::new(brokers, &self.name)
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let begin = Instant::now();
        let status =
            wait_for(format_args!("the end of {}", self.name), || self.child.try_wait().expect("a child"));
        let took = begin.elapsed();
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no panic");
        }
        let file = |ending: &str| self.folder.join(format!("{}.{ending}", self.name));
        let said = self.said() + &std::fs::read_to_string(file("out")).expect("what it has printed");
        let report = std::fs::read(file("json")).unwrap_or_else(|error| panic!("no report: {error}: {said}"));
        let report = serde_json::from_slice(&report).expect("JSON");
        Ended { status: status.code(), said, report, events: events_of_csv(&file("csv")), took }
    }
}

impl Ended {
    /// What the report has of the output.
    pub(crate) fn kafka(&self) -> &Value {
        let outputs = self.report["outputs"].as_array().expect("outputs");
        outputs.iter().find(|output| output["id"] == "kafka").expect("the output")
    }

    /// Events of the output by what became of them.
    pub(crate) fn events(&self, what: &str) -> u64 {
        self.kafka()["events"][what].as_u64().unwrap_or_else(|| panic!("no {what}: {:#}", self.kafka()))
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        self.kafka()["counters"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {:#}", self.kafka()))
    }

    /// Checks that every event offered, and every message made, is accounted for, and that nothing waits any more.
    pub(crate) fn check_balance(&self) {
        let kafka = self.kafka();
        let end = ["committed", "left_out", "failed", "dropped", "missed"].map(|what| self.events(what));
        assert_eq!(self.events("offered"), end.iter().sum::<u64>(), "{kafka:#}");
        assert_eq!(self.events("offered"), self.events.len() as u64, "not all that was formed: {kafka:#}");
        let left = ["queued", "pending", "queued_bytes"].map(|what| self.events(what));
        assert_eq!((left, kafka["unaccounted"].as_u64()), ([0; 3], Some(0)), "{kafka:#}");
        let messages = [
            "messages_acknowledged",
            "messages_waiting",
            "failed_timed_out",
            "failed_too_large",
            "failed_unknown_topic",
            "failed_not_authorised",
            "failed_purged",
            "failed_other",
        ];
        let sum: u64 = messages.iter().map(|name| self.counter(name)).sum();
        assert_eq!(self.counter("messages_produced"), sum, "{kafka:#}");
    }

    /// Checks that it was a good end, and that every event was acknowledged.
    pub(crate) fn check_success(&self) {
        assert_eq!(self.status, Some(0), "{}", self.said);
        self.check_balance();
        assert_eq!(self.events("committed"), self.events.len() as u64, "{:#}", self.kafka());
        assert!(self.kafka()["failure"].is_null(), "{:#}", self.kafka());
    }
}

/// Packets on their way to a run; nothing is sent any more when it is dropped.
pub(crate) struct Replay(Child);

impl Replay {
    /// Sends a capture, this many times faster than it was recorded.
    pub(crate) fn start(capture: &Path, address: &str, speed: u32) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["replay", "--overwrite", "--to", address, "--speed", &speed.to_string()]).arg(capture);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts"))
    }

    /// Sends no more.
    pub(crate) fn stop(self) {}

    /// True as long as there is something to send.
    pub(crate) fn is_running(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_none()
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
