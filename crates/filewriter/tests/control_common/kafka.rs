//! A service that runs, and control programs that talk to it.

use super::FakeJobs;
use evforge_filewriter::control::service::{ServiceSettings, run};
use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Begin, Next, Outgoing, Record, Sender, TopicReader, Until};
use evforge_testkit::kafka_broker::Broker;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) const WITHIN: Duration = Duration::from_secs(120);
static RUN: AtomicBool = AtomicBool::new(false);

pub(crate) fn client(broker: &Broker) -> ClientSettings {
    ClientSettings::new(broker.address().parse::<Brokers>().expect("an address"))
}

/// A service in a thread.
pub(crate) struct Running {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    lines: Arc<Mutex<Vec<String>>>,
    pub(crate) jobs: FakeJobs,
}

impl Running {
    pub(crate) fn start(settings: ServiceSettings, jobs: FakeJobs) -> Self {
        let (stop, lines) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (its_stop, its_lines, mut its_jobs) = (Arc::clone(&stop), Arc::clone(&lines), jobs.clone());
        let thread = std::thread::spawn(move || {
            let mut say = |line: &str| {
                println!("{}: {line}", settings.service_id);
                its_lines.lock().expect("lines").push(line.to_owned());
            };
            run(&settings, &mut its_jobs, &its_stop, &mut say).expect("a service");
        });
        Self { stop, thread: Some(thread), lines, jobs }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("lines").clone()
    }

    /// Ends it, and waits for that.
    pub(crate) fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("no panic");
    }
}

/// Waits until something is so.
pub(crate) fn wait(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + WITHIN;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within {WITHIN:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn send(client: &ClientSettings, topic: &str, payload: &[u8]) {
    let mut sender = Sender::open(client, topic, &Deadline::of_opening()).expect("a topic");
    assert!(sender.send(&Outgoing { payload, ..Outgoing::default() }, &RUN).expect("it is sent"));
    assert!(sender.finish(WITHIN, &RUN).is_complete());
}

/// Reads what is said on a topic.
pub(crate) struct Listener {
    reader: TopicReader,
    pub(crate) records: Vec<Record>,
}

impl Listener {
    pub(crate) fn open(client: &ClientSettings, topic: &str) -> Self {
        let reader = TopicReader::open(client, topic, Begin::Oldest, Until::Forever, &Deadline::of_opening())
            .expect("a topic");
        Self { reader, records: Vec::new() }
    }

    fn read(&mut self, wait: Duration) -> Option<Value> {
        match self.reader.next(wait).expect("messages") {
            Next::Message(record) => {
                let json = record.decode().expect("a message of a file writer").to_json();
                self.records.push(record);
                Some(json)
            }
            _ => None,
        }
    }

    /// The next message of a schema; others are passed over.
    pub(crate) fn next(&mut self, schema: &str) -> Value {
        self.next_of(schema, |_| true)
    }

    /// The next one of which something holds.
    pub(crate) fn next_of(&mut self, schema: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + WITHIN;
        loop {
            assert!(Instant::now() < deadline, "no {schema} within {WITHIN:?}");
            if let Some(json) = self.read(Duration::from_millis(200))
                && json["schema"] == schema
                && holds(&json)
            {
                return json;
            }
        }
    }

    /// The next state with this word in it.
    pub(crate) fn next_state(&mut self, state: &str) -> Value {
        let wanted = format!("\"state\":\"{state}\"");
        let holds = |json: &Value| json["status_json"].as_str().is_some_and(|text| text.contains(&wanted));
        let json = self.next_of("x5f2", holds);
        serde_json::from_str(json["status_json"].as_str().unwrap_or_default()).expect("JSON")
    }

    /// Everything that comes until nothing has come for this long.
    pub(crate) fn rest(&mut self, quiet: Duration) -> Vec<Value> {
        std::iter::from_fn(|| self.read(quiet)).collect()
    }
}
