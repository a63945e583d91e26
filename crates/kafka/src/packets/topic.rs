//! A topic as an input: looked at before the run, opened for it.

use super::merge::Merge;
use super::partitions::TopicLanes;
use super::source::TopicPackets;
use super::span::{Offsets, Place, Span};
use crate::client::{Cause, ClientError, ClientSettings, Consumer, Deadline, first_since};
use crate::topic::{self, TopicPartitions, TopicState};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long brokers may send nothing during it, though there is more.
const SILENCE: Duration = Duration::from_secs(60);

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
        let from = (self.topic.as_str(), "evforge");
        let partitions = TopicPartitions::of_topic(&self.client, from, &deadline, |consumer, state| {
            self.places(consumer, state, &deadline)
        })?;
        let merge = Merge::new(
            TopicLanes { partitions, until_ms: self.span.until_ms() },
            self.span.follows,
            SILENCE,
            Arc::clone(stop),
        );
        let name = format!("topic {} at {}", self.topic, self.client.brokers_text());
        Ok(TopicPackets::new(name, merge, self.port))
    }

    /// Where the partitions are begun and end.
    fn places(
        &self,
        consumer: &Consumer,
        state: &TopicState,
        deadline: &Deadline,
    ) -> Result<Vec<topic::Place>, ClientError> {
        let offsets = |&(number, low, high): &(i32, i64, i64)| {
            (number, Offsets { low, high, at_from: low, at_to: high })
        };
        let mut all: Vec<_> = state.ends.iter().map(offsets).collect();
        self.look_up(consumer, self.span.from, &mut all, |offsets| &mut offsets.at_from, deadline)?;
        self.look_up(consumer, self.span.to, &mut all, |offsets| &mut offsets.at_to, deadline)?;
        let place = |(number, offsets): &(i32, Offsets)| {
            let (first, end) = self.span.of(offsets);
            topic::Place {
                topic: 0,
                number: *number,
                low: offsets.low,
                high: offsets.high,
                id: state.id,
                first,
                end,
            }
        };
        let places: Vec<_> = all.iter().map(place).collect();
        if places.iter().any(|place| place.end != Some(place.first)) {
            return Ok(places);
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
        consumer: &Consumer,
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
