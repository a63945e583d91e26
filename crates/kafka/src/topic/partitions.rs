//! Partitions of topics, read each in its order, whatever becomes of the topics.
//!
//! One rule for all who read: where a place is not there any more, or a topic is another one of the same name, it is
//! [judged](PartitionReader::judge) with what brokers say of it, the change is said, and reading goes on from where it leaves the partition.

use super::change::{Change, What};
use super::partition::{PartitionReader, Place, Step};
use super::queues::{assign, serve};
use super::state::{Snapshot, TopicState, TopicWatch, locked};
use crate::client::{Cause, ClientError, ClientSettings, Complaint, Consumer, Deadline, check, consumer};
use rdkafka::consumer::Consumer as _;
use rdkafka::message::BorrowedMessage;
use rdkafka::types::RDKafkaErrorCode as Code;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Which partitions of a topic (by its place) are read, where some are added.
pub type IsRead = Box<dyn Fn(usize, i32) -> bool + Send>;

/// What a client has complained about: why nothing comes.
#[derive(Clone)]
pub struct Complains(Arc<Mutex<Arc<Consumer>>>);

impl Complains {
    /// What it was, the oldest first.
    pub fn complaints(&self) -> Vec<Complaint> {
        locked(&self.0).context().complaints()
    }

    /// Forgets it.
    pub fn clear(&self) {
        locked(&self.0).context().clear();
    }
}

/// Partitions of topics.
pub struct TopicPartitions {
    settings: ClientSettings,
    group: String,
    topics: Vec<String>,
    partitions: Vec<PartitionReader>,
    consumer: Arc<Consumer>,
    /// The same, for whoever asks why nothing comes while messages are read elsewhere.
    complains: Complains,
    watch: Arc<TopicWatch>,
    /// When the answer was asked for that was judged last.
    judged: Option<Instant>,
    is_read: IsRead,
    changes: VecDeque<Change>,
}

impl TopicPartitions {
    /// Opens a topic at places that are found out with a client of this group, with what brokers say until the deadline. Partitions that are
    /// added later are read if no place has an end.
    ///
    /// # Errors
    /// If the brokers cannot be reached, or there is no such topic, or nothing at the place to begin with, or the end was asked for.
    pub(crate) fn of_topic(
        settings: &ClientSettings,
        (topic, group): (&str, &str),
        deadline: &Deadline,
        places: impl FnOnce(&Consumer, &TopicState) -> Result<Vec<Place>, ClientError>,
    ) -> Result<Self, ClientError> {
        let checked = check(settings, &[topic], deadline.of_an_answer())?;
        let partitions = checked.topics.iter().map(|topic| topic.partitions.len()).sum();
        let asks = consumer(settings, group, partitions)?;
        let name = vec![topic.to_owned()];
        let snapshot = Snapshot::ask(&asks, &name, deadline)?;
        let state = snapshot.topics.first().and_then(Option::as_ref).filter(|state| !state.ends.is_empty());
        let state = state.ok_or_else(|| {
            let text = format!("there is no topic `{topic}` yet: the brokers make it with its first message");
            ClientError::new(Cause::UnknownTopic, text)
        })?;
        let places = places(&asks, state)?;
        let is_endless = places.iter().all(|place| place.end.is_none());
        let watch = Arc::new(TopicWatch::start(name.clone(), Arc::clone(&asks), snapshot.clone())?);
        let is_read = Box::new(move |_, _| is_endless);
        Self::open((settings, group), asks, name, places, (&snapshot, &watch), is_read)
    }

    /// Begins to read with a client of this group. The places are compared with what the brokers say (`snapshot`) first: one of an earlier reading may not be there any
    /// more.
    ///
    /// # Errors
    /// If the settings are wrong.
    pub fn open(
        (settings, group): (&ClientSettings, &str),
        consumer: Arc<Consumer>,
        topics: Vec<String>,
        places: Vec<Place>,
        (snapshot, watch): (&Snapshot, &Arc<TopicWatch>),
        is_read: IsRead,
    ) -> Result<Self, ClientError> {
        let partitions = places.into_iter().map(PartitionReader::new).collect();
        let complains = Complains(Arc::new(Mutex::new(Arc::clone(&consumer))));
        let mut all = Self {
            settings: settings.clone(),
            group: group.to_owned(),
            topics,
            partitions,
            consumer,
            complains,
            watch: Arc::clone(watch),
            judged: None,
            is_read,
            changes: VecDeque::new(),
        };
        all.judge(snapshot, Instant::now());
        all.assign()?;
        Ok(all)
    }

    /// The partitions, in the order of their places; those that were added come last.
    pub fn all(&self) -> &[PartitionReader] {
        &self.partitions
    }

    /// The name of a topic.
    pub fn topic(&self, place: usize) -> &str {
        self.topics.get(place).map(String::as_str).unwrap_or_default()
    }

    /// Nothing more of a partition is read.
    pub fn end_here(&mut self, partition: usize) {
        self.partitions.get_mut(partition).into_iter().for_each(PartitionReader::end_here);
    }

    /// What has happened to partitions since this was asked last, the oldest first.
    pub fn change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    /// The client, to commit what was read.
    pub(crate) fn consumer(&self) -> &Arc<Consumer> {
        &self.consumer
    }

    /// What the client has complained about.
    pub fn complains(&self) -> &Complains {
        &self.complains
    }

    /// The next message of a partition, as `read` makes it of what librdkafka has, if there is one within `wait`.
    ///
    /// # Errors
    /// If it cannot be read and will not be.
    pub fn next<T>(
        &mut self,
        partition: usize,
        wait: Duration,
        read: impl FnOnce(&BorrowedMessage<'_>) -> T,
    ) -> Result<Step<T>, ClientError> {
        let Some(reader) = self.partitions.get_mut(partition) else { return Ok(Step::AtEnd) };
        reader.next(wait, self.consumer.context(), read)
    }

    /// Messages that have not been read, as the brokers have said last, and not before this moment.
    pub fn behind(&self, since: Option<Instant>) -> Option<u64> {
        let snapshot = self.watch.since(since)?;
        let of = |partition: &PartitionReader| {
            let Place { topic, number, .. } = partition.place;
            let (.., high) =
                *snapshot.topics.get(topic)?.as_ref()?.ends.iter().find(|(own, ..)| *own == number)?;
            Some(high.saturating_sub(partition.position).max(0).unsigned_abs())
        };
        self.partitions.iter().map(of).try_fold(0, |sum: u64, behind| Some(sum.saturating_add(behind?)))
    }

    /// Serves the client, and sees to it that what is read is what there is. To be called between messages.
    ///
    /// # Errors
    /// If a message came where none is expected.
    pub fn look_after(&mut self) -> Result<(), ClientError> {
        while let Some(error) = serve(&self.consumer)? {
            self.consumer
                .context()
                .note(error.rdkafka_error_code().unwrap_or(Code::Fail), &error.to_string());
        }
        if let Some(snapshot) = self.watch.since(self.judged)
            && self.judge(&snapshot, snapshot.asked)
        {
            // A new one: what the old one has of a topic that is gone is of no use.
            let _ = self.consumer.unassign();
            self.consumer = consumer(&self.settings, &self.group, self.partitions.len())?;
            *locked(&self.complains.0) = Arc::clone(&self.consumer);
            self.assign()?;
        }
        Ok(())
    }

    /// Compares all places with what brokers say. True if reading has to begin somewhere else.
    fn judge(&mut self, snapshot: &Snapshot, asked: Instant) -> bool {
        self.judged = Some(snapshot.asked);
        let mut has_changed = false;
        for (topic, state) in snapshot.topics.iter().enumerate() {
            let ends = state.as_ref().map_or(&[][..], |state| &state.ends);
            for partition in self.partitions.iter_mut().filter(|partition| partition.place.topic == topic) {
                let Place { number, .. } = partition.place;
                let is_there = ends.iter().any(|(one, ..)| *one == number);
                let what = if is_there { None } else { partition.is_missing(asked) };
                let name = &self.topics[topic];
                let id = partition.place.id;
                self.changes.extend(what.map(|what| Change {
                    topic: name.clone(),
                    partition: number,
                    id,
                    what,
                }));
            }
            // One that is not there may come back.
            if let Some(state) = state {
                has_changed |= self.judge_topic(topic, state, asked);
            }
        }
        has_changed
    }

    fn judge_topic(&mut self, topic: usize, state: &TopicState, asked: Instant) -> bool {
        let Some(name) = self.topics.get(topic) else { return false };
        let mut has_changed = false;
        for &(number, low, high) in &state.ends {
            let of_number =
                |own: &&mut PartitionReader| (own.place.topic, own.place.number) == (topic, number);
            let what = match self.partitions.iter_mut().find(of_number) {
                Some(partition) => {
                    let was_lost = partition.lost().is_some();
                    let what = partition.judge(state, (low, high), asked);
                    // A place that was lost and is there is begun again, too.
                    has_changed |= was_lost && partition.lost().is_none();
                    what
                }
                None if (self.is_read)(topic, number) => {
                    // As the others, whose end is not known either.
                    let until_ms = self.partitions.first().and_then(|partition| partition.place.until_ms);
                    let place =
                        Place { topic, number, low, high, id: state.id, first: low, end: None, until_ms };
                    self.partitions.push(PartitionReader::new(place));
                    Some(What::Added { first: low })
                }
                None => None,
            };
            if let Some(what) = what {
                has_changed = true;
                self.changes.push_back(Change { topic: name.clone(), partition: number, id: state.id, what });
            }
        }
        has_changed
    }

    /// Reads each partition from its position on.
    fn assign(&mut self) -> Result<(), ClientError> {
        let read: Vec<usize> =
            (0..self.partitions.len()).filter(|place| !self.partitions[*place].is_over()).collect();
        let place = |place: &usize| {
            let partition = &self.partitions[*place];
            (self.topic(partition.place.topic), partition.place.number, partition.position)
        };
        let places: Vec<_> = read.iter().map(place).collect();
        let queues = assign(&self.consumer, &places)?;
        self.partitions.iter_mut().for_each(|partition| partition.queue = None);
        for (place, queue) in read.into_iter().zip(queues) {
            self.partitions[place].queue = Some(queue);
        }
        Ok(())
    }
}
