//! The state of a run at one moment: what report, page, status line and event files say, from one place.

use crate::alarm::{HostHealth, RecentLoss};
use crate::counter::{CounterSnapshot, Role, Unit};
use crate::feed::Feed;
use crate::ledger::{DetectorLedger, Loss};
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
    /// What comes in at this moment.
    pub feed: Feed,
    /// Sources, sequences, and the counters of detector and pulse assignment.
    pub ledger: DetectorLedger,
    /// Further counters: of the capture or the receiver, of the kernel and of interfaces, each with the name of its stage.
    pub stages: Vec<(&'static str, CounterSnapshot)>,
    /// Where packets were lost.
    pub losses: LossBreakdown,
    /// What the pattern of losses suggests, in whole sentences.
    pub hints: Vec<String>,
    /// The sources that lose packets at this moment.
    pub recent_losses: Vec<RecentLoss>,
    /// Disks and clock of this host, as far as the run depends on them.
    pub health: HostHealth,
    /// What is wrong with receiving, or was, in whole sentences. For everything that needs a person see
    /// [`RunState::alarms`](crate::alarm).
    pub receiving: Vec<String>,
    /// What is wrong with the input itself.
    pub faults: Vec<InputFault>,
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
    /// How many packets were lost, as far as sequences and the counters of this host can know.
    pub fn loss(&self) -> Loss {
        self.ledger.packets().loss().and(self.losses.after_the_last)
    }

    /// A counter of a stage before the detector: `stage_value("receive", "bytes_received")`.
    pub fn stage_value(&self, stage: &str, counter: &str) -> Option<u64> {
        self.stages.iter().find(|(name, _)| *name == stage)?.1.value(counter)
    }
}

/// What is wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFault {
    /// What it means for the data.
    pub kind: InputFaultKind,
    /// What it is, and what to do, in a sentence.
    pub text: String,
}

/// What a fault of the input means for the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFaultKind {
    /// Something is missing in it: fragments, cut packets, a file that ends in the middle.
    Incomplete,
    /// Nothing of it could be used.
    NoUse,
    /// It could be used, and no event came of it: nothing for whoever wants events.
    NoEvent,
    /// More of it than usual has no place in the configuration; the rest is as good as ever.
    Unplaced,
}

impl InputFault {
    /// Something is missing in the input.
    pub fn incomplete(text: impl Into<String>) -> Self {
        Self { kind: InputFaultKind::Incomplete, text: text.into() }
    }

    /// Nothing of the input could be used.
    pub fn no_use(text: impl Into<String>) -> Self {
        Self { kind: InputFaultKind::NoUse, text: text.into() }
    }

    /// Part of the input has no place in the configuration.
    pub fn unplaced(text: impl Into<String>) -> Self {
        Self { kind: InputFaultKind::Unplaced, text: text.into() }
    }

    /// No event came of the input.
    pub fn no_event(text: impl Into<String>) -> Self {
        Self { kind: InputFaultKind::NoEvent, text: text.into() }
    }
}

/// The sums that people ask for, by the parts that counters have in the laws, whatever a detector calls them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerTotals {
    /// Packets handed to the detector.
    pub packets: u64,
    /// Readouts found in them; none if the detector does not count them.
    pub readouts: Option<u64>,
    /// Hits: readouts with a place and a time; none if the detector does not count them.
    pub hits: Option<u64>,
    /// Events handed out.
    pub events: u64,
    /// What waits at this moment, in whichever stage.
    pub held: u64,
}

impl LedgerTotals {
    /// The totals of a ledger.
    pub fn of(ledger: &DetectorLedger) -> Self {
        Self {
            packets: ledger.handed_over(),
            readouts: ledger.readouts(),
            hits: ledger.hits(),
            events: ledger.events(),
            held: ledger.held(),
        }
    }
}

/// A count in words: "unknown" where nobody counts.
pub fn count_in_words(count: Option<u64>) -> String {
    count.map_or_else(|| "unknown".to_owned(), crate::quantity::grouped)
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

/// What was thrown away by these counters, by reason; reasons of the same name are added up.
pub fn discards(counters: &CounterSnapshot) -> Vec<Discard> {
    let mut discards: Vec<Discard> = Vec::new();
    for (info, count) in counters.iter() {
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

    crate::counters! {
        /// A detector whose counters are called as no other's.
        struct Foreign: "foreign" {
            datagrams: Enters(Packets), Packets, "In.";
            datagrams_read: Leaves(Packets), Packets, "Out.";
            words: Enters(Readouts), Readouts, "In.";
            placed: Joins(Readouts, Hits), Hits, "Between.";
            noise: Discarded(Readouts), Readouts, "Noise.";
            clustered: Leaves(Hits), Hits, "Out.";
            waiting: Held(Hits), Hits, "Held.";
            found: Enters(Events), Events, "In.";
            neutrons: Leaves(Events), Events, "Out.";
            too_faint: Discarded(Events), Events, "Faint.";
            events: Information, Events, "Something else.";
            readouts: Information, Readouts, "Something else.";
        }
    }

    crate::counters! {
        /// A detector that says next to nothing.
        struct Silent: "silent" {
            datagrams: Enters(Packets), Packets, "In.";
            datagrams_read: Leaves(Packets), Packets, "Out.";
            neutrons: HandedOut, Events, "Out.";
        }
    }

    fn ledger(counters: &impl CounterSet) -> DetectorLedger {
        DetectorLedger { counters: CounterSnapshot::of(counters), ..DetectorLedger::default() }
    }

    #[test]
    fn totals_and_discards_follow_the_roles_and_not_the_names() {
        let ledger = ledger(&Foreign {
            datagrams: 9,
            datagrams_read: 9,
            words: 8,
            placed: 7,
            noise: 1,
            clustered: 4,
            waiting: 3,
            found: 2,
            neutrons: 1,
            too_faint: 1,
            events: 99,
            readouts: 99,
        });
        let totals = LedgerTotals { packets: 9, readouts: Some(8), hits: Some(7), events: 1, held: 3 };
        assert_eq!((LedgerTotals::of(&ledger), ledger.unaccounted()), (totals, 0));
        let thrown: Vec<_> =
            discards(&ledger.counters).iter().map(|found| (found.reason, found.of, found.count)).collect();
        assert_eq!(thrown, [("noise", Law::Readouts.name(), 1), ("too_faint", Law::Events.name(), 1)]);
        assert_eq!((ledger.packets().received, ledger.packets().loss()), (9, Loss::Unknown));
    }

    #[test]
    fn what_a_detector_does_not_count_is_unknown_and_not_0() {
        let ledger = ledger(&Silent { datagrams: 5, datagrams_read: 5, neutrons: 2 });
        let totals = LedgerTotals::of(&ledger);
        assert_eq!((totals.packets, totals.readouts, totals.hits, totals.events), (5, None, None, 2));
        assert_eq!(
            (count_in_words(totals.hits), count_in_words(Some(1234))),
            ("unknown".into(), "1 234".into())
        );
    }
}
