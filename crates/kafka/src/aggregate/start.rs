//! Where the work goes on: what was committed for the raw messages, and what the topic of frames has already.

use super::offsets::Resumed;
use super::{Aggregator, PartitionStart};
use crate::client::{
    Cause, ClientError, ClientSettings, Deadline, Witness, explain_error, of_each, until_known,
};
use crate::tools::{Begin, Next, PartitionPlace, TopicReader, Until, places};
use evforge_messages::Message;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionListElem};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Messages read from the end of each partition of frames: first so many, then ten times as many each time.
const FIRST_LOOK: u64 = 500;
/// No more than so many: who has waited for longer is not waited for any more.
const LAST_LOOK: u64 = 500_000;
/// How long reading them may take.
const LOOK_WITHIN: Duration = Duration::from_secs(300);

/// Where the raw messages are begun.
#[derive(Clone, Debug, Default)]
pub(super) struct Starts {
    pub(super) partitions: Vec<PartitionStart>,
    /// Messages that were deleted before they were read.
    pub(super) deleted: u64,
    /// What people should know.
    pub(super) notes: Vec<String>,
}

/// Opens the topic of raw messages behind what the group has committed, and where nothing is at `begin`.
pub(super) fn open(
    settings: &ClientSettings,
    (topic, group): (&str, &str),
    (begin, until): (Begin, Until),
    deadline: &Deadline,
) -> Result<(TopicReader, Starts), ClientError> {
    let mut starts = Starts::default();
    let reader = TopicReader::open_with(settings, (topic, group), until, deadline, |consumer, numbers| {
        let committed = committed(consumer, topic, numbers, deadline)?;
        let fresh: Vec<i32> =
            numbers.iter().copied().filter(|number| !committed.contains_key(number)).collect();
        let mut all = places(consumer, topic, &fresh, begin, deadline)?;
        let known: Vec<i32> = committed.keys().copied().collect();
        for place in places(consumer, topic, &known, Begin::Oldest, deadline)? {
            let (offset, metadata) = committed.get(&place.number).cloned().unwrap_or_default();
            all.push(go_on((topic, place), (offset, metadata), &mut starts));
        }
        all.sort_by_key(|place| place.number);
        for place in &all {
            let is_listed = starts.partitions.iter().any(|start| start.partition == place.number);
            if !is_listed {
                let start = PartitionStart {
                    partition: place.number,
                    offset: place.first,
                    ..PartitionStart::default()
                };
                starts.partitions.push(start);
            }
        }
        Ok(all)
    })?;
    Ok((reader, starts))
}

/// A partition goes on behind what was committed, as far as it is there.
fn go_on(
    (topic, place): (&str, PartitionPlace),
    (offset, metadata): (i64, String),
    starts: &mut Starts,
) -> PartitionPlace {
    let PartitionPlace { number, low, high, .. } = place;
    let (first, metadata) = if offset > high {
        starts.notes.push(format!(
            "partition {number} of {topic} ends at {high}, and was read up to {offset} before: it is another topic of that name, \
             and is read from its oldest message on"
        ));
        (low, String::new())
    } else if offset < low {
        let deleted = low.abs_diff(offset);
        starts.deleted += deleted;
        starts.notes.push(format!(
            "the brokers have deleted {deleted} messages of partition {number} of {topic} that were not read: {offset} to {}",
            low - 1
        ));
        // What was done with is known by its offset, wherever reading begins.
        let later = Resumed::read(offset, &metadata).map_or(String::new(), |known| known.from(low).text(low));
        (low, later)
    } else {
        (offset, metadata)
    };
    starts.partitions.push(PartitionStart { partition: number, offset: first, metadata });
    PartitionPlace { first, ..place }
}

/// What the group has committed, by partition.
fn committed(
    consumer: &BaseConsumer<Witness>,
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
    /// The largest number of a message.
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
        let mut tail = Tail::default();
        loop {
            deadline.check()?;
            let record = match reader.next(Duration::from_millis(200))? {
                Next::Message(record) => record,
                Next::End => break,
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
            tail.last_id = tail.last_id.max(id);
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
    use rdkafka::consumer::CommitMode;
    use rdkafka::mocking::MockCluster;

    #[test]
    fn what_is_not_known_of_a_partition_is_not_taken_for_nothing() {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic("raw", 1, 1).unwrap();
        let settings: ClientSettings =
            toml::from_str(&format!("brokers = '{}'", cluster.bootstrap_servers())).unwrap();
        let config = settings.config(&[("group.id", "frames")]).unwrap();
        let consumer: BaseConsumer<Witness> = config.create_with_context(Witness::default()).unwrap();
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
