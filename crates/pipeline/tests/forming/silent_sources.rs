//! Modules that are silent for longer than the forward jump lose no event: a SoNDe of 400 modules in a weak beam, with
//! packets that come out of step, and with wild time stamps.

use evforge_config::Config;
use evforge_core::detector;
use evforge_core::event::{EventBatch, PixelId};
use evforge_core::event_log::EventLog;
use evforge_core::packet::PacketSlab;
use evforge_lab::simulation::simulation;
use evforge_sim::packet::SimulatedPacket;
use evforge_testkit::properties::cases;
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

/// Bytes of a packet before its first trigger: header and number.
const HEADER: usize = 11;
/// Bytes of a trigger: its time and its channel.
const TRIGGER: usize = 5;
/// Packets may overtake those of other modules by less than this: a fifth of the lag that the configuration allows.
const LARGEST_DELAY_NS: u64 = 20_000_000;

fn config(order: &str) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/sonde.toml");
    let overrides = [
        format!("sonde.order=\"{order}\""),
        "simulation.beam.neutrons=1kHz".into(),
        "simulation.seed=5".into(),
    ];
    Config::read(&path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Eight seconds of a beam in which most modules see less than one neutron a second.
static PACKETS: LazyLock<Vec<SimulatedPacket>> = LazyLock::new(|| {
    let mut simulation = simulation(&config("time")).expect("a detector that can be simulated");
    (0..112).flat_map(|_| simulation.next_pulse().packets).collect()
});

type Events = Vec<(u64, PixelId)>;

/// The events of these packets, and the counters `late`, `unconfirmed_jump` and `forced_closings`.
fn form(order: &str, packets: &[&SimulatedPacket], in_slab: usize) -> (Events, [Option<u64>; 3]) {
    let mut detector = config(order).build_detector().expect("a checked configuration");
    let (mut batch, mut log) = (EventBatch::new(1000), EventLog::default());
    let mut keep = |batch: &mut EventBatch| {
        log.take(batch);
        batch.clear();
    };
    for packets in packets.chunks(in_slab) {
        let mut slab = PacketSlab::new(packets.len(), packets.iter().map(|packet| packet.bytes.len()).sum());
        for packet in packets {
            assert!(slab.push(&packet.bytes, packet.bytes.len(), packet.origin));
        }
        detector::form(detector.as_mut(), &slab.batch(), &mut batch, &mut keep);
        if in_slab % 2 == 1 {
            while detector.publish_closed(&mut batch) {
                keep(&mut batch);
            }
            keep(&mut batch);
        }
    }
    detector::form_rest(detector.as_mut(), &mut batch, &mut keep);
    let ledger = detector.ledger();
    assert_eq!(ledger.unaccounted(), 0);
    let counters = ["late", "unconfirmed_jump", "forced_closings"].map(|name| ledger.counters.value(name));
    (log.events().map(|event| (event.time_ns, event.pixel_id)).collect(), counters)
}

/// Every trigger of these packets as an event, in order.
fn all_triggers(packets: &[&SimulatedPacket]) -> Events {
    let (mut events, _) = form("arrival", packets, 1000);
    events.sort_unstable();
    events
}

/// The packets in the order in which they arrive if each is delayed; those of a module stay in order.
fn delayed<'a>(packets: &'a [SimulatedPacket], delays: &[u64]) -> Vec<&'a SimulatedPacket> {
    let mut due = std::collections::HashMap::new();
    let mut keyed: Vec<_> = packets
        .iter()
        .zip(delays.iter().cycle())
        .map(|(packet, delay)| {
            let module = (packet.origin.source, packet.bytes.first().copied());
            let due = due.entry(module).or_insert(0);
            *due = (packet.origin.arrival_ns + delay).max(*due);
            (*due, packet)
        })
        .collect();
    keyed.sort_by_key(|&(due, _)| due);
    keyed.into_iter().map(|(_, packet)| packet).collect()
}

/// The packets with the time of the last trigger of some of them moved ahead: of those at `places`, which lie far apart.
fn with_wild_stamps(packets: &[SimulatedPacket], places: &[usize]) -> (Vec<SimulatedPacket>, usize) {
    let (mut packets, mut count) = (packets.to_vec(), 0);
    let end = packets.last().map_or(0, |packet| packet.origin.arrival_ns);
    let mut wild_modules = std::collections::HashSet::new();
    for &place in places {
        let packet = &mut packets[place];
        let module = (packet.origin.source, packet.bytes.first().copied());
        // Not the first of its module, and time goes on after it.
        let is_amid = (1_000_000_000..end.saturating_sub(3_000_000_000)).contains(&packet.origin.arrival_ns);
        if packet.bytes.len() < HEADER + TRIGGER || !is_amid || !wild_modules.insert(module) {
            continue;
        }
        let at = packet.bytes.len() - TRIGGER;
        let time = u32::from_be_bytes(packet.bytes[at..at + 4].try_into().expect("four bytes"));
        packet.bytes[at..at + 4].copy_from_slice(&time.wrapping_add(1_700_000_000).to_be_bytes());
        count += 1;
    }
    (packets, count)
}

#[test]
fn every_trigger_of_a_weak_beam_is_an_event() {
    let packets: Vec<_> = PACKETS.iter().collect();
    let expected = all_triggers(&packets);
    assert!(expected.len() > 7000, "{}", expected.len());
    let (events, counters) = form("time", &packets, 1000);
    assert_eq!(counters, [Some(0); 3]);
    assert!(events == expected, "{} of {}", events.len(), expected.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(8)))]

    #[test]
    fn packets_that_come_out_of_step_make_the_same_events(
        delays in prop::collection::vec(0..LARGEST_DELAY_NS, 1..50),
        in_slab in 1..300_usize,
    ) {
        let expected = all_triggers(&PACKETS.iter().collect::<Vec<_>>());
        let (events, counters) = form("time", &delayed(&PACKETS, &delays), in_slab);
        prop_assert_eq!(counters, [Some(0); 3]);
        prop_assert!(events == expected, "{} of {}", events.len(), expected.len());
    }

    #[test]
    fn wild_stamps_cost_no_event_but_their_own(
        delays in prop::collection::vec(0..LARGEST_DELAY_NS, 1..50),
        places in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
    ) {
        let places: Vec<_> = places.iter().map(|place| place.index(PACKETS.len())).collect();
        let (packets, wild) = with_wild_stamps(&PACKETS, &places);
        let sent = all_triggers(&packets.iter().collect::<Vec<_>>());
        let undisturbed = all_triggers(&PACKETS.iter().collect::<Vec<_>>());
        let (events, [late, refuted, forced]) = form("time", &packets.iter().collect::<Vec<_>>(), 100);
        prop_assert_eq!((late, forced), (Some(0), Some(0)));
        prop_assert_eq!(events.len() as u64 + refuted.unwrap_or(0), sent.len() as u64);
        prop_assert!(refuted <= Some(wild as u64), "{refuted:?} of {wild}");
        let mut left = events.iter();
        let in_both = undisturbed.iter().filter(|event| sent.binary_search(event).is_ok());
        for event in in_both {
            prop_assert!(left.any(|other| other == event), "{event:?} is lost");
        }
        let (mixed, _) = form("time", &delayed(&packets, &delays), 70);
        prop_assert!(mixed == events);
    }
}
