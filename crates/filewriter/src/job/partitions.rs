//! How far each partition of a job has been read.

use super::routes::Routes;
use evforge_kafka::topic::{Change, Place, Snapshot, TopicId, What};
use rdkafka::{Offset, TopicPartitionList};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A partition whose last messages do not come is not waited for longer than this: they may be marks of transactions, which nobody
/// gets to see.
const PATIENCE: Duration = Duration::from_secs(10);

/// A partition: its topic, by its number in the routes, and its own number.
pub(super) type Key = (usize, i32);

/// A partition.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    pub(super) topic: usize,
    pub(super) name: String,
    pub(super) number: i32,
    /// The id of its topic.
    id: Option<TopicId>,
    /// The next message to be taken.
    pub(super) next: i64,
    /// The first message that is not read any more, once that is known.
    pub(super) end: Option<i64>,
    /// The end of the partition when the brokers were last asked.
    high: i64,
    /// The brokers do not have it any more.
    is_gone: bool,
    /// True once a message from long after the run has come.
    pub(super) is_past: bool,
    /// When something came last.
    last: Instant,
}

/// What is kept of a partition for a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub(super) struct KeptPartition {
    pub(super) topic: String,
    pub(super) number: i32,
    pub(super) next: i64,
    pub(super) id: Option<TopicId>,
}

/// The same as versions have written it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Now {
        topic: String,
        number: i32,
        next: i64,
        #[serde(default)]
        id: Option<TopicId>,
    },
    /// Of first messages, until 0.2.
    Before(String, i32, i64),
}

impl From<Written> for KeptPartition {
    fn from(written: Written) -> Self {
        let (topic, number, next, id) = match written {
            Written::Now { topic, number, next, id } => (topic, number, next, id),
            Written::Before(topic, number, next) => (topic, number, next, None),
        };
        Self { topic, number, next, id }
    }
}

/// What a message of a partition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is due.
    Due,
    /// It was taken before the last commit.
    Before,
    /// It is not read any more.
    Behind,
}

/// All partitions of a job.
#[derive(Clone, Debug, Default)]
pub(super) struct Partitions {
    pub(super) all: Vec<Partition>,
    places: HashMap<Key, usize>,
}

impl Partitions {
    /// From the first message of each.
    pub(super) fn of(first: &[KeptPartition], routes: &Routes) -> Self {
        let mut partitions = Self::default();
        for KeptPartition { topic, number, next, id } in first {
            if let Some(place) = routes.topic(topic) {
                partitions.add((place, *number), topic, *next, *id);
            }
        }
        partitions
    }

    fn add(&mut self, (topic, number): Key, name: &str, next: i64, id: Option<TopicId>) -> usize {
        self.places.insert((topic, number), self.all.len());
        let name = name.to_owned();
        self.all.push(Partition {
            topic,
            name,
            number,
            id,
            next,
            end: None,
            high: next,
            is_gone: false,
            is_past: false,
            last: Instant::now(),
        });
        self.all.len() - 1
    }

    /// Where in the list a partition is.
    pub(super) fn place(&self, key: Key) -> Option<usize> {
        self.places.get(&key).copied()
    }

    /// Where readers begin. `held` are messages from before that are needed once more.
    pub(super) fn begin(&self, held: &[(usize, i64)], snapshot: &Snapshot) -> Vec<Place> {
        let place = |(index, partition): (usize, &Partition)| {
            let earlier = held.iter().filter(|(of, _)| *of == index).map(|(_, offset)| *offset).min();
            let first = earlier.map_or(partition.next, |earlier| earlier.min(partition.next));
            let Partition { topic, number, id, .. } = *partition;
            let ends = snapshot.partitions().find(|&(of, one, ..)| (of, one) == (topic, number));
            // One that is not there may come back.
            let (low, high) = ends.map_or((first, first), |(.., low, high)| (low, high));
            Place { topic, number, low, high, id, first, ..Place::default() }
        };
        self.all.iter().enumerate().map(place).collect()
    }

    /// Takes note of a message of the partition at a place in the list.
    pub(super) fn take(&mut self, place: usize, offset: i64) -> Turn {
        let Some(partition) = self.all.get_mut(place) else { return Turn::Behind };
        partition.last = Instant::now();
        if offset < partition.next {
            return Turn::Before;
        }
        if let Some(end) = partition.end.filter(|end| offset >= *end) {
            partition.next = partition.next.max(end);
            return Turn::Behind;
        }
        partition.next = offset + 1;
        Turn::Due
    }

    /// Takes note of a change: where in the list its partition is, and how many messages were removed before they were read. Where it ends
    /// has to be found out again.
    pub(super) fn change(&mut self, change: &Change, routes: &Routes) -> Option<(usize, u64)> {
        let key = (routes.topic(&change.topic)?, change.partition);
        let next = change.what.next();
        let place = self.place(key).unwrap_or_else(|| self.add(key, &change.topic, next, change.id));
        let partition = self.all.get_mut(place)?;
        let removed = match change.what {
            What::Removed { first, .. } => first.saturating_sub(partition.next).max(0).unsigned_abs(),
            _ => 0,
        };
        partition.id = change.id;
        partition.is_gone = matches!(change.what, What::Gone { .. });
        match change.what {
            What::Removed { .. } => partition.next = partition.next.max(next),
            What::Anew { .. } | What::Cut { .. } => (partition.next, partition.end) = (next, None),
            What::Added { .. } | What::Gone { .. } => {}
        }
        Some((place, removed))
    }

    /// Says where they end. False, and nothing is set, while the answer has changes that the readers have not said yet: a topic that is
    /// another one, a partition that was added or is gone, an end before what was read.
    pub(super) fn set_ends(&mut self, ends: &Snapshot) -> bool {
        let are_all_known =
            ends.partitions().all(|(topic, number, ..)| self.place((topic, number)).is_some());
        let end_of = |partition: &Partition| {
            let state = ends.topics.get(partition.topic)?.as_ref()?;
            Some((state.id, state.ends.iter().find(|(number, ..)| *number == partition.number)?.2))
        };
        let agrees = |partition: &Partition| match end_of(partition) {
            Some((id, end)) => {
                let is_same = partition.id.zip(id).is_none_or(|(known, now)| known == now);
                is_same && (end >= partition.next || partition.last >= ends.asked)
            }
            None => partition.is_gone,
        };
        if !are_all_known || !self.all.iter().all(agrees) {
            return false;
        }
        for partition in &mut self.all {
            // There is nothing more of one that is gone.
            partition.end = Some(end_of(partition).map_or(partition.next, |(_, end)| end));
            partition.last = Instant::now();
        }
        true
    }

    /// True if there is nothing more to be read in any of them.
    pub(super) fn are_over(&self) -> bool {
        let is_over = |partition: &Partition| {
            partition.is_past
                || partition
                    .end
                    .is_some_and(|end| partition.next >= end || partition.last.elapsed() >= PATIENCE)
        };
        self.all.iter().all(is_over)
    }

    /// Up to where all of them have been taken, as Kafka writes it.
    pub(super) fn safe(&self) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for partition in &self.all {
            // The same topic and number cannot be there twice.
            let _ =
                list.add_partition_offset(&partition.name, partition.number, Offset::Offset(partition.next));
        }
        list
    }

    /// Messages up to these ends that have not been taken.
    pub(super) fn lag(&self, ends: &Snapshot) -> u64 {
        let of = |(topic, number, _, end): (usize, i32, i64, i64)| {
            let own = self.place((topic, number)).and_then(|place| self.all.get(place));
            own.map_or(0, |own| end.saturating_sub(own.next).max(0).unsigned_abs())
        };
        ends.partitions().map(of).sum()
    }

    /// Takes note of where they end now.
    pub(super) fn note_ends(&mut self, ends: &Snapshot) {
        for (topic, number, _, high) in ends.partitions() {
            let place = self.place((topic, number));
            if let Some(partition) = place.and_then(|place| self.all.get_mut(place)) {
                partition.high = high;
            }
        }
    }

    /// True if the brokers have messages of the partition at a place in the list that have not been taken, and it has not been silent for
    /// long: its broker may be away.
    pub(super) fn is_unread(&self, place: usize) -> bool {
        let is_unread =
            |partition: &Partition| partition.next < partition.high && partition.last.elapsed() < PATIENCE;
        self.all.get(place).is_some_and(is_unread) && !self.is_over(place)
    }

    /// True if nothing more of it is read.
    pub(super) fn is_over(&self, place: usize) -> bool {
        let is_over = |partition: &Partition| {
            partition.is_past || partition.is_gone || partition.end.is_some_and(|end| partition.next >= end)
        };
        self.all.get(place).is_none_or(is_over)
    }

    /// The places in the list of the partitions of a topic.
    pub(super) fn of_topic(&self, topic: usize) -> impl Iterator<Item = usize> + '_ {
        self.all.iter().enumerate().filter(move |(_, one)| one.topic == topic).map(|(place, _)| place)
    }

    /// True if a topic has one partition.
    pub(super) fn is_only_one(&self, topic: usize) -> bool {
        self.of_topic(topic).nth(1).is_none()
    }

    /// True if something came within the last second.
    pub(super) fn are_fresh(&self) -> bool {
        self.all.iter().any(|partition| partition.last.elapsed() < Duration::from_secs(1))
    }

    /// What is kept for a restart.
    pub(super) fn keep(&self) -> Vec<KeptPartition> {
        let kept = |partition: &Partition| KeptPartition {
            topic: partition.name.clone(),
            number: partition.number,
            next: partition.next,
            id: partition.id,
        };
        self.all.iter().map(kept).collect()
    }

    /// Takes it back.
    pub(super) fn restore(&mut self, kept: &[KeptPartition], routes: &Routes) {
        *self = Self::of(kept, routes);
    }
}
