//! Messages to a topic that whoever makes them never waits for: what finds no room is left out, and counted.

use super::record::{About, FailureKind, Record, Refused, Report, Ticket, Transport};
use super::transport::KafkaTransport;
use crate::client::{ClientError, ClientSettings};
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

/// The way of messages to a topic. No broker need be there when it is made, and none when messages are offered: librdkafka connects in
/// a thread of its own as soon as it can.
pub struct MessageOutlet {
    transport: Box<dyn Transport>,
    topic: String,
    reports: Vec<Report>,
    counters: MessageOutletCounters,
    last_failure: Option<String>,
}

impl MessageOutlet {
    /// To a topic, with so many bytes of memory for what is not acknowledged. No broker is asked.
    ///
    /// # Errors
    /// If a setting is wrong, or librdkafka refuses an option.
    pub fn new(settings: &ClientSettings, topic: &str, memory: u64) -> Result<Self, ClientError> {
        let kilobytes = (memory / 1024).max(1).to_string();
        let config = settings.config(&[
            ("enable.idempotence", "true"),
            ("acks", "all"),
            ("linger.ms", "5"),
            ("message.timeout.ms", "30000"),
            ("queue.buffering.max.kbytes", &kilobytes),
        ])?;
        let transport =
            KafkaTransport::new(&config).map_err(|error| ClientError::settings(error.to_string()))?;
        Ok(Self::by(Box::new(transport), topic))
    }

    fn by(transport: Box<dyn Transport>, topic: &str) -> Self {
        let (reports, counters) = (Vec::new(), MessageOutletCounters::default());
        Self { transport, topic: topic.to_owned(), reports, counters, last_failure: None }
    }

    /// Offers a message: `timestamp_ms` in milliseconds since 1970; messages of the same key stay in their order. Does not wait.
    pub fn offer(&mut self, key: &str, timestamp_ms: i64, payload: &[u8]) {
        let record = Record {
            topic: &self.topic,
            partition: None,
            key: Some(key.as_bytes()),
            timestamp_ms,
            payload,
            headers: &[],
            about: About::default(),
        };
        let ticket = Ticket { bytes: payload.len() as u64, ..Ticket::default() };
        self.counters.messages_offered += 1;
        match self.transport.send(&record, ticket) {
            Ok(()) => self.counters.messages_waiting += 1,
            Err(Refused::Full) => self.counters.messages_without_room += 1,
            Err(Refused::Never(kind, reason)) => self.fail(kind, reason),
        }
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
        self.last_failure = Some(reason);
    }

    /// Waits until all messages are acknowledged or have failed, for so long at most; what is left is given up.
    pub fn finish(&mut self, within: Duration) {
        let deadline = Instant::now() + within;
        while self.counters.messages_waiting > 0 && Instant::now() < deadline {
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
        let fatal = self.transport.fatal();
        fatal.or_else(|| Some(self.transport.trouble()?.words)).or_else(|| self.last_failure.clone())
    }

    /// What has become of all messages.
    pub fn counters(&self) -> MessageOutletCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::MemoryTransport;
    use super::*;
    use evforge_core::counter::{CounterSet, Law};

    #[test]
    fn every_message_is_accounted_for_and_none_is_waited_for() {
        let transport = MemoryTransport::new(2);
        let mut outlet = MessageOutlet::by(Box::new(transport.clone()), "trains");
        transport.broker().is_down = true;
        for _ in 0..3 {
            outlet.offer("module", 7, b"content");
        }
        outlet.poll(Duration::ZERO);
        let counters = outlet.counters();
        assert_eq!((counters.messages_waiting, counters.messages_without_room), (2, 1));
        assert_eq!(counters.imbalance(Law::Outputs), 0);
        transport.broker().is_down = false;
        outlet.finish(Duration::from_secs(1));
        let counters = outlet.counters();
        assert_eq!((counters.messages_acknowledged, counters.bytes_acknowledged), (2, 14));
        let first = transport.broker().topic[0].clone();
        assert_eq!(
            (first.topic.as_str(), first.key.as_deref(), first.timestamp_ms),
            ("trains", Some(&b"module"[..]), 7)
        );
        transport.broker().fails = Some(FailureKind::UnknownTopic);
        outlet.offer("module", 8, b"content");
        outlet.finish(Duration::from_secs(1));
        assert_eq!(outlet.counters().messages_of_unknown_topic, 1);
        assert!(outlet.trouble().is_some());
        // What is not acknowledged at the end is given up.
        transport.broker().is_down = true;
        outlet.offer("module", 9, b"content");
        outlet.finish(Duration::ZERO);
        let counters = outlet.counters();
        assert_eq!((counters.messages_given_up, counters.messages_waiting), (1, 0));
        assert_eq!(counters.imbalance(Law::Outputs), 0);
    }
}
