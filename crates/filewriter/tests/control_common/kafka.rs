//! A service that runs, and control programs that talk to it.

use super::{Asked, OWN, POOL, WRITERS};
use evforge_filewriter::control::Jobs;
use evforge_filewriter::control::service::{ServiceSettings, run};
use evforge_kafka::client::{Brokers, ClientSettings, Deadline};
use evforge_kafka::tools::{Outgoing, Sender};
use evforge_kafka::topic::{Begin, Next, Record, TopicReader, Until};
use evforge_testkit::kafka_broker::{Broker, SharedBroker};
use evforge_testkit::patience::{patience, wait_for, wait_until};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

static RUN: AtomicBool = AtomicBool::new(false);

/// Where a test has topics.
pub(crate) enum Site {
    Shared(SharedBroker),
    Own(Broker),
}

impl Site {
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Shared(broker) => broker.address().to_owned(),
            Self::Own(broker) => broker.address(),
        }
    }

    pub(crate) fn client(&self) -> ClientSettings {
        ClientSettings::new(self.address().parse::<Brokers>().expect("an address"))
    }

    /// What a topic, or a group, is called here.
    pub(crate) fn name(&self, name: &str) -> &'static str {
        match self {
            Self::Shared(broker) => broker.name(name).leak(),
            Self::Own(_) => name.to_owned().leak(),
        }
    }

    /// Makes topics: their names.
    pub(crate) fn topics<const N: usize>(&self, names: [&str; N]) -> [&'static str; N] {
        names.map(|name| self.topic_of(name, 1))
    }

    /// Makes a topic of so many partitions: its name.
    pub(crate) fn topic_of(&self, name: &str, partitions: u32) -> &'static str {
        match self {
            Self::Shared(broker) => drop(broker.create_topic(name, partitions)),
            Self::Own(broker) => broker.create_topic(name, partitions),
        }
        self.name(name)
    }

    /// A service with the usual topics.
    pub(crate) fn service(&self, service_id: &str) -> ServiceSettings {
        ServiceSettings {
            pool_topic: Some(self.name(POOL).to_owned()),
            pool_group: self.name(WRITERS).to_owned(),
            service_id: service_id.to_owned(),
            status_interval: Duration::from_millis(300),
            ..ServiceSettings::new(self.client(), self.name(OWN))
        }
    }

    /// The broker, which only this test has.
    pub(crate) fn own(&mut self) -> &mut Broker {
        match self {
            Self::Shared(_) => panic!("it is shared"),
            Self::Own(broker) => broker,
        }
    }
}

/// A service in a thread.
pub(crate) struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Running {
    /// Starts it, and waits until everything is read that is sent to it from now on.
    pub(crate) fn start<J: Jobs>(
        settings: ServiceSettings,
        jobs: impl FnOnce(&mut dyn FnMut(&str)) -> J + Send + 'static,
    ) -> Self {
        let (stop, lines) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let are_asked = Arc::new(AtomicBool::new(false));
        let (its_stop, its_lines, its_asked) =
            (Arc::clone(&stop), Arc::clone(&lines), Arc::clone(&are_asked));
        let thread = std::thread::spawn(move || {
            let mut say = |line: &str| {
                println!("{}: {line}", settings.service_id);
                its_lines.lock().expect("lines").push(line.to_owned());
            };
            let mut jobs = Asked { jobs: jobs(&mut say), are_asked: its_asked };
            run(&settings, &mut jobs, &its_stop, &mut say).expect("a service");
        });
        wait_until("the service begins", || are_asked.load(Ordering::Relaxed) || thread.is_finished());
        Self { stop, thread, lines }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("lines").clone()
    }

    /// Waits until it says something.
    pub(crate) fn await_said(&self, words: &str) {
        wait_until(format_args!("it says {words}"), || self.lines().iter().any(|line| line.contains(words)));
    }

    /// Ends it, and waits for that.
    pub(crate) fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("no panic");
    }
}

pub(crate) fn send(client: &ClientSettings, topic: &str, payload: &[u8]) {
    let mut sender = Sender::open(client, topic, &Deadline::from(patience())).expect("a topic");
    assert!(sender.send(&Outgoing { payload, ..Outgoing::default() }, &RUN).expect("it is sent"));
    assert!(sender.finish(patience(), &RUN).is_complete());
}

/// Reads what is said on a topic.
pub(crate) struct Listener {
    reader: TopicReader,
    pub(crate) records: Vec<Record>,
}

impl Listener {
    pub(crate) fn open(client: &ClientSettings, topic: &str) -> Self {
        let reader =
            TopicReader::open(client, topic, Begin::Oldest, Until::Forever, &Deadline::from(patience()))
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
        wait_for(format_args!("{schema}"), || {
            self.read(Duration::from_millis(200)).filter(|json| json["schema"] == schema && holds(json))
        })
    }

    /// The next state with this word in it.
    pub(crate) fn next_state(&mut self, state: &str) -> Value {
        let wanted = format!("\"state\":\"{state}\"");
        let holds = |json: &Value| json["status_json"].as_str().is_some_and(|text| text.contains(&wanted));
        let json = self.next_of("x5f2", holds);
        serde_json::from_str(json["status_json"].as_str().unwrap_or_default()).expect("JSON")
    }

    /// Everything else that is there now: a service says something more all the time.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let now = Some(Instant::now());
        let behind = wait_for("the end of the topic", || self.reader.behind(now));
        let next = |_| wait_for("a message", || self.read(Duration::from_millis(200)));
        (0..behind).map(next).collect()
    }
}
