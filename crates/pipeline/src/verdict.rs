//! What a run was worth: whether everything that was asked for was done, and whether its input was whole and of use.
//!
//! The exit status of every command that forms events follows from it, in one place (`evforge`'s `exit_status`).

use crate::figures::grouped;
use crate::report::{Ending, RunReport};
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::feed::in_words;
use evforge_core::run_state::{
    Discard, InputFault, InputFaultKind, LedgerTotals, OutputState, RunState, discards,
};
use evforge_net::record::Recording;

/// What a run was worth; the worst that can be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Everything was done, and the input was whole and of use.
    Good,
    /// The input is incomplete or damaged: what could be read was used.
    Incomplete,
    /// The input was of no use.
    NoUse,
    /// Something that was asked for could not be done.
    Failed,
}

impl Verdict {
    /// As reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Incomplete => "input incomplete",
            Self::NoUse => "input of no use",
            Self::Failed => "failed",
        }
    }
}

impl From<InputFaultKind> for Verdict {
    fn from(kind: InputFaultKind) -> Self {
        match kind {
            InputFaultKind::Incomplete => Self::Incomplete,
            InputFaultKind::NoUse | InputFaultKind::NoEvent => Self::NoUse,
        }
    }
}

impl RunReport {
    /// What the run was worth for whoever wanted events.
    pub fn verdict(&self) -> Verdict {
        self.verdict_on(|_| true)
    }

    /// What the run was worth for whoever wanted to look at the readouts, whether events came of them or not.
    pub fn verdict_on_readouts(&self) -> Verdict {
        self.verdict_on(|fault| fault.kind != InputFaultKind::NoEvent)
    }

    fn verdict_on(&self, matters: impl Fn(&InputFault) -> bool) -> Verdict {
        let faults = self.state.faults.iter().filter(|fault| matters(fault));
        let worst = faults.map(|fault| fault.kind.into()).max().unwrap_or(Verdict::Good);
        worst.max(self.execution())
    }

    /// How well everything was done that depends on this program, this host and its disks.
    fn execution(&self) -> Verdict {
        let state = &self.state;
        let is_done = state.detector_failure.is_none()
            && state.stopped_by.is_none()
            && state.alarms.is_empty()
            && state.outputs.iter().all(OutputState::is_whole)
            && self.recording.as_ref().is_none_or(Recording::is_whole);
        match &self.ending {
            _ if !is_done => Verdict::Failed,
            // A file that ends in the middle is the file's fault; sockets that fail are this host's.
            Ending::InputFailed(_) if self.is_live() => Verdict::Failed,
            Ending::InputFailed(_) => Verdict::Incomplete,
            Ending::Complete | Ending::Stopped => Verdict::Good,
        }
    }
}

/// The fault of a live feed of which nothing ever came.
pub(crate) fn nothing_received(state: &RunState, addresses: &str) -> Option<InputFault> {
    (state.ledger.handed_over() == 0).then(|| {
        InputFault::no_use(format!(
            "no packet came in {} to UDP {addresses}: check address and port of the sender, cables, multicast groups and \
             firewalls; `evforge doctor` checks this host, and `tcpdump udp` shows what arrives at it",
            in_words(state.elapsed)
        ))
    })
}

/// The fault of a file without a packet, of which nothing else is known to be wrong.
pub(crate) fn nothing_read(state: &RunState) -> Option<InputFault> {
    (state.ledger.handed_over() == 0 && state.faults.is_empty()).then(|| {
        InputFault::no_use(
            "the input holds no packets: check that it is the file that you meant, and how it was recorded",
        )
    })
}

/// The fault of a file from which no event came, although its packets could be used. Whoever forms the events of a file wants
/// some; a live run may well see nothing but the background of a night.
pub(crate) fn no_event(state: &RunState) -> Option<InputFault> {
    let ledger = &state.ledger;
    let totals = LedgerTotals::of(ledger);
    let has_other_use = ledger.beam_monitors.iter().any(|monitor| BeamMonitorData::total(monitor) > 0)
        || state.outputs.iter().any(|output| output.id == "samples" && output.counters.committed > 0);
    if totals.packets == 0 || totals.events > 0 || has_other_use || !state.faults.is_empty() {
        return None;
    }
    let packets = grouped(totals.packets);
    if totals.readouts == Some(0) {
        return Some(InputFault::no_event(format!(
            "no event was formed: the {packets} packets have no readouts, only heartbeats or pulses. Record while the detector \
             counts, and check that its channels are enabled"
        )));
    }
    let from = totals.readouts.map_or_else(
        || format!("the {packets} packets"),
        |readouts| format!("{} readouts in {packets} packets", grouped(readouts)),
    );
    let mut thrown: Vec<Discard> =
        discards(&ledger.counters).into_iter().filter(|found| found.count > 0).collect();
    thrown.sort_by_key(|found| std::cmp::Reverse(found.count));
    let reasons: Vec<String> =
        thrown.iter().take(3).map(|found| format!("{} {}", grouped(found.count), found.reason)).collect();
    let discarded =
        if reasons.is_empty() { String::new() } else { format!(" (discarded: {})", reasons.join(", ")) };
    Some(InputFault::no_event(format!(
        "no event was formed of {from}{discarded}: check thresholds, masks, wiring and windows of the configuration; `evforge \
         run --monitor` shows the readouts per channel, `evforge windows` which windows fit"
    )))
}
