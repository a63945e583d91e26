//! A topic as an input: looked at before the run, opened for it.

use super::merge::Merge;
use super::partitions::TopicLanes;
use super::source::TopicPackets;
use crate::client::{Cause, ClientError, ClientSettings, Consumer, Deadline};
use crate::topic::{Begin, Place, TopicPartitions, TopicState, Until, described, places};
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
    /// Where reading begins.
    pub begin: Begin,
    /// Where it ends.
    pub until: Until,
    /// Only packets that were sent to this port are taken.
    pub port: Option<u16>,
}

impl TopicInput {
    /// Opens it. It ends early when `stop` is
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
        let merge = Merge::new(TopicLanes { partitions }, self.until.waits(), SILENCE, Arc::clone(stop));
        let name = format!("topic {} at {}", self.topic, self.client.brokers_text());
        Ok(TopicPackets::new(name, merge, self.port))
    }

    /// Where the partitions are begun and end.
    fn places(
        &self,
        consumer: &Consumer,
        state: &TopicState,
        deadline: &Deadline,
    ) -> Result<Vec<Place>, ClientError> {
        let places = places(consumer, (0, &self.topic), state, (self.begin, self.until), deadline)?;
        if places.iter().any(|place| place.end != Some(place.first)) {
            return Ok(places);
        }
        let there: Vec<String> = places
            .iter()
            .filter(|place| place.high > place.low)
            .map(|Place { number, low, high, .. }| {
                format!("partition {number}: offsets {low} to {}", high - 1)
            })
            .collect();
        let what = match there.is_empty() {
            true => format!("topic {} at {} is empty", self.topic, self.client.brokers_text()),
            false => {
                let asked = described(self.begin, self.until);
                format!("topic {} has no messages{asked}; it has {}", self.topic, there.join(", "))
            }
        };
        Err(ClientError::new(
            Cause::Other,
            format!(
                "{what}. `evforge kafka topics` shows which topics have messages; --end never waits for them"
            ),
        ))
    }
}
