//! A topic as an input: looked at before the run, opened for it.

use super::merge::Merge;
use super::partition::TopicPartition;
use super::source::TopicPackets;
use super::span::{Offsets, Place, Span};
use crate::client::{
    Cause, ClientError, ClientSettings, Deadline, Witness, check, explain_error, first_since, partition_ends,
    read_partitions,
};
use rdkafka::consumer::BaseConsumer;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long brokers may send nothing during it, though there is more.
const SILENCE: Duration = Duration::from_secs(60);

/// What a consumer is set to, unless the settings say otherwise. librdkafka asks for the name of a group, which is not joined.
const DEFAULTS: [(&str, &str); 7] = [
    ("group.id", "evforge"),
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("enable.partition.eof", "true"),
    ("auto.offset.reset", "error"),
    // Of each partition, whatever is reached first: messages that are small have larger heads than contents.
    ("queued.max.messages.kbytes", "16384"),
    ("queued.min.messages", "20000"),
];

/// A topic with raw packets.
#[derive(Clone, Debug)]
pub struct TopicInput {
    /// How Kafka is reached.
    pub client: ClientSettings,
    /// Its name.
    pub topic: String,
    /// What of it is read.
    pub span: Span,
    /// Only packets that were sent to this port are taken.
    pub port: Option<u16>,
}

impl TopicInput {
    /// Opens it. What is in it at this moment is what will be read, unless the span says otherwise. It ends early when `stop` is
    /// set.
    ///
    /// # Errors
    /// If brokers or topic cannot be had, or there is nothing to be read in it; in words for a person.
    pub fn open(&self, stop: &Arc<AtomicBool>) -> Result<TopicPackets, ClientError> {
        let deadline = Deadline::of_opening().or_when(stop);
        let checked = check(&self.client, &[&self.topic], deadline.of_an_answer())?;
        let partitions: Vec<i32> =
            checked.topics.iter().flat_map(|topic| &topic.partitions).map(|(number, _)| *number).collect();
        if partitions.is_empty() {
            return Err(ClientError::new(
                Cause::UnknownTopic,
                format!(
                    "there is no topic `{}` at {}: `evforge kafka topics` lists all",
                    self.topic,
                    self.client.brokers_text()
                ),
            ));
        }
        let consumer: BaseConsumer<Witness> = self
            .client
            .config(&DEFAULTS)?
            .create_with_context(Witness::default())
            .map_err(|error| ClientError::settings(explain_error(&error).sentence()))?;
        let consumer = Arc::new(consumer);
        let spans = self.spans(&consumer, &partitions, &deadline)?;
        let firsts: Vec<_> = spans.iter().map(|&(number, from, _)| (number, from)).collect();
        let queues = read_partitions(&consumer, &self.topic, &firsts)?;
        let partition = |((_, from, end), queue)| TopicPartition {
            consumer: Arc::clone(&consumer),
            queue,
            end,
            waits_for_end: self.span.follows && matches!(self.span.to, Some(Place::Offset(_))),
            is_over: end == Some(from),
            until_ms: self.span.until_ms(),
            is_at_end: false,
        };
        let lanes = spans.into_iter().zip(queues).map(partition).collect();
        let merge = Merge::new(lanes, self.span.follows, SILENCE, Arc::clone(stop));
        Ok(TopicPackets::new(
            format!("topic {} at {}", self.topic, self.client.brokers_text()),
            merge,
            self.port,
        ))
    }

    /// Of each partition its number, the first message to read and the first one not to read.
    fn spans(
        &self,
        consumer: &BaseConsumer<Witness>,
        partitions: &[i32],
        deadline: &Deadline,
    ) -> Result<Vec<(i32, i64, Option<i64>)>, ClientError> {
        let mut all = Vec::new();
        for &number in partitions {
            let (low, high) = partition_ends(consumer, (&self.topic, number), &deadline.of_an_answer())?;
            all.push((number, Offsets { low, high, at_from: low, at_to: high }));
        }
        self.look_up(consumer, self.span.from, &mut all, |offsets| &mut offsets.at_from, deadline)?;
        self.look_up(consumer, self.span.to, &mut all, |offsets| &mut offsets.at_to, deadline)?;
        let spans: Vec<_> = all
            .iter()
            .map(|(number, offsets)| {
                let (from, to) = self.span.of(offsets);
                (*number, from, to)
            })
            .collect();
        if spans.iter().any(|(_, from, to)| *to != Some(*from)) {
            return Ok(spans);
        }
        let there: Vec<String> = all
            .iter()
            .filter(|(_, offsets)| offsets.high > offsets.low)
            .map(|(number, Offsets { low, high, .. })| {
                format!("partition {number}: offsets {low} to {}", high - 1)
            })
            .collect();
        let what = match there.is_empty() {
            true => format!("topic {} at {} is empty", self.topic, self.client.brokers_text()),
            false => {
                format!("topic {} has no messages{}; it has {}", self.topic, self.span, there.join(", "))
            }
        };
        Err(ClientError::new(
            Cause::Other,
            format!(
                "{what}. `evforge kafka topics` shows which topics have messages; --follow waits for them"
            ),
        ))
    }

    /// Looks up which messages are the first at a time.
    fn look_up(
        &self,
        consumer: &BaseConsumer<Witness>,
        place: Option<Place>,
        all: &mut [(i32, Offsets)],
        slot: impl Fn(&mut Offsets) -> &mut i64,
        deadline: &Deadline,
    ) -> Result<(), ClientError> {
        let Some(Place::Time(ms)) = place else { return Ok(()) };
        let asked: Vec<_> = all.iter().map(|(number, _)| (self.topic.as_str(), *number)).collect();
        let found = first_since(consumer, &asked, ms, &deadline.of_an_answer())?;
        for ((_, offsets), first) in all.iter_mut().zip(found) {
            // All messages are older.
            let high = offsets.high;
            *slot(offsets) = first.unwrap_or(high);
        }
        Ok(())
    }
}
