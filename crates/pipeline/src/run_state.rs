//! Puts together what is known of a run at one moment: for outputs, page, status line and report alike.

use crate::forming::{Forming, with_pulses};
use evforge_core::alarm::HostHealth;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::Detector;
use evforge_core::feed::Feed;
use evforge_core::ledger::DetectorLedger;
use evforge_core::losses::LossBreakdown;
use evforge_core::pulsed::PulseCounters;
use evforge_core::quantity::grouped;
use evforge_core::run_state::{InputFault, OutputState, RunState};
use std::time::Duration;

/// What a run knows besides its ledger.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// Time since the start.
    pub(crate) elapsed: Duration,
    /// What comes in.
    pub(crate) feed: Feed,
    /// Counters of capture or receiver, kernel and interfaces.
    pub(crate) stages: Vec<(&'static str, CounterSnapshot)>,
    /// Where packets were lost.
    pub(crate) losses: LossBreakdown,
    /// What the pattern of losses suggests.
    pub(crate) hints: Vec<String>,
    /// The host.
    pub(crate) health: HostHealth,
    /// What is wrong with receiving.
    pub(crate) receiving: Vec<String>,
    /// The file for averaged waveforms, which is no output of events.
    pub(crate) samples: Option<OutputState>,
}

/// The state of a run.
pub(crate) fn compose(forming: &mut Forming<'_>, ledger: DetectorLedger, around: Surroundings) -> RunState {
    let Surroundings { elapsed, feed, mut stages, losses, mut hints, health, receiving, samples } = around;
    if let Some((stage, counters)) = forming.packet_counters() {
        hints.extend(dropped_packets(&counters));
        stages.push((stage, counters));
    }
    stages.extend(forming.control_stage());
    stages.extend(evforge_log::stage());
    let faults = match forming.misfit().fault(&ledger) {
        Some(fault) => vec![InputFault::no_use(fault)],
        None => forming.misfit().unplaced(&ledger).into_iter().map(InputFault::unplaced).collect(),
    };
    let mut outputs = forming.outputs().states();
    outputs.extend(samples);
    let mut state = RunState {
        elapsed,
        feed,
        ledger,
        stages,
        losses,
        hints,
        recent_losses: Vec::new(),
        health,
        receiving,
        faults,
        detector_failure: forming.failure(),
        stopped_by: forming.outputs().wants_stop().map(str::to_owned),
        record_alarm: forming.record_alarm(),
        vetoes: forming.vetoes(),
        outputs,
        calendar: None,
    };
    forming.observe_losses(&mut state);
    state
}

/// What to do if packets that outputs have asked for found no room.
fn dropped_packets(counters: &CounterSnapshot) -> Option<String> {
    let dropped = counters.value("dropped").filter(|&dropped| dropped > 0)?;
    Some(format!(
        "{} raw packets that an output had asked for were not handed to it, because it was behind or had ended: sample fewer \
         of them, or give its buffer more memory",
        grouped(dropped)
    ))
}

/// The ledger of a run with `detector` before its first packet: it has all counters that there will be.
pub fn ledger_at_start(detector: &dyn Detector) -> DetectorLedger {
    with_pulses(detector.ledger(), &PulseCounters::default())
}
