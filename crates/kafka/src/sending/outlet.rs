//! Messages to topics that whoever makes them never waits for: what finds no room is left out, and counted.

use super::producer::config;
use super::record::{About, FailureKind, Record, Refused, Report, Ticket, Transport};
use super::transport::KafkaTransport;
use crate::client::{ClientError, ClientSettings, Complaint, Header};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

evforge_core::counters! {
    /// Messages to a topic, each of which is accounted for.
    pub struct MessageOutletCounters: "kafka messages" {
        messages_offered: Enters(Outputs), Times, "Messages that were to be sent.";
        messages_acknowledged: Leaves(Outputs), Times, "Messages that the brokers have acknowledged.";
        messages_waiting: Held(Outputs), Times, "Messages that wait to be acknowledged: in memory, or sent.";
        messages_without_room: Discarded(Outputs), Times, "Messages that were left out, because the memory was full of earlier ones.";
        messages_timed_out: Discarded(Outputs), Times, "Messages given up because no broker acknowledged them within message.timeout.ms.";
        messages_too_large: Discarded(Outputs), Times, "Messages that were refused because they are too large.";
        messages_of_unknown_topic: Discarded(Outputs), Times, "Messages whose topic or partition does not exist.";
        messages_not_authorised: Discarded(Outputs), Times, "Messages that this client may not write.";
        messages_given_up: Discarded(Outputs), Times, "Messages that were not acknowledged at the end.";
        messages_failed: Discarded(Outputs), Times, "Messages that failed for another reason.";
        bytes_acknowledged: Information, Bytes, "Bytes of the messages that the brokers have acknowledged.";
    }
}

/// A message to be sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outgoing<'a> {
    /// Where to.
    pub topic: &'a str,
    /// Messages with the same key go to the same partition, in their order.
    pub key: Option<&'a [u8]>,
    /// Its content.
    pub payload: &'a [u8],
    /// Its partition; none: the one of its key, or any.
    pub partition: Option<i32>,
    /// What travels with it.
    pub headers: &'a [Header],
    /// Its time, in milliseconds since 1970; 0 is now.
    pub timestamp_ms: i64,
}

/// What has become of a message that was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It is on its way.
    Taken,
    /// The memory is full of earlier ones.
    NoRoom,
    /// It cannot be sent at all.
    Never(String),
}

/// The way of messages to topics. No broker need be there when it is made, and none when messages are offered: librdkafka connects in
/// a thread of its own as soon as it can.
pub struct MessageOutlet {
    transport: Box<dyn Transport>,
    reports: Vec<Report>,
    counters: MessageOutletCounters,
    failures: BTreeMap<String, u64>,
    last_failure: Option<String>,
}

impl MessageOutlet {
    /// With so many bytes of memory for what is not acknowledged, and further settings that are used unless the settings say otherwise. No
    /// broker is asked.
    ///
    /// # Errors
    /// If a setting is wrong.
    pub fn new(
        settings: &ClientSettings,
        memory: u64,
        defaults: &[(&str, &str)],
    ) -> Result<Self, ClientError> {
        let kilobytes = (memory / 1024).max(1).to_string();
        let own = [("message.timeout.ms", "30000"), ("queue.buffering.max.kbytes", &kilobytes)];
        let config = config(settings, &[&own, defaults].concat())?;
        Ok(Self::by(Box::new(KafkaTransport::new(&config)?)))
    }

    fn by(transport: Box<dyn Transport>) -> Self {
        Self {
            transport,
            reports: Vec::new(),
            counters: MessageOutletCounters::default(),
            failures: BTreeMap::new(),
            last_failure: None,
        }
    }

    /// Offers a message. Does not wait.
    pub fn offer(&mut self, message: &Outgoing<'_>) -> Offered {
        let Outgoing { topic, key, payload, partition, headers, timestamp_ms } = *message;
        let record =
            Record { topic, partition, key, timestamp_ms, payload, headers, about: About::default() };
        let ticket = Ticket { bytes: payload.len() as u64, ..Ticket::default() };
        match self.transport.send(&record, ticket) {
            Ok(()) => {
                self.counters.messages_offered += 1;
                self.counters.messages_waiting += 1;
                Offered::Taken
            }
            Err(Refused::Full) => Offered::NoRoom,
            Err(Refused::Never(kind, reason)) => {
                self.counters.messages_offered += 1;
                self.fail(kind, reason.clone());
                Offered::Never(reason)
            }
        }
    }

    /// A message that found no room is not offered again.
    pub fn leave_out(&mut self) {
        self.counters.messages_offered += 1;
        self.counters.messages_without_room += 1;
    }

    /// Takes note of what has become of messages; waits no longer than this for the first report.
    pub fn poll(&mut self, wait: Duration) {
        let mut reports = std::mem::take(&mut self.reports);
        self.transport.poll(wait, &mut reports);
        for Report { ticket, failure, .. } in reports.drain(..) {
            self.counters.messages_waiting = self.counters.messages_waiting.saturating_sub(1);
            match failure {
                None => {
                    self.counters.messages_acknowledged += 1;
                    self.counters.bytes_acknowledged += ticket.bytes;
                }
                Some((kind, reason)) => self.fail(kind, reason),
            }
        }
        self.reports = reports;
    }

    fn fail(&mut self, kind: FailureKind, reason: String) {
        *match kind {
            FailureKind::TimedOut => &mut self.counters.messages_timed_out,
            FailureKind::TooLarge => &mut self.counters.messages_too_large,
            FailureKind::UnknownTopic => &mut self.counters.messages_of_unknown_topic,
            FailureKind::NotAuthorised => &mut self.counters.messages_not_authorised,
            FailureKind::Purged => &mut self.counters.messages_given_up,
            FailureKind::Other => &mut self.counters.messages_failed,
        } += 1;
        if kind != FailureKind::Purged {
            *self.failures.entry(reason.clone()).or_default() += 1;
        }
        self.last_failure = Some(reason);
    }

    /// Waits until all messages are acknowledged or have failed, for so long at most or until `stop` is set; what is left is given up.
    pub fn finish(&mut self, within: Duration, stop: &AtomicBool) {
        let deadline = Instant::now() + within;
        while self.counters.messages_waiting > 0 && Instant::now() < deadline && !stop.load(Ordering::Relaxed)
        {
            self.poll(Duration::from_millis(50));
        }
        if self.counters.messages_waiting > 0 {
            self.transport.purge();
            // The reports of what was given up come at once; nobody waits for one that does not.
            let deadline = Instant::now() + Duration::from_secs(1);
            while self.counters.messages_waiting > 0 && Instant::now() < deadline {
                self.poll(Duration::from_millis(20));
            }
        }
    }

    /// What stands between this program and a broker, or what the last message failed for; none if nothing is wrong.
    pub fn trouble(&self) -> Option<String> {
        self.fatal().or_else(|| Some(self.transport.trouble()?.words)).or_else(|| self.last_failure.clone())
    }

    /// Why nothing can be sent any more, if that is so.
    pub fn fatal(&self) -> Option<String> {
        self.transport.fatal()
    }

    /// What librdkafka has complained about since something was acknowledged.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.transport.complaints()
    }

    /// Why messages have failed, and how many for each reason.
    pub fn failures(&self) -> &BTreeMap<String, u64> {
        &self.failures
    }

    /// The same, and forgets them.
    pub fn take_failures(&mut self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.failures)
    }

    /// What has become of all messages.
    pub fn counters(&self) -> MessageOutletCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sending::test_support::MemoryTransport;
    use evforge_core::counter::{CounterSet, Law};

    #[test]
    fn every_message_is_accounted_for_and_none_is_waited_for() {
        let transport = MemoryTransport::new(2);
        let mut outlet = MessageOutlet::by(Box::new(transport.clone()));
        let offer = |outlet: &mut MessageOutlet, timestamp_ms| {
            let (key, payload) = (Some(&b"module"[..]), &b"content"[..]);
            let message = Outgoing { topic: "trains", key, payload, timestamp_ms, ..Outgoing::default() };
            if outlet.offer(&message) == Offered::NoRoom {
                outlet.leave_out();
            }
        };
        let end = |outlet: &mut MessageOutlet, seconds| {
            outlet.finish(Duration::from_secs(seconds), &AtomicBool::new(false))
        };
        transport.broker().is_down = true;
        (0..3).for_each(|_| offer(&mut outlet, 7));
        outlet.poll(Duration::ZERO);
        let counters = outlet.counters();
        assert_eq!((counters.messages_waiting, counters.messages_without_room), (2, 1));
        assert_eq!(counters.imbalance(Law::Outputs), 0);
        transport.broker().is_down = false;
        end(&mut outlet, 1);
        let counters = outlet.counters();
        assert_eq!((counters.messages_acknowledged, counters.bytes_acknowledged), (2, 14));
        let first = transport.broker().topic[0].clone();
        assert_eq!(
            (first.topic.as_str(), first.key.as_deref(), first.timestamp_ms),
            ("trains", Some(&b"module"[..]), 7)
        );
        transport.broker().fails = Some(FailureKind::UnknownTopic);
        offer(&mut outlet, 8);
        end(&mut outlet, 1);
        assert_eq!(outlet.counters().messages_of_unknown_topic, 1);
        assert!(outlet.trouble().is_some());
        // What is not acknowledged at the end is given up.
        transport.broker().is_down = true;
        offer(&mut outlet, 9);
        end(&mut outlet, 0);
        let counters = outlet.counters();
        assert_eq!((counters.messages_given_up, counters.messages_waiting), (1, 0));
        assert_eq!(counters.imbalance(Law::Outputs), 0);
    }
}
