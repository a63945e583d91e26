//! Topics, read whole by librdkafka's own consumer: nothing of what made the messages is used.

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaResult;
use rdkafka::message::Message as _;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use std::time::{Duration, Instant};

/// How long brokers may take to have a leader for a partition, and to answer with all of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long one question may take before it is asked again.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// A message of a topic.
#[derive(Clone, Debug)]
pub(crate) struct TopicMessage {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) timestamp_ms: Option<i64>,
    pub(crate) payload: Vec<u8>,
}

/// What a question to the brokers answers, asked until it does: while one of them has just died or begun,
/// librdkafka says that another leads, that a connection broke, or that all are down.
fn asked<T>(what: &str, mut question: impl FnMut() -> KafkaResult<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match question() {
            Ok(answer) => return answer,
            Err(error) if Instant::now() > deadline => panic!("{what}: {error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// All messages of a topic, partition by partition. None of a topic that does not exist.
pub(crate) fn read_topic(brokers: &str, topic: &str) -> Vec<TopicMessage> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", "evforge-tests")
        .set("enable.auto.commit", "false")
        .set("fetch.message.max.bytes", "20000000")
        .create()
        .expect("a consumer");
    let metadata = asked("what topics there are", || consumer.fetch_metadata(None, ANSWER_WITHIN));
    let known = metadata.topics().iter().find(|known| known.name() == topic);
    let mut partitions: Vec<i32> =
        known.iter().flat_map(|topic| topic.partitions()).map(|partition| partition.id()).collect();
    partitions.sort_unstable();
    let mut messages = Vec::new();
    for partition in partitions {
        let (low, high) = asked(&format!("the ends of {topic}/{partition}"), || {
            consumer.fetch_watermarks(topic, partition, ANSWER_WITHIN)
        });
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Offset(low)).expect("an offset");
        consumer.assign(&list).expect("an assignment");
        let deadline = Instant::now() + PATIENCE;
        let mut next = low;
        let mut complaint = None;
        while next < high {
            assert!(
                Instant::now() < deadline,
                "{topic}/{partition} stops at {next} of {high}; the last error was {complaint:?}"
            );
            let Some(message) = consumer.poll(Duration::from_millis(200)) else { continue };
            let message = match message {
                Ok(message) => message,
                // librdkafka asks another broker, or this one once more: only what does not come is a failure.
                Err(error) => {
                    complaint = Some(error);
                    continue;
                }
            };
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
