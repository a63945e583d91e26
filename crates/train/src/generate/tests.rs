//! Sequences of datagrams with faults: what a receiver would find is what the sender has counted.

use super::*;
use evforge_core::counter::{CounterSet, Law};
use evforge_wire::train::{PacketRejection, Train, TrainPacket, TrainRejection};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Two images of 1000 bytes: trains of 2240 bytes, in 11 packets of 200 bytes and one of 40.
fn structure() -> TrainStructure {
    TrainStructure { data_bytes: 200, first_train: 501, first_frame: 77, ..TrainStructure::of_size(1000, 2) }
}

fn source(structure: TrainStructure) -> Arc<TrainSource> {
    Arc::new(TrainSource::new(structure, ImageContent::Counter).unwrap())
}

/// All datagrams of a sequence, and what it has counted. The law of packets is checked behind each of them.
fn sent(mut sequence: TrainSequence) -> (Vec<(SentPacket, Vec<u8>)>, SentCounters) {
    let mut memory = vec![0xEE; sequence.source().largest_datagram()];
    let mut all = Vec::new();
    while let Some(packet) = sequence.write_next(&mut memory) {
        all.push((packet, memory[..packet.bytes].to_vec()));
        let counts = sequence.counts();
        assert_eq!(counts.imbalance(Law::Packets), 0, "{counts:?}");
    }
    assert_eq!((sequence.next_turn(), sequence.counts().packets_waiting), (None, 0));
    (all, sequence.counts())
}

fn with_faults(texts: &[&str], trains: u64) -> (Vec<(SentPacket, Vec<u8>)>, SentCounters) {
    let placed: Vec<Fault> = texts.iter().map(|text| text.parse().unwrap()).collect();
    let plan = FaultPlan::new(&placed, &FaultRates::default(), 1).unwrap();
    sent(TrainSequence::new(source(structure()), plan, Some(trains)))
}

/// Trains and packets in the order in which they were sent.
fn order(all: &[(SentPacket, Vec<u8>)]) -> Vec<(u64, u32)> {
    all.iter().map(|(packet, _)| (packet.train, packet.packet)).collect()
}

/// What a receiver finds that knows which packet was sent, and otherwise only the bytes.
fn found(structure: &TrainStructure, all: &[(SentPacket, Vec<u8>)], trains: u64) -> SentCounters {
    let layout = structure.layout().unwrap();
    let packets = layout.packets(structure.data_bytes) as u32;
    let mut found = SentCounters { packets_made: trains * u64::from(packets), ..SentCounters::default() };
    (found.trains_begun, found.trains_ended) = (trains, trains);
    let mut seen: BTreeMap<u64, BTreeSet<u32>> = (0..trains).map(|train| (train, BTreeSet::new())).collect();
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut content: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut damaged = BTreeSet::new();
    for (place, (packet, bytes)) in all.iter().enumerate() {
        found.datagrams += 1;
        found.datagram_bytes += bytes.len() as u64;
        let numbers = seen.get_mut(&packet.train).unwrap();
        let is_behind = numbers.last().is_some_and(|&last| last > packet.packet);
        if !numbers.insert(packet.packet) {
            found.packets_repeated += 1;
            continue;
        }
        found.packets_displaced += u64::from(is_behind);
        places.entry(packet.train).or_default().push(place);
        let start = packet.packet as usize * structure.data_bytes;
        let whole = structure.data_bytes.min(layout.total() - start);
        match TrainPacket::parse(bytes) {
            Err(PacketRejection::TooShort) => {
                found.packets_truncated += 1;
                damaged.insert(packet.train);
            }
            Err(PacketRejection::Empty) => panic!("no packet without data is made by chance"),
            Ok(TrainPacket { trailer, data }) => {
                assert_eq!(trailer.frame, structure.frame(packet.train));
                assert_eq!(trailer.packet, packet.packet);
                if data.len() < whole {
                    found.packets_shortened += 1;
                    damaged.insert(packet.train);
                }
                let train = content.entry(packet.train).or_insert_with(|| vec![0; layout.total()]);
                train[start..start + data.len()].copy_from_slice(data);
            }
        }
    }
    for (&train, numbers) in &seen {
        found.packets_lost += u64::from(packets) - numbers.len() as u64;
        found.trains_without_first += u64::from(!numbers.contains(&0));
        found.trains_without_last += u64::from(!numbers.contains(&(packets - 1)));
        if numbers.len() < packets as usize || damaged.contains(&train) {
            continue;
        }
        match Train::parse(&content[&train], structure.image_bytes) {
            Err(TrainRejection::WrongBegin(_)) => found.trains_wrong_begin += 1,
            Err(TrainRejection::WrongEnd(_)) => found.trains_wrong_end += 1,
            Err(other) => panic!("{other:?}"),
            Ok(read) if read.header().train != structure.train(train) => found.trains_wrong_number += 1,
            Ok(read) => {
                found.trains_undamaged += 1;
                for image in 0..structure.images as usize {
                    let pattern = CounterPattern::new(structure.train(train), image as u64);
                    assert_eq!(pattern.check(0, read.image(image).unwrap()), None);
                }
            }
        }
    }
    for train in 1..trains {
        let (this, next) = (&places[&(train - 1)], &places[&train]);
        let is_late = this.first() > next.last();
        found.trains_late += u64::from(is_late);
        found.trains_interleaved += u64::from(!is_late && this.last() > next.first());
    }
    found
}

#[test]
fn without_faults_packets_come_in_their_order() {
    let (all, counts) = with_faults(&[], 3);
    let expected: Vec<_> = (0..3).flat_map(|train| (0..12).map(move |packet| (train, packet))).collect();
    assert_eq!(order(&all), expected);
    assert_eq!((counts.datagrams, counts.trains_ended, counts.trains_undamaged), (36, 3, 3));
    assert_eq!(counts, found(&structure(), &all, 3));
}

#[test]
fn each_fault_of_a_packet_is_where_it_was_asked_for() {
    let lost = with_faults(&["lost:train=0,packet=4"], 1);
    assert!(!order(&lost.0).contains(&(0, 4)) && lost.0.len() == 11 && lost.1.packets_lost == 1);
    let repeated = with_faults(&["repeated:train=0,packet=4"], 1);
    assert_eq!(order(&repeated.0)[3..7], [(0, 3), (0, 4), (0, 4), (0, 5)]);
    assert_eq!(repeated.0[4].1, repeated.0[5].1);
    assert_eq!((repeated.1.packets_repeated, repeated.1.trains_undamaged), (1, 1));
    let displaced = with_faults(&["displaced:train=0,packet=4,by=2", "displaced:train=0,packet=9,by=100"], 1);
    assert_eq!(order(&displaced.0)[3..8], [(0, 3), (0, 5), (0, 6), (0, 4), (0, 7)]);
    assert_eq!(order(&displaced.0)[9..], [(0, 10), (0, 11), (0, 9)]);
    assert_eq!((displaced.1.packets_displaced, displaced.1.trains_undamaged), (2, 1));
    let truncated = with_faults(&["truncated:train=0,packet=4,bytes=60"], 1);
    let whole = with_faults(&[], 1);
    assert_eq!(truncated.0[4].1, whole.0[4].1[..60]);
    assert_eq!((truncated.1.packets_truncated, truncated.1.trains_undamaged), (1, 0));
    let shortened = with_faults(&["shortened:train=0,packet=4,bytes=60"], 1);
    assert_eq!(shortened.0[4].1, [&whole.0[4].1[..60], &whole.0[4].1[200..]].concat());
    assert_eq!((shortened.1.packets_shortened, shortened.1.trains_undamaged), (1, 0));
}

#[test]
fn each_fault_of_a_train_is_where_it_was_asked_for() {
    let whole = with_faults(&[], 3);
    for (text, missing) in [("missing-first:train=1", 12), ("missing-last:train=1", 23)] {
        let (all, counts) = with_faults(&[text], 3);
        let mut expected = whole.0.clone();
        expected.remove(missing);
        assert_eq!(all, expected, "{text}");
        assert_eq!((counts.packets_lost, counts.trains_without_first + counts.trains_without_last), (1, 1));
    }
    // The only bytes that differ, of all three trains.
    for (text, bytes) in [
        ("wrong-begin:train=1", 0..8),
        ("wrong-end:train=1", 2232..2240),
        ("wrong-number:train=1,number=18374686479671623680", 16..24),
    ] {
        let (all, counts) = with_faults(&[text], 3);
        let differ = |a: &[(SentPacket, Vec<u8>)]| {
            let pairs = a.iter().zip(&whole.0).flat_map(|(a, b)| {
                let start = (a.0.train as usize * 10_000) + a.0.packet as usize * 200;
                (start..).zip(a.1.iter().zip(&b.1)).filter(|(_, (a, b))| a != b).map(|(at, _)| at)
            });
            pairs.collect::<Vec<_>>()
        };
        let places = differ(&all);
        assert!(
            !places.is_empty()
                && places.iter().all(|at| (at - 10_000 >= bytes.start) && at - 10_000 < bytes.end),
            "{text}: {places:?}"
        );
        assert_eq!((counts.trains_undamaged, counts), (2, found(&structure(), &all, 3)), "{text}");
    }
}

#[test]
fn a_late_train_comes_behind_the_next_and_interleaved_ones_take_turns() {
    let (all, counts) = with_faults(&["late:train=1"], 4);
    let trains: Vec<_> = all.iter().map(|(packet, _)| packet.train).collect();
    assert_eq!(trains, [0, 2, 1, 3].map(|train| [train; 12]).concat());
    assert_eq!((counts.trains_late, counts.trains_undamaged), (1, 4));
    let (all, counts) = with_faults(&["interleaved:train=1"], 4);
    assert_eq!(order(&all)[12..16], [(1, 0), (2, 0), (1, 1), (2, 1)]);
    assert_eq!(order(&all)[34..37], [(1, 11), (2, 11), (3, 0)]);
    assert_eq!((counts.trains_interleaved, counts.trains_undamaged), (1, 4));
}

#[test]
fn a_fault_that_cannot_be_made_is_not_counted() {
    let plain = with_faults(&[], 2);
    for text in [
        "late:train=1",
        "interleaved:train=1",
        "displaced:train=1,packet=11,by=1",
        "lost:train=2,packet=0",
        "lost:train=0,packet=12",
        "truncated:train=0,packet=1,bytes=208",
        "shortened:train=0,packet=11,bytes=40",
        "wrong-number:train=1,number=502",
    ] {
        let (all, counts) = with_faults(&[text], 2);
        assert!(all == plain.0 && counts == plain.1, "{text}: {counts:?}");
    }
    // A packet that nothing overtakes, because all behind it are lost, is not displaced.
    let lost = ["lost:train=0,packet=10", "lost:train=0,packet=11", "displaced:train=0,packet=9,by=2"];
    let (all, counts) = with_faults(&lost, 1);
    assert_eq!((order(&all).last(), counts.packets_displaced, counts.packets_lost), (Some(&(0, 9)), 0, 2));
    // The content of a train that is wrong anyway: its packets have no faults.
    let (_, counts) = with_faults(&["wrong-end:train=0", "lost:train=0,packet=3"], 1);
    assert_eq!((counts.trains_wrong_end, counts.packets_lost), (1, 0));
    // The next one's own place: it is late or interleaved already.
    let (_, counts) = with_faults(&["late:train=0", "interleaved:train=1"], 3);
    assert_eq!((counts.trains_late, counts.trains_interleaved), (1, 0));
    // What is not sent of a train cannot be wrong.
    let cut = TrainStructure { packets_per_train: Some(3), ..structure() };
    let plan = FaultPlan::new(&["wrong-end:train=0".parse().unwrap()], &FaultRates::default(), 1).unwrap();
    let (_, counts) = sent(TrainSequence::new(source(cut), plan, Some(1)));
    assert_eq!((counts.trains_wrong_end, counts.datagrams, counts.trains_undamaged), (0, 3, 1));
}

#[test]
fn turns_go_on_in_time_and_lost_packets_keep_theirs() {
    let plan = FaultPlan::new(
        &["lost:train=0,packet=1".parse().unwrap(), "late:train=1".parse().unwrap()],
        &FaultRates::default(),
        1,
    );
    let mut sequence = TrainSequence::new(source(structure()), plan.unwrap(), Some(4));
    let mut memory = vec![0; 208];
    let mut turns = Vec::new();
    while let Some(turn) = sequence.next_turn() {
        let train = sequence.next_train();
        let written = sequence.write_next(&mut memory).expect("room");
        assert_eq!(train, Some(written.train));
        turns.push((turn.train, turn.packet));
    }
    assert_eq!(turns[..3], [(0, 0), (0, 2), (0, 3)]);
    // Trains 2 and 1, in the time of train 2.
    assert_eq!((turns[11], turns[34], turns[35]), ((2, 0), (2, 23), (3, 0)));
    assert!(turns.is_sorted());
}

#[test]
fn a_stop_ends_with_the_train_that_is_begun() {
    let mut sequence = TrainSequence::new(source(structure()), FaultPlan::default(), None);
    let mut memory = vec![0; 208];
    for _ in 0..15 {
        assert!(sequence.write_next(&mut memory).is_some());
    }
    assert_eq!(sequence.write_next(&mut memory[..207]), None, "no room");
    sequence.stop();
    let (rest, counts) = sent(sequence);
    assert_eq!((rest.len(), counts.datagrams, counts.trains_ended), (9, 24, 2));
}

fn rates() -> impl Strategy<Value = FaultRates> {
    let of_packets = (0.0..0.1, 0.0..0.1, 0.0..0.1, 0.0..0.05, 0.0..0.05, 1..6_u32);
    let of_trains = (0.0..0.12, 0.0..0.12, 0.0..0.12, 0.0..0.12, 0.0..0.12, 0.0..0.2, 0.0..0.2);
    (of_packets, of_trains).prop_map(|(packets, trains)| {
        let (lost, repeated, displaced, truncated, shortened, displaced_by) = packets;
        let (missing_first, missing_last, wrong_begin, wrong_end, wrong_number, late, interleaved) = trains;
        FaultRates {
            lost,
            repeated,
            displaced,
            displaced_by,
            truncated,
            shortened,
            missing_first,
            missing_last,
            wrong_begin,
            wrong_end,
            wrong_number,
            late,
            interleaved,
        }
    })
}

proptest! {
    /// Faults of all kinds by chance: a receiver finds what was counted, and nothing else.
    #[test]
    fn what_was_counted_is_what_is_found(rates in rates(), seed: u64, trains in 1..12_u64) {
        let plan = FaultPlan::new(&[], &rates, seed).expect("probabilities");
        let (all, counts) = sent(TrainSequence::new(source(structure()), plan.clone(), Some(trains)));
        let mut found = found(&structure(), &all, trains);
        // A first or last packet that was lost by itself is in `packets_lost` alone.
        prop_assert!(counts.trains_without_first <= found.trains_without_first);
        prop_assert!(counts.trains_without_last <= found.trains_without_last);
        found.trains_without_first = counts.trains_without_first;
        found.trains_without_last = counts.trains_without_last;
        prop_assert_eq!(counts, found);
        // The same again for the same seed.
        let again = sent(TrainSequence::new(source(structure()), plan, Some(trains)));
        prop_assert!(again == (all, counts));
    }
}
