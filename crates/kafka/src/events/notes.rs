//! Values that come with the events: the newest of each log, of the pulses, and what monitors have counted.

use evforge_messages::hs01::Counts;
use evforge_messages::{Array, Da00, Message, Pu00, f142, f144};
use serde::Serialize;
use std::collections::BTreeMap;

/// Names that are kept at most.
const MOST: usize = 1000;

/// A value with its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Note {
    /// The newest value, or the sum.
    pub value: f64,
    /// Its unit; empty where none was sent.
    pub unit: String,
    /// Nanoseconds since 1970.
    pub time_ns: i64,
    /// How many messages there were.
    pub messages: u64,
}

/// The newest values by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SourceNotes {
    values: BTreeMap<String, Note>,
}

impl SourceNotes {
    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Note)> {
        self.values.iter().map(|(name, note)| (name.as_str(), note))
    }

    /// A value by its name.
    pub fn get(&self, name: &str) -> Option<&Note> {
        self.values.get(name)
    }

    /// Takes a message; false if it has no value that could be noted.
    pub(super) fn take(&mut self, message: &Message<'_>) -> bool {
        let time_ns = message.time_ns().unwrap_or(0);
        let source = message.source_name().unwrap_or_default();
        match message {
            Message::F144(log) => match &log.value {
                f144::Value::Scalar(value) => self.newest(source, Some(value.to_f64()), "", time_ns),
                _ => false,
            },
            Message::F142(log) => match &log.value {
                f142::Value::Scalar(value) => self.newest(source, Some(value.to_f64()), "", time_ns),
                _ => false,
            },
            Message::Pu00(pulse) => self.pulse(pulse, time_ns),
            Message::Da00(data) => self.counted(data, time_ns),
            Message::Hs00(data) => {
                let sum = data.data.as_ref().map(sum);
                self.newest(source, sum, "counts", time_ns)
            }
            Message::Hs01(data) => {
                let sum = data.data.as_ref().map(counts);
                self.newest(source, sum, "counts", time_ns)
            }
            _ => false,
        }
    }

    /// The note of a name, if there is room for it.
    fn note(&mut self, name: &str) -> Option<&mut Note> {
        if !self.values.contains_key(name) {
            if self.values.len() >= MOST {
                return None;
            }
            self.values.insert(name.to_owned(), Note::default());
        }
        self.values.get_mut(name)
    }

    fn newest(&mut self, name: &str, value: Option<f64>, unit: &str, time_ns: i64) -> bool {
        let Some(value) = value else { return false };
        let Some(note) = self.note(name) else { return false };
        note.messages += 1;
        if time_ns >= note.time_ns {
            (note.value, note.time_ns) = (value, time_ns);
            unit.clone_into(&mut note.unit);
        }
        true
    }

    /// Pulses are counted, and their charge is added up.
    fn pulse(&mut self, pulse: &Pu00<'_>, time_ns: i64) -> bool {
        let name = |what: &str| format!("{}/{what}", pulse.source_name);
        let mut is_noted = self.add(&name("pulses"), 1.0, "", time_ns);
        if let Some(charge) = pulse.proton_charge {
            is_noted |= self.add(&name("proton_charge"), f64::from(charge), "µAh", time_ns);
        }
        if let Some(period) = pulse.period_number {
            is_noted |= self.newest(&name("period"), Some(f64::from(period)), "", time_ns);
        }
        if let Some(vetos) = pulse.vetos {
            is_noted |= self.newest(&name("vetos"), Some(f64::from(vetos)), "bits", time_ns);
        }
        is_noted
    }

    fn add(&mut self, name: &str, value: f64, unit: &str, time_ns: i64) -> bool {
        let Some(note) = self.note(name) else { return false };
        note.messages += 1;
        note.value += value;
        note.time_ns = note.time_ns.max(time_ns);
        unit.clone_into(&mut note.unit);
        true
    }

    /// What monitors count since their message before is added up.
    fn counted(&mut self, data: &Da00<'_>, time_ns: i64) -> bool {
        let signal = data.variable("signal");
        let Some(numbers) = signal.and_then(|signal| signal.numbers()) else { return false };
        let unit = signal.and_then(|signal| signal.unit).unwrap_or_default();
        // A single number is a value, which the next one takes the place of.
        match numbers.len() {
            1 => self.newest(data.source_name, Some(sum(&numbers)), unit, time_ns),
            _ => self.add(data.source_name, sum(&numbers), unit, time_ns),
        }
    }
}

fn sum(array: &Array<'_>) -> f64 {
    array.to_f64().iter().sum()
}

fn counts(values: &Counts<'_>) -> f64 {
    match values {
        Counts::Float64(values) => values.iter().sum(),
        Counts::Float32(values) => values.iter().map(f64::from).sum(),
        Counts::Int32(values) => values.iter().map(f64::from).sum(),
        Counts::Int64(values) => values.iter().map(|value| value as f64).sum(),
    }
}
