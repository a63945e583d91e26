//! What was told last, for whoever asks; and the values since the history was written before.

use super::of_run;
use super::state::{BeamState, MonitorSpectrum};
use super::told::MOST_SPECTRA;
use super::told::{BeamTold, Seen};
use crate::accumulator::Accumulator;
use crate::history::{ValuePoint, value_id};
use crate::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The newest that was told.
#[derive(Debug, Default)]
pub(crate) struct BeamBoard {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    told: Option<Arc<BeamState>>,
    spectra: Vec<Arc<MonitorSpectrum>>,
    /// Whether it was told since the history asked.
    is_new: bool,
    /// What each value has been since the history took it.
    seen: HashMap<String, Seen>,
    /// Sums when the history took them.
    sums: HashMap<String, (f64, Instant)>,
}

impl BeamBoard {
    /// Takes what is told in the place of what was told before.
    pub(crate) fn tell(&self, told: BeamTold) {
        let BeamTold { mut state, seen, spectra } = told.bounded();
        for value in &mut state.values {
            value.series = value_id(&value.name);
        }
        let mut kept = lock(&self.kept);
        for (value, seen) in state.values.iter().zip(seen) {
            let Some(seen) = seen else { continue };
            match kept.seen.get_mut(&value.name) {
                Some(before) => *before = before.with(seen),
                None => {
                    kept.seen.insert(value.name.clone(), seen);
                }
            }
        }
        kept.told = Some(Arc::new(state));
        kept.is_new = true;
        kept.spectra = spectra;
    }

    /// What was told; none before.
    pub(super) fn told(&self) -> Option<Arc<BeamState>> {
        lock(&self.kept).told.clone()
    }

    /// The spectra that were told.
    pub(super) fn spectra(&self) -> Vec<Arc<MonitorSpectrum>> {
        lock(&self.kept).spectra.clone()
    }

    /// True if something was told that the page has a place for.
    pub(super) fn has_any(&self) -> bool {
        self.told().is_some_and(|told| {
            !(told.values.is_empty()
                && told.pulses.is_empty()
                && told.spectra.is_empty()
                && told.runs.is_empty())
        })
    }

    /// The values as points of the history. One that nothing was told of since stays as it was, as long as the input is running: a log
    /// says when it changes.
    pub(crate) fn points(&self, now: Instant, is_running: bool) -> Vec<ValuePoint> {
        let mut kept = lock(&self.kept);
        if !std::mem::take(&mut kept.is_new) && !is_running {
            return Vec::new();
        }
        let Some(told) = kept.told.clone() else { return Vec::new() };
        let mut seen = std::mem::take(&mut kept.seen);
        let before = std::mem::take(&mut kept.sums);
        let mut points = Vec::with_capacity(told.values.len());
        for value in &told.values {
            let Some(newest) = value.value else { continue };
            let is_rate = value.kind == "sum";
            let spread = if is_rate {
                kept.sums.insert(value.name.clone(), (newest, now));
                before.get(&value.name).and_then(|(sum, at)| {
                    let seconds = now.saturating_duration_since(*at).as_secs_f64();
                    // What has become smaller has begun afresh.
                    (seconds > 0.0 && newest >= *sum).then(|| Seen::of((newest - sum) / seconds))
                })
            } else {
                Some(seen.remove(&value.name).unwrap_or(Seen::of(newest)))
            };
            let spread = spread.map(|seen| [seen.min, seen.sum / seen.number.max(1) as f64, seen.max]);
            points.push(ValuePoint { name: value.name.clone(), unit: value.unit.clone(), is_rate, spread });
        }
        points
    }
}

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

#[cfg(test)]
mod tests {
    use super::super::state::ValueState;
    use super::super::told::MOST_VALUES;
    use super::*;
    use std::time::Duration;

    fn told(values: &[(&str, &'static str, f64, Option<Seen>)]) -> BeamTold {
        let state = |&(name, kind, value, _): &(&str, &'static str, f64, Option<Seen>)| ValueState {
            name: name.into(),
            kind,
            value: Some(value),
            ..ValueState::default()
        };
        BeamTold {
            state: BeamState { values: values.iter().map(state).collect(), ..BeamState::default() },
            seen: values.iter().map(|value| value.3).collect(),
            spectra: Vec::new(),
        }
    }

    #[test]
    fn a_point_has_every_value_since_the_one_before_and_a_log_stays_as_it_was() {
        let board = BeamBoard::default();
        let seen = |values: &[f64]| values.iter().copied().map(Seen::of).reduce(Seen::with);
        board.tell(told(&[("t", "value", 3.0, seen(&[9.0, 3.0])), ("q", "sum", 100.0, None)]));
        board.tell(told(&[("t", "value", 6.0, seen(&[6.0])), ("q", "sum", 104.0, None)]));
        let now = Instant::now();
        let spreads =
            |at: Instant| board.points(at, true).iter().map(|point| point.spread).collect::<Vec<_>>();
        assert_eq!(spreads(now), [Some([3.0, 6.0, 9.0]), None]);
        board.tell(told(&[("t", "value", 6.0, None), ("q", "sum", 114.0, None)]));
        assert_eq!(spreads(now + Duration::from_secs(2)), [Some([6.0; 3]), Some([5.0; 3])]);
        board.tell(told(&[("t", "value", 6.0, None), ("q", "sum", 1.0, None)]));
        assert_eq!(spreads(now + Duration::from_secs(4)), [Some([6.0; 3]), None], "a sum that begins afresh");
    }

    #[test]
    fn a_file_that_is_complete_has_its_values_once() {
        let board = BeamBoard::default();
        assert!(board.points(Instant::now(), true).is_empty());
        board.tell(told(&[("t", "value", 3.0, None)]));
        let points = [false, false, true].map(|is_running| board.points(Instant::now(), is_running).len());
        assert_eq!(points, [1, 0, 1]);
    }

    #[test]
    fn what_is_beyond_the_bounds_is_counted() {
        let board = BeamBoard::default();
        let names: Vec<String> = (0..MOST_VALUES + 44).map(|number| number.to_string()).collect();
        let values: Vec<_> = names.iter().map(|name| (name.as_str(), "value", 1.0, None)).collect();
        board.tell(told(&values));
        let told = board.told().unwrap();
        assert_eq!((told.values.len(), told.left_out), (MOST_VALUES, 44));
        assert_eq!(told.values[7].series, "evforge_view_value{value=\"7\"}");
    }
}
