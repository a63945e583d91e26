//! Messages into a topic, each accounted for: acknowledged, or failed with its reason.

use crate::client::{Admin, Cause, ClientError, ClientSettings, Complaint, Deadline, check};
use crate::sending::{MessageOutlet, Offered, Outgoing};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes of memory for what is not acknowledged.
const MEMORY: u64 = 64 << 20;
/// What a batch adds to a message, at most.
const OVERHEAD: u64 = 512;
/// The most that librdkafka takes for `message.max.bytes`.
const LARGEST: u64 = 1_000_000_000;

/// What has happened to messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Given to the client.
    pub sent: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Confirmed by the brokers.
    pub acknowledged: u64,
    /// Not delivered, with why and how many.
    pub failed: Vec<(String, u64)>,
    /// Neither, at the end.
    pub pending: u64,
}

impl Delivery {
    /// True if all were confirmed.
    pub fn is_complete(&self) -> bool {
        self.acknowledged == self.sent
    }
}

/// Sends messages to a topic.
pub struct Sender {
    outlet: MessageOutlet,
    topic: String,
    /// How many it has; none if the brokers make it with the first message.
    partitions: Option<u64>,
    largest: u64,
    bytes: u64,
}

impl Sender {
    /// A sender to a topic, which must be there unless the brokers make it, with what brokers say until the deadline.
    ///
    /// # Errors
    /// If the brokers cannot be reached, or there is no such topic, or the end was asked for.
    pub fn open(settings: &ClientSettings, topic: &str, deadline: &Deadline) -> Result<Self, ClientError> {
        let checked = check(settings, &[topic], deadline.of_an_answer())?;
        let partitions = checked.topics.first().map_or(0, |topic| topic.partitions.len() as u64);
        let admin = Admin::new(settings, deadline.of_an_answer())?;
        let broker = checked.brokers.first().map_or(0, |(number, ..)| *number);
        let largest = match partitions {
            0 => admin.largest_message_of_broker(broker),
            _ => admin.largest_message(topic),
        };
        // Who may not ask has to do with what every broker takes unless it is told otherwise.
        let largest = largest.unwrap_or(1_048_588).min(LARGEST);
        let limit = largest.max(1000).to_string();
        let outlet = MessageOutlet::new(settings, MEMORY, &[("message.max.bytes", &limit)])?;
        Ok(Self {
            outlet,
            topic: topic.to_owned(),
            partitions: Some(partitions).filter(|partitions| *partitions > 0),
            largest: largest.saturating_sub(OVERHEAD),
            bytes: 0,
        })
    }

    /// The largest message, in bytes, that the topic takes.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Sends a message to the topic of this sender, to the partition of its number modulo those that there are. Waits while too much is on its way; false if `stop` was set meanwhile.
    ///
    /// # Errors
    /// If the message cannot be sent at all: it is larger than the topic takes.
    pub fn send(&mut self, message: &Outgoing<'_>, stop: &AtomicBool) -> Result<bool, ClientError> {
        let payload = message.payload;
        let partition = match (message.partition.map(u64::try_from), self.partitions) {
            (Some(Ok(number)), Some(partitions)) => i32::try_from(number % partitions).ok(),
            _ => None,
        };
        let sending = Outgoing { topic: &self.topic, partition, ..*message };
        loop {
            match self.outlet.offer(&sending) {
                Offered::Taken => break,
                Offered::NoRoom if stop.load(Ordering::Relaxed) => return Ok(false),
                Offered::NoRoom => self.outlet.poll(Duration::from_millis(10)),
                Offered::Never(why) => {
                    let text = format!(
                        "a message of {} bytes cannot be sent to {}: {why}",
                        payload.len(),
                        self.topic
                    );
                    return Err(ClientError::new(Cause::Other, text));
                }
            }
        }
        self.bytes += payload.len() as u64;
        self.outlet.poll(Duration::ZERO);
        Ok(true)
    }

    /// Serves the client while nothing is sent.
    pub fn poll(&mut self, wait: Duration) {
        self.outlet.poll(wait);
    }

    /// What the client has complained about: why nothing is acknowledged.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.outlet.complaints()
    }

    /// Waits until all messages are acknowledged or have failed, `within` at most or until `stop` is set; what is left is given up.
    pub fn finish(mut self, within: Duration, stop: &AtomicBool) -> Delivery {
        self.outlet.finish(within, stop);
        let counters = self.outlet.counters();
        Delivery {
            sent: counters.messages_offered,
            bytes: self.bytes,
            acknowledged: counters.messages_acknowledged,
            failed: self.outlet.failures().iter().map(|(why, count)| (why.clone(), *count)).collect(),
            pending: counters.messages_given_up + counters.messages_waiting,
        }
    }
}
