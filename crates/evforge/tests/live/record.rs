//! `evforge record` and `evforge replay` as a user runs them.

use crate::common::{LiveProgram, PROGRAM, end_after_all, evforge, text, wait_until, workspace};
use evforge_core::packet::{ArrivalClock, Packet, PacketOrigin, PacketSlab};
use evforge_net::capture::{CaptureReader, Fill, PcapngWriter};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A recording under way, killed if the test ends early.
struct Recording {
    child: Child,
    addresses: Vec<String>,
    report: PathBuf,
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Recording {
    /// Records so many ports, which the kernel chooses, into `run.pcapng`.
    fn start(folder: &Path, ports: usize, further: &[&str]) -> Self {
        let report = folder.join("record.json");
        let mut command = Command::new(PROGRAM);
        command.args(["record", "--overwrite", "--address", "127.0.0.1", "--for", "10min"]);
        for _ in 0..ports {
            command.args(["--port", "0"]);
        }
        command.arg("--output").arg(folder.join("run.pcapng")).arg("--report").arg(&report).args(further);
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut addresses = Vec::new();
        while addresses.len() < ports {
            let line = lines.next().expect("the program says where it receives").expect("text");
            addresses.extend(line.strip_prefix("receiving at UDP ").map(str::to_owned));
        }
        // Somebody must go on reading, or the program could stop at a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, addresses, report }
    }

    /// Ends it once it has all that was sent: its report.
    fn finish(mut self) -> Value {
        end_after_all(self.child.id());
        assert!(self.child.wait().expect("it ends").success());
        serde_json::from_slice(&std::fs::read(&self.report).expect("a report")).expect("JSON")
    }
}

fn config() -> String {
    workspace().join("configs/gdgem-srs.toml").to_str().expect("text").to_owned()
}

fn simulate(folder: &Path, pulses: &str) -> String {
    let path = folder.join("simulated.pcapng").to_str().expect("text").to_owned();
    evforge(&["simulate", "--config", &config(), "--pulses", pulses, "--output", &path]);
    path
}

fn number(report: &Value, pointer: &str) -> u64 {
    report.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {report:#}"))
}

/// Payloads and stamps of a capture.
fn packets(path: &Path) -> Vec<(Vec<u8>, u64)> {
    let mut reader = CaptureReader::open(path).expect("a capture");
    let mut slab = PacketSlab::new(100_000, 256 << 20);
    assert_eq!(reader.fill(&mut slab).expect("a whole capture"), Fill::End);
    slab.batch().iter().map(|packet| (packet.bytes.to_vec(), packet.origin.arrival_ns)).collect()
}

fn payloads(path: &Path) -> Vec<Vec<u8>> {
    packets(path).into_iter().map(|(bytes, _)| bytes).collect()
}

fn events(folder: &Path, capture: &str) -> String {
    let path = folder.join("events.csv");
    evforge(&[
        "run",
        "--quiet",
        "--config",
        &config(),
        "--input",
        capture,
        "--events",
        path.to_str().expect("text"),
    ]);
    std::fs::read_to_string(path).expect("events")
}

#[test]
fn a_recorded_simulation_gives_the_same_events() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = simulate(folder.path(), "14");
    let recording = Recording::start(folder.path(), 1, &[]);
    evforge(&["replay", &simulated, "--to", &recording.addresses[0], "--rate", "5kpps"]);
    let report = recording.finish();
    let recorded = folder.path().join("run.pcapng");
    assert!(payloads(&recorded) == payloads(simulated.as_ref()), "the packets differ");
    assert_eq!(number(&report, "/packets/received"), payloads(simulated.as_ref()).len() as u64);
    assert_eq!(number(&report, "/packets/written"), number(&report, "/packets/received"));
    assert_eq!((number(&report, "/packets/dropped"), number(&report, "/packets/unaccounted")), (0, 0));
    let nothing = ["/packets/places/socket buffer", "/packets/places/record queue", "/packets/unlocated"];
    assert_eq!(nothing.map(|pointer| number(&report, pointer)), [0; 3]);
    assert!(packets(&recorded).is_sorted_by_key(|(_, stamp)| *stamp), "the stamps go back");
    let expected = events(folder.path(), &simulated);
    assert!(expected.lines().count() > 1000, "a simulation without events shows nothing");
    assert!(events(folder.path(), recorded.to_str().unwrap()) == expected, "the events differ");
}

#[test]
fn rotated_files_of_two_ports_have_every_packet_once() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = simulate(folder.path(), "14");
    let recording = Recording::start(folder.path(), 2, &["--rotate-size", "300kB"]);
    for address in &recording.addresses {
        evforge(&["replay", &simulated, "--to", address, "--rate", "5kpps"]);
    }
    let report = recording.finish();
    let files = report["files"].as_array().unwrap();
    assert!(files.len() > 3, "{report:#}");
    let mut found = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let path = folder.path().join(format!("run-{:04}.pcapng", index + 1));
        assert_eq!(file["name"], path.to_str().unwrap());
        assert!(std::fs::metadata(&path).unwrap().len() <= 300_000);
        found.extend(payloads(&path));
    }
    let mut expected = payloads(simulated.as_ref());
    expected.extend(expected.clone());
    found.sort();
    expected.sort();
    assert!(found == expected, "the packets differ");
    for port in ["/ports/0/packets", "/ports/1/packets"] {
        assert_eq!(number(&report, port), expected.len() as u64 / 2);
    }
    // A second recording goes on counting and replaces nothing.
    let recording = Recording::start(folder.path(), 1, &["--rotate-size", "300kB"]);
    evforge(&["replay", &simulated, "--to", &recording.addresses[0], "--rate", "5kpps"]);
    let first = recording.finish()["files"][0]["name"].as_str().unwrap().to_owned();
    assert!(first.ends_with(&format!("run-{:04}.pcapng", files.len() + 1)), "{first}");
}

#[test]
fn a_run_that_records_beside_has_every_packet_and_forms_the_same_events() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = simulate(folder.path(), "14");
    let expected = events(folder.path(), &simulated);
    for threads in ["1", "2"] {
        let recorded = folder.path().join(format!("beside-{threads}.pcapng"));
        let report = folder.path().join("live.json");
        let threads = format!("input.threads={threads}");
        let further = ["--set", &threads, "--record", recorded.to_str().unwrap()];
        let live = LiveProgram::start(config().as_ref(), folder.path(), &further);
        evforge(&["replay", &simulated, "--to", &live.address, "--rate", "5kpps"]);
        let (_, live_events) = live.finish();
        assert!(live_events == expected, "{threads}: the live events differ");
        assert!(payloads(&recorded) == payloads(simulated.as_ref()), "{threads}: the packets differ");
        let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
        let sent = payloads(simulated.as_ref()).len() as u64;
        assert_eq!(number(&report, "/recording/packets/received"), sent);
        assert_eq!(number(&report, "/recording/packets/written"), sent);
        assert_eq!(number(&report, "/recording/packets/unaccounted"), 0);
        assert!(events(folder.path(), recorded.to_str().unwrap()) == expected, "the recorded events differ");
    }
}

#[test]
fn several_captures_are_replayed_in_order_or_merged() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = simulate(folder.path(), "14");
    // The capture in two halves, as a rotation leaves them, and in two that interleave.
    let all = packets(simulated.as_ref());
    let part = |name: &str, wanted: &dyn Fn(usize) -> bool| {
        let path = folder.path().join(name);
        let mut writer = PcapngWriter::create(&path).unwrap();
        for (index, (bytes, arrival_ns)) in all.iter().enumerate().filter(|(index, _)| wanted(*index)) {
            let origin = PacketOrigin {
                source: ([10, 0, 0, (index % 4) as u8], 77).into(),
                arrival_ns: *arrival_ns,
                arrival_clock: ArrivalClock::Capture,
                ..PacketOrigin::default()
            };
            writer.write(&Packet { bytes, original_length: bytes.len() as u32, origin }).unwrap();
        }
        writer.finish().unwrap();
        path.to_str().unwrap().to_owned()
    };
    let half = all.len() / 2;
    let (first, second) = (part("1.pcapng", &|index| index < half), part("2.pcapng", &|index| index >= half));
    let (even, odd) = (part("3.pcapng", &|index| index % 2 == 0), part("4.pcapng", &|index| index % 2 == 1));
    let expected: Vec<_> = all.iter().map(|(bytes, _)| bytes.clone()).collect();
    let duration = (all[all.len() - 1].1 - all[0].1) as f64 / 1e9;
    for (number, arguments, source_ports) in [
        (0, [&first, &second, "--speed"], 1),
        (1, [&even, &odd, "--merge"], 1),
        (2, [&first, &second, "--speed"], 3),
    ] {
        let folder = folder.path().join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        let recording = Recording::start(&folder, 1, &[]);
        let report = folder.join("replay.json");
        let mut replay =
            vec!["replay", arguments[0], arguments[1], "--to", &recording.addresses[0], arguments[2]];
        if arguments[2] == "--speed" {
            replay.push("1");
        }
        let ports = source_ports.to_string();
        replay.extend(["--source-ports", &ports, "--report", report.to_str().unwrap()]);
        let printed = text(&evforge(&replay).stdout);
        assert!(printed.contains("at most for 99 % of the packets"), "{printed}");
        recording.finish();
        let mut found = payloads(&folder.join("run.pcapng"));
        let mut expected = expected.clone();
        if source_ports > 1 {
            // Only packets of one source keep their order.
            found.sort();
            expected.sort();
        }
        assert!(found == expected, "{number}: the packets differ");
        let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
        let value = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64).unwrap();
        assert!((value("/scheduled_s") - duration).abs() < 1e-6, "{report:#}");
        assert!(value("/elapsed_s") >= duration && value("/share_achieved") <= 1.0, "{report:#}");
        let late = ["/lateness/mean_s", "/lateness/p99_s", "/lateness/largest_s"].map(value);
        assert!(late[0] <= late[2] && late[1] <= late[2], "{late:?}");
    }
}

#[test]
fn a_killed_recording_leaves_a_readable_file() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = simulate(folder.path(), "14");
    let mut recording = Recording::start(folder.path(), 1, &[]);
    evforge(&["replay", &simulated, "--to", &recording.addresses[0], "--rate", "5kpps"]);
    let left = || {
        let mut files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.to_string_lossy().contains("run.pcapng.partial-")).unwrap()
    };
    let expected = payloads(simulated.as_ref());
    let bytes: usize = expected.iter().map(Vec::len).sum();
    // Nothing waits longer than a fraction of a second before it is written.
    wait_until("nearly all of it is on the disk", || {
        std::fs::metadata(left()).unwrap().len() >= bytes as u64
    });
    recording.child.kill().unwrap();
    recording.child.wait().unwrap();
    assert!(!folder.path().join("run.pcapng").exists(), "it has the name of a complete file");
    let found = payloads(&left());
    assert!(found.len() > expected.len() / 2 && expected.starts_with(&found), "{} packets", found.len());
}

#[test]
fn what_cannot_be_recorded_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    std::fs::write(&path, "somebody's data").unwrap();
    let path = path.to_str().unwrap();
    let absent = folder.path().join("absent/run.pcapng");
    for (arguments, expected) in [
        (&["--output", path][..], "give --overwrite"),
        (&["--output", "run.pkts"], "written as pcapng"),
        (&["--output", absent.to_str().unwrap()], "No such file or directory"),
        (&["--output", "x.pcapng", "--rotate-size", "0B"], "must be above 0"),
        (&["--output", "x.pcapng", "--largest", "0B"], "slot"),
        (&[], "--output"),
    ] {
        let output = Command::new(PROGRAM)
            .args(["record", "--port", "0", "--address", "127.0.0.1", "--for", "10ms"])
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.contains(expected), "{arguments:?}: {error}");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), "somebody's data");
}
