//! Topics, read whole by librdkafka's own consumer: nothing of what made the messages is used.

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message as _;
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use std::time::{Duration, Instant};

/// A message of a topic.
#[derive(Clone, Debug)]
pub(crate) struct TopicMessage {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) timestamp_ms: Option<i64>,
    pub(crate) payload: Vec<u8>,
}

/// The ends of a partition. A broker that has just been started again leads it only after a moment.
fn watermarks(consumer: &BaseConsumer, topic: &str, partition: i32, patience: Duration) -> (i64, i64) {
    let deadline = Instant::now() + patience;
    loop {
        match consumer.fetch_watermarks(topic, partition, patience) {
            Ok(ends) => return ends,
            Err(error)
                if error.rdkafka_error_code() == Some(RDKafkaErrorCode::NotLeaderForPartition)
                    && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(100));
            }
            Err(error) => panic!("the ends of {topic}/{partition}: {error}"),
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
    let patience = Duration::from_secs(20);
    let metadata = consumer.fetch_metadata(None, patience).expect("metadata");
    let known = metadata.topics().iter().find(|known| known.name() == topic);
    let mut partitions: Vec<i32> =
        known.iter().flat_map(|topic| topic.partitions()).map(|partition| partition.id()).collect();
    partitions.sort_unstable();
    let mut messages = Vec::new();
    for partition in partitions {
        let (low, high) = watermarks(&consumer, topic, partition, patience);
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Offset(low)).expect("an offset");
        consumer.assign(&list).expect("an assignment");
        let deadline = Instant::now() + 3 * patience;
        let mut next = low;
        while next < high {
            assert!(Instant::now() < deadline, "{topic}/{partition} stops at {next} of {high}");
            let Some(message) = consumer.poll(Duration::from_millis(200)) else { continue };
            let message = match message {
                Ok(message) => message,
                // Another broker has it.
                Err(error)
                    if error.rdkafka_error_code() == Some(RDKafkaErrorCode::BrokerTransportFailure) =>
                {
                    continue;
                }
                Err(error) => panic!("{topic}: {error}"),
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
