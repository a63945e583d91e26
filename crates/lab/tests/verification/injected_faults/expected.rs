//! What the ledger must say, worked out from the log of the faults alone, and which events may be touched.

use crate::injected_faults::streams::{Faulty, Formed, Stream, differences};
use evforge_core::event::Event;
use evforge_core::ledger::PacketLedger;
use evforge_sim::faults::settings::Kind;
use std::collections::BTreeSet;

/// Hits of one neutron are at most so far apart, and windows so long.
const WINDOW_NS: u64 = 20_000;

/// What the ledger must say of a source whose packets are numbered.
///
/// A receiver knows of the packets from the first to the last one that it has got; who was lost before or after cannot be
/// known. `unnumbered` packets, by their number among those of the source, are so damaged that their number is gone: they
/// are lost for the sequence.
fn numbered(faulty: &Faulty, source: usize, unnumbered: &BTreeSet<u64>) -> Option<PacketLedger> {
    let of = |kind| {
        let faults = faulty.faults.of(kind).filter(move |fault| fault.source == source);
        faults.map(|fault| (fault.packet_of_source.expect("a packet"), fault))
    };
    let made = faulty.report.sources[source].1.made;
    let gone: BTreeSet<u64> =
        of(Kind::Lose).map(|(packet, _)| packet).chain(unnumbered.iter().copied()).collect();
    let arrived = || (0..made).filter(|packet| !gone.contains(packet));
    let (first, last) = (arrived().next()?, arrived().next_back()?);
    let sent = last - first + 1;
    let lost = gone.range(first..=last).count() as u64;
    let duplicated: u64 = of(Kind::Repeat).filter_map(|(_, fault)| fault.count).sum();
    let late = [Kind::Reorder, Kind::Delay].into_iter().flat_map(of);
    let reordered = late.filter(|(_, fault)| fault.passed_by > Some(0)).count() as u64;
    Some(PacketLedger {
        sent: Some(sent),
        received: sent - lost + duplicated,
        lost,
        reordered,
        duplicated,
        unconfirmed: 0,
        restarts: 0,
    })
}

/// Checks every figure of the ledger against the log of the faults.
pub(crate) fn check_ledger(stream: &Stream, faulty: &Faulty, is_without_number: bool, about: &str) {
    let about = format!("{}, {about}", stream.readout.name);
    let ledger = &faulty.formed.ledger;
    let received: u64 = faulty.report.sources.iter().map(|(_, sent)| sent.on_wire).sum();
    assert_eq!(faulty.formed.value("packets_received"), received, "{about}: received");
    assert_eq!(received, faulty.packets.len() as u64, "{about}: on the wire");
    let mut duplicated = 0;
    for (source, name) in stream.sources.iter().enumerate() {
        let found = ledger.sources.iter().find(|found| found.name == *name).map(|found| found.packets);
        let on_wire = faulty.report.sources[source].1.on_wire;
        if !stream.readout.is_numbered {
            let expected = PacketLedger { received: on_wire, ..PacketLedger::default() };
            assert_eq!(found.unwrap_or_default(), expected, "{about}: {name}");
            continue;
        }
        let damaged = [Kind::Truncate, Kind::Corrupt].into_iter().flat_map(|kind| faulty.faults.of(kind));
        let damaged = damaged.filter(|fault| fault.source == source && is_without_number);
        let expected =
            numbered(faulty, source, &damaged.filter_map(|fault| fault.packet_of_source).collect());
        assert_eq!(found, expected, "{about}: {name}");
        duplicated += expected.map_or(0, |packets| packets.duplicated);
    }
    if stream.readout.is_numbered {
        let damaged = faulty.faults.of(Kind::Truncate).count() + faulty.faults.of(Kind::Corrupt).count();
        let without = if is_without_number { damaged as u64 } else { 0 };
        assert_eq!(faulty.formed.value("packets_without_number"), without, "{about}: without number");
        assert_eq!(faulty.formed.value("packets_duplicated"), duplicated, "{about}: duplicated");
    }
}

/// The times in which a fault may have touched events: those of the hits in its packet.
fn touched(stream: &Stream, faulty: &Faulty) -> Vec<(u64, u64)> {
    let mut before = vec![0; stream.sources.len()];
    let mut spans = Vec::new();
    let mut of_source = Vec::new();
    for packet in stream.packets() {
        let source = packet.sender.source;
        let from = before[source].min(packet.origin.arrival_ns.saturating_sub(stream.readout.collects_ns));
        of_source.push((from, packet.origin.arrival_ns));
        before[source] = packet.origin.arrival_ns;
    }
    for fault in &faulty.faults.faults {
        let packet = fault.packet.expect("faults of packets");
        let (from, to) = of_source[packet as usize];
        spans.push((
            from.saturating_sub(stream.latency_ns + WINDOW_NS),
            to + stream.readout.marks_ns + WINDOW_NS,
        ));
    }
    spans
}

/// Checks that events differ only where a fault has touched them. Returns how many are missing and how many are new.
pub(crate) fn check_untouched(stream: &Stream, faulty: &Faulty, about: &str) -> (usize, usize) {
    let spans = touched(stream, faulty);
    let (missing, extra) = differences(&stream.clean.log, &faulty.formed.log);
    let is_touched = |event: &&Event| spans.iter().any(|(from, to)| (*from..=*to).contains(&event.time_ns));
    // Without a marker the one before it holds: what it was for is then elsewhere.
    let elsewhere: &[Event] = if stream.readout.marks_ns > 0 { &[] } else { &extra };
    let strange: Vec<_> = missing.iter().chain(elsewhere).filter(|event| !is_touched(event)).collect();
    assert!(
        strange.is_empty(),
        "{}, {about}: {} events without a fault, {:?}",
        stream.readout.name,
        strange.len(),
        strange[0]
    );
    let readouts = |formed: &Formed| formed.value("readouts");
    let gone = readouts(&stream.clean).saturating_sub(readouts(&faulty.formed));
    assert!(
        stream.readout.marks_ns > 0 || missing.len() as u64 <= gone,
        "{}, {about}: {} events missing, but only {gone} readouts",
        stream.readout.name,
        missing.len()
    );
    (missing.len(), extra.len())
}

/// Checks that damaged readouts have harmed no events but their own: others are all there, and hardly any are new, which
/// can be anywhere, because the damage can be in a time.
pub(crate) fn check_damage(stream: &Stream, faulty: &Faulty, about: &str) {
    let spans = touched(stream, faulty);
    let (missing, extra) = differences(&stream.clean.log, &faulty.formed.log);
    let is_touched = |event: &&Event| spans.iter().any(|(from, to)| (*from..=*to).contains(&event.time_ns));
    let strange: Vec<_> = missing.iter().filter(|event| !is_touched(event)).collect();
    let damaged = faulty.faults.of(Kind::Corrupt).count();
    assert!(
        strange.is_empty(),
        "{}, {about}: {} of {} missing events without a fault, {:?}; {damaged} damaged",
        stream.readout.name,
        strange.len(),
        missing.len(),
        strange[0]
    );
    if stream.readout.marks_ns > 0 {
        return;
    }
    // A readout is one of an event at most, and may have kept two apart.
    for (events, kind) in [(missing, "missing"), (extra, "new")] {
        let count = events.len();
        assert!(
            count <= 2 * damaged,
            "{}, {about}: {count} events {kind}, {damaged} damaged",
            stream.readout.name
        );
    }
}

/// Checks that the events are those of the clean stream.
pub(crate) fn check_same_events(stream: &Stream, faulty: &Faulty, about: &str) {
    let (missing, extra) = differences(&stream.clean.log, &faulty.formed.log);
    assert!(
        stream.clean.log == faulty.formed.log,
        "{}, {about}: {} events missing, {} new",
        stream.readout.name,
        missing.len(),
        extra.len()
    );
}
