//! What is known now: what was told, and the spectra of a run's own beam monitors.

use super::board::BeamBoard;
use super::of_run;
use super::state::BeamState;
use super::told::MOST_SPECTRA;
use crate::accumulator::Accumulator;
use std::sync::Arc;

/// What there is now; its lists are empty where nothing is known.
pub(crate) fn known(board: &BeamBoard, streams: &[Arc<Accumulator>]) -> BeamState {
    let mut state = board.told().map(|told| (*told).clone()).unwrap_or_default();
    let mut spectra = of_run::states(streams);
    spectra.append(&mut state.spectra);
    state.left_out = state.left_out.saturating_add(spectra.len().saturating_sub(MOST_SPECTRA) as u64);
    spectra.truncate(MOST_SPECTRA);
    BeamState { spectra, ..state }
}

/// Whether the page has anything to show of it.
pub(crate) fn is_any(board: &BeamBoard, streams: &[Arc<Accumulator>]) -> bool {
    let has_monitors = |stream: &Arc<Accumulator>| {
        stream.state().is_some_and(|state| !state.run.ledger.beam_monitors.is_empty())
    };
    board.has_any() || streams.iter().any(has_monitors)
}
