//! Reads the end of a topic: the last message of each source.

use super::last_ids::LastIds;
use super::maker::vetoes_of;
use crate::client::{
    Cause, ClientError, ClientSettings, Deadline, Witness, explain_error, partition_ends, passes,
};
use evforge_messages::{Message, decode};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::Message as _;
use rdkafka::{Offset, TopicPartitionList};
use std::time::Duration;

/// Messages read from the end of each partition: first so many, then ten times as many each time.
const FIRST_LOOK: i64 = 200;
/// A source that is not among so many is taken to be new.
const FOR_A_SOURCE: i64 = 20_000;

/// The messages of these sources at the end of the topic: the last one at least, and all that are as new as what is left of an
/// earlier run. A source that is not among the last messages of any partition has none.
///
/// # Errors
/// If the topic cannot be read by then.
pub(super) fn read(
    client: &ClientSettings,
    topic: &str,
    sources: &[String],
    left_over: &LastIds,
    deadline: &Deadline,
) -> Result<LastIds, ClientError> {
    let failed = |error| failed(topic, &error);
    let config = client.config(&[
        ("group.id", "evforge-topic-end"),
        ("enable.auto.commit", "false"),
        ("enable.partition.eof", "true"),
        ("auto.offset.reset", "earliest"),
    ])?;
    let consumer: BaseConsumer<Witness> = config.create_with_context(Witness::default()).map_err(failed)?;
    let metadata = deadline.ask(|slice| consumer.fetch_metadata(Some(topic), slice))?.map_err(failed)?;
    let partitions: Vec<i32> = metadata
        .topics()
        .iter()
        .flat_map(|topic| topic.partitions())
        .map(|partition| partition.id())
        .collect();
    let mut last = LastIds::default();
    for partition in partitions {
        let (low, high) = partition_ends(&consumer, (topic, partition), deadline)?;
        let mut look = FIRST_LOOK;
        loop {
            let part = Part { topic, partition, from: low.max(high.saturating_sub(look)), high };
            let mut found = LastIds::default();
            part.read(&consumer, deadline, &mut found)?;
            last.add_all(&found);
            let is_far = look >= FOR_A_SOURCE;
            let knows_sources = is_far || sources.iter().all(|source| last.get(source).is_some());
            // Numbers rise in a partition, so what is before them is older.
            if part.from == low || knows_sources && found.reaches_back_to(left_over, is_far) {
                break;
            }
            look *= 10;
        }
    }
    Ok(last)
}

fn failed(topic: &str, error: &KafkaError) -> ClientError {
    let why = explain_error(error).sentence();
    ClientError::new(Cause::Other, format!("the end of topic {topic} cannot be read: {why}"))
}

/// Messages of a partition, up to its end.
struct Part<'a> {
    topic: &'a str,
    partition: i32,
    from: i64,
    /// The offset behind the last message.
    high: i64,
}

impl Part<'_> {
    fn read(
        &self,
        consumer: &BaseConsumer<Witness>,
        deadline: &Deadline,
        last: &mut LastIds,
    ) -> Result<(), ClientError> {
        let Part { topic, partition, from, high } = *self;
        let failed = |error| failed(topic, &error);
        if from >= high {
            return Ok(());
        }
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Offset(from)).map_err(failed)?;
        consumer.assign(&list).map_err(failed)?;
        while !deadline.is_over() {
            deadline.check()?;
            let message = match consumer.poll(Duration::from_millis(100)) {
                None => continue,
                Some(Ok(message)) => message,
                Some(Err(KafkaError::PartitionEOF(_))) => return Ok(()),
                // The library connects again by itself.
                Some(Err(error)) if passes(&error) => continue,
                Some(Err(error)) => return Err(failed(error)),
            };
            note(message.payload().unwrap_or_default(), last);
            if message.offset() + 1 >= high {
                return Ok(());
            }
        }
        let text = format!(
            "the end of topic {topic} cannot be read: partition {partition} was not delivered in time"
        );
        Err(ClientError::new(Cause::Silent, text))
    }
}

/// Takes note of the number of a message. What is no message of an event source says nothing of numbers.
pub(super) fn note(payload: &[u8], last: &mut LastIds) {
    match decode(payload) {
        Ok(Message::Ev44(events)) => {
            last.add(events.source_name, events.message_id, events.reference_time.last());
        }
        Ok(Message::Ev42(events)) => {
            let id = i64::try_from(events.message_id).unwrap_or(i64::MAX);
            last.add(events.source_name.unwrap_or_default(), id, i64::try_from(events.pulse_time).ok());
        }
        Ok(Message::Pu00(pulse)) => last.add(pulse.source_name, pulse.message_id, None),
        Ok(Message::Da00(array)) => {
            let id = array.variable("message_id").and_then(|id| id.numbers());
            if let Some(&id) = id.map(|id| id.to_f64()).unwrap_or_default().first() {
                last.add(&vetoes_of(array.source_name), id as i64, None);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_messages::{Encoder, Ev44};
    use rdkafka::mocking::MockCluster;
    use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

    #[test]
    fn brokers_to_which_a_connection_takes_long_are_waited_for() {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic("events", 2, 1).unwrap();
        let brokers = cluster.bootstrap_servers();
        let sender: BaseProducer =
            rdkafka::ClientConfig::new().set("bootstrap.servers", &brokers).create().unwrap();
        for message_id in [6, 7] {
            let times = [message_id * 1000];
            let message = Ev44 {
                source_name: "freia",
                message_id,
                reference_time: (&times).into(),
                reference_time_index: (&[0]).into(),
                time_of_flight: (&[]).into(),
                pixel_id: (&[]).into(),
            };
            let mut encoder = Encoder::new();
            let record = BaseRecord::<(), _>::to("events").partition(1).payload(message.encode(&mut encoder));
            sender.send(record).unwrap();
        }
        sender.flush(Duration::from_secs(30)).unwrap();
        // Longer than the first waits: what a connection costs with TLS and a login, or on a host that is busy.
        cluster.broker_round_trip_time(1, Duration::from_millis(400)).unwrap();
        let client = ClientSettings::new(brokers.parse().unwrap());
        let sources = ["freia".to_owned()];
        let found = read(&client, "events", &sources, &LastIds::default(), &Deadline::of_opening()).unwrap();
        assert_eq!(found.get("freia").map(|last| last.id), Some(7));
    }
}
