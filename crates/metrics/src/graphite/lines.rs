//! Readings as lines: `<path> <value> <seconds since 1970>`.

use super::reference::REFERENCE;
use crate::reading::{Reading, Section, Value};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;

/// Most lines of one interval: what is beyond is left out.
const MOST_LINES: usize = 20_000;

/// The lines of these readings at this time. What means the same as a counter of the reference has a second line with that
/// counter's name, whose value is a whole number as there.
pub fn lines(prefix: &str, sections: &[Section], unix_seconds: u64) -> String {
    let mut text = String::new();
    let mut values: HashMap<String, Value> = HashMap::new();
    let readings = sections.iter().flat_map(|section| &section.readings);
    for reading in readings.filter(|reading| reading.value.is_finite()).take(MOST_LINES) {
        let path = reading.path();
        if let Entry::Vacant(place) = values.entry(path) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{prefix}.{} {} {unix_seconds}", place.key(), reading.value);
            place.insert(reading.value);
        }
    }
    let outputs = outputs(sections);
    for same in REFERENCE {
        for (name, sum) in same.values(&outputs, |path| values.get(path).copied()) {
            // Some names are ours as well.
            if !values.contains_key(&name) {
                let _ = writeln!(text, "{prefix}.{name} {sum} {unix_seconds}");
            }
        }
    }
    text
}

/// The outputs that readings are of, as they are in paths.
fn outputs(sections: &[Section]) -> Vec<String> {
    let readings = sections.iter().flat_map(|section| &section.readings);
    let of = |reading: &Reading| {
        let label = reading.labels.iter().find(|(name, _)| *name == "output")?;
        Some(crate::reading::in_path(&label.1))
    };
    let mut outputs: Vec<String> = readings.filter_map(of).collect();
    outputs.dedup();
    outputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run_metrics;
    use evforge_core::run_state::{OutputState, RunState};

    #[test]
    fn a_line_is_a_path_a_value_and_a_time() {
        let mut state = RunState { elapsed: std::time::Duration::from_millis(1500), ..RunState::default() };
        state.outputs.push(OutputState { id: "my.nexus".into(), ..OutputState::default() });
        state.outputs[0].counters.offered = 9;
        let text =
            lines("efu.nmx.1", &[Section::of_run("NMX", "ess_nmx", run_metrics(&state))], 1_800_000_000);
        for line in [
            "efu.nmx.1.run.events 0 1800000000",
            "efu.nmx.1.events.count 0 1800000000",
            "efu.nmx.1.run.elapsed_seconds 1.500000 1800000000",
            "efu.nmx.1.output.my_nexus.offered 9 1800000000",
            "efu.nmx.1.loss.own_queue.packets 0 1800000000",
            "efu.nmx.1.receive.dropped 0 1800000000",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
        let mut paths: Vec<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
        let all = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), all, "a path is there twice");
    }
}
