//! Pulses and their proton charge, by source.

use super::outcome::NotNoted;
use super::values::{Note, NoteKind};
use crate::frames::{Vetoes, charge_of};
use evforge_messages::Pu00;
use std::collections::BTreeMap;

/// Sources of pulses that are kept at most.
const MOST: usize = 16;

/// The pulses of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PulseNote {
    /// All of them.
    pub pulses: u64,
    /// Those without a veto that counts; none where no vetoes are told.
    pub pulses_good: Option<u64>,
    /// Proton charge of all of them, in units of 1e-12 µAh; none where none is told.
    pub charge: Option<u128>,
    /// That of the good ones; none where not both are told.
    pub charge_good: Option<u128>,
    /// The period of the newest pulse, as it was sent.
    pub period: Option<u32>,
    /// The vetoes of the newest pulse, a bit each.
    pub vetoes: Option<u32>,
    /// Time of the newest pulse in nanoseconds since 1970; 0 where it has none.
    pub time_ns: i64,
}

/// All sources of pulses.
#[derive(Clone, Debug, Default)]
pub(super) struct Pulses {
    sources: BTreeMap<String, PulseNote>,
    /// Charge that was not asked for yet; none before any came.
    charge: Option<u128>,
    pub(super) charges_refused: u64,
}

impl Pulses {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &PulseNote)> {
        self.sources.iter().map(|(name, note)| (name.as_str(), note))
    }

    pub(super) fn take_charge(&mut self) -> Option<u128> {
        self.charge.as_mut().map(std::mem::take)
    }

    pub(super) fn take(&mut self, pulse: &Pu00<'_>, vetoes: &Vetoes, time_ns: i64) -> Result<(), NotNoted> {
        if !self.sources.contains_key(pulse.source_name) {
            if self.sources.len() >= MOST {
                return Err(NotNoted::TooManyNames);
            }
            self.sources.insert(pulse.source_name.to_owned(), PulseNote::default());
        }
        let note = self.sources.get_mut(pulse.source_name).ok_or(NotNoted::TooManyNames)?;
        note.pulses += 1;
        let is_good = vetoes.is_good(pulse);
        if let Some(is_good) = is_good {
            note.pulses_good = Some(note.pulses_good.unwrap_or(0) + u64::from(is_good));
        }
        match charge_of(pulse) {
            Ok(None) => {}
            Ok(Some(charge)) => {
                let charge = (f64::from(charge) * 1e12).round() as u128;
                let add =
                    |sum: &mut Option<u128>, more: u128| *sum = Some(sum.unwrap_or(0).saturating_add(more));
                add(&mut note.charge, charge);
                add(&mut self.charge, charge);
                if let Some(is_good) = is_good {
                    add(&mut note.charge_good, if is_good { charge } else { 0 });
                }
            }
            Err(_) => self.charges_refused += 1,
        }
        if time_ns >= note.time_ns {
            note.time_ns = time_ns;
            note.period = pulse.period_number.or(note.period);
            note.vetoes = pulse.vetos.or(note.vetoes);
        }
        Ok(())
    }

    /// As values with names, for the report.
    pub(super) fn notes(&self) -> Vec<(String, Note)> {
        let mut notes = Vec::new();
        for (source, pulses) in self.iter() {
            let uah = |charge: Option<u128>| charge.map(|charge| charge as f64 / 1e12);
            let of = |kind, value, unit: &str| Note {
                kind,
                value: Some(value),
                unit: unit.to_owned(),
                time_ns: pulses.time_ns,
                messages: pulses.pulses,
                spread: None,
            };
            let values = [
                ("pulses", NoteKind::Sum, Some(pulses.pulses as f64), ""),
                ("pulses_good", NoteKind::Sum, pulses.pulses_good.map(|good| good as f64), ""),
                ("proton_charge", NoteKind::Sum, uah(pulses.charge), "µAh"),
                ("proton_charge_good", NoteKind::Sum, uah(pulses.charge_good), "µAh"),
                ("period", NoteKind::Newest, pulses.period.map(f64::from), ""),
                ("vetos", NoteKind::Newest, pulses.vetoes.map(f64::from), "bits"),
            ];
            let known = values.into_iter().filter_map(|(name, kind, value, unit)| {
                Some((format!("{source}/{name}"), of(kind, value?, unit)))
            });
            notes.extend(known);
        }
        notes
    }
}
