//! The pool: starts that any one of several writers takes. This one is a member of their group while it has room for a job.

use evforge_kafka::client::{ClientError, ClientSettings, Witness, consumer_of, explain, explain_error};
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{Headers as _, Message as _, OwnedMessage};
use rdkafka::{Offset, TopicPartitionList};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the consumer is set to, unless the settings say otherwise.
const POOLING: [(&str, &str); 8] = [
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // Starts that are too old are not followed, whoever reads them first.
    ("auto.offset.reset", "earliest"),
    ("allow.auto.create.topics", "false"),
    ("session.timeout.ms", "10000"),
    ("heartbeat.interval.ms", "1000"),
    // Nothing is asked for while a large structure is made.
    ("max.poll.interval.ms", "900000"),
    // A start may be as large as brokers take.
    ("receive.message.max.bytes", "1000000000"),
];
/// How long a commit may take before the group is left without it.
const COMMIT_WITHIN: Duration = Duration::from_secs(5);

/// Knows how commits went.
#[derive(Default)]
struct Commits {
    witness: Witness,
    is_done: AtomicBool,
    has_failed: AtomicBool,
}

impl ClientContext for Commits {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, said: &str) {
        self.witness.log(level, facility, said);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.witness.error(error, reason);
    }
}

impl ConsumerContext for Commits {
    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        let flag = if result.is_ok() { &self.is_done } else { &self.has_failed };
        flag.store(true, Ordering::Relaxed);
    }
}

/// A start of the pool.
pub(super) struct FromPool(OwnedMessage);

impl FromPool {
    pub(super) fn payload(&self) -> &[u8] {
        self.0.payload().unwrap_or_default()
    }

    pub(super) fn time_ms(&self) -> Option<u64> {
        self.0.timestamp().to_millis().and_then(|ms| u64::try_from(ms).ok())
    }

    pub(super) fn has_header(&self, name: &str) -> bool {
        self.0.headers().is_some_and(|headers| headers.iter().any(|header| header.key == name))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Membership {
    None,
    Member,
    /// A member that takes nothing more, until its commit is confirmed.
    Leaving,
}

/// The topic of the pool.
pub(super) struct Pool {
    consumer: BaseConsumer<Commits>,
    topic: String,
    membership: Membership,
    /// What the group is to know, and since when that is on its way.
    commit: Option<(TopicPartitionList, Instant)>,
    /// What is in the way, and whether that was said.
    trouble: (String, bool),
}

impl Pool {
    pub(super) fn new(settings: &ClientSettings, topic: &str, group: &str) -> Result<Self, ClientError> {
        let mut defaults = POOLING.to_vec();
        defaults.push(("group.id", group));
        let consumer = consumer_of(&settings.config(&defaults)?, Commits::default())?;
        Ok(Self {
            consumer,
            topic: topic.to_owned(),
            membership: Membership::None,
            commit: None,
            trouble: (String::new(), true),
        })
    }

    /// The next start, if there is one and room for it.
    pub(super) fn next(&mut self, has_room: bool) -> Option<FromPool> {
        self.join_or_leave(has_room);
        // Serves the client as well; what fails is tried again by it.
        match self.consumer.poll(Duration::ZERO)? {
            Ok(message) => (self.membership == Membership::Member).then(|| FromPool(message.detach())),
            Err(error) => {
                let why =
                    error.rdkafka_error_code().map_or_else(|| explain_error(&error), explain).sentence();
                if self.trouble.0 != why {
                    self.trouble = (why, false);
                }
                None
            }
        }
    }

    /// What keeps this writer from the pool, if that is news.
    pub(super) fn trouble(&mut self) -> Option<String> {
        let is_said = std::mem::replace(&mut self.trouble.1, true);
        (!is_said).then(|| format!("pool topic {}: {}", self.topic, self.trouble.0))
    }

    /// Tells the group that a start was taken or refused: no other writer gets it.
    pub(super) fn is_done(&mut self, start: &FromPool) {
        let mut offsets = TopicPartitionList::new();
        let next = Offset::Offset(start.0.offset() + 1);
        // The list takes any number that is not negative.
        let _ = offsets.add_partition_offset(&self.topic, start.0.partition(), next);
        self.send_commit(offsets, Instant::now());
    }

    /// Leaves the group, which no commit may delay.
    pub(super) fn leave(&mut self) {
        self.consumer.unsubscribe();
        self.membership = Membership::None;
        self.commit = None;
    }

    fn send_commit(&mut self, offsets: TopicPartitionList, since: Instant) {
        let context = self.consumer.context();
        context.is_done.store(false, Ordering::Relaxed);
        context.has_failed.store(false, Ordering::Relaxed);
        let sent = self.consumer.commit(&offsets, CommitMode::Async);
        self.consumer.context().has_failed.fetch_or(sent.is_err(), Ordering::Relaxed);
        self.commit = Some((offsets, since));
    }

    fn join_or_leave(&mut self, has_room: bool) {
        self.look_after_commit();
        match (self.membership, has_room) {
            (Membership::None, true) if self.consumer.subscribe(&[&self.topic]).is_ok() => {
                self.membership = Membership::Member;
            }
            (Membership::Member, false) => {
                // What comes from now on is not taken, and read again by whoever is next. The partitions are not paused: the
                // client remembers that, also of one that goes to another member before this one leaves, and
                // would never read it when it comes back.
                self.membership = Membership::Leaving;
            }
            (Membership::Leaving, _) if self.commit.is_none() => self.leave(),
            _ => {}
        }
    }

    fn look_after_commit(&mut self) {
        let context = self.consumer.context();
        let is_done = context.is_done.swap(false, Ordering::Relaxed);
        let has_failed = context.has_failed.swap(false, Ordering::Relaxed);
        let Some((offsets, since)) = self.commit.take() else { return };
        if is_done || since.elapsed() > COMMIT_WITHIN {
            return;
        }
        match has_failed {
            true => self.send_commit(offsets, since),
            false => self.commit = Some((offsets, since)),
        }
    }
}
