//! The page of a run as a script finds it: its address, who may ask, and its answers with the data of a real run.

use crate::common::wait_until;
use evforge_testkit::http_document::Documented;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What somebody must know who changes anything.
const TOKEN: &str = "a-token-for-the-test-of-the-page";

/// A demonstration; killed when it is dropped.
struct Demo {
    child: Child,
    /// What it has said up to the line with its page.
    said: String,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Demo {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_evforge"));
        command.arg("demo").arg("--output").arg(folder.path()).args(arguments);
        let mut child = command
            .env_remove("EVFORGE_VIEW")
            .env("EVFORGE_TOKEN", TOKEN)
            // Both streams as one, in their order.
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("evforge starts");
        let mut said = String::new();
        let mut lines =
            BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
        let page = lines.find(|line| {
            said += line;
            said += "\n";
            line.contains("Look at it:")
        });
        let page = page.unwrap_or_else(|| panic!("the demonstration has no page: {said}"));
        let port = page.rsplit(':').next().and_then(|port| port.trim().parse().ok()).expect("a port");
        // The rest is not for these tests, but somebody has to read it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, said, port, _folder: folder }
    }

    /// Status and body.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String) {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let mut stream = TcpStream::connect(address).expect("the page is served");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Length: 0\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status"), body.to_owned())
    }

    fn json(&self, method: &str, path: &str) -> Value {
        let (status, body) = self.ask(method, path, "localhost");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// Ends it, and returns its warnings.
    fn end(mut self) -> String {
        let mut errors = String::new();
        let _ = self.child.kill();
        let mut stderr = self.child.stderr.take().expect("its warnings");
        stderr.read_to_string(&mut errors).expect("text");
        errors.lines().filter(|line| line.starts_with("warning")).map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_answers_with_what_is_documented() {
    let documented = Documented::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http-api.md"));
    let demo = Demo::start(&["--detector", "gdgem", "--view", "127.0.0.1:0"]);
    assert_eq!(demo.json("POST", "/monitor/on")["on"], true);
    let mut seen = BTreeSet::new();
    // The page is there before its run.
    wait_until("there is a run", || demo.ask("GET", "/api/control/state", "127.0.0.1").0 != 409);
    let wanted =
        ["DiscardState", "MonitorChannel", "MonitorPlane", "MonitorTrack", "MonitorHit", "SourceState"];
    wait_until(format!("each of {wanted:?} comes"), || {
        // What is changed below /api/control, and what only a service has, is looked at in control_api.rs; a Gd-GEM has no spectra
        // of beam monitors, which are in page/beam.rs of crates/view.
        let refused = ["/monitor/off", "/api/control/runs", "/api/control/log", "/api/monitor-spectrum.json"];
        let is_asked = |path: &&evforge_testkit::http_document::Path| {
            !refused.contains(&path.name.as_str())
                && (path.method == "GET" || !path.name.starts_with("/api/control"))
        };
        for path in documented.paths.iter().filter(is_asked) {
            if let Some(object) = &path.object {
                documented.check(object, &demo.json(&path.method, &path.example), &mut seen);
            }
        }
        wanted.iter().all(|object| seen.contains(*object))
    });
    assert_eq!(demo.json("POST", "/monitor/off")["on"], false);
    assert_eq!(demo.end(), "", "a page that only this host can reach needs no warning");
}

#[test]
fn a_page_for_all_says_so_and_has_the_names_that_it_is_given() {
    let arguments = ["--view", "0.0.0.0:0", "--view-name", "a.example", "--view-name", "b.example"];
    let more = ["--set", "outputs.view.host_names=[\"c.example\"]"];
    let demo = Demo::start(&[&arguments[..], &more].concat());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("this host has a name");
    let expected = format!("Look at it:  http://{}:{}", host.trim(), demo.port);
    assert!(demo.said.contains(&expected), "expected {expected}: {}", demo.said);
    for name in ["a.example", "b.example", "c.example", host.trim()] {
        assert_eq!(demo.ask("GET", "/api/health", name).0, 200, "{name}");
    }
    let (status, reason) = demo.ask("GET", "/", "d.example");
    assert_eq!(status, 403);
    assert!(
        reason.contains("--view-name d.example, or host_names = [\"d.example\"] in the output"),
        "{reason}"
    );
    let port = demo.port;
    let warning = demo.end();
    let start = format!(
        "warning: everybody who can reach 0.0.0.0:{port} may look at the live view, and whoever has the token of the run"
    );
    let mended = format!("--view 127.0.0.1:{port} only this host may");
    for part in
        ["--view-name NAME", "nothing is encrypted", &mended, &format!("ssh -L {port}:127.0.0.1:{port} ")]
    {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    assert!(warning.starts_with(&start), "{warning}");
    assert_eq!(warning.lines().count(), 1, "{warning}");
}

#[test]
fn a_name_that_is_an_address_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "demo",
        "--view",
        "127.0.0.1:0",
        "--view-name",
        "http://lab.example:8080",
        "--for",
        "1s",
        "--output",
    ];
    let output = Command::new(env!("CARGO_BIN_EXE_evforge")).args(arguments).arg(folder.path()).output();
    let output = output.expect("evforge starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("host name is \"http://lab.example:8080\"; it must be a name alone"), "{said}");
}

/// `[outputs.NAME]` of this kind warns as the option does.
#[test]
fn a_page_of_the_configuration_warns_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["simulate", "sonde-module", "--form", "--pulses", "1", "--view-name", "a.example"];
    let more = ["--set", "outputs.window.kind=\"view\"", "--set", "outputs.window.address=\"0.0.0.0:0\""];
    let mut command = Command::new(env!("CARGO_BIN_EXE_evforge"));
    let output =
        command.args(arguments).args(more).current_dir(folder.path()).output().expect("evforge starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("warning: everybody who can reach 0.0.0.0:"), "{said}");
    assert!(said.contains("or as a.example, localhost"), "{said}");
}
