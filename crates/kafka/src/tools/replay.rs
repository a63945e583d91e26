//! A topic or a file into another topic, with the timing that it had.

use super::pacer::Pacer;
use super::renewal::{Renewal, Shift};
use super::{Outgoing, Sender};
use crate::client::ClientError;
use crate::topic::{Change, Next, TopicReader};
use evforge_messages::{Encoder, Ev44, RefusedCounters, Schema};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes that an ev44 has besides its events, but for the name of its source.
const AROUND_EVENTS: u64 = 256;
/// Bytes of an event in ev44.
const PER_EVENT: u64 = 8;

/// How it is done.
#[derive(Clone, Copy, Debug)]
pub struct ReplaySettings {
    /// How much faster than it was; none: as fast as the brokers take it.
    pub speed: Option<f64>,
    /// Whether times become those of now, and which time that is, in nanoseconds since 1970.
    pub new_times: Option<i64>,
}

impl ReplaySettings {
    fn shift(&self, first_ns: i64) -> Option<Shift> {
        Some(Shift { from: first_ns, to: self.new_times?, speed: self.speed.unwrap_or(1.0) })
    }
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct ReplayReport {
    /// Messages that were read, or pulses.
    pub read: u64,
    /// Messages that were sent with a new number or new times.
    pub renewed: u64,
    /// Messages that were sent as they were.
    pub unchanged: u64,
    /// Events in messages that were sent, of files.
    pub events: u64,
    /// Messages that were not sent, by reason.
    pub refused: RefusedCounters,
    /// Messages that are larger than the topic takes, and were not sent.
    pub too_large: u64,
    /// What has happened to the topic meanwhile.
    pub changes: Vec<Change>,
    /// The latest that one was.
    pub latest: Duration,
}

/// Sends what a reader has, until its end or until `stop` is set.
///
/// # Errors
/// If reading or sending is impossible.
pub fn replay_topic(
    reader: &mut TopicReader,
    sender: &mut Sender,
    settings: &ReplaySettings,
    stop: &AtomicBool,
) -> Result<ReplayReport, ClientError> {
    let mut report = ReplayReport::default();
    let mut pacer = Pacer::new(settings.speed);
    let (mut renewal, mut encoder) = (Renewal::default(), Encoder::new());
    let mut shift = None;
    while !stop.load(Ordering::Relaxed) {
        let record = match reader.next(Duration::from_millis(100))? {
            Next::Message(record) => record,
            Next::Idle => {
                sender.poll(Duration::ZERO);
                continue;
            }
            Next::Changed(change) => {
                report.changes.push(change);
                continue;
            }
            Next::End => break,
        };
        report.read += 1;
        let message = match record.decode() {
            Ok(message) => message,
            Err(refused) => {
                report.refused.count(refused.reason());
                continue;
            }
        };
        // Distances are those of Kafka's times: every message has one.
        let kafka_ns = record.time_ms.unwrap_or(0).saturating_mul(1_000_000);
        if !pacer.wait(kafka_ns, sender, stop) {
            break;
        }
        if shift.is_none() {
            shift = settings.shift(message.time_ns().unwrap_or(kafka_ns));
        }
        let renewed = renewal.renew(&message, shift, &mut encoder);
        let payload = renewed.unwrap_or(&record.payload);
        if payload.len() as u64 > sender.largest() {
            report.too_large += 1;
            continue;
        }
        let message = Outgoing {
            key: record.key.as_deref(),
            payload,
            partition: record.key.is_none().then_some(record.partition),
            headers: &record.headers,
            ..Outgoing::default()
        };
        if !sender.send(&message, stop)? {
            break;
        }
        *(if renewed.is_some() { &mut report.renewed } else { &mut report.unchanged }) += 1;
    }
    report.latest = pacer.latest;
    Ok(report)
}

/// Events of one pulse in a file.
#[derive(Clone, Copy, Debug)]
pub struct FilePulse<'a> {
    /// Who measured them.
    pub source: &'a str,
    /// The pulse, in nanoseconds since 1970.
    pub time_ns: i64,
    /// Nanoseconds since the pulse.
    pub times: &'a [i32],
    /// Pixels.
    pub pixels: &'a [i32],
}

/// Sends pulses as ev44, one after the other.
pub struct PulseReplay<'s> {
    sender: &'s mut Sender,
    settings: ReplaySettings,
    pacer: Pacer,
    renewal: Renewal,
    encoder: Encoder,
    shift: Option<Shift>,
    report: ReplayReport,
}

impl<'s> PulseReplay<'s> {
    /// Sends to a topic.
    pub fn new(sender: &'s mut Sender, settings: ReplaySettings) -> Self {
        Self {
            sender,
            settings,
            pacer: Pacer::new(settings.speed),
            renewal: Renewal::default(),
            encoder: Encoder::new(),
            shift: None,
            report: ReplayReport::default(),
        }
    }

    /// Sends a pulse when it is due: in one message, or in as many as the topic needs. False if `stop` was set.
    ///
    /// # Errors
    /// If sending is impossible.
    pub fn send(&mut self, pulse: &FilePulse<'_>, stop: &AtomicBool) -> Result<bool, ClientError> {
        self.report.read += 1;
        if !self.pacer.wait(pulse.time_ns, self.sender, stop) {
            return Ok(false);
        }
        if self.shift.is_none() {
            self.shift = self.settings.shift(pulse.time_ns);
        }
        let time = self.shift.map_or(pulse.time_ns, |shift| shift.of(pulse.time_ns));
        let pulse_time = [time];
        let around = AROUND_EVENTS + pulse.source.len() as u64;
        let fitting = (self.sender.largest().saturating_sub(around) / PER_EVENT).max(1);
        let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
        let parts = pulse.times.chunks(fitting).zip(pulse.pixels.chunks(fitting));
        for (times, pixels) in parts {
            let message = Ev44 {
                source_name: pulse.source,
                message_id: self.renewal.number(Schema::Ev44, pulse.source),
                reference_time: pulse_time.as_slice().into(),
                reference_time_index: (&[0]).into(),
                time_of_flight: times.into(),
                pixel_id: pixels.into(),
            };
            let payload = message.encode(&mut self.encoder);
            let key = Some(pulse.source.as_bytes());
            if !self.sender.send(&Outgoing { key, payload, ..Outgoing::default() }, stop)? {
                return Ok(false);
            }
            self.report.renewed += 1;
            self.report.events += times.len() as u64;
        }
        Ok(true)
    }

    /// What was done.
    pub fn finish(self) -> ReplayReport {
        ReplayReport { latest: self.pacer.latest, ..self.report }
    }
}
