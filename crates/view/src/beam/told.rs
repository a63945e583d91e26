//! What whoever feeds the page tells it, and how much of that is taken.

use super::state::{BeamState, MonitorSpectrum};
use std::sync::Arc;

/// Values that are taken at most.
pub(super) const MOST_VALUES: usize = 256;
/// Sources of pulses that are taken at most.
pub(super) const MOST_PULSES: usize = 16;
/// Spectra that are taken at most.
pub(super) const MOST_SPECTRA: usize = 32;
/// Sources and modules of runs that are taken at most.
pub(super) const MOST_RUNS: usize = 256;

/// What a value has been since it was told before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The sum of all of them.
    pub sum: f64,
    /// How many there were.
    pub number: u64,
}

impl Seen {
    /// One value.
    pub fn of(value: f64) -> Self {
        Self { min: value, max: value, sum: value, number: 1 }
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            sum: self.sum + other.sum,
            number: self.number.saturating_add(other.number),
        }
    }
}

/// Everything that is known besides the events, at one moment.
#[derive(Clone, Debug, Default)]
pub struct BeamTold {
    /// What there is; `spectra` of it is made of those below, and the series of values are filled in.
    pub state: BeamState,
    /// What each value has been since it was told before, in the order of `state.values`; none where no message came.
    pub seen: Vec<Option<Seen>>,
    /// The spectra.
    pub spectra: Vec<Arc<MonitorSpectrum>>,
}

impl BeamTold {
    /// Cuts off what is beyond the bounds, and counts it.
    pub(super) fn bounded(mut self) -> Self {
        let Self { state, spectra, .. } = &mut self;
        let lengths = [state.values.len(), state.pulses.len(), state.runs.len(), spectra.len()];
        let most = [MOST_VALUES, MOST_PULSES, MOST_RUNS, MOST_SPECTRA];
        state.values.truncate(most[0]);
        state.pulses.truncate(most[1]);
        state.runs.truncate(most[2]);
        spectra.truncate(most[3]);
        let beyond: usize = lengths.iter().zip(most).map(|(length, most)| length.saturating_sub(most)).sum();
        state.left_out = state.left_out.saturating_add(beyond as u64);
        state.spectra = spectra.iter().map(|spectrum| spectrum.state.clone()).collect();
        self
    }
}
