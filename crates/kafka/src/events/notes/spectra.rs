//! Spectra of beam monitors: the sum of what da00 bring, the newest of what hs00 and hs01 bring.

use super::values::cut;
use evforge_messages::da00::Variable;
use evforge_messages::hs01::Counts;
use evforge_messages::{Da00, Hs00, Hs01};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Spectra that are kept at most.
pub(super) const MOST: usize = 32;
/// Bins of a spectrum at most: of more than that neighbours are added up.
pub(super) const MOST_BINS: usize = 10_000;

/// A spectrum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpectrumNote {
    /// The schema of its messages.
    pub schema: &'static str,
    /// True for the sum of all messages since the start; false for the newest message.
    pub is_sum: bool,
    /// What its axis is.
    pub axis: String,
    /// The unit of the axis; "bin" where no edges were told.
    pub axis_unit: String,
    /// The unit of its values.
    pub unit: String,
    /// The edges of the bins: one more than there are bins.
    pub edges: Arc<Vec<f64>>,
    /// The values of the bins.
    pub counts: Arc<Vec<f64>>,
    /// How many neighbours are added up in a bin.
    pub block: usize,
    /// Messages that are in it.
    pub messages: u64,
    /// Nanoseconds since 1970; 0 where no time was told.
    pub time_ns: i64,
    /// Why there are no bins.
    pub problem: Option<String>,
}

/// What a message says of its spectrum besides the values.
#[derive(Clone, Debug, Default)]
pub(super) struct Described {
    schema: &'static str,
    shape: Vec<i64>,
    /// Whether it is a part of a larger one.
    is_part: bool,
    axis: String,
    axis_unit: String,
    unit: String,
    /// Edges or middles of the bins, if they were told.
    boundaries: Option<Vec<f64>>,
}

/// All spectra.
#[derive(Clone, Debug, Default)]
pub(super) struct Spectra {
    spectra: BTreeMap<String, SpectrumNote>,
    pub(super) left_out: u64,
}

impl Spectra {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &SpectrumNote)> {
        self.spectra.iter().map(|(name, note)| (name.as_str(), note))
    }

    /// Adds what was counted since the message before.
    pub(super) fn add(&mut self, data: &Da00<'_>, signal: &Variable<'_>, numbers: Vec<f64>, time_ns: i64) {
        let made = of_da00(data, signal).spectrum(numbers);
        let Some(note) = self.note(data.source_name) else { return };
        let is_same = note.is_sum && note.edges == made.edges && note.axis_unit == made.axis_unit;
        let (messages, time_ns) = (note.messages, time_ns.max(note.time_ns));
        if is_same && made.problem.is_none() {
            let added: Vec<f64> =
                note.counts.iter().zip(made.counts.iter()).map(|(sum, more)| sum + more).collect();
            if added.iter().all(|sum| sum.is_finite()) {
                *note = SpectrumNote { counts: Arc::new(added), messages: messages + 1, time_ns, ..made };
                note.is_sum = true;
                return;
            }
        }
        // The first one, or one with other bins: the sum begins afresh.
        *note = SpectrumNote { is_sum: true, messages: 1, time_ns, ..made };
    }

    /// Takes what was counted since the start of whoever sends it.
    pub(super) fn newest(&mut self, name: &str, described: Described, numbers: Vec<f64>, time_ns: i64) {
        let Some(note) = self.note(name) else { return };
        let messages = note.messages + 1;
        if time_ns >= note.time_ns {
            *note = SpectrumNote { time_ns, ..described.spectrum(numbers) };
        }
        note.messages = messages;
    }

    /// The spectrum of a name, if there is room for it.
    fn note(&mut self, name: &str) -> Option<&mut SpectrumNote> {
        if !self.spectra.contains_key(name) {
            if self.spectra.len() >= MOST {
                self.left_out += 1;
                return None;
            }
            self.spectra.insert(name.to_owned(), SpectrumNote::default());
        }
        self.spectra.get_mut(name)
    }
}

fn of_da00(data: &Da00<'_>, signal: &Variable<'_>) -> Described {
    let axis = signal.axes.first().copied().unwrap_or_default();
    let along = data.variable(axis);
    Described {
        schema: "da00",
        shape: signal.shape.iter().collect(),
        is_part: false,
        axis: cut(axis),
        axis_unit: cut(along.and_then(|along| along.unit).unwrap_or_default()),
        unit: cut(signal.unit.unwrap_or_default()),
        boundaries: along.and_then(|along| along.numbers()).map(|numbers| numbers.to_f64()),
    }
}

/// What an hs00 says.
pub(super) fn of_hs00(data: &Hs00<'_>) -> Described {
    let first = data.dim_metadata.first();
    let lengths = data.dim_metadata.iter().map(|dimension| i64::from(dimension.length));
    Described {
        schema: "hs00",
        shape: data.current_shape.iter().map(i64::from).collect(),
        is_part: lengths.zip(data.current_shape.iter()).any(|(all, part)| all != i64::from(part)),
        axis: cut(first.and_then(|first| first.label).unwrap_or_default()),
        axis_unit: cut(first.and_then(|first| first.unit).unwrap_or_default()),
        unit: "counts".to_owned(),
        boundaries: first.and_then(|first| first.bin_boundaries).map(|boundaries| boundaries.to_f64()),
    }
}

/// What an hs01 says.
pub(super) fn of_hs01(data: &Hs01<'_>) -> Described {
    let first = data.dim_metadata.first();
    let lengths = data.dim_metadata.iter().map(|dimension| dimension.length);
    Described {
        schema: "hs01",
        shape: data.current_shape.iter().map(i64::from).collect(),
        is_part: lengths.zip(data.current_shape.iter()).any(|(all, part)| all != part),
        axis: cut(first.and_then(|first| first.label).unwrap_or_default()),
        axis_unit: cut(first.and_then(|first| first.unit).unwrap_or_default()),
        unit: "counts".to_owned(),
        boundaries: first.and_then(|first| first.bin_boundaries).map(|boundaries| numbers(&boundaries)),
    }
}

/// Counts as floating point.
pub(super) fn numbers(counts: &Counts<'_>) -> Vec<f64> {
    match counts {
        Counts::Float64(values) => values.iter().collect(),
        Counts::Float32(values) => values.iter().map(f64::from).collect(),
        Counts::Int32(values) => values.iter().map(f64::from).collect(),
        Counts::Int64(values) => values.iter().map(|value| value as f64).collect(),
    }
}

impl Described {
    /// With its values.
    fn spectrum(self, numbers: Vec<f64>) -> SpectrumNote {
        let Self { schema, shape, is_part, axis, axis_unit, unit, boundaries } = self;
        let refused = match shape.len() {
            _ if is_part => Some("it is a part of a larger histogram".to_owned()),
            0 | 1 => None,
            dimensions => Some(format!(
                "it has {dimensions} dimensions, and only those of one are drawn; its sum is among the values"
            )),
        };
        let plain = SpectrumNote { schema, unit, block: 1, ..SpectrumNote::default() };
        if refused.is_some() {
            return SpectrumNote { problem: refused, ..plain };
        }
        let known = boundaries.and_then(|told| edges_of(&told, numbers.len()));
        let (axis, axis_unit, edges) = match known {
            Some(edges) => (axis, axis_unit, edges),
            None => (axis, "bin".to_owned(), (0..=numbers.len()).map(|edge| edge as f64).collect()),
        };
        let block = numbers.len().div_ceil(MOST_BINS).max(1);
        let counts = numbers.chunks(block).map(|bins| bins.iter().sum()).collect();
        let last = edges.last().copied();
        // The lower edges of the blocks, and the upper one of the last.
        let lower = edges[..edges.len() - 1].iter().step_by(block).copied();
        let edges = lower.chain(last).collect();
        SpectrumNote { axis, axis_unit, edges: Arc::new(edges), counts: Arc::new(counts), block, ..plain }
    }
}

/// Edges of this number of bins, of what was told: edges, or middles. None if that is neither, or does not rise.
fn edges_of(told: &[f64], bins: usize) -> Option<Vec<f64>> {
    let is_rising =
        told.iter().all(|edge| edge.is_finite()) && told.windows(2).all(|edges| edges[0] < edges[1]);
    if !is_rising || bins == 0 {
        return None;
    }
    if told.len() == bins + 1 {
        return Some(told.to_vec());
    }
    if told.len() != bins || bins < 2 {
        return None;
    }
    let middle = |edges: &[f64]| edges[0] + (edges[1] - edges[0]) / 2.0;
    let between = told.windows(2).map(middle);
    let first = told[0] - (told[1] - told[0]) / 2.0;
    let last = told[bins - 1] + (told[bins - 1] - told[bins - 2]) / 2.0;
    let edges: Vec<f64> = std::iter::once(first).chain(between).chain([last]).collect();
    edges.windows(2).all(|edges| edges[0] < edges[1]).then_some(edges).filter(|edges| edges[bins].is_finite())
}
