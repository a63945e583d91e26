//! The messages of a topic: of all partitions, in the order of time as far as it can be known.

use super::places::{Begin, PartitionPlace, places};
use super::record::Record;
use crate::client::{
    Cause, ClientError, ClientSettings, Deadline, Witness, cause_of_failure, check, explain_error, failed,
    read_partitions, serve_client,
};
use rdkafka::Message as _;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Headers, OwnedHeaders, OwnedMessage};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a reader is set to, unless the settings say otherwise. It joins no group and commits nothing: who looks on changes nothing.
const READING: [(&str, &str); 7] = [
    ("enable.auto.commit", "false"),
    ("enable.partition.eof", "true"),
    ("allow.auto.create.topics", "false"),
    ("auto.offset.reset", "earliest"),
    ("fetch.wait.max.ms", "100"),
    // Per partition: what is read ahead, also of messages of 10 MB.
    ("queued.max.messages.kbytes", "16384"),
    ("fetch.message.max.bytes", "4194304"),
];
/// librdkafka asks for the name of a group even where none is used.
const NO_GROUP: &str = "evforge-look";
/// How long the order of partitions is waited for while one of them does not answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where reading ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Nowhere.
    Forever,
    /// With the last message that is there when reading begins.
    Present,
}

/// What a reader has.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A message.
    Message(Record),
    /// None within the time.
    Idle,
    /// None any more.
    End,
}

struct Partition {
    number: i32,
    low: i64,
    high: i64,
    queue: PartitionQueue<Witness>,
    /// The next message.
    head: Option<OwnedMessage>,
    /// True once all that was there has been read: the order of the others does not wait for it.
    has_caught_up: bool,
    /// Nothing is there that has not been read.
    is_at_end: bool,
    /// The first number that is not read any more.
    end: Option<i64>,
    /// The number behind that of the newest message that was read, or where reading begins.
    position: i64,
}

impl Partition {
    fn is_finished(&self) -> bool {
        self.head.is_none() && self.end.is_some() && self.has_caught_up
    }
}

/// Reads a topic.
pub struct TopicReader {
    topic: String,
    // The queues hold it as well.
    consumer: Arc<BaseConsumer<Witness>>,
    partitions: Vec<Partition>,
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
        Self::open_with(settings, (topic, NO_GROUP), until, deadline, |consumer, numbers| {
            places(consumer, topic, numbers, begin, deadline)
        })
    }

    /// Opens a topic at places of its partitions that are found out with the client, which belongs to a group: number, lowest and
    /// highest offset, and the first that is read.
    ///
    /// # Errors
    /// As [`TopicReader::open`].
    pub(crate) fn open_with(
        settings: &ClientSettings,
        (topic, group): (&str, &str),
        until: Until,
        deadline: &Deadline,
        places: impl FnOnce(&BaseConsumer<Witness>, &[i32]) -> Result<Vec<PartitionPlace>, ClientError>,
    ) -> Result<Self, ClientError> {
        let checked = check(settings, &[topic], deadline.of_an_answer())?;
        let numbers: Vec<i32> = checked
            .topics
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|(number, _)| *number))
            .collect();
        if numbers.is_empty() {
            return Err(ClientError::new(
                Cause::UnknownTopic,
                format!("there is no topic `{topic}` yet: the brokers make it with its first message"),
            ));
        }
        let mut reading = READING.to_vec();
        reading.push(("group.id", group));
        let consumer: BaseConsumer<Witness> = settings
            .config(&reading)?
            .create_with_context(Witness::default())
            .map_err(|error| ClientError::settings(explain_error(&error).sentence()))?;
        let consumer = Arc::new(consumer);
        let places = places(&consumer, &numbers)?;
        let firsts: Vec<_> = places.iter().map(|place| (place.number, place.first)).collect();
        let queues = read_partitions(&consumer, topic, &firsts)?;
        let partition = |(PartitionPlace { number, low, high, first }, queue)| Partition {
            number,
            low,
            high,
            queue,
            head: None,
            has_caught_up: first >= high,
            is_at_end: first >= high,
            end: (until == Until::Present).then_some(high),
            position: first,
        };
        let partitions = places.into_iter().zip(queues).map(partition).collect();
        Ok(Self { topic: topic.to_owned(), consumer, partitions, waiting_since: None })
    }

    /// How many messages of the topic have not been read, if the brokers say so within this time for each partition.
    pub fn behind(&self, within: Duration) -> Option<u64> {
        let of_partition = |partition: &Partition| {
            let (_, high) = self.consumer.fetch_watermarks(&self.topic, partition.number, within).ok()?;
            let waits = i64::from(partition.head.is_some());
            u64::try_from(high.saturating_sub(partition.position).saturating_add(waits).max(0)).ok()
        };
        // The first one that does not answer is enough.
        self.partitions
            .iter()
            .map(of_partition)
            .try_fold(0, |sum: u64, behind| Some(sum.saturating_add(behind?)))
    }

    /// Number, lowest and highest offset of each partition when reading began; the highest is that of the next message.
    pub fn offsets(&self) -> impl Iterator<Item = (i32, i64, i64)> + '_ {
        self.partitions.iter().map(|partition| (partition.number, partition.low, partition.high))
    }

    /// The number of each partition, and whether nothing is there that has not been read, as far as the brokers have said.
    pub(crate) fn at_end(&self) -> impl Iterator<Item = (i32, bool)> + '_ {
        self.partitions
            .iter()
            .map(|partition| (partition.number, partition.is_at_end && partition.head.is_none()))
    }

    /// The client, to commit what was read.
    pub(crate) fn consumer(&self) -> &BaseConsumer<Witness> {
        &self.consumer
    }

    /// True once all that was there when reading began has been read.
    pub fn has_caught_up(&self) -> bool {
        self.partitions.iter().all(|partition| partition.has_caught_up)
    }

    /// What the client has complained about: why nothing comes.
    pub fn complaints(&self) -> Vec<crate::client::Complaint> {
        self.consumer.context().complaints()
    }

    /// The next message, waiting this long for it.
    ///
    /// # Errors
    /// If a partition cannot be read and will not be.
    pub fn next(&mut self, wait: Duration) -> Result<Next, ClientError> {
        let deadline = Instant::now() + wait;
        loop {
            // Serves what is not a message; errors are noted by the witness, and the client tries again by itself.
            serve_client(&self.consumer)?;
            for partition in &mut self.partitions {
                partition.advance(Duration::ZERO)?;
            }
            if let Some(place) = self.first() {
                self.waiting_since = None;
                let head = self.partitions.get_mut(place).and_then(|partition| partition.head.take());
                if let Some(message) = head {
                    return Ok(Next::Message(record(message)));
                }
            }
            if self.partitions.iter().all(Partition::is_finished) {
                return Ok(Next::End);
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(Next::Idle);
            }
            let slice = (deadline - now).min(Duration::from_millis(10));
            if let Some(partition) = self
                .partitions
                .iter_mut()
                .find(|partition| partition.head.is_none() && !partition.is_finished())
            {
                partition.advance(slice)?;
            }
        }
    }

    /// The partition with the oldest message, once that is known.
    fn first(&mut self) -> Option<usize> {
        let heads = self.partitions.iter().enumerate();
        let oldest = heads
            .filter_map(|(place, partition)| Some((partition.head.as_ref()?.timestamp().to_millis(), place)))
            .min()?;
        let is_known =
            self.partitions.iter().all(|partition| partition.head.is_some() || partition.has_caught_up);
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        (is_known || since.elapsed() >= PATIENCE).then_some(oldest.1)
    }
}

impl Partition {
    /// Looks for the next message, if there is none yet.
    fn advance(&mut self, wait: Duration) -> Result<(), ClientError> {
        if self.head.is_some() || self.is_finished() {
            return Ok(());
        }
        match self.queue.poll(wait) {
            None => {}
            Some(Ok(message)) => match self.end {
                Some(end) if message.offset() >= end => self.has_caught_up = true,
                _ => {
                    self.has_caught_up |= self.end.is_none() && message.offset() + 1 >= self.high;
                    self.is_at_end = false;
                    self.position = message.offset() + 1;
                    self.head = Some(message.detach());
                }
            },
            Some(Err(KafkaError::PartitionEOF(_))) => (self.has_caught_up, self.is_at_end) = (true, true),
            Some(Err(error)) if cause_of_failure(&error).is_final() => {
                return Err(failed(&format!("partition {}", self.number), &error));
            }
            Some(Err(_)) => {}
        }
        Ok(())
    }
}

fn record(message: OwnedMessage) -> Record {
    Record {
        partition: message.partition(),
        offset: message.offset(),
        time_ms: message.timestamp().to_millis(),
        key: message.key().map(<[u8]>::to_vec),
        headers: message.headers().map(headers).unwrap_or_default(),
        payload: message.payload().map(<[u8]>::to_vec).unwrap_or_default(),
    }
}

fn headers(found: &OwnedHeaders) -> Vec<(String, Option<Vec<u8>>)> {
    found.iter().map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec))).collect()
}
