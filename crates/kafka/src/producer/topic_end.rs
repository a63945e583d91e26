//! Reads the end of a topic: the last message of each source.

use super::last_ids::{LastIds, vetoes_of};
use crate::client::{Cause, ClientError, ClientSettings, Deadline};
use crate::topic::{Begin, Next, TopicReader, Until};
use evforge_messages::{Message, decode};
use std::collections::BTreeMap;
use std::time::Duration;

/// Messages read from the end of each partition: first so many, then ten times as many each time.
const FIRST_LOOK: u64 = 200;
/// A source that is not among so many is taken to be new.
const FOR_A_SOURCE: u64 = 20_000;

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
    let failed = |error: ClientError| {
        ClientError::new(error.cause, format!("the end of topic {topic} cannot be read: {}", error.message))
    };
    let mut look = FIRST_LOOK;
    loop {
        let opened = TopicReader::open(client, topic, Begin::Last(look), Until::Present, deadline);
        let mut reader = match opened {
            Err(error) if error.cause == Cause::UnknownTopic => return Ok(LastIds::default()),
            opened => opened.map_err(failed)?,
        };
        let reach = i64::try_from(look).unwrap_or(i64::MAX);
        let mut cut: BTreeMap<i32, LastIds> = reader
            .offsets()
            .filter(|(_, low, high)| high - low > reach)
            .map(|(number, ..)| (number, LastIds::default()))
            .collect();
        let mut last = LastIds::default();
        loop {
            deadline.check()?;
            match reader.next(Duration::from_millis(100)).map_err(failed)? {
                Next::Message(record) => {
                    note(&record.payload, &mut last);
                    cut.get_mut(&record.partition).into_iter().for_each(|of| note(&record.payload, of));
                }
                Next::End => break,
                Next::Idle if deadline.is_over() => {
                    return Err(failed(ClientError::new(Cause::Silent, "it was not delivered in time")));
                }
                Next::Idle | Next::Changed(_) => {}
            }
        }
        let is_far = look >= FOR_A_SOURCE;
        let knows_sources = is_far || sources.iter().all(|source| last.get(source).is_some());
        // Numbers rise in a partition, so what is before them is older.
        if cut.values().all(|found| knows_sources && found.reaches_back_to(left_over, is_far)) {
            return Ok(last);
        }
        look *= 10;
    }
}

/// The source of a message and its number, if it has one.
pub(super) fn number_of(payload: &[u8]) -> Option<(String, i64)> {
    let mut last = LastIds::default();
    note(payload, &mut last);
    last.first()
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
