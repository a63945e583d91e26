//! Which messages partitions have: asked of brokers until a deadline.

use super::{Cause, ClientError, Deadline, cause_of, explain, explain_error};
use rdkafka::Offset;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::KafkaError;
use std::time::Duration;

/// How long until brokers are asked again that did not know something yet.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// The first offset of a partition and the next one. Where a topic that is known was just made, or moves, the broker that is asked
/// may not lead it, or not know it, for a moment: it is asked again.
///
/// # Errors
/// If the brokers do not say it in time, or the end was asked for.
pub fn partition_ends<C: ConsumerContext>(
    consumer: &BaseConsumer<C>,
    (topic, number): (&str, i32),
    deadline: &Deadline,
) -> Result<(i64, i64), ClientError> {
    loop {
        match deadline.ask(|wait| consumer.fetch_watermarks(topic, number, wait))? {
            Ok(ends) => return Ok(ends),
            Err(error) => {
                let is_final = cause_of_failure(&error).is_final();
                if is_final && cause_of_failure(&error) != Cause::UnknownTopic || deadline.is_over() {
                    return Err(failed(&format!("partition {number} of {topic}"), &error));
                }
                deadline.pause(AGAIN_AFTER)?;
            }
        }
    }
}

/// The offset of the first message of each partition from a time on, in milliseconds since 1970; none where all messages are older.
///
/// # Errors
/// As [`partition_ends`].
pub fn first_since<C: ConsumerContext>(
    consumer: &BaseConsumer<C>,
    partitions: &[(&str, i32)],
    ms: i64,
    deadline: &Deadline,
) -> Result<Vec<Option<i64>>, ClientError> {
    const WHAT: &str = "a time cannot be looked up";
    let mut asked = TopicPartitionList::new();
    for (topic, number) in partitions {
        asked
            .add_partition_offset(topic, *number, Offset::Offset(ms))
            .map_err(|error| failed(WHAT, &error))?;
    }
    let found = deadline
        .ask(|wait| consumer.offsets_for_times(asked.clone(), wait))?
        .map_err(|error| failed(WHAT, &error))?;
    let of_partition = |(topic, number): &(&str, i32)| match found.find_partition(topic, *number)?.offset() {
        Offset::Offset(offset) => Some(offset),
        _ => None,
    };
    Ok(partitions.iter().map(of_partition).collect())
}

/// What an error of a topic or partition is due to.
pub(crate) fn cause_of_failure(error: &KafkaError) -> Cause {
    error.rdkafka_error_code().map_or(Cause::Other, |code| cause_of(code, ""))
}

/// The same in words, after what was tried.
pub(crate) fn failed(what: &str, error: &KafkaError) -> ClientError {
    let said = error.rdkafka_error_code().map_or_else(|| explain_error(error), explain);
    ClientError::new(cause_of_failure(error), format!("{what}: {}", said.sentence()))
}
