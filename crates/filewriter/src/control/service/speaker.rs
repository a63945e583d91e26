//! Messages to topics: in order, each once, also over hours without brokers.

use crate::control::{ECHO, Sent};
use evforge_kafka::client::{ClientError, ClientSettings, Header};
use evforge_kafka::sending::{MessageOutlet, Offered, Outgoing};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What is sent with, unless the settings say otherwise.
const SPEAKING: [(&str, &str); 2] = [
    // An end that is said late is better than one that is never said.
    ("message.timeout.ms", "0"),
    // An echo is as large as the start was, which the brokers have taken.
    ("message.max.bytes", "1000000000"),
];
/// Bytes of memory for what is not acknowledged.
const MEMORY: u64 = 1 << 30;
/// States wait in line no longer than this, so that those of hours are not sent at once when brokers are back.
const WAITING_AT_MOST: u64 = 100;
/// Sentences that are remembered: names of topics come from others.
const SAID: usize = 64;

/// Sends messages.
pub(super) struct Speaker {
    settings: ClientSettings,
    outlet: MessageOutlet,
    acknowledged: u64,
    /// What was said to people, each once until something is delivered, and what of it is new.
    said: BTreeSet<String>,
    fresh: Vec<String>,
}

impl Speaker {
    pub(super) fn new(settings: &ClientSettings) -> Result<Self, ClientError> {
        Ok(Self {
            settings: settings.clone(),
            outlet: MessageOutlet::new(settings, MEMORY, &SPEAKING)?,
            acknowledged: 0,
            said: BTreeSet::new(),
            fresh: Vec::new(),
        })
    }

    fn note(&mut self, sentence: String) {
        if self.said.len() < SAID && self.said.insert(sentence.clone()) {
            self.fresh.push(sentence);
        }
    }

    /// Sends a message, if it is not a state while others wait.
    pub(super) fn send(&mut self, topic: &str, payload: &[u8], kind: Sent) {
        if kind == Sent::Status && self.outlet.counters().messages_waiting > WAITING_AT_MOST {
            return;
        }
        let mark: [Header; 1] = [(ECHO.into(), None)];
        let headers = if kind == Sent::Echo { &mark[..] } else { &[] };
        let why = match self.outlet.offer(&Outgoing { topic, payload, headers, ..Outgoing::default() }) {
            Offered::Taken => return,
            Offered::NoRoom => "the memory is full of earlier ones".to_owned(),
            Offered::Never(why) => why,
        };
        self.note(format!("a message of {} bytes cannot be sent to {topic}: {why}", payload.len()));
    }

    /// Serves the client; what is new for people.
    pub(super) fn poll(&mut self) -> Vec<String> {
        self.outlet.poll(Duration::ZERO);
        let acknowledged = self.outlet.counters().messages_acknowledged;
        if acknowledged > self.acknowledged {
            self.acknowledged = acknowledged;
            self.said.clear();
        }
        if let Some(why) = self.outlet.fatal() {
            // Of no use any more. Another one begins where this one ended; what was on its way is lost.
            match MessageOutlet::new(&self.settings, MEMORY, &SPEAKING) {
                Ok(other) => (self.outlet, self.acknowledged) = (other, 0),
                Err(error) => self.note(error.to_string()),
            }
            self.note(format!("Kafka: messages may be lost, another producer is made: {why}"));
        }
        let failures = self.outlet.take_failures();
        failures.into_iter().for_each(|(why, _)| self.note(format!("a message is not delivered: {why}")));
        let complaints = self.outlet.complaints();
        complaints.iter().for_each(|complaint| self.note(format!("Kafka: {}", complaint.sentence())));
        std::mem::take(&mut self.fresh)
    }

    /// Waits until all is delivered, `within` at most; what is left is given up: how many messages.
    pub(super) fn finish(mut self, within: Duration) -> u64 {
        self.outlet.finish(within, &AtomicBool::new(false));
        let counters = self.outlet.counters();
        counters.messages_given_up + counters.messages_waiting
    }
}
