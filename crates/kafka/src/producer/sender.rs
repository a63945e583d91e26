//! Sends messages in order and keeps account of each until it is acknowledged.
//!
//! ```text
//! made ─► waiting (those of one pulse) ─► spill (disk, if there is one) ─► transport (memory of librdkafka) ─► acknowledged
//! ```
//! Nothing overtakes anything. Whoever makes messages asks [`Sender::has_room`] before: what waits here is bounded by that.

use super::counters::KafkaCounters;
use super::last_ids::LastIds;
use super::spill::{Spill, SpillError};
use super::topic_end::number_of;
use crate::sending::record::{FailureKind, OnDisk, OwnedRecord, Record, Refused, Report, Ticket, Transport};
use evforge_core::output::OutputError;
use evforge_core::quantity::grouped;
use evforge_net::lateness::Lateness;
use std::collections::VecDeque;
use std::time::Duration;

/// A broker that has acknowledged nothing for this long, though messages wait for it, does not answer.
const SILENCE: Duration = Duration::from_secs(3);

/// The same if all brokers are known to be down: a name may have several addresses, of which the first need not be the right one.
const SILENCE_WITHOUT_BROKERS: Duration = Duration::from_secs(1);

/// Sends messages; see the [module](self).
pub(crate) struct Sender {
    transport: Box<dyn Transport>,
    waiting: VecDeque<OwnedRecord>,
    spill: Option<Spill>,
    /// What the topic had when the run began: what is left of an earlier run is compared with it.
    last_ids: LastIds,
    reports: Vec<Report>,
    /// Messages that were sent from memory.
    sent_from_memory: u64,
    /// Those that were given up, with the file of the spill and the place in it where they belong.
    given_up: Vec<(u64, u64, OwnedRecord)>,
    /// Events in `waiting`, in the spill and in the transport.
    pending_events: u64,
    acknowledged_events: u64,
    failed_events: u64,
    /// Messages with events in the transport, and all others. Each are judged by themselves: ledger and status may arrive while
    /// nothing takes the events.
    with_events: InTransport,
    others: InTransport,
    is_out: bool,
    spill_trouble: Option<String>,
    last_failure: Option<String>,
    latency: Lateness,
}

/// Messages of a kind that the transport has.
#[derive(Clone, Copy, Debug, Default)]
struct InTransport {
    messages: u64,
    /// When one was reported, or the first one began to wait.
    heard: Duration,
}

impl InTransport {
    fn add(&mut self, now: Duration) {
        if self.messages == 0 {
            self.heard = now;
        }
        self.messages += 1;
    }

    fn reported(&mut self, now: Duration) {
        self.messages -= 1;
        self.heard = now;
    }

    /// For how long nothing was reported although messages wait.
    fn silence(&self, now: Duration) -> Duration {
        if self.messages == 0 { Duration::ZERO } else { now.saturating_sub(self.heard) }
    }
}

impl Sender {
    pub(crate) fn new(transport: Box<dyn Transport>, spill: Option<Spill>, last_ids: LastIds) -> Self {
        Self {
            transport,
            waiting: VecDeque::new(),
            spill,
            last_ids,
            reports: Vec::new(),
            sent_from_memory: 0,
            given_up: Vec::new(),
            pending_events: 0,
            acknowledged_events: 0,
            failed_events: 0,
            with_events: InTransport::default(),
            others: InTransport::default(),
            is_out: false,
            spill_trouble: None,
            last_failure: None,
            latency: Lateness::default(),
        }
    }

    /// True if more messages can be made.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Events in messages that are not acknowledged.
    pub(crate) fn pending_events(&self) -> u64 {
        self.pending_events
    }

    /// Events that the brokers have acknowledged.
    pub(crate) fn acknowledged_events(&self) -> u64 {
        self.acknowledged_events
    }

    /// Events in messages that failed for good.
    pub(crate) fn failed_events(&self) -> u64 {
        self.failed_events
    }

    /// Messages that are not acknowledged.
    pub(crate) fn messages_waiting(&self) -> u64 {
        self.waiting.len() as u64 + self.spill.as_ref().map_or(0, Spill::waiting) + self.in_transport()
    }

    /// Messages in the transport.
    fn in_transport(&self) -> u64 {
        self.with_events.messages + self.others.messages
    }

    /// Those of the same kind as this message.
    fn kind_of(&mut self, ticket: &Ticket) -> &mut InTransport {
        if ticket.events > 0 { &mut self.with_events } else { &mut self.others }
    }

    /// What the last failed message failed for.
    pub(crate) fn last_failure(&self) -> Option<&str> {
        self.last_failure.as_deref()
    }

    /// Messages that the next run finds in the spill, if there are any.
    pub(crate) fn spill_left(&self) -> Option<u64> {
        self.spill.as_ref().map(Spill::kept).filter(|&messages| messages > 0)
    }

    /// Sends a message behind all others, at once or when there is room.
    pub(crate) fn send(&mut self, record: &Record<'_>, now: Duration, counters: &mut KafkaCounters) {
        counters.messages_produced += 1;
        counters.bytes_produced += record.payload.len() as u64;
        self.pending_events += record.about.events;
        let spill_is_empty = self.spill.as_ref().is_none_or(Spill::is_empty);
        if self.waiting.is_empty() && spill_is_empty && self.hand_over_from_memory(record, now, counters) {
            return;
        }
        if !(self.waiting.is_empty() && self.put_on_disk(record, counters)) {
            self.waiting.push_back(OwnedRecord::from(record));
        }
    }

    /// Sends a message if there is room for it at this moment. False if there is none.
    pub(crate) fn offer(&mut self, record: &Record<'_>, now: Duration, counters: &mut KafkaCounters) -> bool {
        if !self.waiting.is_empty() || self.spill.as_ref().is_some_and(|spill| !spill.is_empty()) {
            return false;
        }
        let taken = self.hand_over(record, OnDisk::Never, now, counters);
        if taken {
            counters.messages_produced += 1;
            counters.bytes_produced += record.payload.len() as u64;
        }
        taken
    }

    /// Gives a message to the transport that is nowhere else, and goes to the disk if it is given up.
    fn hand_over_from_memory(
        &mut self,
        record: &Record<'_>,
        now: Duration,
        counters: &mut KafkaCounters,
    ) -> bool {
        let number = self.sent_from_memory;
        let on_disk = self
            .spill
            .as_mut()
            .map_or(OnDisk::Never, |spill| OnDisk::Then { file: spill.file_of_memory(), number });
        let is_taken = self.hand_over(record, on_disk, now, counters);
        self.sent_from_memory += u64::from(is_taken);
        is_taken
    }

    /// Gives a message to the transport. False if that has no room.
    fn hand_over(
        &mut self,
        record: &Record<'_>,
        on_disk: OnDisk,
        now: Duration,
        counters: &mut KafkaCounters,
    ) -> bool {
        let ticket = Ticket {
            events: record.about.events,
            bytes: record.payload.len() as u64,
            arrival_ns: record.about.arrival_ns,
            on_disk,
        };
        match self.transport.send(record, ticket) {
            Ok(()) => {
                self.kind_of(&ticket).add(now);
                true
            }
            Err(Refused::Full) => false,
            Err(Refused::Never(kind, reason)) => {
                self.fail(&ticket, kind, reason, counters);
                true
            }
        }
    }

    fn fail(&mut self, ticket: &Ticket, kind: FailureKind, reason: String, counters: &mut KafkaCounters) {
        // No broker has refused what is given up: it stays pending, and is missed when the output ends.
        if kind != FailureKind::Purged {
            self.pending_events -= ticket.events;
            self.failed_events += ticket.events;
            self.last_failure = Some(reason);
        }
        *match kind {
            FailureKind::TimedOut => &mut counters.failed_timed_out,
            FailureKind::TooLarge => &mut counters.failed_too_large,
            FailureKind::UnknownTopic => &mut counters.failed_unknown_topic,
            FailureKind::NotAuthorised => &mut counters.failed_not_authorised,
            FailureKind::Purged => &mut counters.failed_purged,
            FailureKind::Other => &mut counters.failed_other,
        } += 1;
    }

    fn put_on_disk(&mut self, record: &Record<'_>, counters: &mut KafkaCounters) -> bool {
        let Some(spill) = &mut self.spill else { return false };
        match spill.append(record) {
            Ok(()) => {
                counters.spilled_messages += 1;
                self.spill_trouble = None;
                true
            }
            Err(error) => {
                self.spill_trouble = Some(error.to_string());
                false
            }
        }
    }

    /// Hands on what waits, as far as there is room, and takes note of what was acknowledged.
    ///
    /// # Errors
    /// If no broker answers or the disk refuses (`Retry`), or nothing can be sent any more (`Final`).
    pub(crate) fn pump(
        &mut self,
        wait: Duration,
        now: Duration,
        unix_ns: u64,
        counters: &mut KafkaCounters,
    ) -> Result<(), OutputError> {
        self.take_reports(wait, now, unix_ns, counters);
        if let Some(reason) = self.transport.fatal() {
            return Err(OutputError::Final(reason));
        }
        self.empty_spill(now, counters)?;
        self.empty_waiting(now, counters);
        counters.requests_retried = self.transport.retries();
        counters.messages_waiting = self.messages_waiting();
        counters.spilled_bytes = self.spill.as_ref().map_or(0, Spill::bytes);
        self.trouble(now, counters).map_or(Ok(()), |trouble| Err(OutputError::Retry(trouble)))
    }

    fn take_reports(&mut self, wait: Duration, now: Duration, unix_ns: u64, counters: &mut KafkaCounters) {
        let mut reports = std::mem::take(&mut self.reports);
        self.transport.poll(wait, &mut reports);
        let has_latency = !reports.is_empty();
        for Report { ticket, failure, given_up } in reports.drain(..) {
            self.kind_of(&ticket).reported(now);
            // What is given up stays on disk for the next run.
            let is_given_up = matches!(failure, Some((FailureKind::Purged, _)));
            match (ticket.on_disk, &mut self.spill, given_up) {
                (OnDisk::Still(_), Some(spill), _) if is_given_up => {
                    spill.give_up();
                    continue;
                }
                (OnDisk::Still(file), Some(spill), _) => spill.reported(file),
                (OnDisk::Then { file, number }, _, Some(record)) => {
                    self.given_up.push((file, number, record));
                    continue;
                }
                _ => {}
            }
            match failure {
                None => {
                    self.pending_events -= ticket.events;
                    self.acknowledged_events += ticket.events;
                    counters.messages_acknowledged += 1;
                    counters.bytes_acknowledged += ticket.bytes;
                    if let Some(arrival) = ticket.arrival_ns {
                        self.latency.add(unix_ns.saturating_sub(arrival));
                    }
                }
                Some((kind, reason)) => self.fail(&ticket, kind, reason, counters),
            }
        }
        self.reports = reports;
        if has_latency {
            let microseconds =
                |share| u64::try_from(self.latency.below(share).as_micros()).unwrap_or(u64::MAX);
            counters.acknowledged_after_p50 = microseconds(0.5);
            counters.acknowledged_after_p99 = microseconds(0.99);
        }
    }

    /// From the spill to the transport.
    fn empty_spill(&mut self, now: Duration, counters: &mut KafkaCounters) -> Result<(), OutputError> {
        loop {
            let Some(spill) = &mut self.spill else { return Ok(()) };
            let spilled = match spill.first() {
                Ok(Some(spilled)) => spilled.clone(),
                Ok(None) => return Ok(()),
                Err(error @ SpillError::Full { .. }) => return Err(OutputError::Retry(error.to_string())),
                Err(error) => return Err(OutputError::Final(error.to_string())),
            };
            let mut record = spilled.record.as_record();
            if spilled.is_left_over {
                // Its events are those of an earlier run.
                record.about.events = 0;
                if self.last_ids.has(record.about.source, record.about.id) {
                    counters.spill_already_there += 1;
                    spill.hand_on(false);
                    continue;
                }
            }
            let before = self.in_transport();
            if !self.hand_over(&record, OnDisk::Still(spilled.segment), now, counters) {
                return Ok(());
            }
            let is_on_its_way = self.in_transport() > before;
            if let Some(spill) = &mut self.spill {
                spill.hand_on(is_on_its_way);
            }
            if spilled.is_left_over {
                counters.spill_resent += 1;
                counters.messages_produced += 1;
                counters.bytes_produced += record.payload.len() as u64;
            }
        }
    }

    /// From what waits to the transport, or to the disk while there are earlier messages.
    fn empty_waiting(&mut self, now: Duration, counters: &mut KafkaCounters) {
        while let Some(waiting) = self.waiting.pop_front() {
            let record = waiting.as_record();
            let spill_is_empty = self.spill.as_ref().is_none_or(Spill::is_empty);
            let is_handed_over = spill_is_empty && self.hand_over_from_memory(&record, now, counters);
            if !is_handed_over && !self.put_on_disk(&record, counters) {
                self.waiting.push_front(waiting);
                return;
            }
        }
        self.spill_trouble = None;
    }

    /// What keeps messages from being acknowledged, in words for a person.
    fn trouble(&mut self, now: Duration, counters: &mut KafkaCounters) -> Option<String> {
        let silence = self.with_events.silence(now).max(self.others.silence(now));
        let outage = match self.transport.trouble() {
            _ if self.in_transport() == 0 => None,
            trouble if silence >= SILENCE => {
                let cause = trouble.map_or_else(String::new, |trouble| format!(" ({})", trouble.words));
                let seconds = silence.as_secs_f64();
                Some(format!("no broker has acknowledged anything for {seconds:.0} s{cause}"))
            }
            // A broker of several that is gone is no outage: another takes its place.
            trouble => trouble
                .filter(|trouble| trouble.is_total && silence >= SILENCE_WITHOUT_BROKERS)
                .map(|trouble| trouble.words),
        };
        counters.broker_outages += u64::from(outage.is_some() && !self.is_out);
        self.is_out = outage.is_some();
        let words = outage.into_iter().chain(self.spill_trouble.clone()).collect::<Vec<_>>();
        (!words.is_empty()).then(|| {
            format!(
                "{}; {} messages with {} events wait",
                words.join("; "),
                grouped(self.messages_waiting()),
                grouped(self.pending_events)
            )
        })
    }

    /// Gives up what is in memory, as far as it does not go to the disk; what is there stays for the next run.
    pub(crate) fn give_up(&mut self, now: Duration, unix_ns: u64, counters: &mut KafkaCounters) {
        self.transport.purge();
        for _ in 0..20 {
            if self.in_transport() == 0 {
                break;
            }
            self.take_reports(Duration::from_millis(50), now, unix_ns, counters);
        }
        self.keep_given_up(counters);
        while let Some(waiting) = self.waiting.pop_front() {
            if !self.put_on_disk(&waiting.as_record(), counters) {
                self.waiting.push_front(waiting);
                break;
            }
        }
        counters.messages_waiting = self.messages_waiting();
        counters.spilled_bytes = self.spill.as_ref().map_or(0, Spill::bytes);
    }

    /// Puts what was given up on the disk, where it belongs.
    fn keep_given_up(&mut self, counters: &mut KafkaCounters) {
        let mut given_up = std::mem::take(&mut self.given_up);
        given_up.sort_by_key(|(file, number, _)| (*file, *number));
        for (file, _, mut record) in given_up {
            if let Some(number) = number_of(&record.payload) {
                (record.source, record.id) = number;
            }
            let written = self.spill.as_mut().map(|spill| spill.write(file, &record.as_record()));
            match written {
                Some(Ok(())) => counters.spilled_messages += 1,
                _ => counters.failed_purged += 1,
            }
        }
    }
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender")
            .field("pending_events", &self.pending_events)
            .field("acknowledged_events", &self.acknowledged_events)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
