//! The health of the time source, for reports: what the readout says about its pulses and its synchronisation.

use evforge_core::counter::{CounterInfo, CounterSet};
use evforge_core::ledger::DetectorLedger;
use evforge_detect::adc_readout::PulseChannelCounters;
use evforge_detect::ess::{FilingCounters, TimeSourceCounters};
use serde_json::{Map, Value, json};

/// What says that something is wrong: all counters of the time source, and of pulses on a channel, but these.
const HEALTHY: [&str; 5] =
    ["pulses", "packets_without_pulse", "readouts_before_pulse", "pulse_runs", "pulse_below_threshold"];

/// Counters of what may say so.
fn counters() -> impl Iterator<Item = &'static CounterInfo> {
    TimeSourceCounters::infos().iter().chain(PulseChannelCounters::infos())
}

/// Whether pulses should arrive on a channel and none has.
fn is_channel_dead(ledger: &DetectorLedger) -> bool {
    let runs = PulseChannelCounters::infos().iter().find(|info| info.name == "pulse_runs");
    runs.and_then(|info| ledger.counters.value_of(info)) == Some(0)
}

/// The pulses handed out; none where the readout reports no pulses. A counter of a plugin that has the same name is another one.
fn pulses_filed(ledger: &DetectorLedger) -> Option<u64> {
    let info = FilingCounters::infos().iter().find(|info| info.name == "pulses_filed")?;
    ledger.counters.value_of(info)
}

/// What was found to be wrong, with how often; none where the readout reports no pulses.
fn problems(ledger: &DetectorLedger) -> Option<Vec<(&'static CounterInfo, u64)>> {
    pulses_filed(ledger)?;
    let infos = counters().filter(|info| !HEALTHY.contains(&info.name));
    let counted = infos.map(|info| (info, ledger.counters.value_of(info).unwrap_or(0)));
    Some(counted.filter(|(_, count)| *count > 0).collect())
}

/// As JSON: the pulses reported, whether all is well, and what is not. None where the readout reports no pulses.
pub(crate) fn to_json(ledger: &DetectorLedger) -> Option<Value> {
    let problems = problems(ledger)?;
    let found: Map<String, Value> =
        problems.iter().map(|(info, count)| (info.name.to_owned(), json!(count))).collect();
    let pulses = pulses_filed(ledger);
    let period = ledger.pulse_period_ns;
    let healthy = problems.is_empty() && !is_channel_dead(ledger);
    Some(json!({ "pulses": pulses, "period_ns": period, "healthy": healthy, "problems": found }))
}

/// For people: a line for the pulses, and one for each problem. Each with its title.
pub(crate) fn lines(ledger: &DetectorLedger) -> Vec<(&'static str, String)> {
    let Some(problems) = problems(ledger) else { return Vec::new() };
    let pulses = pulses_filed(ledger).unwrap_or(0);
    let healthy = problems.is_empty() && !is_channel_dead(ledger);
    let state = if healthy { "time source healthy" } else { "time source NOT healthy" };
    let period = ledger
        .pulse_period_ns
        .map(|period| period as f64)
        .map_or(String::new(), |period| format!(" every {:.3} ms ({:.3} Hz)", period / 1e6, 1e9 / period));
    let mut lines = vec![("pulses", format!("{pulses}{period}, {state}"))];
    lines.extend(problems.iter().map(|(info, count)| {
        let help = info.help.split(':').next().unwrap_or(info.help).trim_end_matches('.');
        ("  ALARM", format!("{count} {}: {}", info.name.replace('_', " "), help))
    }));
    // Not wrong, but not what the format says either: rules that the configuration has relaxed.
    let relaxed =
        ledger.counters.iter().filter(|(info, count)| info.name.starts_with("relaxed_") && *count > 0);
    lines.extend(relaxed.map(|(info, count)| {
        ("  relaxed", format!("{count} {}: {}", info.unit.name(), info.name.trim_start_matches("relaxed_")))
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::counter::CounterSnapshot;
    use evforge_detect::ess::{FilingCounters, HeaderCounters};

    fn ledger(time_source: TimeSourceCounters, header: HeaderCounters) -> DetectorLedger {
        let filing = FilingCounters { pulses_filed: 14, ..Default::default() };
        let counters = CounterSnapshot::of(&time_source).and(&filing).and(&header);
        DetectorLedger { counters, ..DetectorLedger::default() }
    }

    #[test]
    fn a_healthy_source_is_one_line_and_a_problem_is_an_alarm() {
        let pulses = TimeSourceCounters { pulses: 14, readouts_before_pulse: 3, ..Default::default() };
        let healthy = ledger(pulses, HeaderCounters::default());
        assert_eq!(lines(&healthy), [("pulses", "14, time source healthy".to_owned())]);
        assert_eq!(to_json(&healthy).unwrap()["healthy"], true);

        let absent = TimeSourceCounters { pulses_absent: 2, ..pulses };
        let relaxed = HeaderCounters { relaxed_time_status: 5, ..Default::default() };
        let ill = ledger(absent, relaxed);
        let lines = lines(&ill);
        assert!(lines[1].1.starts_with("2 pulses absent: Times that"), "{lines:?}");
        assert_eq!(lines[2], ("  relaxed", "5 packets: time_status".to_owned()));
        assert_eq!(to_json(&ill).unwrap()["problems"], json!({"pulses_absent": 2}));
        assert_eq!(to_json(&DetectorLedger::default()), None);
    }

    #[test]
    fn pulses_on_a_channel_that_are_missing_or_do_not_come_at_all_are_not_healthy() {
        let of = |channel: PulseChannelCounters| {
            let filing = FilingCounters { pulses_filed: channel.pulse_runs, ..Default::default() };
            let counters = CounterSnapshot::of(&channel).and(&filing);
            let ledger = DetectorLedger { counters, ..DetectorLedger::default() };
            let lines = lines(&ledger).into_iter().map(|(_, line)| line).collect::<Vec<_>>();
            (to_json(&ledger).unwrap()["healthy"] == true, lines)
        };
        let sound = PulseChannelCounters { pulse_runs: 14, pulse_below_threshold: 3, ..Default::default() };
        assert_eq!(of(sound), (true, vec!["14, time source healthy".to_owned()]));
        let (healthy, lines) = of(PulseChannelCounters { pulses_missing: 2, ..sound });
        assert!(!healthy && lines[1].starts_with("2 pulses missing: Periods without a pulse"), "{lines:?}");
        let dead = of(PulseChannelCounters::default());
        assert_eq!(dead, (false, vec!["0, time source NOT healthy".to_owned()]));
    }
}
