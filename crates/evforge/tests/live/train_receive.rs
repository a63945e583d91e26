//! `evforge train send` and `evforge train receive` as users run them, over loopback.

use crate::common::{PROGRAM, end_after_all, evforge, send_signal, text};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A receiver that has its port.
pub(crate) struct Receiver {
    child: Child,
    pub(crate) address: String,
    /// Where its page is, if it has one.
    pub(crate) page: Option<String>,
    report: std::path::PathBuf,
}

pub(crate) fn receiver(folder: &Path, arguments: &[&str]) -> Receiver {
    let report = folder.join("received.json");
    let mut child = Command::new(PROGRAM)
        .args(["train", "receive", "--address", "127.0.0.1", "--port", "0", "--for", "10min"])
        // On a busy machine the worker may be behind, and the sender may stand still, for a while: there is room for all trains of
        // a test, and time.
        .args(["--waiting", "16", "--time-out", "1min"])
        .args(arguments)
        .arg("--report")
        .arg(&report)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let (mut address, mut page) = (None, None);
    while address.is_none() || (arguments.contains(&"--view") && page.is_none()) {
        let line = lines.next().expect("a line").expect("a line");
        address = address.or_else(|| Some(line.split_once(" at UDP ")?.1.to_owned()));
        page = page.or_else(|| Some(line.split_once("live view at http://")?.1.to_owned()));
    }
    std::thread::spawn(move || lines.for_each(drop));
    Receiver { child, address: address.expect("an address"), page, report }
}

impl Receiver {
    /// Ends it at once, as Ctrl-C does.
    pub(crate) fn interrupt(self) -> (bool, String, Value) {
        send_signal(self.child.id(), "INT");
        self.ended()
    }

    /// Ends it once it has all that was sent: whether that was good, what it said, and its report.
    pub(crate) fn end(self) -> (bool, String, Value) {
        end_after_all(self.child.id());
        self.ended()
    }

    fn ended(self) -> (bool, String, Value) {
        let output = self.child.wait_with_output().expect("it ends");
        let report = serde_json::from_slice(&std::fs::read(&self.report).expect("a report")).expect("JSON");
        (output.status.success(), text(&output.stdout), report)
    }
}

#[test]
fn trains_of_two_modules_at_one_port_come_whole_and_are_in_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let [sent, files] = ["sent.json", "files"].map(|name| folder.path().join(name).display().to_string());
    let receiver = receiver(
        folder.path(),
        &["--images", "4", "--senders", "2", "--check", "--files", &files, "--run", "12", "--sent", &sent],
    );
    let rate = ["--frequency", "20Hz", "--rate", "20kpps", "--trains", "5", "--report", &sent];
    evforge(
        &[&["train", "send", "--to", &receiver.address, "--images", "4", "--modules", "2"][..], &rate]
            .concat(),
    );
    let (is_good, said, report) = receiver.end();
    assert!(is_good, "{said}");
    assert!(said.contains("passed: every train") && said.contains("40 of 40 images are right"), "{said}");
    assert!(said.contains("good of 10 (2 senders), "), "{said}");
    assert_eq!((&report["passed"], &report["unaccounted"]), (&true.into(), &0.into()));
    assert_eq!(
        (&report["assembly"]["trains_good"], &report["node"]["trains_worked_on"]),
        (&10.into(), &10.into())
    );
    assert_eq!(report["assembly"]["packets_received"], report["sent"]["packets"]);
    assert_eq!(report["files"]["counters"]["trains_committed"], 10);
    for module in 0..2 {
        let name = format!("files/r0012/RAW-R0012-LPD0{module}-S00000.h5");
        assert!(folder.path().join(&name).exists(), "{name}");
    }
    let seconds = &report["threads"][0]["profile"]["seconds"];
    assert!(
        seconds["receiving"].as_f64() > Some(0.1) && seconds["assembling"].as_f64() > Some(0.0),
        "{seconds}"
    );
}

#[test]
fn every_fault_is_reported_as_itself_and_harms_no_other_train() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = ["--image-size", "1000B", "--images", "2", "--packet", "200B"];
    let receiver = receiver(folder.path(), &[&small[..], &["--open", "4", "--check"]].concat());
    let faults = [
        "lost:train=1,packet=5",
        "repeated:train=3,packet=4",
        "displaced:train=5,packet=3,by=2",
        "truncated:train=7,packet=6,bytes=5",
        "shortened:train=9,packet=6,bytes=100",
        "missing-first:train=11",
        "missing-last:train=13",
        "wrong-begin:train=15",
        "wrong-end:train=17",
        "wrong-number:train=19,number=7",
        "late:train=21",
        "interleaved:train=24",
    ];
    let mut arguments =
        vec!["train", "send", "--to", &receiver.address, "--trains", "30", "--frequency", "50Hz"];
    arguments.extend(small);
    arguments.extend(faults.iter().flat_map(|fault| ["--fault", fault]));
    evforge(&arguments);
    let (is_good, said, report) = receiver.end();
    assert!(!is_good && said.contains("FAILED"), "{said}");
    let assembly = &report["assembly"];
    for (name, count) in [
        ("trains_opened", 30),
        // Five are incomplete, three have wrong content.
        ("trains_good", 22),
        ("packets_missing", 5),
        ("packets_repeated", 1),
        ("packets_too_short", 1),
        ("packets_cut", 1),
        ("trains_without_first", 1),
        ("trains_without_last", 1),
        ("trains_wrong_begin", 1),
        ("trains_wrong_end", 1),
        ("trains_number_back", 1),
        ("trains_out_of_order", 1),
        ("packets_late", 0),
        ("packets_without_buffer", 0),
    ] {
        assert_eq!(assembly[name], count, "{name}: {assembly:#}");
    }
    let incomplete = ["trains_timed_out", "trains_superseded", "trains_ended"]
        .map(|name| assembly[name].as_u64().expect("a counter"));
    assert_eq!(incomplete.iter().sum::<u64>(), 5, "{assembly:#}");
    assert!(assembly["packets_reordered"].as_u64() >= Some(1), "{assembly:#}");
    // No other train has suffered: every image of the good ones is right.
    assert_eq!(
        (&report["content"]["images_right"], &report["content"]["images_received"]),
        (&44.into(), &44.into())
    );
    assert_eq!(report["unaccounted"], 0);
    let irregular = report["threads"][0]["irregular"].as_array().expect("trains").len();
    assert_eq!((irregular, &report["node"]["irregular_trains"]), (8, &8.into()));
}

#[test]
fn images_that_are_not_wanted_are_in_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let [sums, files] = ["sums.h5", "files"].map(|name| folder.path().join(name).display().to_string());
    let steps = ["--veto", "0-1", "--threshold", "level=100,pixels=10", "--sums", &sums, "--files", &files];
    let receiver = receiver(folder.path(), &[&["--images", "4"][..], &steps].concat());
    let rate = ["--frequency", "20Hz", "--rate", "20kpps", "--trains", "3"];
    evforge(&[&["train", "send", "--to", &receiver.address, "--images", "4"][..], &rate].concat());
    let (is_good, said, report) = receiver.end();
    assert!(is_good && said.contains("12 images: 6 kept, 6 rejected"), "{said}");
    assert_eq!((&report["processing"]["images_vetoed"], &report["unaccounted"]), (&6.into(), &0.into()));
    let files = &report["files"]["counters"];
    assert_eq!((&files["images_taken"], &files["images_rejected"]), (&6.into(), &6.into()));
    assert!(std::fs::metadata(&sums).expect("the sums").len() > 65_536 * 20);
}

#[test]
fn pedestals_from_dark_images_and_gains_change_what_is_added_up_as_numpy_does() {
    let test = "pedestals_from_dark_images_and_gains_change_what_is_added_up_as_numpy_does";
    let Some(python) = crate::common::python(test) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let [dark, raw, gains, corrected] = ["dark.h5", "raw.h5", "gains.h5", "corrected.h5"]
        .map(|name| folder.path().join(name).display().to_string());
    let run = |content: &[&str], steps: &[&str]| {
        let receiver = receiver(folder.path(), &[&["--images", "4", "--overwrite"][..], steps].concat());
        let sent = [
            "train",
            "send",
            "--to",
            &receiver.address,
            "--images",
            "4",
            "--frequency",
            "20Hz",
            "--rate",
            "20kpps",
        ];
        evforge(&[&sent[..], &["--trains", "3"], content].concat());
        receiver.end()
    };
    let noise = ["--content", "noise", "--seed", "5"];
    let (is_good, said, _) = run(&noise, &["--sums", &dark]);
    assert!(is_good, "{said}");
    let (is_good, said, _) = run(&[], &["--sums", &raw]);
    assert!(is_good, "{said}");
    let made = "import sys, h5py, numpy\n\
                with h5py.File(sys.argv[1], 'w') as file:\n    \
                    gain = numpy.linspace(0.5, 1.5, 65536, dtype='f4').reshape(1, 256, 256)\n    \
                    gain[0, 3, 7] = numpy.nan\n    file['module00/gain'] = gain\n";
    let checked = "import sys, h5py, numpy\n\
                   dark, raw, gains, corrected = (h5py.File(name)['module00'] for name in sys.argv[1:])\n\
                   pedestal = dark['sum'][:] / dark['count'][:]\n\
                   expected = (raw['sum'][:] - raw['count'][:] * pedestal) * gains['gain'][:].reshape(pedestal.shape)\n\
                   masked = numpy.isnan(expected)\n\
                   assert masked.sum() == 1 and (corrected['count'][:][masked] == 0).all(), masked.sum()\n\
                   assert (corrected['count'][:][~masked] == raw['count'][:][~masked]).all()\n\
                   numpy.testing.assert_allclose(corrected['sum'][:][~masked], expected[~masked], rtol=1e-5, atol=1)\n";
    let script = |code: &str, arguments: &[&str]| {
        let output = Command::new(&python).arg("-c").arg(code).args(arguments).output().expect("Python");
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    script(made, &[&gains]);
    let (is_good, said, report) = run(&[], &["--pedestals", &dark, "--gains", &gains, "--sums", &corrected]);
    assert!(is_good && said.contains("12 images: 12 kept, 0 rejected"), "{said}");
    assert_eq!(&report["unaccounted"], &0);
    script(checked, &[&dark, &raw, &gains, &corrected]);
    // Another module has no constants: its images are rejected as such.
    let (_, said, report) = run(&[], &["--first-module", "1", "--pedestals", &dark]);
    assert_eq!(report["processing"]["images_of_unknown_cells"], 12, "{said}");
}

#[test]
fn a_second_node_gets_the_same_bytes_from_the_first_and_both_ledgers_agree() {
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let last = receiver(second.path(), &["--images", "4", "--senders", "2", "--check"]);
    let to = last.address.clone();
    let forward = ["--images", "4", "--senders", "2", "--forward", &to, "--forward-rate", "1Gbit/s"];
    let node = receiver(first.path(), &forward);
    let rate =
        ["--frequency", "20Hz", "--rate", "20kpps", "--trains", "5", "--fault", "lost:train=2,packet=3"];
    evforge(
        &[&["train", "send", "--to", &node.address, "--images", "4", "--modules", "2"][..], &rate].concat(),
    );
    // A packet of each module is missing: those two trains stay in the first node.
    let (is_good, said, of_first) = node.end();
    assert!(!is_good && said.contains("passed on     8 trains"), "{said}");
    assert_eq!(
        (&of_first["assembly"]["trains_good"], &of_first["forwarded"]["trains_sent"]),
        (&8.into(), &8.into())
    );
    let (_, said, of_second) = last.end();
    assert_eq!(of_second["assembly"]["packets_received"], of_first["forwarded"]["packets_sent"], "{said}");
    assert_eq!(&of_second["content"]["images_right"], 32, "{said}");
    assert_eq!((&of_second["assembly"]["trains_good"], &of_second["unaccounted"]), (&8.into(), &0.into()));
}

#[test]
fn cut_off_trains_of_the_load_test_are_whole_after_their_packets() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = ["--image-size", "20kB", "--packet", "1000B", "--packets-per-train", "50"];
    let receiver = receiver(folder.path(), &["--packet", "1000B", "--packets-per-train", "50"]);
    let to = ["train", "send", "--to", &receiver.address, "--images", "4", "--trains", "6"];
    evforge(&[&to[..], &small, &["--rate", "10kpps", "--pause", "20ms"]].concat());
    let (is_good, said, report) = receiver.end();
    assert!(is_good, "{said}");
    assert_eq!(
        (&report["assembly"]["trains_good"], &report["assembly"]["packets_received"]),
        (&6.into(), &300.into())
    );
}

#[test]
fn a_report_of_another_run_and_packets_that_did_not_come_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let sent = folder.path().join("sent.json").display().to_string();
    let small = ["--image-size", "1000B", "--images", "2", "--packet", "200B"];
    let receiver = receiver(folder.path(), &[&small[..], &["--sent", &sent]].concat());
    let to = ["train", "send", "--to", &receiver.address, "--trains", "3", "--report", &sent];
    evforge(&[&to[..], &small].concat());
    // Two more packets than there were.
    let text = std::fs::read_to_string(&sent).expect("a report");
    assert!(text.contains("\"datagrams\": 36") || text.contains("\"datagrams\":36"), "{text}");
    let more = text
        .replace("\"datagrams\": 36", "\"datagrams\": 38")
        .replace("\"datagrams\":36", "\"datagrams\":38");
    std::fs::write(&sent, more).expect("it is written");
    let (is_good, said, _) = receiver.end();
    assert!(!is_good && said.contains("38 packets were sent to here, and 36 came"), "{said}");
}

#[test]
fn what_is_impossible_is_refused_with_a_reason() {
    for (arguments, told) in [
        (&["--images", "100000"][..], "--memory"),
        (&["--first-module", "99", "--port", "0", "--port", "0"], "beyond 99"),
        (&["--packet", "0B"], "data_bytes"),
        (&["--packets-per-train", "5", "--check"], "--check"),
        (&["--time-out", "0ns"], "time_out"),
        (&["--files", "/proc/nowhere"], "/proc/nowhere"),
        (&["--forward", "127.0.0.1:9", "--forward-rate", "5kpps"], "5Gbit/s"),
        (&["--veto", "9-0"], "two such as 0-9"),
        (&["--region", "rows=0-256,columns=0-1"], "within 0 to 256"),
        (&["--veto", "1", "--image-size", "1kB"], "--image-size"),
        (&["--port", "9", "--sent", "x", "--report", "x"], "--report"),
    ] {
        let mut command = Command::new(PROGRAM);
        command.args(["train", "receive", "--address", "127.0.0.1", "--for", "1s"]).args(arguments);
        let output = command.output().expect("it starts");
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(told), "{arguments:?}: {said}");
    }
}
