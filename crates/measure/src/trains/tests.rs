//! Tables, classification and words, of results that are made up.

use super::*;
use crate::figure::Figure;
use crate::table::{Cell, Table};
use evforge_lab::measured_trains::{Flow, MeasuredTrains, TimeOfReader, TrainReceiver, TrainSender};
use std::collections::BTreeSet;
use std::time::Duration;

/// Packets of a pair, and those it begins with.
const PACKETS: u64 = 10_000;
const WARM_UP: u64 = 1000;

fn plan(senders: u16, receivers: u16) -> TrainsPlan {
    TrainsPlan {
        senders,
        receivers,
        images: 64,
        image_bytes: 131_072,
        data_bytes: 8184,
        packets_per_train: Some(500),
        trains: PACKETS / 500,
        rate: Rate::Bits(400_000_000),
        pause: Duration::from_millis(50),
        burst: Duration::from_millis(1),
        buffer: 64_000_000,
        sender_cores: Vec::new(),
        receiver_cores: vec![1],
        faults: Vec::new(),
        faulty_sender: 0,
    }
}

/// A run in which these packets are missing of a pair: sender, receiver, in the warm-up, later. A nanosecond or so for each packet.
fn run(senders: u16, receivers: u16, missing: &[(u16, u16, u64, u64)], ns: u64) -> MeasuredTrains {
    let mut flows = Vec::new();
    for (sender, receiver) in (0..senders).flat_map(|sender| (0..receivers).map(move |to| (sender, to))) {
        let lost = missing.iter().find(|(s, r, ..)| (*s, *r) == (sender, receiver));
        let (early, late) = lost.map_or((0, 0), |(_, _, early, late)| (*early, *late));
        let incomplete = u64::from(early > 0) + u64::from(late > 0);
        flows.push(Flow {
            sender,
            receiver,
            trains: PACKETS / 500,
            trains_good: PACKETS / 500 - incomplete,
            trains_incomplete: incomplete,
            packets: PACKETS,
            packets_given: PACKETS,
            packets_in_trains: PACKETS - early - late,
            warm_up_packets: WARM_UP,
            warm_up_missing: early,
            bits_per_second: 8e7,
            ..Flow::default()
        });
    }
    let of = |chosen: &dyn Fn(&Flow) -> bool, count: fn(&Flow) -> u64| -> u64 {
        flows.iter().filter(|flow| chosen(flow)).map(count).sum()
    };
    let sender = |number: u16| TrainSender {
        trains: of(&|flow| flow.sender == number, |flow| flow.trains),
        packets: of(&|flow| flow.sender == number, |flow| flow.packets),
        packets_given: of(&|flow| flow.sender == number, |flow| flow.packets),
        bits_per_second: 8e7 * f64::from(receivers),
        ..TrainSender::default()
    };
    let receiver = |number: u16| {
        let packets = of(&|flow| flow.receiver == number, Flow::arrived);
        TrainReceiver {
            packets,
            trains_good: of(&|flow| flow.receiver == number, |flow| flow.trains_good),
            socket_losses: of(&|flow| flow.receiver == number, Flow::missing),
            processor: 1e-9 * (ns * packets) as f64,
            time: Some(TimeOfReader { receiving: 9.99, assembling: 0.008, housekeeping: 0.002 }),
            batches: packets / 4,
            ..TrainReceiver::default()
        }
    };
    let (senders, receivers) = ((0..senders).map(sender).collect(), (0..receivers).map(receiver).collect());
    MeasuredTrains { senders, receivers, flows, backlog_losses: 0 }
}

/// Three rounds of the same, in which the profile costs this share.
fn rounds(missing: &[(u16, u16, u64, u64)], cost: f64) -> TrainRounds {
    let round = |ns: u64| {
        let with = (ns as f64 * (1.0 + cost)).round() as u64;
        let mut plain = run(2, 3, missing, ns);
        plain.receivers.iter_mut().for_each(|receiver| (receiver.time, receiver.batches) = (None, 0));
        TrainRound { profiled: run(2, 3, missing, with), plain }
    };
    TrainRounds([1000, 1100, 1050].map(round).to_vec())
}

fn measured(rounds: &TrainRounds) -> Measurement {
    let session = Session::without_host("trains", "Trains", &["evforge".to_owned()]);
    let result = result(session, &plan(2, 3), true, rounds).unwrap();
    result.check().unwrap();
    // What is written can be read again, and drawn.
    let again = crate::result_file::of_json(&crate::result_file::to_json(&result).unwrap()).unwrap();
    assert_eq!(again.plots.len(), 6);
    crate::report::html(&again).unwrap();
    result
}

fn cell<'a>(result: &'a Measurement, table: &str, row: usize, column: &str) -> &'a Cell {
    let table: &Table = result.table(table).unwrap();
    &table.rows[row][table.column(column).unwrap()]
}

#[test]
fn without_loss_there_is_a_bound_and_no_machine_is_named() {
    let result = measured(&rounds(&[], 0.0));
    assert!(
        result.verdict.is_good && result.verdict.sentence.ends_with("none is missing"),
        "{:?}",
        result.verdict
    );
    // Of 6 pairs in 6 runs 360 000 packets, of which 36 000 are the first ones.
    assert!(result.findings[0].starts_with("Where are packets lost? On no machine, in no pair (6)."));
    assert!(
        result.findings[0].contains("none of 360 000 (below 8.3e-6 with 95 % confidence)"),
        "{}",
        result.findings[0]
    );
    assert!(result.findings[1].starts_with("When? Never."), "{}", result.findings[1]);
    assert!(result.findings[1].contains("none of 36 000") && result.findings[1].contains("none of 324 000"));
    assert!(
        result.findings.iter().any(|said| said.contains("360 of 360") || said.contains("720 of 720")),
        "{:?}",
        result.findings
    );
    assert!(cell(&result, "pairs", 5, "ratio").is_upper_bound());
    assert!(result.limits[0].contains("real machines"));
}

#[test]
fn few_pairs_are_named_with_their_machines_and_the_warm_up_is_told_apart() {
    let lossy = rounds(&[(1, 0, 5, 0), (1, 2, 1, 2)], 0.0);
    let few = LossyPairs::Few { pairs: 2, senders: BTreeSet::from([1]), receivers: BTreeSet::from([0, 2]) };
    assert_eq!(LossyPairs::of(&lossy.flows()), few);
    let result = measured(&lossy);
    assert!(
        result.verdict.is_good && result.verdict.sentence.contains("48 are missing, of 2 of 6 pairs"),
        "{:?}",
        result.verdict
    );
    let said = &result.findings[0];
    assert!(said.contains("On few machines, in 2 of 6 pairs: sender 1, receivers 0, 2; most from sender 1 to receiver 0: 30 of 60 000"), "{said}");
    let said = &result.findings[1];
    assert!(
        said.contains("In the warm-up and later")
            && said.contains("36 of 36 000")
            && said.contains("12 of 324 000"),
        "{said}"
    );
    // Row 3 is the pair of sender 1 and receiver 0.
    assert_eq!(cell(&result, "pairs", 3, "warm_up_missing"), &Cell::Number(30.0));
    assert_eq!(
        (cell(&result, "pairs", 5, "warm_up_missing"), cell(&result, "pairs", 5, "later_missing")),
        (&Cell::Number(6.0), &Cell::Number(12.0))
    );
    assert!(
        result
            .findings
            .iter()
            .any(|said| said.contains("48 sent, and did not come") && said.contains("no room for 48"))
    );
    let early = measured(&rounds(&[(0, 0, 5, 0)], 0.0));
    assert!(early.findings[1].starts_with("When? In the warm-up only."), "{}", early.findings[1]);
    let late = measured(&rounds(&[(0, 0, 0, 5)], 0.0));
    assert!(late.findings[1].starts_with("When? After the warm-up only."), "{}", late.findings[1]);
}

#[test]
fn all_pairs_are_all_machines() {
    let all: Vec<_> = (0..2).flat_map(|sender| (0..3).map(move |to| (sender, to, 1, 0))).collect();
    let result = measured(&rounds(&all, 0.0));
    assert!(result.findings[0].contains("On all machines, in all pairs (6)"), "{}", result.findings[0]);
    assert!(result.verdict.sentence.contains("of all pairs"));
}

#[test]
fn tables_add_up_to_the_ledger() {
    let result = measured(&rounds(&[(1, 0, 5, 0), (0, 2, 1, 2)], 0.0));
    let ledger = |what: &str| {
        let table = result.table("ledger").unwrap();
        let row =
            table.rows.iter().find(|row| row[0] == Cell::text(what)).unwrap_or_else(|| panic!("{what}"));
        row[1].value().unwrap()
    };
    let sum = |table: &str, column: &str| -> f64 {
        let table = result.table(table).unwrap();
        table.rows.iter().map(|row| row[table.column(column).unwrap()].value().unwrap()).sum()
    };
    for (what, table, column) in [
        ("packets of all trains", "pairs", "packets"),
        ("packets of all trains", "senders", "packets"),
        ("packets missing in trains", "pairs", "missing"),
        ("– in the warm-up", "pairs", "warm_up_missing"),
        ("– later", "pairs", "later_missing"),
        ("packets that came", "receivers", "packets"),
        ("trains made", "senders", "trains"),
        ("– whole and good", "receivers", "trains_good"),
        ("– incomplete", "pairs", "trains_incomplete"),
        ("packets that receive buffers had no room for", "receivers", "socket_losses"),
    ] {
        assert_eq!(ledger(what), sum(table, column), "{what}: {table}, {column}");
    }
    assert_eq!(ledger("packets sent"), ledger("– did not come") + ledger("– came"));
    assert_eq!(ledger("packets missing in trains"), 48.0);
}

#[test]
fn a_run_that_does_not_add_up_has_no_good_verdict() {
    let mut wrong = rounds(&[], 0.0);
    wrong.0[1].plain.senders[0].packets += 1;
    let result = measured(&wrong);
    assert!(
        !result.verdict.is_good && result.verdict.sentence.contains("run 4: sender 0: 30001 packets"),
        "{:?}",
        result.verdict
    );
    let mut foreign = rounds(&[], 0.0);
    (foreign.0[0].plain.receivers[1].foreign, foreign.0[0].plain.receivers[1].packets) = (7, 20_007);
    assert!(measured(&foreign).verdict.sentence.contains("7 packets came from senders that are none"));
    let silent = measured(&rounds(&[(0, 1, WARM_UP, PACKETS - WARM_UP)], 0.0));
    assert!(
        !silent.verdict.is_good && silent.verdict.sentence.contains("sender 0 to receiver 1"),
        "{:?}",
        silent.verdict
    );
    assert!(!measured_nothing().is_good);
}

fn measured_nothing() -> crate::measurement::Verdict {
    super::verdict::verdict(&TrainRounds::default())
}

#[test]
fn the_profile_is_a_ratio_of_rounds_and_the_time_of_the_reader_its_shares() {
    let said = |cost: f64| {
        let result = measured(&rounds(&[], cost));
        result.findings.last().unwrap().clone()
    };
    assert!(said(0.0).contains("No difference of the processor time"), "{}", said(0.0));
    assert!(
        said(0.1).contains("+10.0 % of the processor time") && said(0.1).contains("0.7 s"),
        "{}",
        said(0.1)
    );
    // A thread takes 10 s for 20 000 packets, and works 1.05 us for each: 0.4 and 0.1 us of that are not fetching.
    let result = measured(&rounds(&[], 0.0));
    let is_reader = |said: &&String| {
        said.contains("99.8 % waiting") && said.contains("1.05 us for each packet: 0.55 us fetching")
    };
    assert!(result.findings.iter().any(|said| is_reader(&said)), "{:?}", result.findings);
    assert!(
        cell(&result, "receivers", 0, "assembling").value().is_some_and(|part| (part - 0.08).abs() < 1e-9)
    );
    assert_eq!(cell(&result, "receivers", 0, "batch"), &Cell::Number(4.0));
    let costly = measured(&rounds(&[], 0.1));
    let ratio = cell(&costly, "profile", 0, "ratio").value();
    assert_eq!(ratio.map(|ratio| (1000.0 * ratio).round()), Some(1100.0));
    let stacks = result.plots.iter().find(|plot| plot.name == "reader").unwrap();
    let Some(Figure::Stacks(stacks)) = &stacks.figure else { panic!("no bars") };
    let heights: Vec<i64> = stacks.heights[2].iter().map(|us| (1000.0 * us).round() as i64).collect();
    assert_eq!(heights, [550, 400, 100]);
}

#[test]
fn the_matrix_has_senders_as_rows() {
    let result = measured(&rounds(&[(1, 2, 3, 0)], 0.0));
    let Some(Figure::Matrix(matrix)) = &result.plots[0].figure else { panic!("no matrix") };
    assert_eq!((matrix.rows.len(), matrix.columns.len()), (2, 3));
    let lossy: Vec<usize> = (0..6).filter(|place| matrix.fields[*place].share.value() > Some(0.0)).collect();
    assert_eq!(lossy, [5]);
    assert_eq!(matrix.fields[5].note, "18 of 60 000");
}
