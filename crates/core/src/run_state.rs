//! The state of a run at one moment: what report, page, status line and event files say, from one place.

use crate::counter::{CounterSnapshot, Role, Unit};
use crate::ledger::DetectorLedger;
use crate::losses::LossBreakdown;
pub use crate::output_state::{OutputCounters, OutputState};
use crate::pulsed::Calendar;
use std::time::Duration;

/// Number of the form of reports in JSON (`schema`): raised when a key is renamed or removed. `CHANGELOG.md` lists what was.
pub const REPORT_SCHEMA: u32 = 2;

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
    /// What is wrong with the parallel recording, if anything is.
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
