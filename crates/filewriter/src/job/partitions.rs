//! How far each partition of a job has been read.

use super::reader::Place;
use super::routes::Routes;
use super::topics::At;
use rdkafka::{Offset, TopicPartitionList};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A partition whose last messages do not come is not waited for longer than this: they may be marks of transactions, which nobody
/// gets to see.
const PATIENCE: Duration = Duration::from_secs(10);

/// A partition.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    pub(super) topic: usize,
    pub(super) name: String,
    pub(super) number: i32,
    /// The next message to be taken.
    pub(super) next: i64,
    /// The first message that is not read any more, once that is known.
    pub(super) end: Option<i64>,
    /// True once a message from long after the run has come.
    pub(super) is_past: bool,
    /// When something came last.
    last: Instant,
}

/// What is kept of a partition for a restart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptPartition {
    topic: String,
    number: i32,
    next: i64,
}

/// What a message of a partition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is due.
    Due {
        /// Messages that the brokers have removed before it.
        removed: u64,
    },
    /// It was taken before the last commit.
    Before,
    /// It is not read any more.
    Behind,
}

/// All partitions of a job, in the order of their places.
#[derive(Clone, Debug, Default)]
pub(super) struct Partitions(pub(super) Vec<Partition>);

impl Partitions {
    /// From topic, number and first message of each.
    pub(super) fn of(first: &[At], routes: &Routes) -> Self {
        let partition = |(name, number, next): &At| {
            Some(Partition {
                topic: routes.topic(name)?,
                name: name.clone(),
                number: *number,
                next: *next,
                end: None,
                is_past: false,
                last: Instant::now(),
            })
        };
        Self(first.iter().filter_map(partition).collect())
    }

    /// Where readers begin. `held` are messages from before that are needed once more.
    pub(super) fn places(&self, held: &[(usize, i64)]) -> Vec<Place> {
        let place = |(index, partition): (usize, &Partition)| {
            let earlier = held.iter().filter(|(of, _)| *of == index).map(|(_, offset)| *offset).min();
            Place {
                topic: partition.topic,
                partition: partition.number,
                from: earlier.map_or(partition.next, |earlier| earlier.min(partition.next)),
            }
        };
        self.0.iter().enumerate().map(place).collect()
    }

    /// Takes note of a message.
    pub(super) fn take(&mut self, index: usize, offset: i64) -> Turn {
        let Some(partition) = self.0.get_mut(index) else { return Turn::Behind };
        partition.last = Instant::now();
        if offset < partition.next {
            return Turn::Before;
        }
        if partition.end.is_some_and(|end| offset >= end) {
            partition.next = partition.next.max(partition.end.unwrap_or(partition.next));
            return Turn::Behind;
        }
        let removed = offset.abs_diff(partition.next);
        partition.next = offset + 1;
        Turn::Due { removed }
    }

    /// Says where they end.
    pub(super) fn set_ends(&mut self, ends: &[At]) {
        for (topic, number, end) in ends {
            let found = self.0.iter_mut().find(|own| own.name == *topic && own.number == *number);
            if let Some(partition) = found {
                partition.end = Some(*end);
                partition.last = Instant::now();
            }
        }
    }

    /// True if there is nothing more to be read in any of them.
    pub(super) fn are_over(&self) -> bool {
        let is_over = |partition: &Partition| {
            partition.is_past
                || partition
                    .end
                    .is_some_and(|end| partition.next >= end || partition.last.elapsed() >= PATIENCE)
        };
        self.0.iter().all(is_over)
    }

    /// Up to where all of them have been taken, as Kafka writes it.
    pub(super) fn safe(&self) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for partition in &self.0 {
            // The same topic and number cannot be there twice.
            let _ =
                list.add_partition_offset(&partition.name, partition.number, Offset::Offset(partition.next));
        }
        list
    }

    /// Messages up to these ends that have not been taken.
    pub(super) fn lag(&self, ends: &[At]) -> u64 {
        let of = |(topic, number, end): &At| {
            let own = self.0.iter().find(|own| own.name == *topic && own.number == *number);
            own.map_or(0, |own| end.saturating_sub(own.next).max(0).unsigned_abs())
        };
        ends.iter().map(of).sum()
    }

    /// True if something came within the last second.
    pub(super) fn are_fresh(&self) -> bool {
        self.0.iter().any(|partition| partition.last.elapsed() < Duration::from_secs(1))
    }

    /// What is kept for a restart.
    pub(super) fn keep(&self) -> Vec<KeptPartition> {
        let kept = |partition: &Partition| KeptPartition {
            topic: partition.name.clone(),
            number: partition.number,
            next: partition.next,
        };
        self.0.iter().map(kept).collect()
    }

    /// Takes it back.
    pub(super) fn restore(&mut self, kept: &[KeptPartition]) {
        for kept in kept {
            let found = self.0.iter_mut().find(|own| own.name == kept.topic && own.number == kept.number);
            if let Some(partition) = found {
                partition.next = kept.next;
            }
        }
    }
}
