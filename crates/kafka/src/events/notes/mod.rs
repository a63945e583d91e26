//! What comes with the events: the newest value of each log, pulses and their charge, spectra of beam monitors, the ledgers of runs.
//!
//! | messages | what is noted |
//! |---|---|
//! | f144, f142 of one number | the newest value |
//! | un00 | the unit of a value |
//! | tdct | how many time stamps there are per second |
//! | pu00 | pulses, proton charge, period, vetoes |
//! | vc00 | which vetoes count, and their names |
//! | da00 with one number as its signal | the newest value |
//! | da00 with a signal of several | the sum since the start, and the spectrum of it |
//! | hs00, hs01 | the newest spectrum, and its sum |
//! | da00 of a topic of ledgers | what a run tells of itself |
//!
//! Names and lengths are bounded, whatever is sent: what is not noted is counted by its reason ([`NotNoted`]).

mod outcome;
mod pulses;
mod runs;
mod spectra;
mod stamps;
mod values;

pub(super) use outcome::{NotNoted, Noted};
pub use pulses::PulseNote;
pub use runs::{RunNote, RunRow};
pub use spectra::SpectrumNote;
pub use values::{Note, NoteKind, Spread};

use super::topic::TopicRole;
use crate::frames::Vetoes;
use evforge_messages::{Array, Message, f142, f144};
use outcome::LONGEST_NAME;
use pulses::Pulses;
use runs::Runs;
use serde::ser::{Serialize, SerializeMap, Serializer};
use spectra::Spectra;
use stamps::Stamps;
use values::Values;

/// How much later than now a time may be: clocks differ, but not by more than a day.
const LATEST_NS: i64 = 86_400_000_000_000;

/// Everything that is noted.
#[derive(Clone, Debug, Default)]
pub struct SourceNotes {
    values: Values,
    stamps: Stamps,
    pulses: Pulses,
    vetoes: Vetoes,
    spectra: Spectra,
    runs: Runs,
}

impl SourceNotes {
    /// The values, by name; not those of pulses.
    pub fn values(&self) -> impl Iterator<Item = (&str, &Note)> {
        self.values.iter()
    }

    /// A value by its name; of pulses `SOURCE/pulses`, `SOURCE/proton_charge` and the like, too.
    pub fn get(&self, name: &str) -> Option<Note> {
        self.values.get(name).cloned().or_else(|| {
            self.pulses.notes().into_iter().find(|(of_pulses, _)| of_pulses == name).map(|(_, note)| note)
        })
    }

    /// The sources of pulses.
    pub fn pulses(&self) -> impl Iterator<Item = (&str, &PulseNote)> {
        self.pulses.iter()
    }

    /// Which vetoes count, and their names.
    pub(super) fn vetoes(&self) -> &Vetoes {
        &self.vetoes
    }

    /// The spectra, by name.
    pub fn spectra(&self) -> impl Iterator<Item = (&str, &SpectrumNote)> {
        self.spectra.iter()
    }

    /// What runs tell of themselves.
    pub fn runs(&self) -> impl Iterator<Item = (&str, &RunNote)> {
        self.runs.iter()
    }

    /// The newest time stamps of a name, in nanoseconds since 1970, the newest last; none of what has none.
    pub fn stamps(&self, name: &str) -> &[u64] {
        self.stamps.get(name)
    }

    /// Proton charge that came since this was last asked, in units of 1e-12 µAh; none where none ever came.
    pub fn take_charge(&mut self) -> Option<u128> {
        self.pulses.take_charge()
    }

    /// What the value of this name has been since this was last asked; none where no message came.
    pub fn take_spread(&mut self, name: &str) -> Option<Spread> {
        self.values.take_spread(name)
    }

    /// Charges that were told and are none.
    pub(super) fn charges_refused(&self) -> u64 {
        self.pulses.charges_refused
    }

    /// Messages whose sum was noted and whose spectrum was not, because there are too many.
    pub(super) fn spectra_left_out(&self) -> u64 {
        self.spectra.left_out
    }

    /// Takes a message of a topic that is read for `role`, at `now_ns` since 1970.
    pub(super) fn take(
        &mut self,
        role: TopicRole,
        message: &Message<'_>,
        now_ns: i64,
    ) -> Result<Noted, NotNoted> {
        let source = message.source_name().unwrap_or_default();
        let is_noted = matches!(
            message,
            Message::F144(_)
                | Message::F142(_)
                | Message::Un00(_)
                | Message::Tdct(_)
                | Message::Pu00(_)
                | Message::Vc00(_)
                | Message::Da00(_)
                | Message::Hs00(_)
                | Message::Hs01(_)
        );
        if !is_noted {
            return Err(NotNoted::OtherSchema);
        }
        if source.len() > LONGEST_NAME {
            return Err(NotNoted::NameTooLong);
        }
        let time_ns = message.time_ns().unwrap_or(0);
        if time_ns > now_ns.saturating_add(LATEST_NS) {
            return Err(NotNoted::OutOfTime);
        }
        match message {
            Message::F144(log) => match &log.value {
                f144::Value::Scalar(value) => self.newest(source, value.to_f64(), "", time_ns)?,
                f144::Value::Array(_) => return Err(NotNoted::NoNumber),
            },
            Message::F142(log) => match &log.value {
                f142::Value::Scalar(value) => self.newest(source, value.to_f64(), "", time_ns)?,
                _ => return Err(NotNoted::NoNumber),
            },
            Message::Un00(unit) => self.values.set_unit(source, unit.units.unwrap_or_default())?,
            Message::Tdct(stamps) => {
                let latest = u64::try_from(now_ns.saturating_add(LATEST_NS)).unwrap_or(0);
                let times = stamps.timestamps.iter();
                let rate = self.stamps.take(source, times, latest, &self.values)?;
                let newest = i64::try_from(rate.1).unwrap_or(0);
                self.values.set(source, NoteKind::Rate, rate.0, ("Hz", newest))?;
            }
            Message::Pu00(pulse) => self.pulses.take(pulse, &self.vetoes, time_ns)?,
            Message::Vc00(vetoes) => self.vetoes.take(vetoes),
            Message::Da00(data) if role == TopicRole::Ledgers => {
                self.runs.take(data, time_ns)?;
                return Ok(Noted::Ledger);
            }
            Message::Da00(data) => {
                let signal = data.variable("signal").ok_or(NotNoted::NoNumber)?;
                let numbers = signal.numbers().filter(|numbers| !numbers.is_empty());
                let numbers = finite(&numbers.ok_or(NotNoted::NoNumber)?)?;
                let unit = signal.unit.unwrap_or_default();
                if let [value] = numbers[..] {
                    // A single number is a value, which the next one takes the place of.
                    self.newest(source, value, unit, time_ns)?;
                } else {
                    self.values.add(source, total(&numbers)?, (unit, time_ns))?;
                    self.spectra.add(data, signal, numbers, time_ns);
                }
            }
            Message::Hs00(data) => {
                let numbers = finite(&data.data.ok_or(NotNoted::NoNumber)?)?;
                self.newest(source, total(&numbers)?, "counts", time_ns)?;
                self.spectra.newest(source, spectra::of_hs00(data), numbers, time_ns);
            }
            Message::Hs01(data) => {
                let numbers = spectra::numbers(&data.data.ok_or(NotNoted::NoNumber)?);
                let numbers = checked(numbers)?;
                self.newest(source, total(&numbers)?, "counts", time_ns)?;
                self.spectra.newest(source, spectra::of_hs01(data), numbers, time_ns);
            }
            _ => return Err(NotNoted::OtherSchema),
        }
        Ok(Noted::Value)
    }

    fn newest(&mut self, name: &str, value: f64, unit: &str, time_ns: i64) -> Result<(), NotNoted> {
        self.values.set(name, NoteKind::Newest, Some(value), (unit, time_ns))
    }
}

fn finite(array: &Array<'_>) -> Result<Vec<f64>, NotNoted> {
    checked(array.to_f64())
}

fn checked(numbers: Vec<f64>) -> Result<Vec<f64>, NotNoted> {
    let is_good = !numbers.is_empty() && numbers.iter().all(|number| number.is_finite());
    is_good.then_some(numbers).ok_or(NotNoted::NoNumber)
}

fn total(numbers: &[f64]) -> Result<f64, NotNoted> {
    let sum: f64 = numbers.iter().sum();
    sum.is_finite().then_some(sum).ok_or(NotNoted::NoNumber)
}

/// As it is in the report: values by their names, those of pulses among them.
impl Serialize for SourceNotes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of_pulses = self.pulses.notes();
        let mut map = serializer.serialize_map(None)?;
        for (name, note) in self.values.iter() {
            map.serialize_entry(name, note)?;
        }
        for (name, note) in &of_pulses {
            // A log of the same name has its place.
            if self.values.get(name).is_none() {
                map.serialize_entry(name, note)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
