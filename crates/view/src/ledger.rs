//! From the ledgers of the streams to what the page shows.

use crate::accumulator::ObservedState;
use crate::frames_state;
use crate::protocol::{
    BalanceState, BeamMonitorState, DiscardState, LedgerState, LocatedLoss, OutputView, PacketState,
    SourceState,
};
use evforge_core::alarm::{Alarm, AlarmKind};
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::counter::{CounterSnapshot, Law, Role};
use evforge_core::ledger::{Loss, PacketLedger, SourceLedger};
use evforge_core::run_state::{LedgerTotals, discards};
use std::collections::BTreeMap;
use std::time::Instant;

/// How many gaps of a source are listed.
const LISTED_GAPS: usize = 8;

/// Joins the ledgers of several streams (name and state), or shows one. None without any.
pub(crate) fn join(states: &[(&str, &ObservedState)], now: Instant) -> Option<LedgerState> {
    if states.is_empty() {
        return None;
    }
    let mut state = LedgerState { readouts: Some(0), hits: Some(0), ..LedgerState::default() };
    let mut packets = PacketLedger { sent: Some(0), ..PacketLedger::default() };
    let mut after_the_last = 0;
    // A sum of which a part is not known is not known.
    let sum = |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, other)| one + other);
    for (stream, observed) in states {
        let age = now.saturating_duration_since(observed.at).as_millis() as u64;
        state.age_ms = state.age_ms.max(age);
        let ledger = &observed.run.ledger;
        packets.add(&ledger.packets());
        after_the_last += observed.run.losses.after_the_last;
        state.unnumbered_sources += ledger.unnumbered_sources();
        state.sources.extend(ledger.sources.iter().map(|source| source_state(stream, source)));
        state.beam_monitors.extend(ledger.beam_monitors.iter().map(|data| monitor_state(stream, data)));
        let totals = LedgerTotals::of(ledger);
        state.handed_over += totals.packets;
        state.readouts = sum(state.readouts, totals.readouts);
        state.hits = sum(state.hits, totals.hits);
        state.events += totals.events;
        state.held += totals.held;
        add_discards(&mut state, &observed.run);
        add_balances(&mut state, &ledger.counters);
        add_losses(&mut state, &observed.run);
        state.unaccounted = state.unaccounted.saturating_add(ledger.unaccounted());
    }
    state.packets = packet_state(&packets, after_the_last);
    state.frames = frames_state::join(states);
    Some(state)
}

fn add_discards(state: &mut LedgerState, run: &evforge_core::run_state::RunState) {
    for discard in discards(&run.ledger.counters).into_iter().filter(|discard| discard.count > 0) {
        match state.discarded.iter_mut().find(|known| (known.name, known.of) == (discard.reason, discard.of))
        {
            Some(known) => known.count += discard.count,
            None => state.discarded.push(DiscardState {
                name: discard.reason,
                of: discard.of,
                count: discard.count,
                help: discard.help,
            }),
        }
    }
}

/// Adds what the laws of trains and images say, where something is counted by them.
fn add_balances(state: &mut LedgerState, counters: &CounterSnapshot) {
    for law in [Law::Trains, Law::Images] {
        let sum = |is_wanted: &dyn Fn(Role) -> bool| counters.sum(is_wanted);
        let Some(entered) = sum(&|role| role == Role::Enters(law)) else { continue };
        let more = BalanceState {
            of: law.name(),
            entered,
            left: sum(&|role| role == Role::Leaves(law)).unwrap_or(0),
            discarded: sum(&|role| role == Role::Discarded(law)).unwrap_or(0),
            held: sum(&|role| role == Role::Held(law)).unwrap_or(0),
        };
        match state.balances.iter_mut().find(|known| known.of == more.of) {
            Some(known) => {
                known.entered += more.entered;
                known.left += more.left;
                known.discarded += more.discarded;
                known.held += more.held;
            }
            None => state.balances.push(more),
        }
    }
}

fn add_losses(state: &mut LedgerState, run: &evforge_core::run_state::RunState) {
    state.unlocated += run.losses.unlocated;
    for loss in &run.losses.locations {
        let same = |known: &&mut LocatedLoss| {
            (known.location.as_str(), known.inferred) == (loss.location.name(), loss.inferred)
        };
        match state.locations.iter_mut().find(same) {
            Some(known) => known.packets += loss.packets,
            None => state.locations.push(LocatedLoss {
                location: loss.location.name().to_owned(),
                packets: loss.packets,
                inferred: loss.inferred,
            }),
        }
    }
}

/// What needs attention, then what the patterns of losses suggest.
pub(crate) fn alarms(states: &[(&str, &ObservedState)]) -> Vec<String> {
    // What has a number that changes every second is in the band of signs only.
    let is_still = |alarm: &Alarm| {
        use AlarmKind::{Clock, DiskFull, DiskLow, InputFailed, Loss, NoData, Rejecting};
        !matches!(alarm.kind, Clock | DiskFull | DiskLow | InputFailed | Loss | NoData | Rejecting)
    };
    let alarms = states.iter().flat_map(|(_, observed)| observed.run.alarms()).filter(is_still);
    let alarms = alarms.map(|alarm| alarm.text);
    let hints = states.iter().flat_map(|(_, observed)| observed.run.hints.iter().cloned());
    alarms.chain(hints).collect()
}

/// The outputs of all streams.
pub(crate) fn outputs(states: &[(&str, &ObservedState)]) -> Vec<OutputView> {
    let of_stream = |(stream, observed): &(&str, &ObservedState)| {
        let outputs = observed.run.outputs.iter();
        let view = |output: &evforge_core::run_state::OutputState| OutputView {
            id: name_in(stream, &output.id),
            name: output.name.clone(),
            events: counters(&CounterSnapshot::of(&output.counters)),
            counters: counters(&output.own),
            waiting: output.waiting.clone(),
            failure: output.failure.clone(),
            may_drop: output.may_drop,
        };
        outputs.map(view).collect::<Vec<_>>()
    };
    states.iter().flat_map(of_stream).collect()
}

/// Counters by name.
pub(crate) fn counters(snapshot: &CounterSnapshot) -> BTreeMap<&'static str, u64> {
    snapshot.iter().map(|(info, value)| (info.name, value)).collect()
}

/// The packets, and those lost after the last number, which no sequence sees.
fn packet_state(packets: &PacketLedger, after_the_last: u64) -> PacketState {
    let loss = packets.loss().and(after_the_last);
    PacketState {
        sent: packets.sent.map(|sent| sent + after_the_last),
        received: packets.received,
        lost: loss.exactly(),
        lost_at_least: match loss {
            Loss::AtLeast(lost) => Some(lost),
            Loss::Exactly(_) | Loss::Unknown => None,
        },
        reordered: packets.reordered,
        duplicated: packets.duplicated,
        unconfirmed: packets.unconfirmed,
        restarts: packets.restarts,
        loss_upper_bound: packets.loss_upper_bound(),
    }
}

/// A name within a stream, for people: the stream is named if there are several.
fn name_in(stream: &str, name: &str) -> String {
    if stream.is_empty() { name.to_owned() } else { format!("{stream}: {name}") }
}

fn monitor_state(stream: &str, data: &BeamMonitorData) -> BeamMonitorState {
    BeamMonitorState {
        name: name_in(stream, &data.plan().name),
        kind: data.plan().kind.name(),
        total: data.value(data.total()),
        outside: data.value(data.below().saturating_add(data.above())),
        pulses: data.pulses(),
    }
}

fn source_state(stream: &str, source: &SourceLedger) -> SourceState {
    let listed = source.gaps.iter().take(LISTED_GAPS);
    SourceState {
        name: name_in(stream, &source.name),
        packets: packet_state(&source.packets, 0),
        gaps: listed.map(|gap| (gap.first, gap.count)).collect(),
        gaps_not_listed: source.gaps.len().saturating_sub(LISTED_GAPS) as u64 + source.gaps_forgotten,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
    use evforge_core::counter::CounterSnapshot;
    use evforge_core::ledger::DetectorLedger;
    use evforge_core::losses::LossLocation;
    use evforge_core::run_state::{OutputState, RunState};
    use evforge_core::sequence::SequenceTracker;
    use std::sync::Arc;

    evforge_core::counters! {
        /// A toy.
        struct Toy: "toy" {
            datagrams: Enters(Packets), Packets, "In.";
            used: Leaves(Packets), Packets, "Out.";
            too_short: Discarded(Packets), Packets, "Short.";
            words: Enters(Readouts), Readouts, "In.";
            placed: Joins(Readouts, Hits), Hits, "Between.";
            noise: Discarded(Readouts), Readouts, "Noise.";
            clustered: Leaves(Hits), Hits, "Out.";
            waiting: Held(Hits), Hits, "Held.";
            found: Enters(Events), Events, "In.";
            too_faint: Discarded(Events), Events, "Faint.";
            neutrons: Leaves(Events), Events, "Out.";
        }
    }

    fn observed(numbers: &[u64]) -> ObservedState {
        let mut tracker = SequenceTracker::new(32);
        for &number in numbers {
            tracker.observe(number);
        }
        let toy = Toy {
            datagrams: 5,
            used: 4,
            too_short: 1,
            words: 9,
            placed: 7,
            noise: 2,
            clustered: 4,
            waiting: 3,
            found: 3,
            too_faint: 1,
            neutrons: 2,
        };
        let sources = match numbers {
            [] => Vec::new(),
            _ => vec![SourceLedger::of_sequence("FEC 1".into(), &tracker)],
        };
        let ledger = DetectorLedger { sources, counters: CounterSnapshot::of(&toy), ..Default::default() };
        ObservedState { run: Arc::new(RunState { ledger, ..RunState::default() }), at: Instant::now() }
    }

    #[test]
    fn streams_add_up_and_losses_have_a_place() {
        let (mut one, two) = (observed(&[1, 2, 5]), observed(&[7, 9]));
        let run = Arc::make_mut(&mut one.run);
        run.losses.add(LossLocation::SocketBuffer, 2, false);
        run.losses.unlocated = 1;
        run.hints = vec!["raise the buffer".into()];
        run.outputs =
            vec![OutputState { id: "csv".into(), failure: Some("gone".into()), ..Default::default() }];
        let states = [("a", &one), ("b", &two)];
        let state = join(&states, Instant::now()).unwrap();
        assert_eq!(alarms(&states), ["FAILED OUTPUT: : gone", "raise the buffer"]);
        assert_eq!((outputs(&states)[0].id.as_str(), outputs(&states)[0].events["offered"]), ("a: csv", 0));
        assert_eq!((state.packets.sent, state.packets.received, state.packets.lost), (Some(8), 5, Some(3)));
        assert_eq!((state.unlocated, state.handed_over), (1, 10));
        assert_eq!((state.readouts, state.hits, state.held, state.events), (Some(18), Some(14), 6, 4));
        let reasons: Vec<_> = state.discarded.iter().map(|r| (r.name, r.of, r.count)).collect();
        assert_eq!(
            reasons,
            [("too_short", "packets", 2), ("noise", "readouts", 4), ("too_faint", "events", 2)]
        );
        assert_eq!((state.sources[1].name.as_str(), state.sources[0].gaps[0]), ("b: FEC 1", (3, 2)));
        assert_eq!(state.unaccounted, 0);
    }

    #[test]
    fn beam_monitors_are_named_with_their_stream() {
        let mut data = BeamMonitorData::new(BeamMonitorPlan {
            name: "monitor_1".into(),
            kind: BeamMonitorKind::Event0D,
            first_pixel: 1,
            nx: 1,
            ny: 1,
            histogram: TimeOfFlightBins::new(10, 20, 5).unwrap(),
            alongside: false,
        });
        data.begin_pulse();
        [5, 15, 25].into_iter().for_each(|time| data.add(time, 1));
        let mut observed = observed(&[]);
        Arc::make_mut(&mut observed.run).ledger.beam_monitors = vec![data];
        let state = join(&[("a", &observed)], Instant::now()).unwrap();
        let [monitor] = &state.beam_monitors[..] else { panic!("{:?}", state.beam_monitors) };
        assert_eq!((monitor.name.as_str(), monitor.kind), ("a: monitor_1", "event_0d"));
        assert_eq!((monitor.total, monitor.outside, monitor.pulses), (3.0, 2.0, 1));
    }

    #[test]
    fn without_sources_nothing_is_said_about_loss() {
        assert!(join(&[], Instant::now()).is_none());
        let state = join(&[("", &observed(&[]))], Instant::now()).unwrap();
        assert_eq!((state.packets.sent, state.packets.received, state.packets.lost), (None, 5, None));
        assert_eq!(state.packets.loss_upper_bound, None);
    }

    #[test]
    fn a_loss_of_which_a_part_is_unknown_is_no_number() {
        let (one, silent) = (observed(&[1, 2, 5]), observed(&[]));
        let state = join(&[("a", &one), ("b", &silent)], Instant::now()).unwrap();
        let packets = &state.packets;
        assert_eq!(
            (packets.sent, packets.lost, packets.lost_at_least, packets.received),
            (None, None, Some(2), 8)
        );
    }
}
