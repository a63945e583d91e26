//! What there is in topics: partitions, and the first messages to read.

use super::plan::Begin;
use super::routes::Routes;
use evforge_kafka::client::{Cause, ClientError, ClientSettings, Witness, check, explain_error};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long brokers may take to answer.
const WITHIN: Duration = Duration::from_secs(10);

/// How often ends are asked for.
const EVERY: Duration = Duration::from_millis(500);

/// A partition: its topic, its own number, and a number of a message.
pub(super) type At = (String, i32, i64);

/// Asks brokers about the topics of a job.
pub(super) struct Topics {
    consumer: BaseConsumer<Witness>,
    /// All partitions: their topics and numbers.
    partitions: Vec<(String, i32)>,
}

impl Topics {
    /// Asks what partitions there are.
    pub(super) fn open(settings: &ClientSettings, routes: &Routes) -> Result<Self, ClientError> {
        let names: Vec<&str> = routes.topics().iter().map(String::as_str).collect();
        let checked = check(settings, &names, WITHIN)?;
        let mut partitions = Vec::new();
        for topic in &checked.topics {
            if topic.partitions.is_empty() {
                return Err(ClientError {
                    cause: Cause::UnknownTopic,
                    message: format!(
                        "there is no topic `{}` yet: create it, or wait until something is sent to it",
                        topic.name
                    ),
                });
            }
            partitions.extend(topic.partitions.iter().map(|(partition, _)| (topic.name.clone(), *partition)));
        }
        let consumer = settings
            .config(&[("group.id", "evforge-write"), ("enable.auto.commit", "false")])?
            .create_with_context(Witness::default())
            .map_err(|error| failed("a consumer", &error))?;
        Ok(Self { consumer, partitions })
    }

    /// The first message of each partition to read.
    pub(super) fn first(&self, begin: Begin) -> Result<Vec<At>, ClientError> {
        match begin {
            Begin::Oldest => self.watermarks(|low, _| low),
            Begin::Since(ms) => {
                let mut asked = TopicPartitionList::new();
                for (topic, partition) in &self.partitions {
                    let added = asked.add_partition_offset(topic, *partition, Offset::Offset(ms));
                    added.map_err(|error| failed(topic, &error))?;
                }
                let found = self
                    .consumer
                    .offsets_for_times(asked, WITHIN)
                    .map_err(|error| failed("a time cannot be looked up", &error))?;
                let ends = self.ends()?;
                let at = |(topic, partition, end): &At| {
                    let offset = found.find_partition(topic, *partition).map(|found| found.offset());
                    match offset {
                        Some(Offset::Offset(offset)) => (topic.clone(), *partition, offset),
                        // All messages are older.
                        _ => (topic.clone(), *partition, *end),
                    }
                };
                Ok(ends.iter().map(at).collect())
            }
        }
    }

    /// The number of the next message that each partition will get.
    pub(super) fn ends(&self) -> Result<Vec<At>, ClientError> {
        self.watermarks(|_, high| high)
    }

    fn watermarks(&self, choose: impl Fn(i64, i64) -> i64) -> Result<Vec<At>, ClientError> {
        let mut all = Vec::with_capacity(self.partitions.len());
        for (topic, partition) in &self.partitions {
            let (low, high) = self
                .consumer
                .fetch_watermarks(topic, *partition, WITHIN)
                .map_err(|error| failed(&format!("partition {partition} of {topic}"), &error))?;
            all.push((topic.clone(), *partition, choose(low, high)));
        }
        Ok(all)
    }
}

/// What was asked about partitions last: when it was asked, the oldest message of each, and the end.
type Answer = (Instant, Vec<At>, Vec<At>);

/// Asks about the ends of all partitions again and again, in a thread of its own: brokers that are away take their time to say
/// nothing.
pub(super) struct EndsWatch {
    latest: Arc<Mutex<Option<Answer>>>,
    stop: Arc<AtomicBool>,
}

impl EndsWatch {
    /// Starts asking.
    pub(super) fn start(topics: Topics) -> std::io::Result<Self> {
        let watch = Self { latest: Arc::default(), stop: Arc::default() };
        let (latest, stop) = (Arc::clone(&watch.latest), Arc::clone(&watch.stop));
        thread::Builder::new().name("ends".into()).spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let asked = Instant::now();
                if let (Ok(oldest), Ok(ends)) = (topics.watermarks(|low, _| low), topics.ends()) {
                    *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((asked, oldest, ends));
                }
                thread::park_timeout(EVERY);
            }
        })?;
        Ok(watch)
    }

    /// The newest answer, if it was asked for at or after a moment.
    pub(super) fn since(&self, moment: Option<Instant>) -> Option<Vec<At>> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let (asked, _, ends) = latest.as_ref()?;
        moment.is_none_or(|moment| *asked >= moment).then(|| ends.clone())
    }

    /// True if the brokers still have all messages from these on, as far as that is known.
    pub(super) fn have_all_from(&self, first: &[At]) -> bool {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, oldest, _)) = latest.as_ref() else { return false };
        let is_there = |(topic, partition, from): &At| {
            let of = |at: &&At| at.0 == *topic && at.1 == *partition;
            oldest.iter().find(of).is_some_and(|(_, _, low)| low <= from)
        };
        first.iter().all(is_there)
    }
}

impl Drop for EndsWatch {
    fn drop(&mut self) {
        // A thread that waits for brokers is not waited for.
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn failed(what: &str, error: &KafkaError) -> ClientError {
    ClientError { cause: Cause::Other, message: format!("{what}: {}", explain_error(error).sentence()) }
}
