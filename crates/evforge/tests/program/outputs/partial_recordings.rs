//! Recordings that were killed, and recordings whose descriptors others have used up.

use crate::common::end_after_all;
use crate::outputs::program::{
    PROGRAM, Program, command, find, names, path_text, replay, run, simulated, text, wait_until,
};
use evforge_core::packet::PacketSlab;
use evforge_net::capture::CaptureReader;
use evforge_testkit::skip;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The payloads of a capture.
pub(crate) fn payloads(path: &Path) -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::open(path).expect("a capture");
    let mut slab = PacketSlab::new(100_000, 256 << 20);
    reader.fill(&mut slab).expect("a whole capture");
    slab.batch().iter().map(|packet| packet.bytes.to_vec()).collect()
}

const RECORD: [&str; 7] = ["record", "--address", "127.0.0.1", "--port", "0", "--for", "10min"];

/// A recording in a namespace of its own, where it is process 1, as in a container.
fn contained(recording: &Path) -> Program {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child=KILL", PROGRAM]).args(RECORD);
    command.arg("--output").arg(recording);
    Program::start(command)
}

#[test]
fn a_container_that_is_started_again_keeps_what_the_one_before_has_recorded() {
    let test = "a_container_that_is_started_again_keeps_what_the_one_before_has_recorded";
    let status = Command::new("unshare").args(["--pid", "--fork", "true"]).status();
    if !status.is_ok_and(|status| status.success()) {
        return skip(test, "process namespaces need root and the command unshare (util-linux)");
    }
    let folder = tempfile::tempdir().unwrap();
    let recordings = folder.path().join("recordings");
    fs::create_dir(&recordings).unwrap();
    let capture = simulated(folder.path(), "simulated.pcapng", "14");
    let recording = recordings.join("r.pcapng");
    // Somebody has put a link where the first process of a container wrote.
    let victim = folder.path().join("victim");
    fs::write(&victim, "somebody's data").unwrap();
    std::os::unix::fs::symlink(&victim, recordings.join("r.pcapng.partial-1")).unwrap();
    let first = contained(&recording);
    let address = first.address();
    replay(&capture, &address);
    let partial = || {
        let found = names(&recordings).into_iter().find(|name| name.starts_with("r.pcapng.partial-2"));
        found.map(|name| recordings.join(name))
    };
    let expected: usize = payloads(&capture).iter().map(Vec::len).sum();
    let written = || partial().and_then(|path| path.metadata().ok()).map_or(0, |about| about.len());
    wait_until("the packets are on the disk", || written() as usize > expected);
    let partial = partial().unwrap();
    first.signal("KILL");
    drop(first);
    wait_until("nobody has the file locked", || !evforge_net::staged_file::is_being_written(&partial));
    let before = fs::read(&partial).unwrap();

    let second = contained(&recording);
    second.address();
    assert!(
        fs::read(&partial).unwrap() == before,
        "the recording before has {} bytes instead of {}",
        partial.metadata().unwrap().len(),
        before.len()
    );
    assert_eq!(fs::read(&victim).unwrap(), b"somebody's data");
    let finishing = format!("evforge record --finish {}", partial.display());
    assert!(second.said().contains(&finishing), "{}", second.said());
    second.signal("KILL");
    drop(second);

    // The very words that were told.
    let mut words = finishing.split(' ');
    assert_eq!(words.next(), Some("evforge"));
    let output = run(&words.collect::<Vec<_>>());
    let packets = payloads(&capture);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&format!("{} packets", packets.len())), "{}", text(&output.stdout));
    assert!(payloads(&recording) == packets, "other packets");
    let again = run(&["record", "--finish", path_text(&partial)]);
    assert!(
        !again.status.success() && text(&again.stderr).contains("No such file"),
        "{}",
        text(&again.stderr)
    );
}

/// The lowest number that is no descriptor of a process.
fn first_free_descriptor(id: u32) -> u32 {
    let used: Vec<u32> =
        names(Path::new(&format!("/proc/{id}/fd"))).iter().filter_map(|name| name.parse().ok()).collect();
    (0..).find(|number| !used.contains(number)).expect("a number")
}

fn limit_descriptors(id: u32, limit: u32) {
    let (id, limit) = (id.to_string(), format!("--nofile={limit}:"));
    assert!(Command::new("prlimit").args(["--pid", &id, &limit]).status().expect("prlimit").success());
}

#[test]
fn descriptors_that_others_use_up_do_not_stop_a_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let capture = simulated(folder.path(), "simulated.pcapng", "28");
    let recording = folder.path().join("recordings/r.pcapng");
    fs::create_dir(folder.path().join("recordings")).unwrap();
    let rotation = ["--rotate-size", "200kB", "--output", path_text(&recording)];
    let program = Program::start(command(&[&RECORD[..], &rotation].concat()));
    let address = program.address();
    wait_until("there is a file", || find(recording.parent().unwrap(), "r-0001.pcapng").is_some());
    limit_descriptors(program.id(), first_free_descriptor(program.id()));
    replay(&capture, &address);
    end_after_all(program.id());
    let (success, printed, said) = program.end();
    assert!(success && !printed.contains("ALARM"), "{printed}{said}");
    let files = names(recording.parent().unwrap());
    assert!(files.len() > 5 && files.iter().all(|name| name.ends_with(".pcapng")), "{files:?}");
    let found: Vec<_> =
        files.iter().flat_map(|name| payloads(&recording.parent().unwrap().join(name))).collect();
    assert!(found == payloads(&capture), "{} packets", found.len());
}

#[test]
fn a_rotation_that_fails_is_tried_again_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let capture = simulated(folder.path(), "simulated.pcapng", "14");
    let recording = folder.path().join("recordings/r.pcapng");
    let files = recording.parent().unwrap();
    fs::create_dir(files).unwrap();
    let report = folder.path().join("report.json");
    let rotation =
        ["--rotate-size", "200kB", "--output", path_text(&recording), "--report", path_text(&report)];
    let program = Program::start(command(&[&RECORD[..], &rotation].concat()));
    let address = program.address();
    // Not even the descriptor in reserve can be used.
    limit_descriptors(program.id(), 3);
    replay(&capture, &address);
    program.await_said("no further file could be opened");
    limit_descriptors(program.id(), 1024);
    // Sooner or later one can.
    wait_until("the recording goes on", || {
        replay(&capture, &address);
        names(files).len() > 3
    });
    program.signal("INT");
    let (success, printed, said) = program.end();
    assert!(!success && printed.contains("ALARM"), "{printed}{said}");
    let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    let number = |name: &str| report["packets"][name].as_u64().unwrap();
    assert!(number("not_written") > 0 && number("unaccounted") == 0, "{report:#}");
    assert_eq!(number("received"), number("written") + number("dropped") + number("not_written"));
    let found: usize = names(files).iter().map(|name| payloads(&files.join(name)).len()).sum();
    assert_eq!(found as u64, number("written"));
    assert!(report["interruption"].as_str().unwrap().contains("Too many open files"), "{report:#}");
}
