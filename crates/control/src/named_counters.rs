//! All counters of a run, in order and by name.

use evforge_core::counter::{CounterInfo, CounterSnapshot, Unit};
use evforge_core::run_state::RunState;
use std::collections::HashSet;

/// A counter with the name by which it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCounter {
    /// `stage.counter`.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// What it counts.
    pub unit: Unit,
    /// One sentence.
    pub help: &'static str,
}

/// What the uptime is called, as by the EFU.
pub const UPTIME: &str = "main.uptime";

/// Stage of the counters of the detector and of the assignment of pulses.
pub const DETECTOR: &str = "detector";

/// Every counter that has been declared, whether it has counted or not: those of the detector and of the pulses, of each
/// other stage of the run, and of each output. Then how many alarms of each kind are raised, and the time since the start in
/// seconds. Their order is the same in every state of a run.
pub fn named_counters(state: &RunState) -> Vec<NamedCounter> {
    let mut all = Vec::new();
    let mut known = HashSet::new();
    let mut add = |stage: &str, counters: &CounterSnapshot| {
        for (info, value) in counters.iter() {
            let &CounterInfo { name, unit, help, .. } = info;
            let name = format!("{stage}.{name}");
            // The first of two that are called the same.
            if known.insert(name.clone()) {
                all.push(NamedCounter { name, value, unit, help });
            }
        }
    };
    add(DETECTOR, &state.ledger.counters);
    for (stage, counters) in &state.stages {
        add(stage, counters);
    }
    for output in &state.outputs {
        let stage = format!("output.{}", output.id);
        add(&stage, &CounterSnapshot::of(&output.counters));
        add(&stage, &output.own);
    }
    for (kind, value) in state.alarm_counts() {
        let name = format!("alarms.{}", kind.name());
        all.push(NamedCounter { name, value, unit: Unit::Times, help: kind.meaning() });
    }
    let help = "Seconds since the run began.";
    all.push(NamedCounter { name: UPTIME.into(), value: state.elapsed.as_secs(), unit: Unit::Times, help });
    all
}
