//! Recordings on a disk that others fill, and free again.

use crate::outputs::partial_recordings::payloads;
use crate::outputs::program::{PROGRAM, Program, path_text, replay, run, text, wait_until};
use evforge_testkit::skip;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A recording whose folder is a file system of 48 MB, which only it sees.
struct Recorder {
    program: Program,
    address: String,
    /// What keeps the file system after the end of the program, and by which it is reached.
    disk: File,
}

impl Recorder {
    /// Starts it with little memory; none if that is impossible here.
    fn start(test: &str, folder: &Path) -> Option<Self> {
        let mount = ["--mount", "sh", "-c", "mount -t tmpfs -o size=48m none disk"];
        fs::create_dir(folder.join("disk")).expect("a folder");
        let tried = Command::new("unshare").args(mount).current_dir(folder).output();
        if !tried.is_ok_and(|output| output.status.success()) {
            skip(test, "mounting a file system needs root and the command unshare (util-linux)");
            return None;
        }
        let script = format!("{} && exec \"$@\"", mount[3]);
        let mut command = Command::new("unshare");
        command.args(&mount[..3]).args([&script, "sh", PROGRAM, "record", "--address", "127.0.0.1"]);
        command.args(["--port", "0", "--for", "10min", "--record-queue", "8MiB"]);
        command.args(["--output", "disk/run.pcapng", "--report", "report.json"]).current_dir(folder);
        let program = Program::start(command);
        let address = program.address();
        let seen = folder.join("disk");
        let seen = seen.strip_prefix("/").expect("a whole path");
        let disk =
            File::open(Path::new(&format!("/proc/{}/root", program.id())).join(seen)).expect("a folder");
        Some(Self { program, address, disk })
    }

    fn disk(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.disk.as_raw_fd()).into()
    }

    /// The file of the recording under its working name.
    fn partial(&self) -> Option<PathBuf> {
        crate::outputs::program::find(&self.disk(), "run.pcapng.partial")
    }

    fn length(&self) -> u64 {
        self.partial().and_then(|path| path.metadata().ok()).map_or(0, |about| about.len())
    }

    /// Uses up the space.
    fn fill(&self) {
        let mut file = File::create(self.disk().join("others")).expect("a file");
        let piece = vec![1; 4096];
        let error = (0..100_000).find_map(|_| file.write_all(&piece).err()).expect("the disk is full");
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }

    fn free(&self) {
        fs::remove_file(self.disk().join("others")).expect("a file");
    }
}

/// A simulated capture with large packets.
fn capture(folder: &Path, pulses: &str) -> PathBuf {
    let path = folder.join("simulated.pcapng");
    let output =
        run(&["simulate", "freia", "--pulses", pulses, "--neutrons", "60kHz", "--output", path_text(&path)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    path
}

/// The report, in which nothing is unaccounted for: received and written packets, those that the queue dropped, and those
/// that were not written.
fn counted(folder: &Path) -> ([u64; 4], Value) {
    let report = fs::read(folder.join("report.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let number = |name: &str| report["packets"][name].as_u64().expect("a number");
    assert_eq!((number("unaccounted"), number("lost_in_socket_buffer")), (0, 0), "{report:#}");
    (["received", "written", "dropped", "not_written"].map(number), report)
}

#[test]
fn a_recording_goes_on_when_a_full_disk_has_space_again() {
    let test = "a_recording_goes_on_when_a_full_disk_has_space_again";
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), "14");
    let of_one = payloads(&capture);
    let Some(recorder) = Recorder::start(test, folder.path()) else { return };
    replay(&capture, &recorder.address);
    wait_until("the packets are on the disk", || {
        recorder.length() > 9 * capture.metadata().unwrap().len() / 10
    });
    recorder.fill();
    // More than the queue has room for.
    let mut sent = 1;
    let bytes: usize = of_one.iter().map(Vec::len).sum();
    while (sent - 1) * bytes < 20_000_000 {
        replay(&capture, &recorder.address);
        sent += 1;
    }
    recorder.program.await_said("packets wait for space");
    let said = recorder.program.said();
    assert!(
        said.contains("disk/run.pcapng cannot be written") && said.contains("The disk is full: free"),
        "{said}"
    );
    recorder.free();
    recorder.program.await_said("The disk was full from 20");
    replay(&capture, &recorder.address);
    sent += 1;
    recorder.program.signal("INT");
    let disk = recorder.disk();
    let Recorder { program, disk: _kept, .. } = recorder;
    let (success, printed, said) = program.end();
    let ([received, written, dropped, not_written], report) = counted(folder.path());
    assert!(!success && printed.contains("ALARM"), "{printed}{said}");
    let told = report["interruption"].as_str().unwrap();
    let expected = format!(": {dropped} packets are missing because of that.");
    assert!(told.starts_with("The disk was full from 20") && told.ends_with(&expected), "{told}");
    assert!(printed.contains(told), "{printed}");
    assert_eq!(
        (report["ending"].as_str(), report["files"][0]["complete"].as_bool()),
        (Some("stopped"), Some(true))
    );
    let all: Vec<&Vec<u8>> = (0..sent).flat_map(|_| &of_one).collect();
    assert_eq!((received, not_written, written + dropped), (all.len() as u64, 0, all.len() as u64));
    assert!(dropped > 0, "the queue has room for all of them");
    // In the file are the packets sent, in their order, without those that are missing.
    let found = payloads(&disk.join("run.pcapng"));
    assert_eq!(found.len() as u64, written);
    assert!(found.starts_with(&of_one) && found.ends_with(&of_one));
    let mut sent = all.into_iter();
    assert!(found.iter().all(|packet| sent.any(|other| other == packet)), "another order, or a packet twice");
}

#[test]
fn a_disk_that_stays_full_leaves_whole_packets_and_counts_the_others() {
    let test = "a_disk_that_stays_full_leaves_whole_packets_and_counts_the_others";
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), "14");
    let of_one = payloads(&capture);
    let Some(recorder) = Recorder::start(test, folder.path()) else { return };
    replay(&capture, &recorder.address);
    wait_until("the packets are on the disk", || recorder.length() > 1_000_000);
    recorder.fill();
    replay(&capture, &recorder.address);
    recorder.program.await_said("packets wait for space");
    // Under its working name the file is a capture, too.
    let partial = recorder.partial().expect("a file");
    wait_until("the file is cut back", || {
        let before = recorder.length();
        let whole = fs::copy(&partial, folder.path().join("copy.pcapng")).is_ok();
        whole
            && recorder.length() == before
            && run(&["inspect", path_text(&folder.path().join("copy.pcapng"))]).status.success()
    });
    recorder.program.signal("INT");
    let disk = recorder.disk();
    let Recorder { program, disk: _kept, .. } = recorder;
    let (success, printed, said) = program.end();
    let ([received, written, dropped, not_written], report) = counted(folder.path());
    assert!(!success && printed.contains("WRITING FAILED"), "{printed}{said}");
    assert!(report["error"].as_str().unwrap().contains("The disk is full"), "{report:#}");
    assert!(report["interruption"].as_str().unwrap().contains(" to the end: "), "{report:#}");
    assert_eq!((received, dropped), (2 * of_one.len() as u64, 0));
    assert!(not_written > 0 && written + not_written == received);
    let found = payloads(&disk.join("run.pcapng.partial"));
    assert_eq!(found.len() as u64, written);
    let all: Vec<Vec<u8>> = [of_one.clone(), of_one].concat();
    assert!(all.starts_with(&found), "other packets");
}
