//! Messages with events: their bytes, numbers and keys.

use super::counters::KafkaCounters;
use super::last_ids::{LastIds, vetoes_of};
use super::packer::{EventColumns, Packed};
use super::sender::Sender;
use crate::client::Header;
use crate::frames::FRAME_STATE;
use crate::sending::record::{About, Record};
use evforge_core::frame::{Frame, FrameState};
use evforge_messages::da00::Variable;
use evforge_messages::{Column, Da00, Data, Encoder, Ev42, Ev44, Pu00};
use std::time::Duration;

/// The schema of messages with events.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum EventSchema {
    /// Signed times of flight, several pulses: today's.
    #[default]
    Ev44,
    /// Unsigned times of flight, one pulse: that of 2018.
    Ev42,
}

/// The key of messages with events, which decides their partition. Unless one is asked for it is [`MessageKey::Frame`] for frames,
/// and [`MessageKey::Source`] for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageKey {
    /// The name of the source: all its messages are in one partition, in order.
    Source,
    /// The number of the frame from 0 (8 bytes, big-endian), as ISIS has it: all messages of a frame are in one partition. Where
    /// the readout tells no frames, as `Source`.
    Frame,
    /// The first reference time (8 bytes, big-endian): all messages of a pulse are in one partition.
    Pulse,
    /// None: librdkafka spreads them over the partitions.
    None,
}

/// The Kafka time stamp of messages. Unless one is asked for it is [`MessageTime::Pulse`] for frames, and
/// [`MessageTime::WallClock`] for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageTime {
    /// When the message is made.
    WallClock,
    /// The first reference time.
    Pulse,
}

/// How messages with events are made.
#[derive(Clone, Debug)]
pub(crate) struct MessageRules {
    pub(crate) topic: String,
    pub(crate) partition: Option<i32>,
    pub(crate) schema: EventSchema,
    pub(crate) key: Option<MessageKey>,
    pub(crate) time: Option<MessageTime>,
    /// Names of the vetoes, in the order of the bits.
    pub(crate) vetoes: Vec<String>,
}

#[derive(Debug)]
struct Source {
    name: String,
    vetoes: String,
    /// Number of the last message.
    last_id: i64,
    last_reference: Option<i64>,
    /// Events in all its messages.
    events: u64,
}

/// Makes messages with events; see the [module](self).
#[derive(Debug)]
pub(crate) struct MessageMaker {
    rules: MessageRules,
    sources: Vec<Source>,
    /// The headers of a pu00, by the code of the state of its frame.
    states: Vec<[Header; 1]>,
    encoder: Encoder,
}

/// The last message of a source, for the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastOfSource<'a> {
    pub(crate) name: &'a str,
    pub(crate) id: i64,
    pub(crate) reference_time: Option<i64>,
    pub(crate) events: u64,
}

impl MessageMaker {
    /// Makes messages of these sources, numbered from behind the last ones of the topic on.
    pub(crate) fn new(rules: MessageRules, names: &[String], continues: &LastIds) -> Self {
        let source = |name: &String| Source {
            name: name.clone(),
            vetoes: vetoes_of(name),
            last_id: continues.get(name).map_or(0, |last| last.id),
            last_reference: None,
            events: 0,
        };
        let header = |state: FrameState| [(FRAME_STATE.into(), Some(state.name().as_bytes().to_vec()))];
        Self {
            rules,
            sources: names.iter().map(source).collect(),
            states: FrameState::ALL.into_iter().map(header).collect(),
            encoder: Encoder::new(),
        }
    }

    /// The last message of each source.
    pub(crate) fn last(&self) -> impl Iterator<Item = LastOfSource<'_>> {
        self.sources.iter().map(|source| LastOfSource {
            name: &source.name,
            id: source.last_id,
            reference_time: source.last_reference,
            events: source.events,
        })
    }

    /// The vetoes of a message: which events are marked by which. None if no event is.
    fn vetoes<'e>(
        encoder: &'e mut Encoder,
        rules: &MessageRules,
        source: &str,
        id: i64,
        events: &EventColumns,
    ) -> Option<&'e [u8]> {
        events.marks.iter().any(|&mark| mark != 0).then(|| {
            let (names, id, length) = (rules.vetoes.join("\n"), [id], [events.marks.len() as i64]);
            let veto = Variable {
                label: Some("bit i: veto i of veto_names"),
                ..Variable::new("veto", None, vec!["event"], &length, &events.marks)
            };
            let data = vec![
                Variable::single("message_id", None, &id),
                veto,
                Variable::single("veto_names", None, Data::Text(names.as_bytes())),
            ];
            let timestamp = events.reference_times.first().copied().unwrap_or(0);
            Da00 { source_name: source, timestamp, data }.encode(encoder)
        })
    }
}

/// Makes messages and sends them: what the packer hands its events to.
pub(crate) struct Outlet<'a> {
    pub(crate) maker: &'a mut MessageMaker,
    pub(crate) sender: &'a mut Sender,
    pub(crate) now: Duration,
    pub(crate) unix_ns: u64,
}

impl Packed for Outlet<'_> {
    fn pulse(
        &mut self,
        source: usize,
        unix_ns: i64,
        frame: Option<(u64, &Frame)>,
        counters: &mut KafkaCounters,
    ) {
        let MessageMaker { rules, sources, states, encoder } = &mut *self.maker;
        let source = &mut sources[source];
        source.last_id += 1;
        // Of a pulse that was not named as a frame nothing is known, its vetoes neither.
        let known = frame.map(|(_, frame)| frame).filter(|frame| **frame != Frame::default());
        let payload = Pu00 {
            source_name: &source.name,
            message_id: source.last_id,
            reference_time: unix_ns,
            vetos: known.map(|frame| frame.vetoes),
            period_number: known.and_then(|frame| frame.period),
            proton_charge: known.and_then(|frame| frame.charge).map(|charge| charge.uah as f32),
        }
        .encode(encoder);
        counters.metadata_messages += 1;
        let about = About { events: 0, source: &source.name, id: source.last_id, arrival_ns: None };
        let place = Place::of(unix_ns, frame.map(|(number, _)| number));
        let mut record = record(rules, &source.name, &place, self.unix_ns, payload, about);
        // Whether a frame is complete is said only by those who have compared.
        if let Some(frame) = known.filter(|frame| frame.state != FrameState::Unknown) {
            record.headers = &states[usize::from(frame.state.code())];
        }
        self.sender.send(&record, self.now, counters);
    }

    fn events(&mut self, source: usize, events: &EventColumns, counters: &mut KafkaCounters) {
        let MessageMaker { rules, sources, encoder, .. } = &mut *self.maker;
        let source = &mut sources[source];
        source.last_id += 1;
        let id = source.last_id;
        source.events += events.len() as u64;
        source.last_reference = events.reference_times.last().copied();
        let first = events.reference_times.first().copied().unwrap_or(0);
        let place = Place::of(first, events.frame);
        if let Some(payload) = MessageMaker::vetoes(encoder, rules, &source.name, id, events) {
            counters.veto_messages += 1;
            let about = About { events: 0, source: &source.vetoes, id, arrival_ns: None };
            let record = record(rules, &source.name, &place, self.unix_ns, payload, about);
            self.sender.send(&record, self.now, counters);
        }
        let payload = match rules.schema {
            EventSchema::Ev44 => Ev44 {
                source_name: &source.name,
                message_id: id,
                reference_time: Column::from(&events.reference_times),
                reference_time_index: Column::from(&events.reference_indices),
                time_of_flight: Column::from(&events.times_of_flight),
                pixel_id: Column::from(&events.pixels[..]),
            }
            .encode(encoder),
            EventSchema::Ev42 => Ev42 {
                source_name: Some(&source.name),
                message_id: id.unsigned_abs(),
                pulse_time: first.unsigned_abs(),
                time_of_flight: Column::from(&events.times_of_flight[..]),
                detector_id: Column::from(&events.pixels),
                facility: None,
            }
            .encode(encoder),
        };
        counters.event_messages += 1;
        let about =
            About { events: events.len() as u64, source: &source.name, id, arrival_ns: events.arrival_ns };
        let record = record(rules, &source.name, &place, self.unix_ns, payload, about);
        self.sender.send(&record, self.now, counters);
    }
}

/// The pulse of a message, for its key and its time.
struct Place {
    reference_time: i64,
    pulse: [u8; 8],
    frame: Option<[u8; 8]>,
}

impl Place {
    fn of(reference_time: i64, frame: Option<u64>) -> Self {
        Self { reference_time, pulse: reference_time.to_be_bytes(), frame: frame.map(u64::to_be_bytes) }
    }
}

fn record<'a>(
    rules: &'a MessageRules,
    source: &'a str,
    place: &'a Place,
    unix_ns: u64,
    payload: &'a [u8],
    about: About<'a>,
) -> Record<'a> {
    Record {
        topic: &rules.topic,
        partition: rules.partition,
        key: match (rules.key, &place.frame) {
            (None | Some(MessageKey::Frame), Some(number)) => Some(number),
            (None | Some(MessageKey::Frame | MessageKey::Source), _) => Some(source.as_bytes()),
            (Some(MessageKey::Pulse), _) => Some(&place.pulse),
            (Some(MessageKey::None), _) => None,
        },
        timestamp_ms: match rules.time {
            None if place.frame.is_some() => place.reference_time / 1_000_000,
            None | Some(MessageTime::WallClock) => (unix_ns / 1_000_000) as i64,
            Some(MessageTime::Pulse) => place.reference_time / 1_000_000,
        },
        payload,
        headers: &[],
        about,
    }
}

#[cfg(test)]
mod tests;
