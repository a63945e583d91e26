//! Topics, read whole by librdkafka's own consumer: nothing of what made the messages is used.

use evforge_testkit::patience::{wait_for, wait_until};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::Message as _;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use std::time::Duration;

/// How long one question may take before it is asked again.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// A message of a topic.
#[derive(Clone, Debug)]
pub(crate) struct TopicMessage {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) timestamp_ms: Option<i64>,
    pub(crate) payload: Vec<u8>,
}

/// The client that reads topics, and what it complained about last. While a broker has just died or begun, librdkafka says that
/// another leads, that a connection broke, or that all are down: it asks again, and only what does not come is a failure.
struct Client {
    brokers: String,
    consumer: BaseConsumer,
    complaint: String,
}

fn consumer(brokers: &str) -> BaseConsumer {
    ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", "evforge-tests")
        .set("enable.auto.commit", "false")
        .set("fetch.message.max.bytes", "20000000")
        // A broker that comes back is seen soon.
        .set("reconnect.backoff.max.ms", "200")
        .create()
        .expect("a consumer")
}

impl Client {
    fn new(brokers: &str) -> Self {
        Self { brokers: brokers.to_owned(), consumer: consumer(brokers), complaint: String::new() }
    }

    /// An answer, or none with the complaint said once.
    fn answer<T>(&mut self, answer: KafkaResult<T>) -> Option<T> {
        let note = |error: KafkaError| {
            let complaint = error.to_string();
            if complaint != self.complaint {
                eprintln!("{complaint}");
                self.complaint = complaint;
            }
        };
        answer.map_err(note).ok()
    }

    /// The partitions of a topic; none if it does not exist.
    fn partitions(&mut self, topic: &str) -> Vec<i32> {
        let metadata = wait_for("the topics that there are", || {
            let answer = self.consumer.fetch_metadata(None, ANSWER_WITHIN);
            self.answer(answer)
        });
        let known = metadata.topics().iter().find(|known| known.name() == topic);
        let mut partitions: Vec<i32> =
            known.iter().flat_map(|topic| topic.partitions()).map(|partition| partition.id()).collect();
        partitions.sort_unstable();
        partitions
    }

    /// The first offset of a partition, and the one behind its last.
    fn ends(&mut self, topic: &str, partition: i32) -> (i64, i64) {
        wait_for(format_args!("the ends of {topic}/{partition}"), || {
            let answer = self.consumer.fetch_watermarks(topic, partition, ANSWER_WITHIN);
            let answer = self.answer(answer);
            if answer.is_none() {
                // It may go on asking a leader of before.
                self.consumer = consumer(&self.brokers);
            }
            answer
        })
    }
}

/// All messages of a topic, partition by partition. None of a topic that does not exist.
pub(crate) fn read_topic(brokers: &str, topic: &str) -> Vec<TopicMessage> {
    let mut client = Client::new(brokers);
    let mut messages = Vec::new();
    for partition in client.partitions(topic) {
        let (low, high) = client.ends(topic, partition);
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Offset(low)).expect("an offset");
        client.consumer.assign(&list).expect("an assignment");
        let mut next = low;
        while next < high {
            let message = wait_for(format_args!("{topic}/{partition}: message {next} of {high}"), || {
                let answer =
                    client.consumer.poll(Duration::from_millis(200))?.map(|message| message.detach());
                client.answer(answer)
            });
            next = message.offset() + 1;
            messages.push(TopicMessage {
                partition,
                offset: message.offset(),
                key: message.key().map(<[u8]>::to_vec),
                timestamp_ms: message.timestamp().to_millis(),
                payload: message.payload().unwrap_or_default().to_vec(),
            });
        }
    }
    messages
}

/// Counts the messages of a topic.
pub(crate) struct TopicEnd {
    client: Client,
    topic: String,
    partitions: Vec<i32>,
}

impl TopicEnd {
    pub(crate) fn new(brokers: &str, topic: &str) -> Self {
        Self { client: Client::new(brokers), topic: topic.to_owned(), partitions: Vec::new() }
    }

    /// How many there are; none in a topic that does not exist.
    pub(crate) fn messages(&mut self) -> i64 {
        if self.partitions.is_empty() {
            self.partitions = self.client.partitions(&self.topic);
        }
        let ends = self.partitions.iter().map(|partition| self.client.ends(&self.topic, *partition));
        ends.map(|(low, high)| high - low).sum()
    }

    /// Waits until there are so many more than now.
    pub(crate) fn wait_for_more(&mut self, number: i64) {
        let now = self.messages();
        self.wait_for(now + number);
    }

    /// Waits until there are at least this many.
    pub(crate) fn wait_for(&mut self, number: i64) {
        wait_until(format_args!("{number} messages in {}", self.topic.clone()), || self.messages() >= number);
    }
}
