//! Streams of packets into any detector: what must hold whatever it is fed.

use evforge_core::detector::Detector;
use evforge_core::event::EventBatch;
use evforge_core::event_log::EventLog;
use evforge_core::packet::{LARGEST_PAYLOAD, PacketBatch, PacketOrigin, PacketSlab};
use evforge_detect::settings::SortingSettings;

/// Packets of an input that are formed: a rule that needs more of them in a row would need hundreds, and most of an input would be the
/// lengths of empty ones.
const MOST_PACKETS: usize = 96;

/// The laws are looked at after each of the first packets, and then now and then: what is unaccounted for once stays so.
fn is_looked_at(number: usize) -> bool {
    number < 12 || number.is_multiple_of(8)
}

/// More memory than the small detectors of these exercises can need.
const MOST_MEMORY: usize = 64 << 20;

/// Settings of sorting for the small detectors of these exercises: as usual, or with a window of 1 us, forward jumps of 2 us,
/// restarts of 10 us, and groups of 16 hits.
pub(crate) fn sorting(narrow: bool) -> SortingSettings {
    let [window, forward_jump, restart, source_lag] = if narrow {
        [1_000_000, 2_000_000, 10_000_000, 50_000_000]
    } else {
        [500_000_000, 2_000_000_000, 1_000_000_000_000, 60_000_000_000_000]
    };
    let max_group_hits = if narrow { 16 } else { 512 };
    SortingSettings {
        window,
        forward_jump,
        restart,
        source_lag,
        max_held_hits: 8192,
        max_group_hits,
        decimation: 0,
        highest_rate: None,
    }
}

/// Forms events of the packets in `bytes`, behind a byte that chooses the settings of the detector, as [`form_both_ways`].
/// Closed events are published if the choice has the bit `publish`, monitor data collected if it has `watched`.
///
/// # Panics
/// As [`form_both_ways`].
pub fn form_stream(bytes: &[u8], publish: u8, watched: u8, build: impl Fn(u8) -> Box<dyn Detector>) {
    let Some((&choice, stream)) = bytes.split_first() else { return };
    form_both_ways(stream, choice & publish != 0, || {
        let mut detector = build(choice);
        detector.set_monitoring(choice & watched != 0);
        detector
    });
}

/// Forms events of the packets in `bytes`, each behind its length (u16, little-endian; the last one may be
/// cut), with fresh detectors from `build`: once packet by packet, where closed events are published after
/// every packet if `publish` says so, and once all together. Of an input a bounded number of packets is formed.
///
/// # Panics
/// If something is unaccounted for after any packet, if something is held after the end, if a pixel lies
/// outside the geometry, if an event has a pulse though the detector tells none, or if the events or pulses
/// depend on how the packets are handed over.
pub fn form_both_ways(bytes: &[u8], publish: bool, build: impl Fn() -> Box<dyn Detector>) {
    let packets = packets(bytes);
    let one_by_one = one_by_one(&mut *build(), publish, &packets);
    let at_once = at_once(&mut *build(), &packets);
    assert_eq!(one_by_one, at_once, "the events depend on how the packets were handed over");
}

/// The packets of an input: bytes, and how many there were on the wire.
fn packets(bytes: &[u8]) -> Vec<(&[u8], usize)> {
    cut(bytes)
        .take(MOST_PACKETS)
        .map(|(packet, announced)| (packet, announced.min(LARGEST_PAYLOAD)))
        .collect()
}

/// The pieces of an input, each behind its length (u16, little-endian); the last one may be cut.
pub(crate) fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    cut(bytes).map(|(piece, _)| piece)
}

/// Pieces and how long they say that they are.
fn cut(mut bytes: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let announced = usize::from(u16::from_le_bytes(*length));
        let (piece, rest) = rest.split_at(announced.min(LARGEST_PAYLOAD).min(rest.len()));
        bytes = rest;
        Some((piece, announced))
    })
}

fn one_by_one(detector: &mut dyn Detector, publish: bool, packets: &[(&[u8], usize)]) -> EventLog {
    let mut slab = PacketSlab::new(1, 0);
    let mut batch = EventBatch::new(3);
    let mut events = EventLog::default();
    for (number, &(bytes, original)) in packets.iter().enumerate() {
        slab.clear();
        assert!(slab.push(bytes, original, PacketOrigin::default()));
        ingest(detector, &slab.batch(), &mut batch, &mut events);
        if is_looked_at(number) {
            let ledger = detector.ledger();
            assert_eq!(ledger.unaccounted(), 0, "after packet {number}");
            assert_eq!(ledger.counters.value("packets_received"), Some(number as u64 + 1));
        }
        while publish && detector.publish_closed(&mut batch) {
            take(&mut batch, &mut events);
        }
        take(&mut batch, &mut events);
    }
    close(detector, &mut batch, &mut events);
    events
}

fn at_once(detector: &mut dyn Detector, packets: &[(&[u8], usize)]) -> EventLog {
    let mut slab = PacketSlab::new(packets.len(), packets.iter().map(|(bytes, _)| bytes.len()).sum());
    for &(bytes, original) in packets {
        assert!(slab.push(bytes, original, PacketOrigin::default()));
    }
    let mut batch = EventBatch::new(256);
    let mut events = EventLog::default();
    ingest(detector, &slab.batch(), &mut batch, &mut events);
    close(detector, &mut batch, &mut events);
    events
}

fn ingest(
    detector: &mut dyn Detector,
    packets: &PacketBatch<'_>,
    batch: &mut EventBatch,
    events: &mut EventLog,
) {
    let mut taken = 0;
    for round in 0_usize.. {
        let progress = detector.ingest(packets, taken, batch);
        assert!((taken..=packets.len()).contains(&progress.taken), "{progress:?}");
        taken = progress.taken;
        take(batch, events);
        if !progress.full {
            assert_eq!(taken, packets.len(), "packets are left though there is room for events");
            return;
        }
        if is_looked_at(round) {
            assert_eq!(detector.ledger().unaccounted(), 0, "while a packet is under way");
        }
    }
}

fn close(detector: &mut dyn Detector, batch: &mut EventBatch, events: &mut EventLog) {
    let bound = detector.memory_bound();
    assert!(bound < MOST_MEMORY, "a bound of {bound} bytes");
    let mut round = 0;
    while detector.close(batch) {
        if is_looked_at(round) {
            assert_eq!(detector.ledger().unaccounted(), 0, "while closing");
        }
        round += 1;
        take(batch, events);
    }
    take(batch, events);
    let ledger = detector.ledger();
    assert_eq!(ledger.unaccounted(), 0, "after the end");
    assert_eq!(ledger.held(), 0, "held after the end");
    assert_eq!(ledger.events(), events.len() as u64);
    let geometry = detector.geometry();
    let outside = events.events().find(|event| !geometry.is_valid(event.pixel_id));
    assert_eq!(outside, None, "an event outside the geometry");
    let tells_pulses = detector.tells_pulses();
    assert!(
        tells_pulses || events.pulses().iter().all(|pulse| pulse.time_ns.is_none()),
        "pulses that nobody announced"
    );
}

fn take(batch: &mut EventBatch, events: &mut EventLog) {
    events.take(batch);
    batch.clear();
}
