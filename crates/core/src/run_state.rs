//! The state of a run at one moment: what report, page, status line and event files say, from one place.

use crate::counter::{CounterSnapshot, Role, Unit};
use crate::ledger::DetectorLedger;
use crate::losses::LossBreakdown;
use crate::output::OutputProgress;
use crate::pulsed::Calendar;
use std::time::Duration;

/// Everything that is known of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// Time since its start.
    pub elapsed: Duration,
    /// Sources, sequences, and the counters of detector and pulse assignment.
    pub ledger: DetectorLedger,
    /// Further counters: of the capture or the receiver, of the kernel and of interfaces, each with the name of its stage.
    pub stages: Vec<(&'static str, CounterSnapshot)>,
    /// Where packets were lost.
    pub losses: LossBreakdown,
    /// What the pattern of losses suggests, in whole sentences.
    pub hints: Vec<String>,
    /// What is wrong with receiving, or was, in whole sentences. For everything that needs a person see
    /// [`RunState::all_alarms`].
    pub alarms: Vec<String>,
    /// Why the detector forms no events any more, if it has failed.
    pub detector_failure: Option<String>,
    /// Why an output has stopped the run, if one has.
    pub stopped_by: Option<String>,
    /// What is wrong with the recording beside, if anything is.
    pub record_alarm: Option<String>,
    /// The vetoes with the number of events that each has marked.
    pub vetoes: Vec<(String, u64)>,
    /// The outputs.
    pub outputs: Vec<OutputState>,
    /// How the detector's clock relates to the calendar; none as long as that is not decided.
    pub calendar: Option<Calendar>,
}

impl RunState {
    /// Everything that needs a person, in whole sentences: the detector, receiving, outputs, the recording.
    pub fn all_alarms(&self) -> Vec<String> {
        let failure = self.detector_failure.as_ref();
        let detector =
            failure.map(|why| format!("the detector has failed, and forms no further events: {why}"));
        let outputs = self.outputs.iter().filter_map(OutputState::alarm);
        let others = self.stopped_by.iter().chain(&self.record_alarm).cloned();
        detector.into_iter().chain(self.alarms.iter().cloned()).chain(outputs).chain(others).collect()
    }

    /// A counter of a stage before the detector: `stage_value("receive", "bytes_received")`.
    pub fn stage_value(&self, stage: &str, counter: &str) -> Option<u64> {
        self.stages.iter().find(|(name, _)| *name == stage)?.1.value(counter)
    }
}

crate::counters! {
    /// Counters of any output: offered = committed + left out + dropped + missed + queued + pending, in every snapshot.
    pub struct OutputCounters: "output" {
        offered: Enters(Outputs), Events, "Events offered to the output.";
        committed: Leaves(Outputs), Events, "Events that are where they belong.";
        left_out: Discarded(Outputs), Events, "Events taken that have no place there; why is in the output's own counters.";
        dropped: Discarded(Outputs), Events, "Events dropped because the queue of the output was full.";
        missed: Discarded(Outputs), Events, "Events that the output did not get, or did not keep, because it had failed.";
        queued: Held(Outputs), Events, "Events that wait for the output.";
        pending: Held(Outputs), Events, "Events taken that are not yet where they belong.";
        accepted: Information, Events, "Events taken.";
        queued_bytes: Information, Bytes, "Memory of what waits for the output.";
        pulses_lost: Information, Times, "Pulses that began in batches that were dropped or missed. One that goes on in a batch that was taken begins there for the output, so this is an upper bound.";
        retries: Information, Times, "Times at which the output could not go on for a while, and tried again.";
        interruptions: Information, Times, "Times at which the output began to wait for a cause to pass.";
    }
}

impl OutputCounters {
    /// Takes over what the output says of its progress.
    pub fn set_progress(&mut self, progress: OutputProgress) {
        (self.committed, self.pending, self.left_out) =
            (progress.committed, progress.pending, progress.left_out);
    }
}

/// One output at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputState {
    /// Its name in the configuration: "nexus".
    pub id: String,
    /// What it is, for people: "events in run.nxs".
    pub name: String,
    /// What became of the events that it was offered.
    pub counters: OutputCounters,
    /// What it counts itself.
    pub own: CounterSnapshot,
    /// Why it is waiting at this moment, if it is.
    pub waiting: Option<String>,
    /// The first cause that it had to wait for.
    pub interruption: Option<String>,
    /// Why it has failed, if it has.
    pub failure: Option<String>,
    /// What it left behind after it, or the input, had failed.
    pub note: Option<String>,
    /// True if it only needs to be up to date, so that what it drops is no fault: pictures.
    pub may_drop: bool,
}

impl OutputState {
    /// True if everything it was offered is, or will be, where it belongs.
    pub fn is_whole(&self) -> bool {
        self.failure.is_none() && (self.may_drop || self.counters.dropped + self.counters.missed == 0)
    }

    /// What is wrong with it, for people; none if nothing is.
    pub fn alarm(&self) -> Option<String> {
        if let Some(failure) = &self.failure {
            return Some(format!("FAILED OUTPUT: {}: {failure}", self.name));
        }
        if let Some(waiting) = &self.waiting {
            let dropped = self.counters.dropped;
            let lost =
                if dropped > 0 { format!(" {dropped} events were dropped so far.") } else { String::new() };
            return Some(format!("{} is waiting: {waiting}.{lost}", self.name));
        }
        (self.counters.dropped > 0 && !self.may_drop)
            .then(|| format!("{}: {} events were dropped, it is too slow", self.name, self.counters.dropped))
    }

    /// All counters: those of any output, then its own.
    pub fn all_counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters).join(&self.own)
    }
}

/// The sums that people ask for, by the parts that counters have in the laws, whatever a detector calls them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerTotals {
    /// Packets handed to the detector.
    pub packets: u64,
    /// Readouts found in them.
    pub readouts: u64,
    /// Hits: readouts with a place and a time.
    pub hits: u64,
    /// Events handed out.
    pub events: u64,
    /// What waits at this moment, in whichever stage.
    pub held: u64,
}

impl LedgerTotals {
    /// The totals of a ledger.
    pub fn of(ledger: &DetectorLedger) -> Self {
        use crate::counter::Law::{Hits, Packets, Readouts};
        let mut totals = Self { events: ledger.events(), held: ledger.held(), ..Self::default() };
        for (info, value) in ledger.counters.iter() {
            match info.role {
                Role::Enters(Packets) => totals.packets += value,
                Role::Enters(Readouts) | Role::Joins(Packets, Readouts) => totals.readouts += value,
                Role::Enters(Hits) | Role::Joins(_, Hits) => totals.hits += value,
                _ => {}
            }
        }
        totals
    }
}

/// What was thrown away for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discard {
    /// The reason: the name of the counter.
    pub reason: &'static str,
    /// Of what: the name of the law.
    pub of: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// How many.
    pub count: u64,
    /// One sentence for people.
    pub help: &'static str,
}

/// What a ledger has thrown away, by reason; reasons of the same name are added up.
pub fn discards(ledger: &DetectorLedger) -> Vec<Discard> {
    let mut discards: Vec<Discard> = Vec::new();
    for (info, count) in ledger.counters.iter() {
        let Role::Discarded(law) = info.role else { continue };
        match discards.iter_mut().find(|known| (known.reason, known.of) == (info.name, law.name())) {
            Some(known) => known.count += count,
            None => discards.push(Discard {
                reason: info.name,
                of: law.name(),
                unit: info.unit,
                count,
                help: info.help,
            }),
        }
    }
    discards
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::{CounterSet, Law};

    #[test]
    fn every_event_offered_to_an_output_is_somewhere() {
        let mut counters =
            OutputCounters { offered: 10, dropped: 1, missed: 2, queued: 3, ..Default::default() };
        counters.set_progress(OutputProgress { committed: 2, pending: 1, left_out: 1 });
        assert_eq!(counters.imbalance(Law::Outputs), 0);
        counters.missed -= 1;
        assert_eq!(counters.imbalance(Law::Outputs), 1);
    }

    #[test]
    fn an_output_tells_the_worst_first() {
        let mut state = OutputState { name: "events in a.csv".into(), ..Default::default() };
        assert!(state.is_whole() && state.alarm().is_none());
        state.counters.dropped = 7;
        assert!(!state.is_whole() && state.alarm().is_some_and(|alarm| alarm.contains("too slow")));
        state.may_drop = true;
        assert!(state.is_whole() && state.alarm().is_none());
        state.waiting = Some("no space left".into());
        assert!(state.alarm().is_some_and(|alarm| alarm.contains("is waiting: no space left. 7 events")));
        state.failure = Some("gone".into());
        assert!(!state.is_whole() && state.alarm().is_some_and(|alarm| alarm.starts_with("FAILED OUTPUT")));
    }
}
