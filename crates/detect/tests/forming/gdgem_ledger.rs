//! Every packet and readout of a Gd-GEM is accounted for, also when it is bad.

use crate::common::{form, packet, settings};
use evforge_core::detector::Detector;
use evforge_core::event::EventBatch;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_detect::gdgem::GdGem;

/// A neutron at strip `x` and `y` in run `run`: five hits on each plane.
fn neutron(run: u64, x: u8, y: u8, number: u32) -> [Vec<u8>; 2] {
    let track = |strip: u8| (0..5).map(|n| (run, 100 + u16::from(n), strip + n)).collect::<Vec<_>>();
    [packet(2, number, &track(x)), packet(1, number, &track(y))]
}

fn value(detector: &dyn Detector, name: &str) -> u64 {
    detector.ledger().counters.value(name).unwrap_or_else(|| panic!("no counter {name}"))
}

#[test]
fn the_latest_hits_give_the_position() {
    let mut detector = GdGem::new(&settings()).unwrap();
    let events = form(&mut detector, &neutron(3, 10, 20, 0));
    // Marker 3 x 65536 crossings, crossing 104, 1.5 crossings, less 100 TDC steps of 60/255 ns.
    let time_ns = (3 * 65_536 + 104) * 45 / 2 + 33 - 23;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].time_ns, events[0].pixel_id), (time_ns, 24 * 128 + 14 + 1));
}

#[test]
fn bad_packets_have_a_counter_each_and_harm_nobody() {
    let good: Vec<_> = (0..10).flat_map(|run| neutron(run, 30, 40, run as u32)).collect();
    let mut expected = GdGem::new(&settings()).unwrap();
    let events = form(&mut expected, &good);
    let spoilt = |at: usize, bytes: &[u8]| {
        let mut packet = neutron(0, 1, 1, 1_000_000_000)[0].clone();
        packet[at..at + bytes.len()].copy_from_slice(bytes);
        packet
    };
    let bad = [
        ("packets_too_short", vec![]),
        ("packets_too_short", vec![0; 15]),
        ("packets_unexpected_end_of_frame", spoilt(0, &[0xFA; 4])),
        ("packets_wrong_data_id", spoilt(4, b"VM2")),
        ("packets_wrong_data_id", spoilt(4, b"XXXX")),
        ("packets_no_such_fec", spoilt(7, &[0x00])),
        ("packets_unmapped_fec", spoilt(7, &[0x70])),
        ("packets_without_readouts", spoilt(7, &[0x70])[..18].to_vec()),
        ("packets_ragged", [&spoilt(7, &[0x70])[..], &[1, 2, 3]].concat()),
        ("packets_oversized", [&spoilt(7, &[0x70])[..], &vec![0; 9000]].concat()),
    ];
    for (counter, packet) in bad {
        let mut mixed = Vec::new();
        for good in &good {
            mixed.extend([good.clone(), packet.clone()]);
        }
        let mut detector = GdGem::new(&settings()).unwrap();
        assert_eq!(form(&mut detector, &mixed), events, "{counter}");
        assert_eq!(value(&detector, counter), good.len() as u64, "{counter}");
        assert_eq!(value(&detector, "bytes_discarded"), (good.len() * packet.len()) as u64, "{counter}");
        assert_eq!(detector.ledger().unaccounted(), 0, "{counter}");
    }
}

#[test]
fn bad_readouts_have_a_counter_each() {
    let mut settings = settings();
    settings.clustering[0].adc_threshold = 60;
    let mut detector = GdGem::new(&settings).unwrap();
    let readout = |chip: u32, offset: u32, over: u16| {
        let first = offset << 27 | chip << 22 | 50 << 12;
        let second = 0x8000 | over << 14;
        [&first.to_be_bytes()[..], &second.to_be_bytes()].concat()
    };
    let marker = |chip: u16| [0, 0, 0, 0, (chip << 2) as u8, 7].to_vec();
    let words = [
        readout(0, 0, 1),
        marker(0),
        marker(5),
        marker(20),
        readout(0, 16, 1),
        readout(0, 20, 1),
        readout(0, 31, 1),
        readout(5, 0, 1),
        readout(0, 0, 0),
        readout(0, 0, 1),
        readout(20, 0, 1),
    ];
    let header = [&9_u32.to_be_bytes()[..], b"VM3\x20", &[0; 8]].concat();
    form(&mut detector, &[[header, words.concat()].concat()]);
    for (counter, count) in [
        ("readouts", 8),
        ("markers", 3),
        ("markers_unknown_chip", 1),
        ("no_marker", 2),
        ("latency_violation", 1),
        ("undefined_offset", 1),
        ("before_clock_zero", 1),
        ("unmapped_channel", 1),
        ("below_threshold", 1),
        ("hits", 1),
        ("cluster_too_small", 1),
    ] {
        assert_eq!(value(&detector, counter), count, "{counter}");
    }
    assert_eq!(detector.ledger().unaccounted(), 0);
}

#[test]
fn times_that_leap_ahead_or_run_back_are_counted_and_the_rest_is_unharmed() {
    let stream = |middle: Option<u64>| {
        let mut packets = Vec::new();
        let mut number = 0;
        for run in 1000..1040 {
            packets.extend(neutron(run, 50, 60, number));
            number += 1;
            if let (1020, Some(wild)) = (run, middle) {
                packets.extend(neutron(wild, 5, 6, number));
                number += 1;
            }
        }
        packets
    };
    let mut clean = GdGem::new(&settings()).unwrap();
    let expected = form(&mut clean, &stream(None));
    assert_eq!(expected.len(), 40);
    // 65 536 crossings are 1.47 ms: far ahead, somewhat late, and from long ago.
    for (wild, counter) in [(2_000_000, "unconfirmed_jump"), (1010, "late"), (3, "unconfirmed_jump")] {
        let mut detector = GdGem::new(&settings()).unwrap();
        assert_eq!(form(&mut detector, &stream(Some(wild))), expected, "{wild}");
        assert_eq!(value(&detector, counter), 10, "{wild}");
        assert_eq!(detector.ledger().unaccounted(), 0, "{wild}");
    }
    // A clock that really starts over begins a new epoch, and nothing is lost.
    let mut restarted = stream(None);
    restarted.extend((5..25).flat_map(|run| neutron(run, 7, 8, 40 + run as u32 - 5)));
    let mut detector = GdGem::new(&settings()).unwrap();
    assert_eq!(form(&mut detector, &restarted).len(), 60);
    assert_eq!((value(&detector, "clock_restarts"), value(&detector, "late")), (2, 0));
}

#[test]
fn lost_reordered_and_duplicated_packets_are_told_apart_per_fec() {
    let mut packets: Vec<_> = (0..10).flat_map(|run| neutron(run, 30, 40, run as u32)).collect();
    packets.remove(6); // FEC 2, number 3
    packets.swap(1, 3); // FEC 1, numbers 0 and 1
    let twice = packets[9].clone();
    packets.insert(12, twice); // FEC 2, number 5
    let mut detector = GdGem::new(&settings()).unwrap();
    form(&mut detector, &packets);
    let ledger = detector.ledger();
    let counts: Vec<_> = ledger
        .sources
        .iter()
        .map(|source| {
            let packets = source.packets;
            (source.name.as_str(), packets.sent, packets.lost, packets.reordered, packets.duplicated)
        })
        .collect();
    assert_eq!(counts, [("FEC 1", Some(10), 0, 1, 0), ("FEC 2", Some(10), 1, 0, 1)]);
    assert_eq!((value(&detector, "packets_duplicated"), ledger.unaccounted()), (1, 0));
}

/// In every snapshot, not only at the end: what is held is counted.
#[test]
fn the_laws_hold_in_every_snapshot() {
    let mut detector = GdGem::new(&settings()).unwrap();
    let mut batch = EventBatch::new(1);
    let mut most_held = 0;
    for run in 0..400 {
        for packet in neutron(run, (run % 50) as u8, (run % 40) as u8, run as u32) {
            let mut slab = PacketSlab::new(1, 0);
            assert!(slab.push(&packet, packet.len(), PacketOrigin::default()));
            let mut taken = 0;
            loop {
                let progress = detector.ingest(&slab.batch(), taken, &mut batch);
                batch.clear();
                let ledger = detector.ledger();
                assert_eq!(ledger.unaccounted(), 0, "run {run}");
                most_held = most_held.max(ledger.counters.value("held").unwrap());
                taken = progress.taken;
                if !progress.full {
                    break;
                }
            }
        }
    }
    assert!(most_held > 100);
}
