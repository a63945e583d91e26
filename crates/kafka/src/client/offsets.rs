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
    until_known(deadline, |wait| consumer.fetch_watermarks(topic, number, wait))?
        .map_err(|error| failed(&format!("partition {number} of {topic}"), &error))
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
    let found = until_known(deadline, |wait| of_each(consumer.offsets_for_times(asked.clone(), wait)?))?
        .map_err(|error| failed(WHAT, &error))?;
    let of_partition = |(topic, number): &(&str, i32)| match found.find_partition(topic, *number)?.offset() {
        Offset::Offset(offset) => Some(offset),
        _ => None,
    };
    Ok(partitions.iter().map(of_partition).collect())
}

/// What brokers answer, asked again until they know it or the time is over: the last answer.
///
/// # Errors
/// If the end was asked for.
pub(crate) fn until_known<T>(
    deadline: &Deadline,
    mut ask: impl FnMut(Duration) -> Result<T, KafkaError>,
) -> Result<Result<T, KafkaError>, ClientError> {
    loop {
        let answer = deadline.of_an_answer().ask(&mut ask)?;
        let may_be_known_later = |error: &KafkaError| {
            let cause = cause_of_failure(error);
            cause == Cause::UnknownTopic || !cause.is_final()
        };
        if answer.as_ref().err().is_none_or(|error| deadline.is_over() || !may_be_known_later(error)) {
            return Ok(answer);
        }
        deadline.pause(AGAIN_AFTER)?;
    }
}

/// What is known of all these partitions. The answer for one of them may be an error: nothing is known of it then, which is not that it has
/// nothing.
pub(crate) fn of_each(known: TopicPartitionList) -> Result<TopicPartitionList, KafkaError> {
    known.elements().iter().try_for_each(|element| element.error())?;
    Ok(known)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{ClientSettings, Witness};
    use evforge_testkit::patience::patience;
    use rdkafka::mocking::MockCluster;
    use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

    #[test]
    fn a_broker_that_does_not_know_a_time_yet_is_asked_again() {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic("raw", 1, 1).unwrap();
        let settings: ClientSettings =
            toml::from_str(&format!("brokers = '{}'", cluster.bootstrap_servers())).unwrap();
        let config = settings.config(&[("group.id", "times")]).unwrap();
        let consumer: BaseConsumer<Witness> = config.create_with_context(Witness::default()).unwrap();
        let first = |within| first_since(&consumer, &[("raw", 0)], 0, &Deadline::from(within));
        let fail = |times| {
            let failure = RDKafkaRespErr::RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE;
            cluster.request_errors(RDKafkaApiKey::ListOffsets, &vec![failure; times]);
        };
        fail(3);
        assert_eq!(first(patience()).unwrap(), [None]);
        fail(10_000);
        let unknown = first(Duration::from_secs(1)).unwrap_err();
        assert!(unknown.message.contains("a time cannot be looked up"), "{unknown}");
    }
}
