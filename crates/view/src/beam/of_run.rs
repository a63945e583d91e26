//! Spectra of the beam monitors of a run, out of its ledger.

use super::state::{MonitorSpectrum, MonitorSpectrumState};
use crate::accumulator::{Accumulator, ObservedState};
use evforge_core::beam_monitor::BeamMonitorData;
use std::sync::Arc;

/// The beam monitors of all streams with the name that each has on the page.
fn each<T>(streams: &[Arc<Accumulator>], mut make: impl FnMut(String, &BeamMonitorData) -> T) -> Vec<T> {
    let states: Vec<(&str, Arc<ObservedState>)> =
        streams.iter().filter_map(|stream| Some((stream.stream.as_str(), stream.state()?))).collect();
    let mut made = Vec::new();
    for (stream, state) in &states {
        for data in &state.run.ledger.beam_monitors {
            let name = &data.plan().name;
            let name = if stream.is_empty() { name.clone() } else { format!("{stream}: {name}") };
            made.push(make(name, data));
        }
    }
    made
}

fn state_of(name: String, data: &BeamMonitorData) -> MonitorSpectrumState {
    let inside = data.total().saturating_sub(data.below().saturating_add(data.above()));
    MonitorSpectrumState {
        name,
        from: "run",
        kind: "sum",
        bins: data.counts().len(),
        axis: "time of flight".into(),
        axis_unit: "ns".into(),
        unit: "counts".into(),
        total: data.value(inside),
        block: 1,
        messages: 0,
        time_ms: None,
        problem: None,
    }
}

/// What there is.
pub(super) fn states(streams: &[Arc<Accumulator>]) -> Vec<MonitorSpectrumState> {
    each(streams, state_of)
}

/// The spectrum of the monitor of this name.
pub(super) fn find(streams: &[Arc<Accumulator>], wanted: &str) -> Option<MonitorSpectrum> {
    let made = each(streams, |name, data| {
        (name == wanted).then(|| MonitorSpectrum {
            edges: data.plan().histogram.edges_ns().collect(),
            counts: data.counts().iter().map(|&parts| data.value(parts)).collect(),
            state: state_of(name, data),
        })
    });
    made.into_iter().flatten().next()
}
