//! From the ledgers of the streams to what the page shows.

use crate::accumulator::ObservedLedger;
use crate::protocol::{BeamMonitorState, DiscardState, LedgerState, LocatedLoss, PacketState, SourceState};
use evforge_core::beam_monitor::BeamMonitorData;
use evforge_core::counter::{CounterInfo, Law, Role};
use evforge_core::ledger::{PacketLedger, SourceLedger};
use std::time::Instant;

/// How many gaps of a source are listed.
const LISTED_GAPS: usize = 8;

/// Joins the ledgers of several streams (name and ledger), or shows one. None without any.
pub(crate) fn join(
    ledgers: &[(&str, &ObservedLedger)],
    losses: &[LocatedLoss],
    now: Instant,
) -> Option<LedgerState> {
    if ledgers.is_empty() {
        return None;
    }
    let mut state = LedgerState::default();
    let mut packets: Option<PacketLedger> = None;
    for (stream, observed) in ledgers {
        let age = now.saturating_duration_since(observed.at).as_millis() as u64;
        state.age_ms = state.age_ms.max(age);
        let ledger = &observed.ledger;
        if !ledger.sources.is_empty() {
            packets
                .get_or_insert(PacketLedger { sent: Some(0), ..Default::default() })
                .add(&ledger.packets());
        }
        state.sources.extend(ledger.sources.iter().map(|source| source_state(stream, source)));
        state.events += ledger.events();
        state.beam_monitors.extend(ledger.beam_monitors.iter().map(|data| monitor_state(stream, data)));
        for (info, value) in ledger.counters.iter() {
            add_counter(&mut state, info, value);
        }
        state.unaccounted = state.unaccounted.saturating_add(ledger.unaccounted());
    }
    state.packets = match packets {
        Some(packets) => packet_state(&packets),
        // Without sources all that is known is what was handed over.
        None => PacketState { received: state.handed_over, ..PacketState::default() },
    };
    state.places = losses.to_vec();
    let located: u64 = losses.iter().map(|loss| loss.packets).sum();
    state.unlocated = state.packets.lost.saturating_sub(located);
    Some(state)
}

/// A counter goes where its part in the laws says, whatever the detector calls it.
fn add_counter(state: &mut LedgerState, info: &'static CounterInfo, value: u64) {
    match info.role {
        Role::Enters(Law::Packets) => state.handed_over += value,
        Role::Enters(Law::Readouts) | Role::Joins(Law::Packets, Law::Readouts) => state.readouts += value,
        Role::Enters(Law::Hits) | Role::Joins(_, Law::Hits) => state.hits += value,
        Role::Held(_) => state.held += value,
        Role::Discarded(law) if value > 0 => {
            match state.discarded.iter_mut().find(|known| known.name == info.name) {
                Some(known) => known.count += value,
                None => state.discarded.push(DiscardState {
                    name: info.name,
                    of: law.name(),
                    count: value,
                    help: info.help,
                }),
            }
        }
        _ => {}
    }
}

fn packet_state(packets: &PacketLedger) -> PacketState {
    PacketState {
        sent: packets.sent,
        received: packets.received,
        lost: packets.lost,
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
        total: data.total(),
        outside: data.below().saturating_add(data.above()),
        pulses: data.pulses(),
    }
}

fn source_state(stream: &str, source: &SourceLedger) -> SourceState {
    let listed = source.gaps.iter().take(LISTED_GAPS);
    SourceState {
        name: name_in(stream, &source.name),
        packets: packet_state(&source.packets),
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
    use evforge_core::sequence::SequenceTracker;

    evforge_core::counters! {
        /// A toy.
        struct Toy: "toy" {
            datagrams: Enters(Packets), Packets, "In.";
            used: Leaves(Packets), Packets, "Out.";
            too_short: Discarded(Packets), Packets, "Short.";
            readouts: Enters(Readouts), Readouts, "In.";
            hits: Joins(Readouts, Hits), Hits, "Between.";
            noise: Discarded(Readouts), Readouts, "Noise.";
            in_events: Leaves(Hits), Hits, "Out.";
            waiting: Held(Hits), Hits, "Held.";
            events: Information, Events, "Events.";
        }
    }

    fn observed(numbers: &[u64]) -> ObservedLedger {
        let mut tracker = SequenceTracker::new(32);
        for &number in numbers {
            tracker.observe(number);
        }
        let toy = Toy {
            datagrams: 5,
            used: 4,
            too_short: 1,
            readouts: 9,
            hits: 7,
            noise: 2,
            in_events: 4,
            waiting: 3,
            events: 2,
        };
        let sources = match numbers {
            [] => Vec::new(),
            _ => vec![SourceLedger::of_sequence("FEC 1".into(), &tracker)],
        };
        let ledger = DetectorLedger { sources, counters: CounterSnapshot::of(&toy), ..Default::default() };
        ObservedLedger { ledger, at: Instant::now() }
    }

    #[test]
    fn streams_add_up_and_losses_have_a_place() {
        let (one, two) = (observed(&[1, 2, 5]), observed(&[7, 9]));
        let losses = [LocatedLoss { place: "socket buffer".into(), packets: 2, inferred: false }];
        let state = join(&[("a", &one), ("b", &two)], &losses, Instant::now()).unwrap();
        assert_eq!((state.packets.sent, state.packets.received, state.packets.lost), (Some(8), 5, 3));
        assert_eq!((state.unlocated, state.handed_over), (1, 10));
        assert_eq!((state.readouts, state.hits, state.held, state.events), (18, 14, 6, 4));
        let reasons: Vec<_> = state.discarded.iter().map(|r| (r.name, r.of, r.count)).collect();
        assert_eq!(reasons, [("too_short", "packets", 2), ("noise", "readouts", 4)]);
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
        });
        data.begin_pulse();
        [5, 15, 25].into_iter().for_each(|time| data.add(time, 1));
        let mut observed = observed(&[]);
        observed.ledger.beam_monitors = vec![data];
        let state = join(&[("a", &observed)], &[], Instant::now()).unwrap();
        let [monitor] = &state.beam_monitors[..] else { panic!("{:?}", state.beam_monitors) };
        assert_eq!((monitor.name.as_str(), monitor.kind), ("a: monitor_1", "event_0d"));
        assert_eq!((monitor.total, monitor.outside, monitor.pulses), (3, 2, 1));
    }

    #[test]
    fn without_sources_nothing_is_said_about_loss() {
        assert!(join(&[], &[], Instant::now()).is_none());
        let state = join(&[("", &observed(&[]))], &[], Instant::now()).unwrap();
        assert_eq!((state.packets.sent, state.packets.received), (None, 5));
        assert_eq!(state.packets.loss_upper_bound, None);
    }
}
