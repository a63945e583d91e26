use super::*;
use evforge_core::counter::Law;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use std::time::Duration;

fn slab(numbers: std::ops::Range<u32>, length: usize) -> PacketSlab {
    let mut slab = PacketSlab::new(numbers.len(), numbers.len() * length);
    for number in numbers {
        let mut bytes = vec![7; length];
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        let origin =
            PacketOrigin { source: ([10, 0, 0, (number % 2) as u8], 1).into(), ..PacketOrigin::default() };
        assert!(slab.push(&bytes, length + (number % 2) as usize, origin));
    }
    slab
}

fn numbers(packets: &SampledPackets) -> Vec<u32> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"));
    packets.batch().iter().map(|packet| number(packet.bytes)).collect()
}

fn rest(samples: &mut PacketSamples) -> Vec<u32> {
    std::iter::from_fn(|| samples.take().map(|packets| numbers(&packets))).flatten().collect()
}

static GOES_ON: AtomicBool = AtomicBool::new(false);

#[test]
fn nobody_asks_and_there_is_no_tap() {
    let tap = PacketTap::default();
    tap.calibrate(true);
    assert!(tap.begin(false).is_none());
    assert_eq!(tap.subscribe(SampleRule::ALL, 0).unwrap_err(), RunHasBegun);
}

#[test]
fn the_choice_does_not_depend_on_slabs_and_everything_is_there() {
    let chosen = |cuts: &[u32]| {
        let tap = PacketTap::default();
        let mut samples = tap.subscribe(SampleRule::new(5, 2).unwrap(), 1 << 24).unwrap();
        let mut all = tap.subscribe(SampleRule::ALL, 1 << 24).unwrap();
        let mut inlets = tap.begin(false).unwrap();
        let mut from = 0;
        for &to in cuts {
            assert!(inlets.take(&slab(from..to, 100).batch(), &GOES_ON));
            from = to;
        }
        inlets.close();
        assert_eq!(rest(&mut all), (0..from).collect::<Vec<_>>());
        let counters = inlets.counters();
        let chosen = rest(&mut samples);
        assert!(samples.take().is_none() && samples.has_ended());
        assert_eq!(counters.value("taken"), Some(u64::from(from) + chosen.len() as u64));
        assert_eq!((counters.value("dropped"), counters.value("held")), (Some(0), Some(0)));
        chosen
    };
    let expected: Vec<u32> = (0..100).filter(|number| number / 2 % 5 < 2).collect();
    assert_eq!(chosen(&[100]), expected);
    assert_eq!(chosen(&[1, 2, 17, 18, 64, 99, 100]), expected);
}

#[test]
fn what_finds_no_room_is_dropped_and_counted_and_the_memory_is_used_again() {
    let tap = PacketTap::default();
    let mut samples = tap.subscribe(SampleRule::ALL, 0).unwrap();
    let mut inlets = tap.begin(false).unwrap();
    // Packets that need the whole slab.
    let large = 65_000;
    let mut taken = Vec::new();
    for round in 0..3 {
        for number in 0..20 {
            inlets.take(&slab(100 * round + number..100 * round + number + 1, large).batch(), &GOES_ON);
            assert_eq!(inlets.counters().imbalance(Law::Outputs), 0);
        }
        let now = rest(&mut samples);
        // One is still in the hands of the run.
        assert!(now.len() >= 15 && now.len() <= 16, "{now:?}");
        taken.extend(now);
    }
    inlets.close();
    taken.extend(rest(&mut samples));
    assert!(taken.is_sorted());
    let counters = inlets.counters();
    assert_eq!(counters.value("offered"), Some(60));
    assert_eq!(counters.value("taken"), Some(taken.len() as u64));
    assert_eq!(counters.value("dropped"), Some(60 - taken.len() as u64));
    assert!(taken.len() <= 48 && PacketTap::memory_bound(0) < 16 * 70_000 + 16 * 64 * 100);
}

#[test]
fn a_run_over_a_file_waits_for_room_and_loses_nothing() {
    let tap = PacketTap::default();
    let mut samples = tap.subscribe(SampleRule::ALL, 0).unwrap();
    let mut inlets = tap.begin(true).unwrap();
    let taking = std::thread::spawn(move || {
        let mut taken = Vec::new();
        while !samples.has_ended() {
            // Slower than the run.
            std::thread::sleep(Duration::from_millis(1));
            taken.extend(samples.take_within(Duration::from_secs(10)).map(|packets| numbers(&packets)));
        }
        taken.concat()
    });
    for number in 0..200 {
        inlets.take(&slab(number..number + 1, 65_000).batch(), &GOES_ON);
    }
    inlets.close();
    assert_eq!(taking.join().unwrap(), (0..200).collect::<Vec<_>>());
    assert_eq!(inlets.counters().value("dropped"), Some(0));
}

#[test]
fn a_stopped_run_and_an_output_that_has_ended_hold_nobody_up() {
    let tap = PacketTap::default();
    let samples = tap.subscribe(SampleRule::ALL, 0).unwrap();
    let mut inlets = tap.begin(true).unwrap();
    for number in 0..40 {
        inlets.take(&slab(number..number + 1, 65_000).batch(), &AtomicBool::new(number >= 10));
    }
    assert_eq!((inlets.counters().value("taken"), inlets.counters().value("dropped")), (Some(15), Some(24)));
    drop(samples);
    for number in 40..60 {
        inlets.take(&slab(number..number + 1, 65_000).batch(), &GOES_ON);
    }
    inlets.close();
    let counters = inlets.counters();
    assert_eq!((counters.value("offered"), counters.value("taken")), (Some(60), Some(15)));
    assert_eq!(counters.imbalance(Law::Outputs), 0);
}

#[test]
fn in_calibration_mode_no_events_are_formed_and_the_packets_are_counted() {
    let tap = PacketTap::default();
    let mut samples = tap.subscribe(SampleRule::ALL, 1 << 20).unwrap();
    let mut inlets = tap.begin(false).unwrap();
    assert!(inlets.take(&slab(0..3, 50).batch(), &GOES_ON));
    tap.calibrate(true);
    assert!(tap.calibrates() && !inlets.take(&slab(3..8, 50).batch(), &GOES_ON));
    tap.calibrate(false);
    assert!(inlets.take(&slab(8..9, 50).batch(), &GOES_ON));
    inlets.close();
    assert_eq!(inlets.counters().value("not_formed"), Some(5));
    assert_eq!(rest(&mut samples), (0..9).collect::<Vec<_>>());
}

#[test]
fn origin_and_length_on_the_wire_are_kept() {
    let tap = PacketTap::default();
    let mut samples = tap.subscribe(SampleRule::ALL, 1 << 20).unwrap();
    let mut inlets = tap.begin(false).unwrap();
    let sent = slab(0..9, 50);
    inlets.take(&sent.batch(), &GOES_ON);
    inlets.close();
    let taken = samples.take().unwrap();
    for (packet, original) in taken.batch().iter().zip(sent.batch().iter()) {
        assert_eq!((packet.bytes, packet.origin), (original.bytes, original.origin));
        assert_eq!((packet.original_length, packet.is_cut()), (original.original_length, original.is_cut()));
    }
}
