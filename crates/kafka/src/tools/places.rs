//! Where the partitions of a topic are begun.

use crate::client::{Cause, ClientError, Deadline, Witness, first_since, partition_ends};
use rdkafka::consumer::BaseConsumer;

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With the oldest message that is kept.
    Oldest,
    /// With the next message that comes.
    Newest,
    /// With the newest N of each partition.
    Last(u64),
    /// With this number, in each partition.
    Offset(i64),
    /// With the first message that Kafka has from this time on, in milliseconds since 1970.
    Since(i64),
}

/// Where a partition begins and ends, and where it is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionPlace {
    pub(crate) number: i32,
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) first: i64,
}

/// Where partitions of a topic are begun.
///
/// # Errors
/// If the brokers do not say where they begin and end, or have nothing at this place.
pub(crate) fn places(
    consumer: &BaseConsumer<Witness>,
    topic: &str,
    numbers: &[i32],
    begin: Begin,
    deadline: &Deadline,
) -> Result<Vec<PartitionPlace>, ClientError> {
    let all: Vec<_> = numbers.iter().map(|number| (topic, *number)).collect();
    let ends = |partition: &(&str, i32)| partition_ends(consumer, *partition, &deadline.of_an_answer());
    let ends = all.iter().map(ends).collect::<Result<Vec<_>, _>>()?;
    // After the ends: a message that comes in between is read.
    let times = match begin {
        Begin::Since(ms) => first_since(consumer, &all, ms, &deadline.of_an_answer())?,
        _ => vec![None; all.len()],
    };
    let place = |((&number, (low, high)), first): ((&i32, (i64, i64)), Option<i64>)| {
        let first = match begin {
            Begin::Oldest => low,
            Begin::Newest => high,
            Begin::Last(count) => high.saturating_sub(i64::try_from(count).unwrap_or(i64::MAX)).max(low),
            Begin::Offset(offset) if offset < low || offset > high => {
                return Err(ClientError::new(
                    Cause::Other,
                    format!(
                        "partition {number} of {topic} has no message {offset}: it keeps {low} to {}",
                        high - 1
                    ),
                ));
            }
            Begin::Offset(offset) => offset,
            Begin::Since(_) => first.unwrap_or(high),
        };
        Ok(PartitionPlace { number, low, high, first })
    };
    numbers.iter().zip(ends).zip(times).map(place).collect()
}
