//! Frames of all streams together, for the page.

use crate::accumulator::ObservedState;
use crate::json_object::json_object;
use evforge_core::frame::{FrameLedger, FrameState, FrameTotals};
use serde::Serialize;

json_object! {
    /// What is known of all frames: pulses of which the readout says more than their time. Periods count from 1.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct FramesState {
        /// All of them.
        pub raw: u64,
        /// Those without a veto that counts.
        pub good: u64,
        /// Charge of all of them in µAh.
        pub charge_uah: f64,
        /// Charge of the good ones in µAh.
        pub charge_good_uah: f64,
        /// Events of all of them.
        pub events: u64,
        /// Events of the good ones.
        pub events_good: u64,
        /// Frames of which all that was announced has come.
        pub complete: u64,
        /// Frames of which something is missing, and every board has gone on.
        pub incomplete: u64,
        /// Frames that were closed before a board was done with them.
        pub late: u64,
        /// Frames of which nobody has compared what came with what was announced.
        pub unknown: u64,
        /// Complete ones of those that were compared, 0 to 1; null before the first.
        pub live_fraction: Option<f64>,
        /// Period of the newest frame; null if nobody has said it.
        pub period: Option<u64>,
        /// Whether the newest frame is good; null before the first.
        pub is_good: Option<bool>,
        /// Each period, the first one first: at most 256, the last one with all later ones.
        pub periods: Vec<PeriodState>,
        /// The vetoes, by their bits.
        pub vetoes: Vec<VetoState>,
    }
}

json_object! {
    /// Frames of a period.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
    pub struct PeriodState {
        /// All of them.
        pub raw: u64,
        /// Those without a veto that counts.
        pub good: u64,
        /// Charge of the good ones in µAh.
        pub charge_good_uah: f64,
        /// Events of the good ones.
        pub events_good: u64,
    }
}

json_object! {
    /// A veto that frames can have.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct VetoState {
        /// Its bit, from 0.
        pub bit: u8,
        /// What it is called.
        pub name: String,
        /// True if a frame with it is not good.
        pub counts: bool,
        /// Frames in which it was present.
        pub frames: u64,
        /// True if it is present in the newest frame.
        pub now: bool,
    }
}

/// Those of all streams that tell frames; none if none does.
pub(crate) fn join(states: &[(&str, &ObservedState)]) -> Option<FramesState> {
    let mut told = states.iter().filter_map(|(_, observed)| observed.run.ledger.frames.as_ref());
    let first = told.next()?;
    let Some(second) = told.next() else { return Some(state_of(first)) };
    let mut all = first.clone();
    for other in std::iter::once(second).chain(told) {
        add(&mut all, other);
    }
    Some(state_of(&all))
}

fn add(sum: &mut FrameLedger, other: &FrameLedger) {
    add_totals(&mut sum.all, &other.all);
    if sum.periods.len() < other.periods.len() {
        sum.periods.resize(other.periods.len(), FrameTotals::default());
    }
    sum.periods.iter_mut().zip(&other.periods).for_each(|(sum, other)| add_totals(sum, other));
    sum.states.iter_mut().zip(other.states).for_each(|(sum, other)| *sum += other);
    for veto in &other.vetoes {
        match sum.vetoes.iter_mut().find(|known| known.bit == veto.bit && known.name == veto.name) {
            Some(known) => known.frames += veto.frames,
            None => sum.vetoes.push(veto.clone()),
        }
    }
    sum.newest = sum.newest.into_iter().chain(other.newest).max_by_key(|(time_ns, _)| *time_ns);
}

fn add_totals(sum: &mut FrameTotals, other: &FrameTotals) {
    sum.raw += other.raw;
    sum.good += other.good;
    sum.raw_charge += other.raw_charge;
    sum.good_charge += other.good_charge;
    sum.raw_events += other.raw_events;
    sum.good_events += other.good_events;
}

fn state_of(frames: &FrameLedger) -> FramesState {
    let all = &frames.all;
    let newest = frames.newest.map(|(_, frame)| frame);
    let period = |totals: &FrameTotals| PeriodState {
        raw: totals.raw,
        good: totals.good,
        charge_good_uah: totals.good_charge.uah,
        events_good: totals.good_events,
    };
    let vetoes = frames.vetoes.iter().map(|veto| VetoState {
        bit: veto.bit,
        name: veto.name.clone(),
        counts: veto.counts,
        frames: veto.frames,
        now: newest.is_some_and(|frame| frame.vetoes >> (veto.bit % 32) & 1 == 1),
    });
    FramesState {
        raw: all.raw,
        good: all.good,
        charge_uah: all.raw_charge.uah,
        charge_good_uah: all.good_charge.uah,
        events: all.raw_events,
        events_good: all.good_events,
        complete: frames.in_state(FrameState::Complete),
        incomplete: frames.in_state(FrameState::Incomplete),
        late: frames.in_state(FrameState::Late),
        unknown: frames.in_state(FrameState::Unknown),
        live_fraction: frames.live_fraction(),
        period: newest.and_then(|frame| frame.period).map(|period| u64::from(period) + 1),
        is_good: newest.map(|frame| !frame.is_vetoed),
        periods: frames.periods.iter().map(period).collect(),
        vetoes: vetoes.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::frame::{Frame, ProtonCharge};
    use evforge_core::ledger::DetectorLedger;
    use evforge_core::run_state::RunState;
    use std::sync::Arc;
    use std::time::Instant;

    fn observed(frames: Option<FrameLedger>) -> ObservedState {
        let ledger = DetectorLedger { frames, ..DetectorLedger::default() };
        ObservedState { run: Arc::new(RunState { ledger, ..RunState::default() }), at: Instant::now() }
    }

    #[test]
    fn frames_of_streams_add_up() {
        let mut one = FrameLedger::new([(1, "SMP".to_owned(), true)]);
        let charge = Some(ProtonCharge { uah: 0.5 });
        let frame = |period, vetoes, state| Frame { period, vetoes, is_vetoed: vetoes != 0, charge, state };
        one.add(10, &frame(Some(0), 2, FrameState::Complete), 5);
        let mut two = FrameLedger::new([(1, "SMP".to_owned(), true), (4, "slow".to_owned(), true)]);
        two.add(20, &frame(Some(1), 0, FrameState::Late), 7);
        two.add(30, &frame(Some(1), 16, FrameState::Unknown), 1);
        let (silent, one, two) = (observed(None), observed(Some(one)), observed(Some(two)));
        assert_eq!(join(&[("a", &silent)]), None);
        assert_eq!(join(&[("a", &silent), ("b", &one)]).unwrap().raw, 1);
        let state = join(&[("a", &one), ("b", &silent), ("c", &two)]).unwrap();
        assert_eq!((state.raw, state.good, state.events, state.events_good), (3, 1, 13, 7));
        assert_eq!((state.charge_uah, state.charge_good_uah), (1.5, 0.5));
        assert_eq!((state.complete, state.incomplete, state.late, state.unknown), (1, 0, 1, 1));
        assert_eq!((state.live_fraction, state.period, state.is_good), (Some(0.5), Some(2), Some(false)));
        assert_eq!(state.periods.iter().map(|period| period.raw).collect::<Vec<_>>(), [1, 2]);
        let vetoes: Vec<_> = state.vetoes.iter().map(|veto| (&*veto.name, veto.frames, veto.now)).collect();
        assert_eq!(vetoes, [("SMP", 1, false), ("slow", 1, true)]);
    }
}
