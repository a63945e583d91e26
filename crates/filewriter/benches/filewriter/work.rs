//! What is compared: reading alone, writing alone, the whole job.

use super::Outcome;
use super::filling::{EVENTS_TOPIC, Filling, LOGS_TOPIC};
use super::measured::{Course, Measured};
use evforge_filewriter::file::{Base, Ending, FilePlan, Storage, WriterFile};
use evforge_filewriter::job::{Bases, Begin, Job, JobPlan, JobSettings, Phase, Until, Window};
use evforge_filewriter::structure::{self, RunTimes};
use evforge_messages::{Message, decode};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the whole job does, in `session.rs`: chunks that are full are written when as much waits, and a commit is made after as long.
const WAITING: usize = 48 << 20;
const FLUSH_INTERVAL: Duration = Duration::from_secs(2);
/// As much is taken between two looks at whether a commit is due.
const BLOCK: usize = 1 << 20;
/// Readers of a job; `evforge write` has as many.
const READERS: usize = 2;

/// What a file has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Sources of events, each with a group.
    pub(super) sources: usize,
    /// Sources of logs, each with a group.
    pub(super) logs: usize,
}

impl Layout {
    /// As NeXus structure JSON.
    pub(super) fn structure(self) -> String {
        let group = |class: &str, name: String, children: Value| {
            let attributes = json!([{"name": "NX_class", "dtype": "string", "values": class}]);
            json!({"type": "group", "name": name, "attributes": attributes, "children": children})
        };
        let events = |number: usize| {
            let config = json!({"topic": EVENTS_TOPIC, "source": format!("source_{number}")});
            group("NXevent_data", format!("events_{number}"), json!([{"module": "ev44", "config": config}]))
        };
        let log = |number: usize| {
            let config = json!({"topic": LOGS_TOPIC, "source": format!("log_{number}"), "dtype": "double"});
            group("NXlog", format!("log_{number}"), json!([{"module": "f144", "config": config}]))
        };
        let children: Vec<Value> = (0..self.sources).map(events).chain((0..self.logs).map(log)).collect();
        json!({"children": [group("NXentry", "entry".into(), Value::Array(children))]}).to_string()
    }
}

/// Everything is read with librdkafka's consumer, with the settings of the job's readers, and forgotten.
pub(super) fn bare_reading(filling: &Filling) -> Outcome<Measured> {
    let config = filling.client()?.config(&[
        ("group.id", "bench"),
        ("enable.auto.commit", "false"),
        ("enable.auto.offset.store", "false"),
        ("auto.offset.reset", "earliest"),
        ("fetch.wait.max.ms", "100"),
        ("queued.max.messages.kbytes", "32768"),
        ("fetch.queue.backoff.ms", "5"),
        ("fetch.message.max.bytes", "8388608"),
    ])?;
    let begun = Measured::begin();
    let consumer: BaseConsumer = config.create()?;
    let mut assignment = TopicPartitionList::new();
    for partition in 0..filling.partitions {
        assignment.add_partition_offset(EVENTS_TOPIC, partition as i32, Offset::Beginning)?;
    }
    consumer.assign(&assignment)?;
    let (mut messages, mut bytes) = (0, 0);
    while messages < filling.messages.len() {
        if let Some(message) = consumer.poll(Duration::from_secs(1)) {
            bytes += message?.payload_len();
            messages += 1;
        }
    }
    let measured = begun.end();
    if bytes != filling.bytes() { Err(format!("{bytes} bytes were read").into()) } else { Ok(measured) }
}

fn storage(deflate: Option<u8>) -> Storage {
    Storage { deflate, ..Storage::default() }
}

/// The same messages, decoded, from memory to the file.
pub(super) fn writing_alone(filling: &Filling, deflate: Option<u8>) -> Outcome<Measured> {
    let messages: Vec<Message<'_>> =
        filling.messages.iter().map(|bytes| decode(bytes)).collect::<Result<_, _>>()?;
    let folder = folder()?;
    let times = RunTimes { start_ms: 1_790_000_000_000, stop_ms: None };
    let plan = FilePlan {
        path: folder.path().join("alone.nxs"),
        base: Base::Nothing,
        structure: structure::parse(&Layout { sources: 1, logs: 0 }.structure())?,
        times,
        storage: storage(deflate),
    };
    let mut file = WriterFile::create(&plan, 100_000, || Ok(()))?;
    let begun = Measured::begin();
    let (mut last, mut left) = (Instant::now(), 0);
    let mut since_look = 0;
    for (message, bytes) in messages.iter().zip(&filling.messages) {
        let WriterFile { modules, columns, .. } = &mut file;
        let module = modules.first_mut().ok_or("no module")?;
        module.module.write(message, columns).map_err(|refused| refused.what)?;
        since_look += bytes.len();
        if since_look >= BLOCK {
            since_look = 0;
            if file.end_commit(Duration::ZERO)? && last.elapsed() >= FLUSH_INTERVAL {
                file.begin_commit(&json!({}), false)?;
                last = Instant::now();
                left = file.columns.waiting();
            } else if file.columns.waiting() > left + WAITING {
                file.write_full_chunks()?;
                left = file.columns.waiting();
            }
        }
    }
    file.finish(&json!({}), times, Ending::Complete).map_err(|(_, error)| error)?;
    Ok(begun.end())
}

/// What is in files first: nothing.
#[derive(Debug)]
struct NoBase;

impl Bases for NoBase {
    fn base(&self, _said: &Value) -> Result<Base, String> {
        Ok(Base::Nothing)
    }
}

/// The job, from the moment at which its file is there.
pub(super) fn whole_job(filling: &Filling, layout: Layout, deflate: Option<u8>) -> Outcome<Measured> {
    job(filling, layout, deflate).map(|(measured, _)| measured)
}

/// The same, and the part of it in which it read: without the end of the file.
pub(super) fn job(filling: &Filling, layout: Layout, deflate: Option<u8>) -> Outcome<(Measured, Measured)> {
    let folder = folder()?;
    let plan = JobPlan {
        id: "bench".into(),
        file: folder.path().join("job.nxs"),
        structure: layout.structure(),
        base: Value::Null,
        window: Window { start_ns: 0, stop_ns: None },
        begin: Begin::Oldest,
        until: Until::Present,
        leeway_after_s: 0.0,
        about: Value::Null,
        set_aside: Vec::new(),
    };
    let settings = JobSettings {
        client: filling.client()?,
        readers: READERS,
        flush_interval: FLUSH_INTERVAL,
        storage: storage(deflate),
        bases: Arc::new(NoBase),
        rehearsal: None,
        budget: Arc::default(),
        stop: Arc::default(),
    };
    let job = Job::start(plan, settings)?;
    let begun = Measured::begin();
    let course = Course::follow(begun);
    let end = job.wait();
    let measured = begun.end();
    let course = course.end();
    let counters = end.progress.counters;
    let expected = (filling.messages.len() + if layout.logs > 0 { filling.logs } else { 0 }) as u64;
    if end.progress.phase != Phase::Complete
        || counters.events_written != filling.events as u64
        || counters.messages_read != expected
    {
        return Err(format!("{:?}: {counters:?}, expected {expected} messages", end.progress.phase).into());
    }
    Ok((measured, course.at(end.reading_s)))
}

/// A folder on a disk, next to what cargo builds.
fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
}
