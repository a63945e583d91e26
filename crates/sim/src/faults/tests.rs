//! Faults happen to the packets that they are meant for, and the log says so.

use super::injector::FaultInjector;
use super::log::Injected;
use super::settings::{Fault, Kind};
use crate::packet::{Sender, SimulatedPacket};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const SOURCES: usize = 2;

/// A packet that is sent at `sent_ns`: its content says which it is, and no single bit makes another one of it.
fn packet(source: usize, number: u64, sent_ns: u64) -> SimulatedPacket {
    let mut bytes = vec![source as u8; 4];
    bytes.extend([number.to_be_bytes(), (!number).to_be_bytes()].as_flattened());
    let sender = Sender { source, number: Some(number), header: 4 };
    SimulatedPacket::new(bytes, Ipv4Addr::LOCALHOST, 9000, sent_ns).of(sender)
}

/// This many packets per pulse of both sources in turn, a packet each microsecond.
fn stream(pulses: u64, per_pulse: u64) -> Vec<Vec<SimulatedPacket>> {
    let at = |index: u64| packet((index % 2) as usize, index / 2, 1000 * index);
    (0..pulses).map(|pulse| (0..per_pulse).map(|index| at(pulse * per_pulse + index)).collect()).collect()
}

struct Outcome {
    sent: Vec<SimulatedPacket>,
    log: Vec<Injected>,
    injector: FaultInjector,
}

fn inject(faults: &[&str], pulses: Vec<Vec<SimulatedPacket>>) -> Outcome {
    let faults: Vec<Fault> = faults.iter().map(|text| text.parse().expect("a fault")).collect();
    let names = (0..SOURCES).map(|source| format!("source {source}")).collect();
    let mut injector = FaultInjector::new(&faults, names, 7).expect("sources that are there");
    let mut sent = Vec::new();
    for packets in pulses {
        injector.pulse(packets, &mut sent);
    }
    injector.finish(&mut sent);
    Outcome { sent, log: injector.log().faults.clone(), injector }
}

/// Number of each packet of the stream, with the time in microseconds.
fn numbers(sent: &[SimulatedPacket]) -> Vec<(u64, u64)> {
    let number = |packet: &SimulatedPacket| {
        2 * packet.sender.number.expect("numbered packets") + packet.sender.source as u64
    };
    sent.iter().map(|packet| (number(packet), packet.origin.arrival_ns / 1000)).collect()
}

fn order(faults: &[&str]) -> Vec<u64> {
    numbers(&inject(faults, stream(1, 8)).sent).into_iter().map(|(number, _)| number).collect()
}

#[test]
fn each_kind_does_what_it_says() {
    assert_eq!(order(&[]), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(order(&["lose:packets=2+7"]), [0, 1, 3, 4, 5, 6]);
    assert_eq!(order(&["lose:packets=2,source=source 1"]), [0, 1, 2, 3, 4, 6, 7]);
    assert_eq!(order(&["repeat:packets=2,times=2"]), [0, 1, 2, 2, 2, 3, 4, 5, 6, 7]);
    assert_eq!(order(&["repeat:packets=2,behind=1"]), [0, 1, 2, 3, 4, 2, 5, 6, 7]);
    assert_eq!(order(&["reorder:packets=2"]), [0, 1, 3, 4, 2, 5, 6, 7]);
    assert_eq!(order(&["reorder:packets=0,behind=3"]), [1, 2, 3, 4, 5, 6, 0, 7]);
    // Nobody comes who could pass it.
    assert_eq!(order(&["reorder:packets=7"]), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(order(&["reorder:of_pulse=first,source=source 1"]), [0, 2, 3, 1, 4, 5, 6, 7]);
    assert_eq!(order(&["delay:packets=2,by=3500ns"]), [0, 1, 3, 4, 5, 2, 6, 7]);
    assert_eq!(order(&["delay:packets=2,by=1s"]), [0, 1, 3, 4, 5, 6, 7, 2]);
}

#[test]
fn the_log_says_who_has_passed_a_packet() {
    let passed = |fault: &str| inject(&[fault], stream(2, 4)).log[0].passed_by;
    assert_eq!(passed("reorder:packets=2,behind=2"), Some(2));
    assert_eq!(passed("reorder:packets=5,behind=2"), Some(1));
    assert_eq!(passed("reorder:packets=7"), Some(0));
    assert_eq!(passed("delay:packets=2,by=1500ns"), Some(0));
    assert_eq!(passed("delay:packets=2,by=4500ns"), Some(2));
    let fault = inject(&["reorder:of_pulse=last"], stream(2, 4)).log[0];
    assert_eq!((fault.packet, fault.packet_of_source, fault.number), (Some(3), Some(1), Some(1)));
    assert_eq!((fault.pulse, fault.source, fault.kind), (0, 1, Kind::Reorder));
}

#[test]
fn bursts_and_pauses_change_times_alone() {
    let times = |fault: &str| numbers(&inject(&[fault], stream(1, 6)).sent);
    let burst = times("burst:packets=1,count=3");
    assert_eq!(burst, [(0, 0), (1, 3), (2, 3), (3, 3), (4, 4), (5, 5)]);
    let pause = times("pause:packets=1,by=2500ns");
    assert_eq!(pause, [(0, 0), (1, 3), (2, 3), (3, 3), (4, 4), (5, 5)]);
    // One source is silent, the other is not.
    let one = times("pause:packets=0,source=source 1,by=2500ns");
    assert_eq!(one, [(0, 0), (2, 2), (1, 3), (3, 3), (4, 4), (5, 5)]);
    // Longer than the stream.
    let whole = inject(&["burst:packets=4,count=99"], stream(1, 6));
    assert_eq!(numbers(&whole.sent)[4..], [(4, 5), (5, 5)]);
    assert_eq!((whole.log[0].kind, whole.log[0].count), (Kind::Burst, Some(2)));
}

#[test]
fn truncated_and_corrupt_packets_are_so_where_they_should() {
    let outcome = inject(&["truncate:packets=1,bytes=5", "corrupt:packets=2,bit=33"], stream(1, 4));
    let clean = inject(&[], stream(1, 4)).sent;
    assert_eq!(outcome.sent[1].bytes, clean[1].bytes[..5]);
    assert_eq!(outcome.sent[2].bytes[4] ^ clean[2].bytes[4], 2);
    assert_eq!((outcome.log[0].bytes, outcome.log[1].bit), (Some(5), Some(33)));
    for (part, bits) in [("header", 0..32), ("data", 32..160)] {
        let outcome = inject(&[&format!("corrupt:probability=1,part={part}")], stream(1, 50));
        assert_eq!(outcome.log.len(), 50);
        assert!(outcome.log.iter().all(|fault| fault.bit.is_some_and(|bit| bits.contains(&bit))), "{part}");
    }
    // Nothing can be done to packets that are too short for it, so nothing is logged.
    assert!(
        inject(&["truncate:packets=1,bytes=20", "corrupt:packets=2,bit=160"], stream(1, 4)).log.is_empty()
    );
}

#[test]
fn who_names_a_packet_twice_wants_both() {
    let outcome =
        inject(&["corrupt:packets=2,bit=0", "repeat:packets=2", "lose:probability=1"], stream(1, 4));
    assert_eq!(numbers(&outcome.sent), [(2, 2), (2, 2)]);
    assert!(outcome.sent.iter().all(|packet| packet.bytes[0] == 1));
    let both = inject(&["repeat:packets=2", "lose:packets=2"], stream(1, 4));
    assert_eq!((both.log.len(), both.sent.len()), (2, 3));
}

#[test]
fn the_sender_knows_what_it_has_sent() {
    let outcome = inject(&["lose:packets=7+6", "repeat:packets=1,times=3"], stream(2, 4));
    let report = outcome.injector.report();
    let (name, sent) = &report.sources[1];
    assert_eq!((name.as_str(), sent.made, sent.on_wire), ("source 1", 4, 6));
    assert_eq!((sent.first, sent.last), (Some(0), Some(3)));
}

#[test]
fn a_source_that_is_not_there_is_an_error_that_names_those_that_are() {
    let fault = "lose:packets=1,source=FEC 9".parse().unwrap();
    let error =
        FaultInjector::new(&[fault], vec!["FEC 1".into(), "FEC 2".into()], 1).unwrap_err().to_string();
    assert!(error.contains("`FEC 9`") && error.contains("`FEC 1`, `FEC 2`"), "{error}");
}

/// All kinds that happen to packets, each with a probability.
const MIXED: [&str; 8] = [
    "lose:probability=0.05",
    "repeat:probability=0.05",
    "reorder:probability=0.05,behind=2",
    "truncate:probability=0.05",
    "corrupt:probability=0.05",
    "delay:probability=0.05,by=7us",
    "burst:probability=0.01,count=4",
    "pause:probability=0.01,by=9us",
];

#[test]
fn the_same_seed_gives_the_same_faults() {
    let (one, other) = (inject(&MIXED, stream(10, 40)), inject(&MIXED, stream(10, 40)));
    assert!(one.sent == other.sent && one.log == other.log);
    assert!(MIXED.iter().all(|text| {
        let kind = text.parse::<Fault>().expect("a fault").kind;
        one.log.iter().any(|fault| fault.kind == kind)
    }));
}

proptest! {
    /// Whatever happens, no packet has two faults, and the wire has exactly what the log says.
    #[test]
    fn what_is_sent_is_what_the_log_says(
        faults in prop::collection::vec((0..MIXED.len(), 0.0..0.3_f64), 0..9),
        pulses in 1..6_u64,
        per_pulse in 0..30_u64,
    ) {
        let faults: Vec<String> = faults
            .into_iter()
            .map(|(which, probability)| {
                let mut parts: Vec<String> = MIXED[which].split(',').map(str::to_owned).collect();
                let kind = parts[0].split(':').next().unwrap_or_default().to_owned();
                parts[0] = format!("{kind}:probability={probability}");
                parts.join(",")
            })
            .collect();
        let faults: Vec<&str> = faults.iter().map(String::as_str).collect();
        let clean = inject(&[], stream(pulses, per_pulse)).sent;
        let outcome = inject(&faults, stream(pulses, per_pulse));
        let mut expected: Vec<i64> = vec![1; clean.len()];
        let mut hit = std::collections::BTreeSet::new();
        for fault in &outcome.log {
            let packet = fault.packet.expect("faults of packets");
            match fault.kind {
                Kind::Burst | Kind::Pause => continue,
                Kind::Lose => expected[packet as usize] -= 1,
                Kind::Repeat => expected[packet as usize] += 1,
                _ => {}
            }
            prop_assert!(hit.insert(packet), "two faults on one packet");
        }
        let mut found = vec![0_i64; clean.len()];
        for (number, _) in numbers(&outcome.sent) {
            found[number as usize] += 1;
        }
        prop_assert_eq!(&found, &expected);
        let changed = outcome.sent.iter().filter(|packet| !clean.iter().any(|other| other.bytes == packet.bytes));
        let damaged = outcome.log.iter().filter(|fault| matches!(fault.kind, Kind::Truncate | Kind::Corrupt));
        prop_assert_eq!(changed.count(), damaged.count());
        // Later ones of the same source that came before: reordered packets, and delayed ones that were passed.
        let mut late = 0;
        for source in 0..SOURCES {
            let mut latest = None;
            for packet in outcome.sent.iter().filter(|packet| packet.sender.source == source) {
                late += u64::from(latest > packet.sender.number && found[2 * packet.sender.number.unwrap_or(0) as usize + source] == 1);
                latest = latest.max(packet.sender.number);
            }
        }
        let passed = outcome.log.iter().filter(|fault| fault.passed_by.is_some_and(|count| count > 0));
        prop_assert_eq!(late, passed.count() as u64);
        let report = outcome.injector.report();
        prop_assert_eq!(report.sources.iter().map(|(_, sent)| sent.made).sum::<u64>(), clean.len() as u64);
        prop_assert_eq!(report.sources.iter().map(|(_, sent)| sent.on_wire).sum::<u64>(), outcome.sent.len() as u64);
    }
}
