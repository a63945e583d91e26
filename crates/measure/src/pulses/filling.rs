//! How much of the buffer was filled at the peaks that were found.

use evforge_lab::measured_pulses::{PulseRelation, SearchedPulses};

/// The shares of the buffer that were filled, of all rounds of a point in which the buffer was the limit.
pub(super) fn fillings(point: &SearchedPulses) -> Vec<f64> {
    let Some(served) = point.receiver.served else { return Vec::new() };
    let peaks =
        point.rounds.iter().filter(|round| !round.is_of_sender()).filter_map(|round| round.found.rate);
    peaks.map(|peak| PulseRelation::filling(&point.point, served, point.receiver.truesize, peak)).collect()
}
