//! Points of measurements, with the real programs over loopback.

use crate::common::PROGRAM;
use evforge_lab::measured_link::{
    LinkMethod, LinkPoint, LossFreeSearch, MeasureError, PointRunner, highest_loss_free,
};
use evforge_lab::two_hosts::TwoHosts;
use evforge_net::affinity::allowed_cores;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn runner<'a>(hosts: &'a TwoHosts, folder: &Path, stop: &'a AtomicBool) -> PointRunner<'a> {
    let cores = allowed_cores().expect("cores");
    PointRunner {
        hosts,
        program: PROGRAM.into(),
        folder: folder.to_owned(),
        sender_core: cores[0],
        receiver_core: cores[cores.len() - 1],
        stop,
    }
}

#[test]
fn every_method_of_sockets_accounts_for_every_packet() {
    let (hosts, stop) = (TwoHosts::on_loopback(), AtomicBool::new(false));
    let folder = tempfile::tempdir().expect("a folder");
    let runner = runner(&hosts, folder.path(), &stop);
    for method in [LinkMethod::Paper, LinkMethod::Batched, LinkMethod::Segmented, LinkMethod::Coalesced] {
        let point = LinkPoint {
            rate: Some(10_000),
            time: Duration::from_millis(200),
            ..LinkPoint::new(method, 1472)
        };
        let measured = runner.run(&point).unwrap_or_else(|error| panic!("{method}: {error}"));
        assert!(measured.sent > 0, "{method}: {measured:?}");
        assert_eq!(measured.sent + measured.duplicated, measured.received + measured.lost, "{method}");
        assert_eq!(measured.locations.values().sum::<u64>(), measured.lost, "{method}: {measured:?}");
    }
}

#[test]
fn trains_are_measured_as_packets_with_a_rate_and_as_fast_as_possible() {
    let (hosts, stop) = (TwoHosts::on_loopback(), AtomicBool::new(false));
    let folder = tempfile::tempdir().expect("a folder");
    let runner = runner(&hosts, folder.path(), &stop);
    for rate in [Some(2_000), None] {
        let point =
            LinkPoint { rate, time: Duration::from_millis(300), ..LinkPoint::new(LinkMethod::Trains, 8192) };
        let measured = runner.run(&point).unwrap_or_else(|error| panic!("{rate:?}: {error}"));
        // How many there are in this time depends on what else the host has to do.
        assert!(measured.received > 0, "{rate:?}: {measured:?}");
        assert_eq!(measured.sent + measured.duplicated, measured.received + measured.lost, "{rate:?}");
        assert_eq!(measured.locations.values().sum::<u64>(), measured.lost, "{rate:?}: {measured:?}");
    }
}

#[test]
fn both_directions_are_measured_at_the_same_time_by_udp_and_by_tcp() {
    let (hosts, stop) = (TwoHosts::on_loopback(), AtomicBool::new(false));
    let folder = tempfile::tempdir().expect("a folder");
    let runner = runner(&hosts, folder.path(), &stop);
    for (method, rate) in [(LinkMethod::Batched, Some(10_000)), (LinkMethod::Tcp, None)] {
        let time = Duration::from_millis(200);
        let point = LinkPoint { rate, time, both_directions: true, ..LinkPoint::new(method, 1472) };
        let there = runner.run(&point).unwrap_or_else(|error| panic!("{method}: {error}"));
        let back = there.back.as_deref().expect("packets back");
        for (way, measured) in [("there", &there), ("back", back)] {
            assert!(measured.sent > 0 && measured.bits_per_second > 0.0, "{method} {way}: {measured:?}");
            assert_eq!(
                measured.sent + measured.duplicated,
                measured.received + measured.lost,
                "{method} {way}"
            );
        }
        assert_eq!(there.sender_core, back.receiver_core, "the ends have changed places");
        if method == LinkMethod::Tcp {
            assert_eq!((there.lost, back.lost), (0, 0));
            assert!(there.retransmitted.is_some());
        }
    }
}

#[test]
fn no_more_than_the_known_limit_of_a_slow_receiver_is_found() {
    let (hosts, stop) = (TwoHosts::on_loopback(), AtomicBool::new(false));
    let folder = tempfile::tempdir().expect("a folder");
    let runner = runner(&hosts, folder.path(), &stop);
    let point = LinkPoint {
        time: Duration::from_millis(200),
        work: Duration::from_micros(200),
        ..LinkPoint::new(LinkMethod::Batched, 64)
    };
    let search = LossFreeSearch::default();
    let found =
        highest_loss_free(&search, |rate| runner.run(&LinkPoint { rate, ..point.clone() })).expect("figures");
    // 200 us for each packet and what receiving costs: never more than 5000 packets per second. Other tests, on the same cores, may
    // make it less, or so unsteady that the measurements run out before a rate is confirmed; how near it comes on a quiet machine is in
    // docs/measurements.
    let most = 5_000.0 * 1.02;
    match found.rate {
        Some(rate) => assert!(rate <= most, "{rate}: {:?}", found.tried),
        None => assert_eq!(found.tried.len(), search.most, "{:?}", found.tried),
    }
    for (asked, measured) in &found.tried {
        assert!(measured.received_per_second <= most, "{asked:?}: {measured:?}");
        assert!(measured.sent_per_second <= most || !measured.is_sustained(), "{asked:?}: {measured:?}");
    }
    let (_, unpaced) = &found.tried[0];
    // On a busy host the sender may not fill the buffer in this time; what is lost is lost there.
    let in_buffer = unpaced.locations.get("socket buffer").copied().unwrap_or(0);
    assert_eq!(in_buffer, unpaced.lost, "{unpaced:?}");
}

#[test]
fn an_end_on_request_ends_the_programs_too() {
    let (hosts, stop) = (TwoHosts::on_loopback(), AtomicBool::new(true));
    let folder = tempfile::tempdir().expect("a folder");
    let point = LinkPoint { time: Duration::from_secs(60), ..LinkPoint::new(LinkMethod::Batched, 64) };
    let error = runner(&hosts, folder.path(), &stop).run(&point).expect_err("it is to end");
    assert!(matches!(error, MeasureError::Stopped), "{error}");
}

#[test]
fn a_packet_that_a_soak_loses_and_a_bit_that_it_flips_are_in_its_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let result = folder.path().join("soak");
    let mut command = std::process::Command::new(PROGRAM);
    command.args(["measure", "soak", "--loopback", "--streams", "1", "--rate", "100Mbit/s"]);
    command.args(["--for", "300ms", "--segment", "300ms", "--output"]).arg(&result);
    command.args(["--fault", "lose:packet=1000", "--fault", "flip:packet=900,bit=77"]);
    let output = command.output().expect("it starts");
    let found = evforge_measure::result_file::read(&result).expect("a result");
    assert!(!output.status.success() && !found.verdict.is_good, "{:?}", found.verdict);
    // Words are in wrong places because of the bit, and too few because of the packet.
    // A busy host may lose more.
    for name in
        [" lost; FAILED", "packets, stream 1", "identifiers", "sum = bytes/2, stream 1", "spread, stream 1"]
    {
        assert!(found.verdict.sentence.contains(name), "{name}: {:?}", found.verdict);
    }
    // The jumps are apart from the long part: they were seen as they were provoked.
    assert!(!found.verdict.sentence.contains("jump at"), "{:?}", found.verdict);
}

#[test]
fn a_soak_that_is_asked_to_end_says_what_it_has_shown_so_far() {
    let folder = tempfile::tempdir().expect("a folder");
    let result = folder.path().join("soak");
    let mut command = std::process::Command::new(PROGRAM);
    command.args(["measure", "soak", "--loopback", "--streams", "1", "--rate", "20Mbit/s", "--for", "1h"]);
    command.args(["--segment", "300ms", "--output"]).arg(&result);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let segments = || {
        let read = evforge_lab::soak::Checkpoint::read(&result.join(evforge_lab::soak::CHECKPOINT));
        read.map_or(0, |checkpoint| checkpoint.segments.len())
    };
    crate::common::wait_until("there is a segment", || segments() >= 1);
    crate::common::send_signal(child.id(), "INT");
    assert!(!child.wait().expect("it ends").success());
    let found = evforge_measure::result_file::read(&result).expect("a result");
    let said = &found.verdict.sentence;
    assert!(
        said.contains(" 0 lost: the loss ratio is below 1/N") && said.contains("Ended before its time"),
        "{said}"
    );
}
