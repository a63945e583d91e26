//! Every packet and readout is accounted for, also when it is bad.

use crate::multigrid::common::{form_all, packet, readout, settings, trigger, value};
use evforge_core::detector::Detector;
use evforge_core::event::EventBatch;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::multigrid::MultiGrid;
use evforge_wire::mesytec::Word;

/// A neutron.
fn neutron(time: u64) -> Vec<Word> {
    trigger(time, &[readout(1, 17, 900), readout(1, 95, 300), readout(1, 94, 200)])
}

#[test]
fn bad_packets_have_a_counter_each_and_harm_nobody() {
    let good: Vec<_> = (0..10).map(|time| packet(&[neutron(2 * time), neutron(2 * time + 1)])).collect();
    let events = form_all(&mut MultiGrid::new(&settings()).unwrap(), &good, 100);
    assert_eq!(events.len(), 20);
    let spoilt = |at: usize, byte: u8| {
        let mut packet = packet(&[neutron(5)]);
        packet[at] = byte;
        packet
    };
    let bad = [
        ("packets_too_short", vec![]),
        ("packets_too_short", vec![0x60; 18]),
        ("packets_too_short", packet(&[neutron(5)])[..20].to_vec()),
        ("packets_not_readout_data", spoilt(0, 0x59)),
        ("packets_oversized", vec![0x60; 9001]),
        ("damaged_triggers", spoilt(3, 0x57)),
        ("damaged_triggers", spoilt(10, 0xEE)),
    ];
    for (counter, packet) in bad {
        let mixed: Vec<_> = good.iter().flat_map(|good| [good.clone(), packet.clone()]).collect();
        let mut detector = MultiGrid::new(&settings()).unwrap();
        assert_eq!(form_all(&mut detector, &mixed, 3), events, "{counter}");
        assert_eq!(value(&detector, counter), good.len() as u64, "{counter}");
    }
}

/// What the reference does with a damaged packet, and what is done here unless it is wanted.
#[test]
fn section_2_1_a_damaged_trigger_costs_itself_or_its_packet() {
    let mut damaged = packet(&[neutron(1), neutron(2), neutron(3)]);
    let length = (damaged.len() - 3) / 3;
    damaged[3 + length] = 0x57;
    for (discard, times) in [(false, vec![1, 3]), (true, vec![])] {
        let mut settings = settings();
        settings.discard_damaged_packets = discard;
        let mut detector = MultiGrid::new(&settings).unwrap();
        let found: Vec<_> =
            form_all(&mut detector, &[damaged.clone()], 1).iter().map(|event| event.0).collect();
        assert_eq!(found, times);
        assert_eq!(value(&detector, "packets_damaged"), u64::from(discard));
        assert_eq!(value(&detector, "words_in_damage"), if discard { 0 } else { length as u64 / 4 });
    }
}

#[test]
fn section_2_2_rejected_triggers_have_a_counter_each() {
    let hit = |channel| Word::Readout { bus: 0, channel, adc: 5 };
    let header = |words| Word::Header { module: 0, words, external_trigger: false };
    let triggers = [
        vec![hit(1), hit(90), header(9), Word::EndOfEvent(1)],
        vec![header(3), hit(1), hit(90), Word::Unknown(0x7000_0000), Word::EndOfEvent(2)],
        vec![header(2), hit(1), hit(90)],
        neutron(9),
    ];
    let mut detector = MultiGrid::new(&settings()).unwrap();
    assert_eq!(form_all(&mut detector, &[packet(&triggers)], 1).len(), 1);
    for (counter, count) in [
        ("rejected_words_missing", 1),
        ("rejected_unknown_word", 1),
        ("rejected_no_time", 1),
        ("in_rejected_triggers", 6),
        ("readouts", 9),
        ("hits", 3),
        ("triggers", 4),
    ] {
        assert_eq!(value(&detector, counter), count, "{counter}");
    }
}

/// In every snapshot, not only at the end: also in the middle of a packet, when the batch is full.
#[test]
fn the_laws_hold_in_every_snapshot() {
    let bytes = packet(&(0..50).map(neutron).collect::<Vec<_>>());
    let mut slab = PacketSlab::new(1, 0);
    assert!(slab.push(&bytes, bytes.len(), PacketOrigin::default()));
    let mut detector = MultiGrid::new(&settings()).unwrap();
    let mut batch = EventBatch::new(7);
    let mut snapshots = 0;
    loop {
        let progress = detector.ingest(&slab.batch(), 0, &mut batch);
        assert_eq!(detector.ledger().unaccounted(), 0);
        assert_eq!(value(&detector, "packets_received"), 1);
        batch.clear();
        snapshots += 1;
        if !progress.full {
            break;
        }
        assert_eq!(progress.taken, 0);
    }
    assert_eq!(snapshots, 8);
}

/// Monitor data are of all configured channels, and never change the events.
#[test]
fn monitoring_shows_channels_and_planes() {
    let bytes = packet(&[neutron(1), trigger(2, &[readout(0, 3, 4095)]), trigger(3, &[readout(9, 3, 1)])]);
    let mut watched = MultiGrid::new(&settings()).unwrap();
    watched.set_monitoring(true);
    let events = form_all(&mut watched, std::slice::from_ref(&bytes), 1);
    assert_eq!(events, form_all(&mut MultiGrid::new(&settings()).unwrap(), &[bytes], 1));
    let monitor = watched.monitor().unwrap();
    assert_eq!((monitor.readouts()[3], monitor.readouts()[120 + 95]), (1, 1));
    assert_eq!(monitor.plan().channel_name(120 + 95).as_deref(), Some("bus 1, channel 95"));
    assert_eq!(monitor.readouts().iter().sum::<u64>(), 4);
    let [wires, grids] = monitor.planes() else { panic!("not two planes") };
    assert_eq!((wires.multiplicity[1], wires.lone_multiplicity[1], grids.multiplicity[2]), (2, 1, 1));
    assert_eq!(monitor.correlation().iter().sum::<u64>(), 1);
    watched.set_monitoring(false);
    assert!(watched.monitor().is_none());
}
