//! Values by name.

use super::outcome::NotNoted;
use serde::Serialize;
use std::collections::BTreeMap;

/// Names that are kept at most.
pub(super) const MOST: usize = 256;

/// What the value of a note is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoteKind {
    /// The newest one.
    #[default]
    Newest,
    /// The sum of all that came.
    Sum,
    /// How often something happens in a second.
    Rate,
}

/// A value with its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Note {
    /// What the value is.
    #[serde(skip)]
    pub kind: NoteKind,
    /// The newest value, or the sum; none while a rate is not known.
    pub value: Option<f64>,
    /// Its unit; empty where none was sent.
    pub unit: String,
    /// Nanoseconds since 1970; 0 where none was sent.
    pub time_ns: i64,
    /// How many messages there were.
    pub messages: u64,
    /// What it has been since that was asked last.
    #[serde(skip)]
    pub(super) spread: Option<Spread>,
}

/// The smallest and the largest of some values, their sum and number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The sum.
    pub sum: f64,
    /// How many.
    pub number: u64,
}

impl Spread {
    fn with(self, value: f64) -> Self {
        Self {
            min: self.min.min(value),
            max: self.max.max(value),
            sum: self.sum + value,
            number: self.number.saturating_add(1),
        }
    }
}

/// All values.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    values: BTreeMap<String, Note>,
    /// Units that were told by themselves, by the name of the value.
    units: BTreeMap<String, String>,
}

impl Values {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Note)> {
        self.values.iter().map(|(name, note)| (name.as_str(), note))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Note> {
        self.values.get(name)
    }

    pub(super) fn take_spread(&mut self, name: &str) -> Option<Spread> {
        self.values.get_mut(name)?.spread.take()
    }

    /// Takes the unit of a value, which comes before or after it.
    pub(super) fn set_unit(&mut self, name: &str, unit: &str) -> Result<(), NotNoted> {
        if !self.units.contains_key(name) && self.units.len() >= MOST {
            return Err(NotNoted::TooManyNames);
        }
        let unit = cut(unit);
        if let Some(note) = self.values.get_mut(name) {
            note.unit.clone_from(&unit);
        }
        self.units.insert(name.to_owned(), unit);
        Ok(())
    }

    /// Whether there is a place for this name.
    pub(super) fn has_room(&self, name: &str) -> bool {
        self.values.contains_key(name) || self.values.len() < MOST
    }

    /// Sets a value, unless a later one is there.
    pub(super) fn set(
        &mut self,
        name: &str,
        kind: NoteKind,
        value: Option<f64>,
        (unit, time_ns): (&str, i64),
    ) -> Result<(), NotNoted> {
        if value.is_some_and(|value| !value.is_finite()) {
            return Err(NotNoted::NoNumber);
        }
        let told = self.units.get(name).filter(|_| unit.is_empty()).cloned();
        let note = self.note(name)?;
        note.messages += 1;
        if time_ns >= note.time_ns {
            (note.kind, note.value, note.time_ns) = (kind, value, time_ns);
            note.unit = told.unwrap_or_else(|| cut(unit));
            if let Some(value) = value {
                let one = Spread { min: value, max: value, sum: value, number: 1 };
                note.spread = Some(note.spread.map_or(one, |spread| spread.with(value)));
            }
        }
        Ok(())
    }

    /// Adds to a sum; one that would become infinite begins afresh.
    pub(super) fn add(
        &mut self,
        name: &str,
        more: f64,
        (unit, time_ns): (&str, i64),
    ) -> Result<(), NotNoted> {
        let note = self.note(name)?;
        note.messages += 1;
        let before = note.value.filter(|_| note.kind == NoteKind::Sum).unwrap_or(0.0);
        let sum = before + more;
        (note.kind, note.value) = (NoteKind::Sum, Some(if sum.is_finite() { sum } else { more }));
        note.time_ns = note.time_ns.max(time_ns);
        note.unit = cut(unit);
        Ok(())
    }

    /// The note of a name, if there is room for it.
    fn note(&mut self, name: &str) -> Result<&mut Note, NotNoted> {
        if !self.has_room(name) {
            return Err(NotNoted::TooManyNames);
        }
        if !self.values.contains_key(name) {
            self.values.insert(name.to_owned(), Note::default());
        }
        self.values.get_mut(name).ok_or(NotNoted::TooManyNames)
    }
}

/// Characters of a unit or of the name of an axis at most.
const LONGEST_UNIT: usize = 40;

/// A unit or the name of an axis, as long as it may be.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(LONGEST_UNIT).collect()
}
