//! Every kind of fault, in the stream of every readout that can be simulated: the ledger and the counters name exactly
//! what was injected, and no fault harms an event that it does not touch. `docs/faults.md` has the table.

mod expected;
mod streams;

use evforge_sim::faults::settings::{Fault, Kind};
use evforge_testkit::properties::cases;
use expected::{check_damage, check_ledger, check_same_events, check_untouched};
use std::sync::LazyLock;
use streams::{READOUTS, Readout, Stream, differences, formed};

/// The stream of each readout. Its detector waits for what comes late by some pulses.
static STREAMS: LazyLock<Vec<Stream>> = LazyLock::new(|| {
    let stream = |readout: &'static Readout| {
        let patient = ["window=300ms", "forward_jump=1s", "source_lag=10s"]
            .map(|setting| format!("{}.{setting}", readout.sorting));
        Stream::new(readout, &patient.each_ref().map(String::as_str))
    };
    READOUTS.iter().map(stream).collect()
});

/// The stream of each readout, with the detector as its configuration is shipped.
static SHIPPED: LazyLock<Vec<Stream>> =
    LazyLock::new(|| READOUTS.iter().map(|readout| Stream::new(readout, &[])).collect());

#[test]
fn lost_packets_are_lost_and_take_only_their_own_events_along() {
    for stream in &*STREAMS {
        let faulty = stream.with_faults(&["lose:probability=0.05"], 1);
        check_ledger(stream, &faulty, false, "lose");
        let (missing, _) = check_untouched(stream, &faulty, "lose");
        assert!(missing > 0 && faulty.faults.of(Kind::Lose).count() > 3, "{}", stream.readout.name);
        let lost: Vec<_> = faulty
            .faults
            .of(Kind::Lose)
            .filter_map(|fault| stream.packets().nth(fault.packet? as usize).cloned())
            .collect();
        let readouts = |formed: &streams::Formed| formed.value("readouts");
        let alone = readouts(&formed(&stream.config, &lost));
        assert_eq!(readouts(&stream.clean) - readouts(&faulty.formed), alone, "{}", stream.readout.name);
    }
}

#[test]
fn copies_are_counted_and_change_nothing() {
    for stream in &*STREAMS {
        for fault in
            ["repeat:probability=0.1", "repeat:probability=0.05,times=3,behind=2", "repeat:probability=1"]
        {
            let faulty = stream.with_faults(&[fault], 2);
            check_ledger(stream, &faulty, false, fault);
            if stream.readout.is_numbered {
                check_same_events(stream, &faulty, fault);
            }
        }
    }
}

#[test]
fn late_packets_are_counted_and_change_nothing() {
    for stream in &*STREAMS {
        for fault in [
            "reorder:probability=0.1",
            "reorder:probability=0.05,behind=3",
            "delay:probability=0.1,by=30ms",
            "reorder:of_pulse=first,probability=1",
            "reorder:of_pulse=last,probability=1",
        ] {
            let faulty = stream.with_faults(&[fault], 3);
            check_ledger(stream, &faulty, false, fault);
            // Markers that come late are not those that hits after them were counted from.
            if stream.readout.marks_ns == 0 {
                check_same_events(stream, &faulty, fault);
            }
        }
    }
}

#[test]
fn bursts_and_pauses_are_no_faults_for_a_receiver() {
    for stream in &*STREAMS {
        let faulty =
            stream.with_faults(&["burst:probability=0.02,count=20", "pause:probability=0.02,by=40ms"], 4);
        assert!(faulty.faults.of(Kind::Burst).count() > 0 && faulty.faults.of(Kind::Pause).count() > 0);
        check_ledger(stream, &faulty, false, "burst, pause");
        check_same_events(stream, &faulty, "burst, pause");
    }
}

#[test]
fn damaged_packets_are_counted_by_reason_and_take_only_their_own_events_along() {
    for stream in &*STREAMS {
        for damage in stream.readout.damages {
            let (kind, particulars) = damage.fault;
            let fault = format!("{kind}:probability=0.05,{particulars}");
            let faulty = stream.with_faults(&[&fault], 5);
            check_ledger(stream, &faulty, !damage.has_number, &fault);
            check_untouched(stream, &faulty, &fault);
            let damaged = faulty.faults.faults.len() as u64;
            assert_eq!(faulty.formed.value(damage.counter), damaged, "{}: {fault}", stream.readout.name);
            assert!(damaged > 3);
        }
    }
}

#[test]
fn damaged_data_harm_no_other_events() {
    for stream in SHIPPED.iter().chain(&*STREAMS) {
        for seed in 0..cases(2).into() {
            let faulty = stream.with_faults(&["corrupt:probability=0.01,part=data"], seed);
            check_ledger(stream, &faulty, false, "corrupt data");
            check_damage(stream, &faulty, "corrupt data");
        }
    }
}

#[test]
fn losses_at_the_ends_are_known_to_the_sender_alone() {
    for stream in &*STREAMS {
        let report = stream.with_faults(&[], 0).report;
        for (source, (name, sent)) in report.sources.iter().enumerate().filter(|(_, (_, sent))| sent.made > 3)
        {
            let mut fault = fault_of(&format!("lose:packets=0+{}", sent.made - 1));
            fault.selection.source = Some(name.clone());
            let faulty = stream.with(&[fault], 0);
            check_ledger(stream, &faulty, false, "first and last lost");
            if stream.readout.is_numbered {
                let found = &faulty.formed.ledger.sources;
                let found =
                    found.iter().find(|found| found.name == *name).expect("a source that has sent").packets;
                let known = faulty.report.sources[source].1.made;
                assert_eq!((found.lost, found.sent.map(|seen| known - seen)), (0, Some(2)), "{name}");
            }
            if source > 4 {
                break;
            }
        }
    }
}

#[test]
fn faults_of_all_kinds_together_are_told_apart() {
    for stream in &*STREAMS {
        for seed in 0..cases(1).into() {
            let faults = [
                "lose:probability=0.02",
                "repeat:probability=0.02",
                "reorder:probability=0.02,behind=2",
                "delay:probability=0.02,by=20ms",
                "burst:probability=0.01,count=5",
                "pause:probability=0.01,by=10ms",
            ];
            let faulty = stream.with_faults(&faults, seed);
            check_ledger(stream, &faulty, false, "all kinds");
            if stream.readout.is_numbered && stream.readout.marks_ns == 0 {
                check_untouched(stream, &faulty, "all kinds");
            }
        }
    }
}

#[test]
fn a_counter_that_wraps_is_nothing_and_one_that_starts_anew_is_a_restart() {
    for stream in &*STREAMS {
        if !stream.readout.is_numbered {
            continue;
        }
        let wrapped = stream.simulated_with(&["counter-wrap:pulses=0,count=3"]);
        assert_eq!(wrapped.log, stream.clean.log, "{}", stream.readout.name);
        for source in &wrapped.ledger.sources {
            let packets = source.packets;
            assert_eq!(packets.lost + packets.duplicated + packets.restarts, 0, "{}", stream.readout.name);
        }
        // Far from where it began: a receiver that has seen these numbers lately takes them for copies at first.
        let restarted =
            stream.simulated_with(&["counter-wrap:pulses=0,count=2000000000", "restart:pulses=3"]);
        let (missing, extra) = differences(&stream.clean.log, &restarted.log);
        assert_eq!((missing.len(), extra.len()), (0, 0), "{}", stream.readout.name);
        for source in &restarted.ledger.sources {
            let packets = source.packets;
            assert_eq!((packets.lost, packets.duplicated), (0, 0), "{}", stream.readout.name);
            assert!(packets.restarts <= 1, "{}", stream.readout.name);
        }
        let restarts: u64 = restarted.ledger.sources.iter().map(|source| source.packets.restarts).sum();
        assert_eq!(restarts, stream.sources_around(3), "{}", stream.readout.name);
    }
}

#[test]
fn a_clock_that_steps_ahead_is_followed_and_counted() {
    for stream in &*STREAMS {
        // All of them: planes of a neutron can be on different sources.
        let stepped = stream.simulated_with(&["clock-step:pulses=3,by=2s"]);
        let clocks = stream.sources_around(3) * stream.readout.clocks;
        assert_eq!(stepped.value("forward_jumps"), clocks, "{}", stream.readout.name);
        // Today's readout says in every packet when the pulse before was, and packets in which that is too long ago are
        // not used: those of the pulse of the step (ESS readout formats, section 1, rule 15).
        let refused = if stream.readout.sorting == "ess.sorting" { stream.pulses[3].len() } else { 0 };
        if refused > 0 {
            assert_eq!(stepped.value("packets_pulse_too_far"), refused as u64, "{}", stream.readout.name);
        }
        let used = stream.pulses.iter().enumerate().filter(|(pulse, _)| refused == 0 || *pulse != 3);
        let used: Vec<_> = used.flat_map(|(_, packets)| packets.clone()).collect();
        let clean = formed(&stream.config, &used);
        assert_eq!(stepped.log.len(), clean.log.len(), "{}", stream.readout.name);
        let (missing, extra) = differences(&clean.log, &stepped.log);
        // In the order of time; fine times are rounded anew.
        let moved = missing
            .iter()
            .zip(&extra)
            .map(|(one, other)| other.time_ns.abs_diff(one.time_ns + 2_000_000_000));
        assert!(!extra.is_empty() && moved.max() < Some(200), "{}", stream.readout.name);
    }
}

fn fault_of(text: &str) -> Fault {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}
