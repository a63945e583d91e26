//! Partitions of topics, each read through a queue of its own.

use crate::client::{Cause, ClientError, Consumer, Witness, failed};
use rdkafka::consumer::Consumer as _;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::KafkaError;
use rdkafka::{Message as _, Offset, TopicPartitionList};
use std::sync::Arc;
use std::time::Duration;

/// Begins to read partitions (topic, number), each from this offset on: the queues, in the order given.
///
/// # Errors
/// If the client has no such partition.
pub(super) fn assign(
    consumer: &Arc<Consumer>,
    places: &[(&str, i32, i64)],
) -> Result<Vec<PartitionQueue<Witness>>, ClientError> {
    let mut assignment = TopicPartitionList::new();
    let mut queues = Vec::new();
    for &(topic, number, first) in places {
        assignment
            .add_partition_offset(topic, number, Offset::Offset(first))
            .map_err(|error| failed(topic, &error))?;
        // Before anything is fetched, which would come through the queue of the client otherwise.
        queues.push(consumer.split_partition_queue(topic, number).ok_or_else(|| {
            ClientError::new(Cause::Other, format!("partition {number} of {topic} has no queue"))
        })?);
    }
    consumer.assign(&assignment).map_err(|error| failed("its partitions", &error))?;
    Ok(queues)
}

/// Serves the queue of the client, through which comes what is of no partition: an error, if there is one.
///
/// # Errors
/// If a message came through it, which would be lost.
pub(super) fn serve(consumer: &Consumer) -> Result<Option<KafkaError>, ClientError> {
    match consumer.poll(Duration::ZERO) {
        None => Ok(None),
        Some(Err(error)) => Ok(Some(error)),
        Some(Ok(message)) => {
            let (number, offset) = (message.partition(), message.offset());
            let text = format!(
                "message {offset} of partition {number} came outside of its queue: please report this as a fault of evforge"
            );
            Err(ClientError::new(Cause::Other, text))
        }
    }
}
