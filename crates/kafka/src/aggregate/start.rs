//! Where the work goes on: what was committed for the raw messages, and what the topic of frames has already.

use super::{Aggregator, PartitionStart};
use crate::client::{
    Cause, ClientError, ClientSettings, Consumer, Deadline, explain_error, of_each, until_known,
};
use crate::producer::last_ids::LastIds;
use crate::topic::{Begin, Next, TopicReader, TopicState, Until, places};
use evforge_messages::Message;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::Consumer as _;
use rdkafka::topic_partition_list::{Offset, TopicPartitionListElem};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Messages read from the end of each partition of frames: first so many, then ten times as many each time.
const FIRST_LOOK: u64 = 500;
/// No more than so many: who has waited for longer is not waited for any more.
const LAST_LOOK: u64 = 500_000;
/// How long reading them may take.
const LOOK_WITHIN: Duration = Duration::from_secs(300);

/// Opens the topic of raw messages behind what the group has committed, and where nothing is at `begin`: where its partitions were left.
pub(super) fn open(
    settings: &ClientSettings,
    (topic, group): (&str, &str),
    span: (Begin, Until),
    deadline: &Deadline,
) -> Result<(TopicReader, Vec<PartitionStart>), ClientError> {
    let mut starts = Vec::new();
    let reader = TopicReader::open_with(settings, (topic, group), deadline, |consumer, state| {
        let numbers: Vec<i32> = state.ends.iter().map(|(number, ..)| *number).collect();
        let committed = committed(consumer, topic, &numbers, deadline)?;
        let (known, fresh) = state.ends.iter().partition(|(number, ..)| committed.contains_key(number));
        let of =
            |ends, span| places(consumer, (0, topic), &TopicState { ends, id: state.id }, span, deadline);
        let mut all = of(fresh, span)?;
        all.extend(of(known, (Begin::Oldest, span.1))?);
        all.sort_by_key(|place| place.number);
        for place in &mut all {
            let known = committed.get(&place.number).cloned();
            let (offset, metadata) = known.unwrap_or((place.first, String::new()));
            // Of which topic an offset was committed is not known.
            (place.first, place.id) = (offset, place.id.filter(|_| !committed.contains_key(&place.number)));
            starts.push(PartitionStart { partition: place.number, offset, metadata });
        }
        Ok(all)
    })?;
    Ok((reader, starts))
}

/// What the group has committed, by partition.
fn committed(
    consumer: &Consumer,
    topic: &str,
    numbers: &[i32],
    deadline: &Deadline,
) -> Result<BTreeMap<i32, (i64, String)>, ClientError> {
    let mut asked = TopicPartitionList::new();
    for number in numbers {
        asked.add_partition(topic, *number);
    }
    // A broker that has just begun has no coordinator of groups yet; a transaction that is being ended has no answer yet.
    let known = until_known(deadline, |wait| of_each(consumer.committed_offsets(asked.clone(), wait)?))?
        .map_err(|error| {
            let why = explain_error(&error).sentence();
            ClientError::new(Cause::Other, format!("what was read of {topic} before is not known: {why}"))
        })?;
    let of_partition = |element: &TopicPartitionListElem<'_>| match element.offset() {
        Offset::Offset(offset) => Some((element.partition(), (offset, element.metadata().to_owned()))),
        _ => None,
    };
    Ok(known.elements().iter().filter_map(of_partition).collect())
}

/// What the topic of frames has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// The last number of a message.
    pub(super) last_id: i64,
    /// The reference times of frames.
    pub(super) frames: Vec<i64>,
    /// Up to this time there may be frames that were not looked at.
    pub(super) from_ns: Option<i64>,
}

/// Looks at the end of the topic of frames, back to those of this time at least.
pub(super) fn tail(
    settings: &ClientSettings,
    topic: &str,
    earliest_ns: Option<i64>,
    deadline: &Deadline,
) -> Result<Tail, ClientError> {
    let end = Instant::now() + LOOK_WITHIN;
    let mut look = FIRST_LOOK;
    loop {
        let mut reader =
            TopicReader::open(settings, topic, Begin::Last(look), Until::Present, &deadline.renewed())?;
        // Partitions of which the oldest messages were not looked at, with the earliest frame that was.
        let reach = i64::try_from(look).unwrap_or(i64::MAX);
        let mut cut: BTreeMap<i32, Option<i64>> = reader
            .offsets()
            .filter(|(_, low, high)| high - low > reach)
            .map(|(number, ..)| (number, None))
            .collect();
        let (mut tail, mut ids) = (Tail::default(), LastIds::default());
        loop {
            deadline.check()?;
            let record = match reader.next(Duration::from_millis(200))? {
                Next::Message(record) => record,
                Next::End => break,
                Next::Changed(_) => continue,
                Next::Idle if Instant::now() < end => continue,
                Next::Idle => {
                    let text =
                        format!("the end of topic {topic} cannot be read: it was not delivered in time");
                    return Err(ClientError::new(Cause::Silent, text));
                }
            };
            let (id, time) = match record.decode() {
                Ok(Message::Pu00(pulse)) => (pulse.message_id, Some(pulse.reference_time)),
                Ok(Message::Ev44(events)) => (events.message_id, None),
                _ => continue,
            };
            ids.add("", id, None);
            if let Some(time) = time {
                tail.frames.push(time);
                if let Some(earliest) = cut.get_mut(&record.partition) {
                    *earliest = Some(earliest.map_or(time, |known| known.min(time)));
                }
            }
        }
        let reaches_back = cut.values().all(|earliest| match (earliest, earliest_ns) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(earliest), Some(wanted)) => *earliest < wanted,
        });
        if reaches_back || look >= LAST_LOOK || cut.is_empty() {
            tail.last_id = ids.get("").map_or(0, |last| last.id);
            // A frame of a time that was reached everywhere is known.
            tail.from_ns = cut.values().filter_map(|earliest| *earliest).max();
            return Ok(tail);
        }
        look *= 10;
    }
}

/// Tells the aggregator what has left already.
pub(super) fn tell(aggregator: &mut Aggregator, tail: &Tail) {
    tail.from_ns.into_iter().for_each(|time| aggregator.forget_until(time));
    tail.frames.iter().for_each(|time| aggregator.left_before(*time));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::consumer;
    use rdkafka::consumer::CommitMode;
    use rdkafka::mocking::MockCluster;

    #[test]
    fn what_is_not_known_of_a_partition_is_not_taken_for_nothing() {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic("raw", 1, 1).unwrap();
        let settings: ClientSettings =
            toml::from_str(&format!("brokers = '{}'", cluster.bootstrap_servers())).unwrap();
        let consumer = consumer(&settings, "frames", 1).unwrap();
        let of = |numbers: &[i32], deadline| committed(&consumer, "raw", numbers, &deadline);
        assert_eq!(of(&[0], Deadline::of_opening()).unwrap(), BTreeMap::new());
        let mut read = TopicPartitionList::new();
        read.add_partition_offset("raw", 0, Offset::Offset(7)).unwrap();
        consumer.commit(&read, CommitMode::Sync).unwrap();
        assert_eq!(of(&[0], Deadline::of_opening()).unwrap(), [(0, (7, String::new()))].into());
        // The answer has an error for the partition that is not there, and none as a whole.
        let unknown = of(&[0, 1], Deadline::from(Duration::from_secs(1))).unwrap_err();
        assert!(unknown.message.contains("what was read of raw before is not known"), "{unknown}");
    }
}
