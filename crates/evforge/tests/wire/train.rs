//! Trains over a wire: as many as a test can have, byte for byte, into files that EXtra-data opens. Needs root.

use crate::common::{PROGRAM, end_after_all, evforge, text, workspace};
use evforge_testkit::veth::{self, SENDER, with_wire};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Opens a run as its users do, and checks what it says: 20 trains of 512 images, and nothing that the validation finds.
const READER: &str = "
import sys
from extra_data import RunDirectory
from extra_data.validation import RunValidator
run = RunDirectory(sys.argv[1])
source = next(name for name in run.all_sources if name.endswith(':xtdf'))
data = run[source, 'image.data']
assert len(run.train_ids) == 20, len(run.train_ids)
assert run.train_ids == list(range(10_001, 10_021)), run.train_ids
assert tuple(data.data_counts(labelled=False)) == (512,) * 20
train = data[:1].xarray()
assert train.shape == (512, 1, 256, 256), train.shape
validator = RunValidator(sys.argv[1])
validator.run_checks()
assert validator.problems == [], validator.problems
print('read', data.shape)
";

/// Sends 20 trains of 512 images to a receiver at the other end, which checks every byte.
fn trains_over_a_wire(way: &[&str], reads_files: bool) {
    with_wire(1, 9000, |wire| {
        let folder = tempfile::tempdir().expect("a folder");
        let names = ["sent.json", "received.json", "files"];
        let [sent, report, files] = names.map(|name| folder.path().join(name).display().to_string());
        let mut receiver = Command::new(PROGRAM)
            .args([
                "train",
                "receive",
                "--address",
                "10.9.0.2",
                "--port",
                "0",
                "--for",
                "10min",
                "--time-out",
                "1min",
            ])
            // All trains may wait: how long a busy disk takes for them is not what is tested.
            .args(["--images", "512", "--waiting", "20", "--check", "--files", &files, "--sent", &sent])
            // Room for two whole trains: a receiver that waits for its core for half a second loses nothing.
            .args(["--buffer", "400MB", "--report", &report])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(receiver.stderr.take().expect("a pipe")).lines();
        let address = loop {
            let line = lines.next().expect("a line").expect("a line");
            if let Some((_, address)) = line.split_once(" at UDP ") {
                break address.to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        // Slow enough for a machine that runs other tests: the rate is not what is tested.
        let trains = ["--images", "512", "--trains", "20", "--first-train", "10001", "--frequency", "2Hz"];
        let rate = ["--rate", "25kpps", "--report", &sent];
        let arguments = [&["train", "send", "--to", &address][..], &trains, &rate, way].concat();
        wire.at_sender(|| evforge(&arguments));
        end_after_all(receiver.id());
        let output = receiver.wait_with_output().expect("it ends");
        let said = text(&output.stdout);
        assert!(output.status.success(), "{said}");
        let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
        // Every byte of an image is a function of train, image and place, and every one was compared.
        assert_eq!(
            (&report["content"]["images_right"], &report["content"]["bytes_wrong"]),
            (&10_240.into(), &0.into())
        );
        assert_eq!(
            (&report["assembly"]["trains_good"], &report["files"]["counters"]["images_taken"]),
            (&20.into(), &10_240.into())
        );
        assert_eq!(report["assembly"]["packets_received"], 20 * 8202);
        if reads_files {
            let python = workspace().join(".venv/bin/python");
            let run = folder.path().join("files/r0001");
            let output = Command::new(python).args(["-c", READER]).arg(run).output().expect("python starts");
            assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        }
    });
}

#[test]
fn twenty_trains_of_512_images_come_byte_for_byte_and_extra_data_opens_them() {
    let test = "twenty_trains_of_512_images_come_byte_for_byte_and_extra_data_opens_them";
    if !veth::is_possible(test) {
        return;
    }
    let python = workspace().join(".venv/bin/python");
    let has_reader = Command::new(&python).args(["-c", "import extra_data"]).output();
    let has_reader = has_reader.is_ok_and(|output| output.status.success());
    if !has_reader {
        evforge_testkit::skip(test, "no EXtra-data: `make test-tools` installs it");
    }
    trains_over_a_wire(&[], has_reader);
}

#[test]
fn trains_sent_by_af_xdp_come_byte_for_byte() {
    if !veth::is_possible("trains_sent_by_af_xdp_come_byte_for_byte") {
        return;
    }
    trains_over_a_wire(&["--xdp", SENDER], false);
}
