//! Live runs of the real program over real UDP on loopback.
#![allow(clippy::unwrap_used)]

use crate::common::program::Program;
use crate::common::{
    LiveProgram, PROGRAM, evforge, text, wait_until, wait_until_taken, while_stopped, workspace,
};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::affinity::allowed_cores;
use evforge_net::capture::{CaptureReader, Fill};
use evforge_net::socket::{ReceiverOptions, SenderOptions, UdpReceiver, UdpSender};
use evforge_testkit::patience::patience;
use evforge_testkit::{shared_folder, skip};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn config() -> PathBuf {
    workspace().join("configs/gdgem-srs.toml")
}

fn simulate(folder: &Path, pulses: &str) -> PathBuf {
    let path = folder.join("simulated.pcapng");
    let (config, path_text) = (config(), path.to_str().expect("text").to_owned());
    let config = config.to_str().expect("text");
    evforge(&["simulate", "--config", config, "--pulses", pulses, "--output", &path_text]);
    path
}

/// Starts a live run of the Gd-GEM with some keys overridden.
fn start(folder: &Path, settings: &[&str]) -> LiveProgram {
    let overrides: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    LiveProgram::start(&config(), folder, &overrides)
}

/// The number behind "sent" in what `evforge replay` prints.
fn sent(output: &Output) -> u64 {
    let text = text(&output.stdout);
    let digits: String = text
        .strip_prefix("sent ")
        .and_then(|rest| rest.split(" packets").next())
        .unwrap_or_else(|| panic!("{text}"))
        .split(' ')
        .collect();
    digits.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn number(stream: &Value, pointer: &str) -> u64 {
    stream.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {stream:#}"))
}

fn sum(stream: &Value, pointer: &str) -> u64 {
    let places = stream.pointer(pointer).and_then(Value::as_object);
    places.map_or(0, |places| places.values().filter_map(Value::as_u64).sum())
}

#[test]
fn a_replayed_capture_gives_live_what_it_gives_as_a_file() {
    let test = "a_replayed_capture_gives_live_what_it_gives_as_a_file";
    let capture = shared_folder().join("captures/gdgem/vmm3a_srs.pcapng");
    if !capture.is_file() {
        return skip(test, "the recorded capture is not there");
    }
    let capture = capture.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let from_file = folder.path().join("file.csv");
    let config = config();
    let config = config.to_str().unwrap();
    evforge(&["run", "--config", config, "--input", capture, "--events", from_file.to_str().unwrap()]);
    let expected = std::fs::read_to_string(from_file).unwrap();
    let core = allowed_cores().unwrap()[0];
    let core = format!("threads.receive.core={core}");
    for settings in [
        &[][..],
        &["input.threads=2"],
        &["receive.coalesce=false", "receive.kernel_stamps=true"],
        &["receive.coalesce=false", "input.threads=2", "input.events_per_batch=7"],
        &["receive.sockets=4", "input.threads=2", "threads.receive.count=2"],
        &["receive.sockets=3", "receive.busy_poll=20us", &core],
    ] {
        let live = start(folder.path(), settings);
        let segment: &[&str] = if settings.is_empty() { &["--segment"] } else { &[] };
        let address = live.address.clone();
        let output = evforge(&[&["replay", capture, "--to", &address, "--rate", "2kpps"], segment].concat());
        assert_eq!(sent(&output), 100);
        let (stream, events) = live.finish();
        assert!(events == expected, "{settings:?}: the events differ");
        for (pointer, expected) in [
            ("/packets/received", 100),
            ("/packets/sent", 102),
            ("/packets/lost", 2),
            ("/sources/0/gaps/0/first", 11_888_191),
            ("/sources/1/gaps/0/first", 11_867_958),
            ("/readouts", 149_180),
            ("/events", 9_094),
            ("/unaccounted", 0),
        ] {
            assert_eq!(number(&stream, pointer), expected, "{settings:?}: {pointer}");
        }
        let latency = |name: &str| stream["latency"][name].as_f64().unwrap_or_else(|| panic!("{stream:#}"));
        assert!(number(&stream, "/latency/events") > 0);
        let rising = ["p50_s", "p99_s", "p99.9_s", "largest_s"].map(latency);
        assert!(rising[0] > 0.0 && rising.is_sorted(), "{rising:?}");
        // Nothing was lost on this host: what is missing in the capture has no place here.
        assert_eq!(sum(&stream, "/packets/places") + sum(&stream, "/packets/inferred_places"), 0);
        assert_eq!(number(&stream, "/packets/unlocated"), 2);
    }
}

#[test]
fn a_sender_that_pauses_for_longer_than_idle_is_waited_for_until_it_has_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (capture, report) = (simulate(folder.path(), "1"), folder.path().join("sent.json"));
    let report = report.to_str().unwrap();
    let live = LiveProgram::start(&config(), folder.path(), &["--idle", "100ms", "--sent", report]);
    let sending = ["replay", capture.to_str().unwrap(), "--to", &live.address, "--report", report];
    let output = evforge(&[&sending[..], &["--rate", "4pps", "--for", "1s"]].concat());
    let (_, stream, _) = live.ended();
    assert!(sent(&output) >= 2, "{output:?}");
    assert_eq!(number(&stream, "/packets/received"), sent(&output));
}

/// The payloads of a capture.
fn packets(capture: &Path) -> Vec<Vec<u8>> {
    let mut slab = PacketSlab::new(10_000, 64 << 20);
    assert_eq!(CaptureReader::open(capture).unwrap().fill(&mut slab).unwrap(), Fill::End);
    slab.batch().iter().map(|packet| packet.bytes.to_vec()).collect()
}

/// The receiver is held up in the middle of the stream, with a small buffer: packets are lost, and each has
/// its place.
fn held_up(coalesce: bool) -> (u64, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let packets = packets(&simulate(folder.path(), "56"));
    let live = start(folder.path(), &["receive.buffer=100kB", &format!("receive.coalesce={coalesce}")]);
    let options = SenderOptions { segment: coalesce, ..SenderOptions::new(live.address.parse().unwrap()) };
    let mut sender = UdpSender::open(&options).unwrap();
    let mut send = |packets: &[Vec<u8>]| {
        let mut slab = PacketSlab::new(packets.len(), 64 << 20);
        assert!(packets.iter().all(|packet| slab.push(packet, packet.len(), PacketOrigin::default())));
        let mut next = 0;
        while next < packets.len() {
            next += sender.send(&slab.batch(), next, Instant::now() + patience()).expect("sending");
        }
    };
    // So few at once that the buffer holds them.
    let held: usize = 5;
    let (first, rest) = packets.split_at(20 * held);
    let (lost, last) = rest.split_at(rest.len() - 20 * held);
    for packets in first.chunks(held) {
        send(packets);
        wait_until_taken(live.id());
    }
    while_stopped(live.id(), || send(lost));
    wait_until_taken(live.id());
    for packets in last.chunks(held) {
        send(packets);
        wait_until_taken(live.id());
    }
    (packets.len() as u64, live.finish().0)
}

#[test]
fn every_packet_lost_to_a_full_buffer_is_placed_there() {
    let (sent, stream) = held_up(false);
    let lost = number(&stream, "/packets/lost");
    assert!(lost > 100, "the hold-up must cost packets: {stream:#}");
    assert_eq!(number(&stream, "/packets/sent"), sent);
    assert_eq!(number(&stream, "/packets/received") + lost, sent);
    assert_eq!(number(&stream, "/packets/places/socket buffer"), lost);
    assert_eq!((number(&stream, "/packets/unlocated"), number(&stream, "/unaccounted")), (0, 0));
}

#[test]
fn with_coalesced_packets_the_place_is_inferred() {
    let (_, stream) = held_up(true);
    let lost = number(&stream, "/packets/lost");
    assert!(lost > 50, "the hold-up must cost packets: {stream:#}");
    let placed = sum(&stream, "/packets/places") + sum(&stream, "/packets/inferred_places");
    assert_eq!(placed + number(&stream, "/packets/unlocated"), lost);
    assert!(number(&stream, "/packets/inferred_places/socket buffer") > 0);
    assert_eq!(number(&stream, "/unaccounted"), 0);
}

#[test]
fn a_replay_keeps_the_captures_timing_and_does_not_drift() {
    let folder = tempfile::tempdir().unwrap();
    let capture = simulate(folder.path(), "14");
    let mut reader = CaptureReader::open(&capture).unwrap();
    let mut recorded = PacketSlab::new(10_000, 64 << 20);
    assert_eq!(reader.fill(&mut recorded).unwrap(), Fill::End);
    let recorded: Vec<u64> = recorded.batch().iter().map(|packet| packet.origin.arrival_ns).collect();
    for speed in [1_u64, 10] {
        // A drift adds up over the capture's second, each time; a host that is busy, or stopped, delays some packets now and then.
        wait_until(format!("a replay at speed {speed} that does not drift"), || {
            drift_ns(&capture, &recorded, speed).abs() < 50_000_000
        });
    }
}

/// Replays a capture, whose packets are all to come: by how much those of its second half are later on average than those of its first.
fn drift_ns(capture: &Path, recorded: &[u64], speed: u64) -> i64 {
    let options = ReceiverOptions {
        kernel_stamps: true,
        coalesce: false,
        ..ReceiverOptions::new("127.0.0.1:0".parse().unwrap())
    };
    let mut receiver = UdpReceiver::open(&options).unwrap();
    let address = receiver.local_address().to_string();
    let mut replay = Command::new(PROGRAM)
        .args(["replay", capture.to_str().unwrap(), "--to", &address, "--speed", &speed.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut slab = PacketSlab::new(4096, 64 << 20);
    let mut stamps = Vec::new();
    let end = Instant::now() + patience();
    while stamps.len() < recorded.len() && Instant::now() < end {
        slab.clear();
        receiver.receive(&mut slab, Instant::now() + Duration::from_millis(100)).unwrap();
        stamps.extend(slab.batch().iter().map(|packet| packet.origin.arrival_ns));
    }
    let mut report = String::new();
    replay.stdout.as_mut().unwrap().read_to_string(&mut report).unwrap();
    assert!(replay.wait().unwrap().success());
    assert_eq!(stamps.len(), recorded.len(), "packets received");
    assert!(report.contains("deviation from the schedule"), "{report}");
    let error =
        |(&due, &seen): (&u64, &u64)| (seen - stamps[0]) as i64 - ((due - recorded[0]) / speed) as i64;
    let errors: Vec<i64> = recorded.iter().zip(&stamps).map(error).collect();
    let mean = |errors: &[i64]| errors.iter().sum::<i64>() / errors.len() as i64;
    let (first, second) = errors.split_at(errors.len() / 2);
    mean(second) - mean(first)
}

#[test]
fn a_port_in_use_and_a_foreign_address_are_explained() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    for (address, port, expected) in
        [("127.0.0.1", port.as_str(), "ss -ulpn"), ("192.0.2.1", "6006", "192.0.2.1")]
    {
        let output = Command::new(PROGRAM)
            .args(["run", "--address", address, "--port", port, "--for", "1s", "--config"])
            .arg(config())
            .output()
            .unwrap();
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.contains(expected), "{error}");
    }
}

/// What somebody must know who changes anything.
const TOKEN: &str = "a-token-for-the-browser-test";

/// Runs the demonstration, and `script` of `tests/browser` with the page's address and `arguments` while it runs.
/// Gives what the demonstration says at its end; none, with the reason, if there is no browser to be had.
fn demonstration(
    test: &str,
    folder: &Path,
    further: &[&str],
    script: &str,
    arguments: &[PathBuf],
) -> Option<String> {
    let browser_tests = workspace().join("tests/browser");
    if !browser_tests.join("node_modules/playwright-core").is_dir() {
        skip(test, "playwright-core is not installed: run npm ci in tests/browser");
        return None;
    }
    let mut command = Command::new(PROGRAM);
    command.args(["demo", "--for", "10min", "--view", "127.0.0.1:0", "--output"]).arg(folder).args(further);
    command.env("EVFORGE_TOKEN", TOKEN);
    let demo = Program::start(command);
    let url = demo.await_line("Look at it:");
    let page = Command::new("node")
        .arg(script)
        .arg(&url)
        .args(arguments)
        .env("EVFORGE_TOKEN", TOKEN)
        .current_dir(&browser_tests)
        .output();
    demo.signal("INT");
    let (success, printed, _) = demo.end();
    assert!(success, "{printed}");
    match page {
        Err(error) => {
            skip(test, &format!("node cannot be started: {error}"));
            None
        }
        Ok(page) => {
            let (out, error) = (text(&page.stdout), text(&page.stderr));
            assert!(page.status.success(), "{out}\n{error}");
            println!("{out}");
            Some(printed)
        }
    }
}

/// Keeps a picture of a page for whoever asks with a file's name in `variable`.
fn keep_screenshot(picture: &Path, variable: &str) {
    if let Some(keep) = std::env::var_os(variable) {
        std::fs::copy(picture, keep).expect("a copy of the picture");
    }
}

/// The first hour of a newcomer: the demonstration, its page in a real browser, its files.
#[test]
fn the_demonstration_shows_its_picture_in_a_browser() {
    let test = "the_demonstration_shows_its_picture_in_a_browser";
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("page.png");
    let arguments = [folder.path().join("demo-mask.json"), picture.clone()];
    let Some(rest) = demonstration(test, folder.path(), &[], "page_test.mjs", &arguments) else { return };
    assert!(rest.contains("lost 0") && rest.contains("unaccounted   0"), "{rest}");
    assert!(folder.path().join("demo.nxs").is_file() && picture.is_file());
    keep_screenshot(&picture, "EVFORGE_SCREENSHOT");
}

/// The monitor of the demonstration, switched on and off in its page while events are formed.
#[test]
fn the_monitor_is_switched_in_a_browser() {
    let test = "the_monitor_is_switched_in_a_browser";
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("monitor.png");
    let arguments = [picture.clone()];
    // One threshold for each plane, to be seen as lines.
    let thresholds = ["gdgem.clustering.x.adc_threshold=60", "gdgem.clustering.y.adc_threshold=50"];
    let set: Vec<&str> = thresholds.iter().flat_map(|threshold| ["--set", threshold]).collect();
    let Some(rest) = demonstration(test, folder.path(), &set, "monitor_test.mjs", &arguments) else { return };
    assert!(rest.contains("unaccounted   0"), "{rest}");
    keep_screenshot(&picture, "EVFORGE_MONITOR_SCREENSHOT");
}

/// Waiting, live, stalled, rejecting, ended and disconnected, seen in a browser at three widths; hundreds of sources in one line.
#[test]
fn the_page_says_in_a_browser_what_comes_in() {
    let test = "the_page_says_in_a_browser_what_comes_in";
    let browser_tests = workspace().join("tests/browser");
    if !browser_tests.join("node_modules/playwright-core").is_dir() {
        return skip(test, "playwright-core is not installed: run npm ci in tests/browser");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("node");
    command.arg("states_test.mjs").arg(PROGRAM).arg(workspace().join("configs")).arg(folder.path());
    // For whoever wants to look at the states.
    command.args(std::env::var_os("EVFORGE_STATES_SCREENSHOTS"));
    match command.current_dir(&browser_tests).output() {
        Err(error) => skip(test, &format!("node cannot be started: {error}")),
        Ok(page) => {
            let (out, error) = (text(&page.stdout), text(&page.stderr));
            assert!(page.status.success(), "{out}\n{error}");
            println!("{out}");
        }
    }
}
