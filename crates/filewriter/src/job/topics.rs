//! What there is in topics: partitions, and the first messages to read.

use super::plan::Begin;
use super::routes::Routes;
use evforge_kafka::client::{
    Cause, ClientError, ClientSettings, Deadline, Witness, check, explain_error, first_since, partition_ends,
};
use rdkafka::consumer::BaseConsumer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

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
    pub(super) fn open(
        settings: &ClientSettings,
        routes: &Routes,
        deadline: &Deadline,
    ) -> Result<Self, ClientError> {
        let names: Vec<&str> = routes.topics().iter().map(String::as_str).collect();
        let checked = check(settings, &names, deadline.of_an_answer())?;
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
            .map_err(|error| ClientError::settings(explain_error(&error).sentence()))?;
        Ok(Self { consumer, partitions })
    }

    /// The first message of each partition to read.
    pub(super) fn first(&self, begin: Begin, deadline: &Deadline) -> Result<Vec<At>, ClientError> {
        let (oldest, ends) = self.oldest_and_ends(deadline)?;
        let Begin::Since(ms) = begin else { return Ok(oldest) };
        let asked: Vec<_> = self.partitions.iter().map(|(topic, number)| (topic.as_str(), *number)).collect();
        let found = first_since(&self.consumer, &asked, ms, &deadline.of_an_answer())?;
        // Where there is none, all messages are older.
        let first = |((topic, number, end), first): (At, Option<i64>)| (topic, number, first.unwrap_or(end));
        Ok(ends.into_iter().zip(found).map(first).collect())
    }

    /// The number of the next message that each partition will get.
    pub(super) fn ends(&self, deadline: &Deadline) -> Result<Vec<At>, ClientError> {
        self.oldest_and_ends(deadline).map(|(_, ends)| ends)
    }

    /// The oldest message that each partition has, and the number of the next one.
    fn oldest_and_ends(&self, deadline: &Deadline) -> Result<(Vec<At>, Vec<At>), ClientError> {
        let (mut oldest, mut ends) = (Vec::new(), Vec::new());
        for (topic, number) in &self.partitions {
            let (low, high) = partition_ends(&self.consumer, (topic, *number), &deadline.of_an_answer())?;
            oldest.push((topic.clone(), *number, low));
            ends.push((topic.clone(), *number, high));
        }
        Ok((oldest, ends))
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
                if let Ok((oldest, ends)) = topics.oldest_and_ends(&Deadline::of_opening().or_when(&stop)) {
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
