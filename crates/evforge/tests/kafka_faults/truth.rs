//! Events as they were formed, and as a topic has them.

use crate::common::kafka::{TopicMessage, read_topic};
use crate::common::{evforge, workspace};
use evforge_messages::{Message, decode};
use std::path::{Path, PathBuf};

/// An event: its pulse, its time since that, and its pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) pulse: i64,
    pub(crate) offset: i64,
    pub(crate) pixel: u32,
}

/// The configuration of the detector of these tests, whose readout reports pulses and their dates.
pub(crate) fn config() -> String {
    workspace().join("configs/freia.toml").to_str().expect("text").to_owned()
}

/// A capture of so many pulses, 14 a second, that begins at a date.
pub(crate) fn simulate(folder: &Path, name: &str, pulses: u32, start: &str) -> PathBuf {
    let path = folder.join(name);
    let pulses = pulses.to_string();
    evforge(&[
        "simulate",
        "freia",
        "--pulses",
        &pulses,
        "--neutrons",
        "10kHz",
        "--seed",
        "3",
        "--start",
        start,
        "--output",
        path.to_str().expect("text"),
    ]);
    path
}

/// The events of a capture, formed without anything else.
pub(crate) fn events_of_capture(folder: &Path, capture: &Path) -> Vec<Event> {
    let events = folder.join("truth.csv");
    let (capture, path) = (capture.to_str().expect("text"), events.to_str().expect("text"));
    evforge(&["run", "--quiet", "--config", &config(), capture, "--events", path]);
    events_of_csv(&events)
}

/// The events of a file of `[outputs.csv]`.
pub(crate) fn events_of_csv(path: &Path) -> Vec<Event> {
    let text = std::fs::read_to_string(path).expect("events");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time_ns,pixel_id,pulse_time_ns"));
    let event = |line: &str| {
        let columns: Vec<i64> = line.split(',').map(|column| column.parse().expect("a number")).collect();
        let &[time, pixel, pulse] = &columns[..] else { panic!("{line}") };
        Event { pulse, offset: time - pulse, pixel: u32::try_from(pixel).expect("a pixel") }
    };
    lines.map(event).collect()
}

/// A message with events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventMessage {
    pub(crate) id: i64,
    pub(crate) events: Vec<Event>,
}

/// The messages with events of a topic, in its order (partition by partition), which must be that of their numbers in each.
pub(crate) fn messages_of(brokers: &str, topic: &str) -> Vec<EventMessage> {
    let mut before: Option<(i32, i64)> = None;
    let mut messages = Vec::new();
    for TopicMessage { partition, payload, .. } in read_topic(brokers, topic) {
        let Message::Ev44(message) = decode(&payload).expect("a message") else { panic!("not ev44") };
        let id = message.message_id;
        if let Some((last, earlier)) = before.filter(|(last, _)| *last == partition) {
            assert!(id > earlier, "{topic}/{last}: message {id} comes behind {earlier}");
        }
        before = Some((partition, id));
        let (offsets, pixels) = (message.time_of_flight.to_vec(), message.pixel_id.to_vec());
        let events = message.pulses().flat_map(|(pulse, range)| {
            let columns = offsets[range.clone()].iter().zip(&pixels[range]);
            columns.map(move |(&offset, &pixel)| Event {
                pulse,
                offset: i64::from(offset),
                pixel: u32::try_from(pixel).expect("a pixel"),
            })
        });
        messages.push(EventMessage { id, events: events.collect() });
    }
    messages
}

/// The events of messages whose numbers must be consecutive, from 1: no message is missing, and none is there twice.
pub(crate) fn all_events(messages: &[EventMessage]) -> Vec<Event> {
    for (message, number) in messages.iter().zip(1..) {
        assert_eq!(message.id, number, "the numbers are not consecutive");
    }
    messages.iter().flat_map(|message| &message.events).copied().collect()
}

/// Panics, naming the first difference, if these are not the same events in the same order.
pub(crate) fn assert_same(what: &str, found: &[Event], expected: &[Event]) {
    if let Some(index) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
        panic!("{what}: event {index} is {:?}, and was formed as {:?}", found[index], expected[index]);
    }
    assert_eq!(found.len(), expected.len(), "{what}: number of events");
}

/// The events of `all` that `some` lacks; panics if `some` has any that is not there, or has them in another order.
pub(crate) fn missing(what: &str, some: &[Event], all: &[Event]) -> Vec<Event> {
    let mut missing = Vec::new();
    let mut some = some.iter().peekable();
    for event in all {
        if some.next_if_eq(&event).is_none() {
            missing.push(*event);
        }
    }
    assert_eq!(some.next(), None, "{what}: not formed, or in another order");
    missing
}
