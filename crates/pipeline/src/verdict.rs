//! What a run was worth: whether everything that was asked for was done, and whether its input was whole and of use.
//!
//! The exit status of every command that forms events follows from it, in one place (`evforge`'s `exit_status`).

use crate::figures::grouped;
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::feed::in_words;
use evforge_core::run_state::{
    Discard, InputFault, InputFaultKind, LedgerTotals, OutputState, RunState, discards,
};
use evforge_net::record::Recording;
use evforge_outputs::packet_tap::PACKET_TAP;

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
            InputFaultKind::Unplaced => Self::Good,
            InputFaultKind::Incomplete => Self::Incomplete,
            InputFaultKind::NoUse | InputFaultKind::NoEvent => Self::NoUse,
        }
    }
}

/// How the input came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputEnd {
    /// By itself, or because somebody asked for it.
    Good,
    /// A file could not be read to its end: that is the file's fault.
    FileFailed,
    /// Packets could not be received any more: that is this host's.
    ReceivingFailed,
}

/// What a run was worth that ended in this state; of the faults of the input those count that `matter`.
pub(crate) fn verdict_of(
    state: &RunState,
    input: InputEnd,
    recording: Option<&Recording>,
    matters: impl Fn(&InputFault) -> bool,
) -> Verdict {
    let faults = state.faults.iter().filter(|fault| matters(fault));
    let worst = faults.map(|fault| fault.kind.into()).max().unwrap_or(Verdict::Good);
    let is_done = state.detector_failure.is_none()
        && state.stopped_by.is_none()
        && state.receiving.is_empty()
        && state.outputs.iter().all(OutputState::is_whole)
        && recording.is_none_or(Recording::is_whole);
    let execution = match input {
        _ if !is_done => Verdict::Failed,
        InputEnd::ReceivingFailed => Verdict::Failed,
        InputEnd::FileFailed => Verdict::Incomplete,
        InputEnd::Good => Verdict::Good,
    };
    worst.max(execution)
}

/// Packets that came, those of calibration mode included, which no detector gets.
fn came(state: &RunState) -> u64 {
    state.ledger.handed_over() + state.stage_value(PACKET_TAP, "not_formed").unwrap_or(0)
}

/// The fault of a live feed of which nothing ever came.
pub(crate) fn nothing_received(state: &RunState, addresses: &str) -> Option<InputFault> {
    (came(state) == 0).then(|| {
        InputFault::no_use(format!(
            "no packet came in {} to UDP {addresses}: check address and port of the sender, cables, multicast groups and \
             firewalls; `evforge doctor` checks this host, and `tcpdump udp` shows what arrives at it",
            in_words(state.elapsed)
        ))
    })
}

/// The fault of a file without a packet, of which nothing else is known to be wrong.
pub(crate) fn nothing_read(state: &RunState) -> Option<InputFault> {
    (came(state) == 0 && state.faults.is_empty()).then(|| {
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
    let is_known = |fault: &InputFault| Verdict::from(fault.kind) == Verdict::NoUse;
    if totals.packets == 0 || totals.events > 0 || has_other_use || state.faults.iter().any(is_known) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::counter::CounterSnapshot;
    use evforge_core::ledger::DetectorLedger;

    /// Something is missing in the file, and nothing came of the rest: it is of no use.
    #[test]
    fn heartbeats_next_to_fragments_are_of_no_use() {
        evforge_core::counters! {
            struct Toy: "toy" {
                packets: Enters(Packets), Packets, "In.";
                heartbeats: Leaves(Packets), Packets, "Used.";
                readouts: Enters(Readouts), Readouts, "None.";
            }
        }
        let toy = Toy { packets: 7, heartbeats: 7, readouts: 0 };
        let ledger = DetectorLedger { counters: CounterSnapshot::of(&toy), ..DetectorLedger::default() };
        let faults = vec![InputFault::incomplete("3 fragments"), InputFault::unplaced("2 % of the hits")];
        let mut state = RunState { ledger, faults, ..RunState::default() };
        let fault = no_event(&state).expect("it is of no use");
        assert!(
            fault.text.starts_with("no event was formed: the 7 packets have no readouts"),
            "{}",
            fault.text
        );
        state.faults.push(fault);
        assert_eq!(verdict_of(&state, InputEnd::Good, None, |_| true), Verdict::NoUse);
        assert!(no_event(&state).is_none(), "once is enough");
    }

    #[test]
    fn the_worst_decides_and_an_execution_that_failed_is_the_worst() {
        let verdict = |faults: Vec<InputFault>, input, failure: Option<&str>| {
            let detector_failure = failure.map(str::to_owned);
            let state = RunState { faults, detector_failure, ..RunState::default() };
            verdict_of(&state, input, None, |_| true)
        };
        let (cut, empty) = (|| InputFault::incomplete("cut"), || InputFault::no_use("empty"));
        assert_eq!(verdict(vec![], InputEnd::Good, None), Verdict::Good);
        assert_eq!(verdict(vec![cut()], InputEnd::Good, None), Verdict::Incomplete);
        assert_eq!(verdict(vec![empty(), cut()], InputEnd::Good, None), Verdict::NoUse);
        assert_eq!(verdict(vec![], InputEnd::FileFailed, None), Verdict::Incomplete);
        assert_eq!(verdict(vec![], InputEnd::ReceivingFailed, None), Verdict::Failed);
        assert_eq!(verdict(vec![empty()], InputEnd::Good, Some("the plugin")), Verdict::Failed);
        let state = RunState { faults: vec![InputFault::no_event("noise")], ..RunState::default() };
        let of_readouts =
            verdict_of(&state, InputEnd::Good, None, |fault| fault.kind != InputFaultKind::NoEvent);
        assert_eq!(
            (verdict_of(&state, InputEnd::Good, None, |_| true), of_readouts),
            (Verdict::NoUse, Verdict::Good)
        );
    }
}
