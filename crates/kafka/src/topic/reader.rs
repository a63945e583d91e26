//! The messages of a topic: of all partitions, in the order of time as far as it can be known.

use super::change::Change;
use super::partition::{Place, Step};
use super::partitions::TopicPartitions;
use super::place::{Begin, Until, places};
use super::record::Record;
use super::state::TopicState;
use crate::client::{ClientError, ClientSettings, Complaint, Consumer, Deadline, NO_GROUP};
use std::time::{Duration, Instant};

/// How long the order of partitions is waited for while one of them does not answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a reader has.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A message.
    Message(Record),
    /// What has happened to a partition: it is read on from where that leaves it.
    Changed(Change),
    /// None within the time.
    Idle,
    /// None any more.
    End,
}

/// Reads a topic.
pub struct TopicReader {
    partitions: TopicPartitions,
    /// The next message of each partition.
    heads: Vec<Option<Record>>,
    waiting_since: Option<Instant>,
}

impl TopicReader {
    /// Opens a topic, with what brokers say until the deadline.
    ///
    /// # Errors
    /// If the brokers cannot be reached, or there is no such topic, or nothing at the place to begin with, or the end was asked for.
    pub fn open(
        settings: &ClientSettings,
        topic: &str,
        begin: Begin,
        until: Until,
        deadline: &Deadline,
    ) -> Result<Self, ClientError> {
        Self::open_with(settings, (topic, NO_GROUP), deadline, |consumer, state| {
            places(consumer, (0, topic), state, (begin, until), deadline)
        })
    }

    /// Opens a topic at places of its partitions that are found out with the client, which belongs to a group.
    ///
    /// # Errors
    /// As [`TopicReader::open`].
    pub(crate) fn open_with(
        settings: &ClientSettings,
        (topic, group): (&str, &str),
        deadline: &Deadline,
        places: impl FnOnce(&Consumer, &TopicState) -> Result<Vec<Place>, ClientError>,
    ) -> Result<Self, ClientError> {
        let partitions = TopicPartitions::of_topic(settings, (topic, group), deadline, places)?;
        Ok(Self { partitions, heads: Vec::new(), waiting_since: None })
    }

    /// How many messages of the topic have not been read, as the brokers have said last, and not before this moment.
    pub fn behind(&self, since: Option<Instant>) -> Option<u64> {
        let waits = self.heads.iter().flatten().count() as u64;
        self.partitions.behind(since).map(|behind| behind.saturating_add(waits))
    }

    /// Number, lowest and highest offset of each partition when reading began; the highest is that of the next message.
    pub fn offsets(&self) -> impl Iterator<Item = (i32, i64, i64)> + '_ {
        self.partitions.all().iter().map(|partition| {
            let Place { number, low, high, .. } = partition.place;
            (number, low, high)
        })
    }

    /// The number of each partition, and whether nothing is there that has not been read, as far as the brokers have said.
    pub(crate) fn at_end(&self) -> impl Iterator<Item = (i32, bool)> + '_ {
        let has_head = |place| self.heads.get(place).is_some_and(Option::is_some);
        let all = self.partitions.all().iter().enumerate();
        all.map(move |(place, partition)| (partition.place.number, partition.is_at_end && !has_head(place)))
    }

    /// The client, to commit what was read.
    pub(crate) fn consumer(&self) -> &Consumer {
        self.partitions.consumer()
    }

    /// True once all that was there when reading began has been read.
    pub fn has_caught_up(&self) -> bool {
        self.partitions.all().iter().all(|partition| partition.has_caught_up)
    }

    /// What the client has complained about: why nothing comes.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.partitions.complains().complaints()
    }

    /// The next message, waiting this long for it.
    ///
    /// # Errors
    /// If a partition cannot be read and will not be.
    pub fn next(&mut self, wait: Duration) -> Result<Next, ClientError> {
        let deadline = Instant::now() + wait;
        loop {
            self.partitions.look_after()?;
            if let Some(change) = self.partitions.change() {
                return Ok(Next::Changed(change));
            }
            self.heads.resize_with(self.partitions.all().len(), || None);
            (0..self.heads.len()).try_for_each(|place| self.fill(place, Duration::ZERO))?;
            if let Some(record) = self.first().and_then(|place| self.heads[place].take()) {
                self.waiting_since = None;
                return Ok(Next::Message(record));
            }
            let is_over =
                |place: usize| self.heads[place].is_none() && self.partitions.all()[place].is_over();
            let Some(open) =
                (0..self.heads.len()).find(|place| !is_over(*place) && self.heads[*place].is_none())
            else {
                return Ok(Next::End);
            };
            let now = Instant::now();
            if now >= deadline {
                return Ok(Next::Idle);
            }
            self.fill(open, (deadline - now).min(Duration::from_millis(10)))?;
        }
    }

    /// Looks for the next message of a partition, if there is none yet.
    fn fill(&mut self, place: usize, wait: Duration) -> Result<(), ClientError> {
        if self.heads[place].is_none()
            && let Step::Message(record) = self.partitions.next(place, wait, Record::of)?
        {
            self.heads[place] = Some(record);
        }
        Ok(())
    }

    /// The partition with the oldest message, once that is known.
    fn first(&mut self) -> Option<usize> {
        let heads = self.heads.iter().enumerate();
        let oldest = heads.filter_map(|(place, head)| Some((head.as_ref()?.time_ms, place))).min()?;
        let mut all = self.partitions.all().iter().zip(&self.heads);
        let is_known = all.all(|(partition, head)| head.is_some() || partition.has_caught_up);
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        (is_known || since.elapsed() >= PATIENCE).then_some(oldest.1)
    }
}
