//! Two layers of nodes: the first gets trains over UDP, and passes them on over TCP to the second.

use crate::common::{PROGRAM, end_after_all, evforge, free_ports, send_signal, text, wait_until};
use crate::page_json::ask;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A node that has its port. Killed if the test ends early.
struct Node {
    child: Child,
    address: String,
    /// Where its page is, if it has one.
    page: Option<String>,
    report: PathBuf,
}

impl Drop for Node {
    fn drop(&mut self) {
        // Ended already in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A node at this port of loopback, which goes on until it is told.
fn node(folder: &Path, name: &str, port: &str, arguments: &[&str]) -> Node {
    let report = folder.join(format!("{name}.json"));
    let mut child = Command::new(PROGRAM)
        .args(["train", "receive", "--address", "127.0.0.1", "--port", port, "--for", "10min"])
        // On a busy machine the worker may be behind, and the sender may stand still, for a while.
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
        let behind = |words: &str| line.split_once(words).map(|(_, rest)| rest.to_owned());
        address = address.or_else(|| behind(" at TCP ").or_else(|| behind(" at UDP ")));
        page = page.or_else(|| behind("live view at http://"));
    }
    std::thread::spawn(move || lines.for_each(drop));
    Node { child, address: address.expect("an address"), page, report }
}

impl Node {
    /// Trains that its page has counted.
    fn trains(&self) -> u64 {
        let page = self.page.as_ref().expect("it has a page");
        ask(page, "/api/state.json")["events"].as_u64().expect("a number")
    }

    /// Ends it once it has all that was sent: whether it was good, what it said, and its report.
    fn end(mut self) -> (bool, String, Value) {
        end_after_all(self.child.id());
        self.ended()
    }

    /// The same, of one that ends by itself.
    fn ended(&mut self) -> (bool, String, Value) {
        let mut said = String::new();
        let mut lines = BufReader::new(self.child.stdout.take().expect("a pipe"));
        std::io::Read::read_to_string(&mut lines, &mut said).expect("text");
        let status = self.child.wait().expect("it ends");
        let report = serde_json::from_slice(&std::fs::read(&self.report).expect("a report")).expect("JSON");
        (status.success(), said, report)
    }
}

fn count(report: &Value, path: &str) -> u64 {
    let value = report.pointer(path).and_then(Value::as_u64);
    value.unwrap_or_else(|| panic!("{path} is no counter: {report:#}"))
}

/// Sends five trains of two modules over UDP to a node, which passes them on over TCP to a second one. So many trains are whole.
fn through_two_layers(fault: &[&str], whole: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["first", "second"].map(|name| folder.path().join(name).display().to_string());
    let common = ["--images", "4", "--senders", "2"];
    let (enough, images) = (whole.to_string(), 4 * whole);
    let options = ["--tcp", "--check", "--files", &files[1], "--trains", &enough];
    let mut second = node(folder.path(), "second", "0", &[&common[..], &options].concat());
    let to = format!("tcp://{}", second.address);
    let options = ["--forward", &to, "--forward-rate", "1Gbit/s", "--files", &files[0]];
    let first = node(folder.path(), "first", "0", &[&common[..], &options].concat());
    let rate = ["--frequency", "20Hz", "--rate", "20kpps", "--trains", "5"];
    let to = ["train", "send", "--to", &first.address, "--images", "4", "--modules", "2"];
    evforge(&[&to[..], &rate, fault].concat());
    let (second_is_good, said, of_second) = second.ended();
    assert!(said.contains(&format!("{images} of {images} images are right")), "{said}");
    assert!(said.contains("(2 connections, "), "{said}");
    let (first_is_good, said, of_first) = first.end();
    assert!(said.contains(&format!("passed on     {whole} trains over 2 connections")), "{said}");
    let forwarded = |name: &str| count(&of_first, &format!("/forwarded/{name}"));
    let streams = |name: &str| count(&of_second, &format!("/streams/counters/{name}"));
    assert_eq!(forwarded("trains_sent"), count(&of_second, "/assembly/trains_good"));
    assert_eq!(forwarded("bytes_sent"), count(&of_second, "/assembly/bytes_received"));
    assert_eq!(forwarded("connections_made"), streams("connections_accepted"));
    assert_eq!((forwarded("trains_sent"), forwarded("trains_offered")), (whole, whole));
    assert_eq!((streams("trains_before"), streams("trains_skipped")), (0, 0));
    assert_eq!(count(&of_second, "/content/images_right"), images);
    // What is missing in the first one is a gap in the numbers for both.
    let is_missing = whole < 10;
    assert_eq!((first_is_good, second_is_good), (!is_missing, !is_missing), "{of_first:#} {of_second:#}");
    for report in [&of_first, &of_second] {
        assert_eq!(count(report, "/unaccounted"), 0);
        assert_eq!(count(report, "/files/counters/trains_committed"), whole);
        assert_eq!(count(report, "/assembly/train_number_gaps"), 10 - whole);
    }
    for files in &files {
        for module in 0..2 {
            let path = Path::new(files).join(format!("r0001/RAW-R0001-LPD0{module}-S00000.h5"));
            assert!(path.exists(), "{}", path.display());
        }
    }
}

#[test]
fn a_second_layer_over_tcp_gets_the_same_bytes_and_both_ledgers_agree() {
    through_two_layers(&[], 10);
}

#[test]
fn trains_with_holes_stay_in_the_first_layer() {
    // A packet of each module.
    through_two_layers(&["--fault", "lost:train=2,packet=3"], 8);
}

/// True once a node has begun to write trains there.
fn has_trains(files: &str) -> bool {
    std::fs::read_dir(Path::new(files).join("r0001")).is_ok_and(|mut entries| entries.next().is_some())
}

#[test]
fn a_second_layer_that_is_killed_and_started_again_gets_trains_again_and_both_count_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["killed", "again"].map(|name| folder.path().join(name).display().to_string());
    let arguments = ["--tcp", "--images", "1", "--check", "--files"];
    let [port] = free_ports().map(|port| port.to_string());
    let mut killed = node(folder.path(), "killed", &port, &[&arguments[..], &[&files[0]]].concat());
    let to = format!("tcp://{}", killed.address);
    let arguments_of_first = ["--images", "1", "--view", "127.0.0.1:0", "--forward", &to];
    let first = node(folder.path(), "first", "0", &arguments_of_first);
    let mut sender = Command::new(PROGRAM)
        .args([
            "train",
            "send",
            "--to",
            &first.address,
            "--images",
            "1",
            "--frequency",
            "20Hz",
            "--for",
            "10min",
        ])
        .args(["--rate", "5kpps", "--quiet"])
        .spawn()
        .expect("it starts");
    wait_until("the second layer has trains", || has_trains(&files[0]));
    killed.child.kill().expect("it is killed");
    killed.child.wait().expect("it ends");
    // Meanwhile the first one goes on.
    let before = first.trains();
    wait_until("the first layer goes on", || first.trains() > before + 10);
    let again = node(folder.path(), "again", &port, &[&arguments[..], &[&files[1]]].concat());
    wait_until("the second layer has trains again", || has_trains(&files[1]));
    send_signal(sender.id(), "INT");
    sender.wait().expect("it ends");
    // The last trains are there before the second one is told.
    let (is_good, said, of_first) = first.end();
    assert!(!is_good && said.contains("trains_not_connected"), "{said}");
    let (is_good, said, of_again) = again.end();
    assert!(is_good, "{said}");
    let forwarded = |name: &str| count(&of_first, &format!("/forwarded/{name}"));
    let of_streams = |name: &str| count(&of_again, &format!("/streams/counters/{name}"));
    // The first one: all trains were sent, or are missing for a reason.
    assert_eq!(forwarded("trains_offered"), count(&of_first, "/node/trains_worked_on"));
    let missing: u64 =
        ["trains_not_connected", "trains_not_taken_in_time", "trains_broken_off"].map(forwarded).iter().sum();
    assert!(missing > 0, "{of_first:#}");
    assert_eq!(forwarded("trains_sent") + missing, forwarded("trains_offered"));
    assert_eq!(forwarded("connections_made"), 2);
    // The second one: it has every train since its first, and knows how many there were before.
    let good = count(&of_again, "/assembly/trains_good");
    assert!(good > 0 && of_streams("trains_before") > missing, "{of_again:#}");
    assert_eq!(
        of_streams("trains_before") + of_streams("trains_skipped") + good,
        forwarded("trains_offered")
    );
    assert_eq!((of_streams("trains_skipped"), of_streams("connections_accepted")), (0, 1));
    assert_eq!(count(&of_again, "/content/images_right"), good);
    assert_eq!(count(&of_again, "/content/images_received"), good);
    for report in [&of_first, &of_again] {
        assert_eq!(count(report, "/unaccounted"), 0);
    }
}

#[test]
fn without_a_next_node_the_first_goes_on_and_counts_every_train() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = ["--forward", "tcp://127.0.0.1:1"];
    let arguments = [&["--images", "1", "--check", "--trains", "5"], &to[..]].concat();
    let mut first = node(folder.path(), "first", "0", &arguments);
    evforge(&["train", "send", "--to", &first.address, "--images", "1", "--trains", "5", "--rate", "5kpps"]);
    let (is_good, said, report) = first.ended();
    assert!(!is_good && said.contains("trains_not_connected 5"), "{said}");
    assert_eq!(count(&report, "/content/images_right"), 5);
    assert!(count(&report, "/forwarded/connections_not_made") >= 1, "{report:#}");
}

#[test]
fn options_of_tcp_that_are_impossible_are_refused_with_a_reason() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    for (arguments, told) in [
        (&["--tcp", "--first-module", "3"][..], "--first-module"),
        (&["--tcp", "--sent", "sent.json"], "--sent"),
        (&["--tcp", "--interface", "lo"], "--interface"),
        (&["--tcp", "--images", "512", "--senders", "100"], "--memory"),
        (&["--tcp", "--images", "1", "--port", &port], "cannot listen at TCP"),
        (&["--forward", "http://127.0.0.1:9"], "tcp://HOST:PORT"),
        (&["--forward", "tcp://127.0.0.1"], "no port"),
    ] {
        let mut command = Command::new(PROGRAM);
        command.args(["train", "receive", "--address", "127.0.0.1", "--for", "1s"]).args(arguments);
        let output = command.output().expect("it starts");
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(told), "{arguments:?}: {said}");
    }
}
