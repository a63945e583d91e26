//! What brokers say of topics: which ones they are, and where their partitions begin and end. Asked once, or again and again.

use super::ids::{TopicId, topic_ids};
use crate::client::{Cause, ClientError, Consumer, Deadline, failed, partition_ends};
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{CommitMode, Consumer as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How often it is asked.
const EVERY: Duration = Duration::from_secs(1);
/// How long the ids of topics are waited for.
const ID_WITHIN: Duration = Duration::from_secs(2);

/// A topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicState {
    /// Its id; none of brokers that have none.
    pub id: Option<TopicId>,
    /// Number, oldest message and next message of each partition.
    pub ends: Vec<(i32, i64, i64)>,
}

/// Topics at a moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When it was asked.
    pub asked: Instant,
    /// The topics in the order asked for; none for one that is not there.
    pub topics: Vec<Option<TopicState>>,
}

impl Snapshot {
    /// Each partition: its topic by its place, number, oldest message and next message.
    pub fn partitions(&self) -> impl Iterator<Item = (usize, i32, i64, i64)> + '_ {
        let topics =
            self.topics.iter().enumerate().filter_map(|(topic, state)| Some((topic, state.as_ref()?)));
        topics.flat_map(|(topic, state)| {
            state.ends.iter().map(move |&(number, low, high)| (topic, number, low, high))
        })
    }

    /// Asks.
    ///
    /// # Errors
    /// If the brokers do not answer in time, or the end was asked for.
    pub fn ask(consumer: &Consumer, topics: &[String], deadline: &Deadline) -> Result<Self, ClientError> {
        let asked = Instant::now();
        let deadline = deadline.of_an_answer();
        // The ids are known to the controller, which may be away: what is read does not wait for it.
        let ids = topic_ids(consumer.client(), topics, deadline.left().min(ID_WITHIN)).unwrap_or_default();
        let state = |(place, name): (usize, &String)| {
            let ask = |within| consumer.fetch_metadata(Some(name), within);
            let known = deadline.ask(ask)?.map_err(|error| failed(name, &error))?;
            let partitions = known.topics().iter().flat_map(|topic| topic.partitions());
            let mut numbers: Vec<i32> = partitions.map(|partition| partition.id()).collect();
            numbers.sort_unstable();
            let ends = numbers.into_iter().map(|number| {
                let (low, high) = partition_ends(consumer, (name, number), &deadline)?;
                Ok((number, low, high))
            });
            let ends = ends.collect::<Result<Vec<_>, ClientError>>()?;
            Ok((!ends.is_empty()).then(|| TopicState { id: ids.get(place).copied().flatten(), ends }))
        };
        let topics = topics.iter().enumerate().map(state).collect::<Result<_, ClientError>>()?;
        Ok(Self { asked, topics })
    }
}

/// Asks again and again, in a thread of its own: brokers that are away take their time to say nothing.
pub struct TopicWatch {
    shared: Arc<Shared>,
    thread: Thread,
}

struct Shared {
    topics: Vec<String>,
    consumer: Arc<Consumer>,
    latest: Mutex<Arc<Snapshot>>,
    stop: Arc<AtomicBool>,
}

impl TopicWatch {
    /// Starts asking, a second from now; until then this is the newest answer.
    ///
    /// # Errors
    /// If the system has no further thread.
    pub fn start(
        topics: Vec<String>,
        consumer: Arc<Consumer>,
        latest: Snapshot,
    ) -> Result<Self, ClientError> {
        let shared =
            Arc::new(Shared { topics, consumer, latest: Mutex::new(Arc::new(latest)), stop: Arc::default() });
        let asks = Arc::clone(&shared);
        let thread = thread::Builder::new().name("topics".into()).spawn(move || asks.run());
        let thread = thread.map_err(|error| {
            ClientError::new(
                Cause::Other,
                format!("a thread that asks for topics cannot be started: {error}"),
            )
        })?;
        Ok(Self { shared, thread: thread.thread().clone() })
    }

    /// The newest answer, if it was asked for after this moment.
    pub fn since(&self, moment: Option<Instant>) -> Option<Arc<Snapshot>> {
        let latest = locked(&self.shared.latest);
        moment.is_none_or(|moment| latest.asked > moment).then(|| Arc::clone(&latest))
    }

    /// Tells the brokers up to where a group has dealt with partitions, for whoever looks at lags.
    pub fn tell(&self, offsets: &TopicPartitionList) {
        let _ = self.shared.consumer.commit(offsets, CommitMode::Async);
    }
}

impl Drop for TopicWatch {
    fn drop(&mut self) {
        // A thread that waits for brokers is not waited for.
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}

impl Shared {
    fn run(&self) {
        loop {
            thread::park_timeout(EVERY);
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let deadline = Deadline::of_opening().or_when(&self.stop);
            if let Ok(snapshot) = Snapshot::ask(&self.consumer, &self.topics, &deadline) {
                *locked(&self.latest) = Arc::new(snapshot);
            }
        }
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
