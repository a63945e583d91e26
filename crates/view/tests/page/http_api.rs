//! `docs/http-api.md` says what the declarations of the paths say, and a running server does what it says.
#![allow(clippy::unwrap_used)]

use crate::common::{BEARER, Browser, access, ask, ask_with, feed, options, poor_access, start, trains};
use evforge_core::beam_monitor::{BeamMonitorKind, BeamMonitorPlan, TimeOfFlightBins};
use evforge_core::counter::CounterSnapshot;
use evforge_core::frame::{Frame, FrameLedger, FrameState};
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::losses::LossLocation;
use evforge_core::output::Output;
use evforge_core::run_state::{OutputState, RunState};
use evforge_core::sequence::SequenceTracker;
use evforge_testkit::http_document::{Documented, Path as Asked};
use evforge_testkit::patience::wait_for;
use evforge_testkit::skip;
use evforge_view::{
    BeamState, BeamTold, MonitorSpectrum, MonitorSpectrumState, PulseState, ToldByRun, ValueState,
};
use evforge_view::{HostAdvice, HostFinding, LiveSink, LiveView, MonitorControl, ViewOptions, http_api};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The last line of the document that is written by hand.
const MARK: &str = "<!-- Made from the declarations: everything below this line. -->\n";

fn document_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http-api.md")
}

#[test]
fn the_document_is_up_to_date() {
    let found = std::fs::read_to_string(document_path()).unwrap();
    let (head, _) = found.split_once(MARK).expect("docs/http-api.md has lost the line before what is made");
    let expected = format!("{head}{MARK}{}", http_api::document().unwrap());
    let openapi = document_path().with_file_name("openapi.json");
    let for_programs = format!("{:#}\n", http_api::openapi());
    if std::env::var_os("EVFORGE_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(document_path(), expected).unwrap();
        std::fs::write(openapi, for_programs).unwrap();
        return;
    }
    let found_for_programs = std::fs::read_to_string(openapi).unwrap_or_default();
    assert!(
        found_for_programs == for_programs,
        "docs/openapi.json is out of date: regenerate it with `make http-api`"
    );
    assert!(found == expected, "docs/http-api.md is out of date: regenerate it with `make http-api`");
}

/// Monitor data of one channel, which may have to stay on.
#[derive(Debug, Default)]
struct Control {
    on: AtomicBool,
    must_stay_on: bool,
}

impl MonitorControl for Control {
    fn switch(&self, on: bool) -> Result<(), String> {
        if self.must_stay_on && !on {
            return Err("it must stay on".into());
        }
        self.on.store(on, Relaxed);
        Ok(())
    }

    fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    fn json(&self) -> Option<String> {
        None
    }
}

/// A host with one fault.
#[derive(Debug)]
struct Doctor;

impl HostAdvice for Doctor {
    fn findings(&self) -> Vec<HostFinding> {
        let subject = "receive buffer".to_owned();
        vec![HostFinding {
            subject,
            found: "1 MB".into(),
            wanted: Some("8 MB".into()),
            fix: Some("sysctl".into()),
        }]
    }
}

/// A detector with depth, a beam monitor, losses, an output that waits, and everything else that answers can tell.
fn full(must_stay_on: bool) -> (LiveView, LiveSink) {
    let plan = BeamMonitorPlan {
        name: "monitor 1".into(),
        kind: BeamMonitorKind::Event2D,
        first_pixel: 7,
        nx: 2,
        ny: 2,
        histogram: TimeOfFlightBins::new(0, 100, 10).unwrap(),
        alongside: true,
    };
    let control = Control { on: AtomicBool::new(must_stay_on), must_stay_on };
    let (view, mut sink) = start(ViewOptions {
        beam_monitors: vec![plan.clone()],
        monitor: Some(Arc::new(control)),
        control: Some(access()),
        ..options(3, 2)
    });
    feed(&mut sink, &[(50_000, 1), (250_000, 6), (250_000, 8)]);
    sink.add_charge(2_500_000_000_000);
    view.tell_beam(known());
    let mut sequence = SequenceTracker::new(32);
    for number in [1, 2, 5] {
        sequence.observe(number);
    }
    let mut frames = FrameLedger::new([(1, "SMP".to_owned(), true)]);
    frames.add(5, &Frame { period: Some(0), state: FrameState::Complete, ..Frame::default() }, 3);
    let ledger = DetectorLedger {
        sources: vec![SourceLedger::of_sequence("FEC 1".into(), &sequence)],
        frames: Some(frames),
        beam_monitors: vec![evforge_core::beam_monitor::BeamMonitorData::new(plan)],
        ..DetectorLedger::default()
    };
    let mut run = RunState { ledger, ..RunState::default() };
    run.losses.add(LossLocation::SocketBuffer, 1, false);
    run.outputs = vec![OutputState {
        id: "csv".into(),
        name: "events in x.csv".into(),
        waiting: Some("no space".into()),
        failure: Some("gone".into()),
        ..OutputState::default()
    }];
    sink.observe(&Arc::new(run)).unwrap();
    (view, sink)
}

/// Everything that can be known besides the events: a spectrum that can be shown, then one that cannot.
fn known() -> BeamTold {
    let time_ms = Some(1);
    let value = ValueState {
        name: "chopper".into(),
        kind: "rate",
        value: Some(14.0),
        time_ms,
        stamps_ms: vec![1.5],
        ..ValueState::default()
    };
    let state = BeamState {
        values: vec![value],
        pulses: vec![PulseState { time_ms, ..PulseState::default() }],
        runs: vec![ToldByRun { time_ms, ..ToldByRun::default() }],
        ..BeamState::default()
    };
    let spectrum = |name: &str, problem: Option<&str>| {
        let problem = problem.map(str::to_owned);
        let state = MonitorSpectrumState {
            name: name.into(),
            bins: 2,
            time_ms,
            problem,
            ..MonitorSpectrumState::default()
        };
        Arc::new(MonitorSpectrum { state, edges: vec![0.0, 1.0, 2.0], counts: vec![3.0, 4.5] })
    };
    let spectra = vec![spectrum("told", None), spectrum("flat", Some("it has 2 dimensions"))];
    BeamTold { state, seen: vec![None], spectra }
}

evforge_core::counters! {
    /// Trains.
    struct Trains: "trains" {
        opened: Enters(Trains), Trains, "In.";
        good: Leaves(Trains), Trains, "Out.";
        late: Discarded(Trains), Trains, "Late.";
        open: Held(Trains), Trains, "Open.";
    }
}

/// A view that does not show events.
fn of_trains() -> (LiveView, LiveSink) {
    let (view, mut sink) = start(ViewOptions { content: Some((trains(0), 3)), ..options(2, 2) });
    let counters = CounterSnapshot::of(&Trains { opened: 5, good: 3, late: 1, open: 1 });
    let ledger = DetectorLedger { counters, ..DetectorLedger::default() };
    sink.observe(&Arc::new(RunState { ledger, ..RunState::default() })).unwrap();
    (view, sink)
}

/// Provokes the answer `status` to what is documented, on a server that is in the mood for it. None: nobody has thought of how.
fn provoke(path: &Asked, status: u16, content_type: &str) -> Option<crate::common::Answer> {
    let sent_with = |view: &LiveView, target: &str, headers: &str, body: &str| {
        let address = view.address();
        let headers = format!("{headers}{BEARER}");
        ask_with(&path.method, address, target, &address.to_string(), &headers, body)
    };
    let sent = |view: &LiveView, target: &str, headers: &str| sent_with(view, target, headers, &path.body);
    let poor = |has_run| start(ViewOptions { control: Some(poor_access(has_run)), ..options(2, 2) }).0;
    let bare = || start(ViewOptions { control: Some(access()), ..options(2, 2) }).0;
    let websocket =
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let target = path.example.clone();
    Some(match (path.name.as_str(), status) {
        ("/monitor/off", 409) => sent(&full(true).0, &target, ""),
        ("/api/control/monitor", 409) => sent_with(&full(true).0, &target, "", r#"{"on": false}"#),
        ("/monitor.json" | "/monitor/on" | "/monitor/off" | "/api/control/monitor", 404) => {
            sent(&bare(), &target, "")
        }
        ("/api/control/counters/{name}", 404) => sent(&bare(), "/api/control/counters/no.such", ""),
        ("/api/control/changes", 200) => {
            let body = r#"{"changes": [{"key": "x.threshold", "value": 3}]}"#;
            sent_with(&bare(), &target, "", body)
        }
        // That of the example is none of the run here.
        ("/api/control/changes", 400) => sent(&bare(), &target, ""),
        ("/api/control/log/{group}", 400) => sent(&bare(), "/api/control/log/none", ""),
        ("/api/control/calibration", 409) if path.method == "POST" => sent(&poor(true), &target, ""),
        ("/api/control/clear" | "/api/control/changes" | "/api/control/changes/earliest", 409) => {
            sent(&poor(true), &target, "")
        }
        (name, 409) if name.starts_with("/api/control/") => sent(&poor(false), &target, ""),
        (name, 404) if name.starts_with("/api/monitor-spectrum") => {
            sent(&full(false).0, &format!("{name}?name=none"), "")
        }
        (name, 409) if name.starts_with("/api/monitor-spectrum") => {
            sent(&full(false).0, &format!("{name}?name=flat"), "")
        }
        (name, 404) if is_of_look(name) => {
            let wanted =
                if name == "/api/look.bin" { "look=%7B%22picture%22%3A%22zx%22%7D" } else { "picture=zx" };
            sent(&full(false).0, &format!("{name}?{wanted}"), "")
        }
        (name, 400) if is_of_look(name) => {
            let wanted = if name == "/api/look.bin" { "look=1" } else { "slice_ns=5" };
            sent(&full(false).0, &format!("{name}?{wanted}"), "")
        }
        ("/api/history.json" | "/api/history.csv", 400) => {
            sent(&full(false).0, &format!("{}?points=1", path.name), "")
        }
        ("/api/history.json" | "/api/history.csv", 404) => {
            sent(&full(false).0, &format!("{}?series=none", path.name), "")
        }
        ("/api/live", 101) => raw(full(false).0.address(), &format!("Connection: Upgrade\r\n{websocket}")),
        ("/api/live", 400) => {
            let other = websocket.replace(": 13", ": 12");
            raw(full(false).0.address(), &format!("Connection: Upgrade\r\n{other}"))
        }
        ("/api/live", 503) => {
            let (view, _sink) = start(ViewOptions { most_clients: 1, ..options(2, 2) });
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _first = runtime.block_on(Browser::open(view.address()));
            raw(view.address(), &format!("Connection: Upgrade\r\n{websocket}"))
        }
        ("/" | "/{*file}", 304) => {
            let view = full(false).0;
            let head = sent(&view, &target, "").head;
            let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
            sent(&view, &target, &format!("If-None-Match: {tag}\r\n"))
        }
        ("/{*file}", 404) => sent(&full(false).0, "/nothing.html", ""),
        // Two formats, of which the one that is asked for is given.
        ("/metrics", 200) => sent(&full(false).0, &target, &format!("Accept: {content_type}\r\n")),
        (_, 200) => sent(&full(false).0, &target, ""),
        _ => return None,
    })
}

fn is_of_look(path: &str) -> bool {
    ["/api/image.", "/api/spectrum.", "/api/look."].iter().any(|start| path.starts_with(start))
        && path != "/api/image.bin"
}

/// Asks for `/api/live` with these headers, and reads the head of the answer only: a WebSocket does not end.
fn raw(address: SocketAddr, headers: &str) -> crate::common::Answer {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream
        .write_all(format!("GET /api/live HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").as_bytes())
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    crate::common::Answer { status, head: head.to_lowercase(), body: Vec::new() }
}

#[test]
fn every_documented_answer_is_given() {
    let documented = Documented::read(&document_path());
    assert!(documented.paths.len() >= 12, "only {} paths were found", documented.paths.len());
    let mut asked = 0;
    for path in &documented.paths {
        for (status, content_type) in &path.answers {
            let what = format!("{} {} with {status}", path.method, path.name);
            let answer =
                provoke(path, *status, content_type).unwrap_or_else(|| panic!("nothing provokes {what}"));
            assert_eq!(answer.status, *status, "{what}: {}", answer.head);
            if !["–", "that of the file"].contains(&content_type.as_str()) {
                let header = format!("content-type: {content_type}");
                assert!(answer.head.contains(&header), "{what}: expected {header}: {}", answer.head);
            }
            asked += 1;
        }
    }
    assert!(asked >= 20, "only {asked} answers were asked for");
}

#[test]
fn answers_have_exactly_the_documented_fields() {
    let documented = Documented::read(&document_path());
    let (view, _sink) = full(false);
    let host = view.address().to_string();
    let mut seen = BTreeSet::new();
    // Twice, as some fields are absent without a run, and some with one.
    let (bare, _other) = start(ViewOptions { advice: Some(Arc::new(Doctor)), ..options(2, 2) });
    bare.tell_beam(known());
    for path in &documented.paths {
        let Some(object) = &path.object else { continue };
        let own = r#"{"changes": [{"key": "x.threshold", "value": 3}]}"#;
        let body = if path.name == "/api/control/changes" { own } else { &path.body };
        let answer = ask_with(&path.method, view.address(), &path.example, &host, BEARER, body);
        documented.check(object, &answer.json(), &mut seen);
        if path.name.starts_with("/api/") && !path.name.starts_with("/api/control") {
            let address = bare.address();
            let answer = ask(&path.method, address, &path.example, &address.to_string(), "");
            documented.check(object, &answer.json(), &mut BTreeSet::new());
        }
    }
    // What comes after a while.
    let later = |address: SocketAddr, path: &str, is_there: &dyn Fn(&Value) -> bool| {
        wait_for(path, || {
            let answer = ask("GET", address, path, &address.to_string(), "").json();
            is_there(&answer).then_some(answer)
        })
    };
    let history = "/api/history.json?series=evforge_view_events_total";
    let told = later(view.address(), history, &|told| told["series"][0]["points"] != json!([]));
    documented.check("HistoryAnswer", &told, &mut seen);
    let told = later(bare.address(), "/api/state.json", &|told| told["advice"] != json!([]));
    documented.check("State", &told, &mut seen);
    // What is wanted, and what is refused: `at_ns` and the like are left out, as they may be.
    for path in documented.paths.iter().filter(|path| !path.body.is_empty()) {
        let body = documented.bodies.get(&(path.method.clone(), path.name.clone())).expect("a body's object");
        documented.check(body, &serde_json::from_str(&path.body).unwrap(), &mut seen);
    }
    let mixed = r#"{"changes": [{"key": "x.threshold", "value": 3}, {"key": "x.threshold", "value": 99}]}"#;
    let refused = ask_with("POST", view.address(), "/api/control/changes", &host, BEARER, mixed);
    assert_eq!(refused.status, 400);
    documented.check("ErrorAnswer", &refused.json(), &mut seen);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut browser = Browser::open(view.address()).await;
        documented.check("Hello", &browser.hello, &mut seen);
        let status = browser.update_until(|status, _| status["points"] != json!([])).await;
        documented.check("Status", &status, &mut seen);
        // What a browser wants, what it gets and what it is refused.
        let region = json!({"name": "a", "shape": "rectangle", "points": [[0, 0], [1, 1]]});
        let bins = json!({"from_ns": 0, "width_ns": 1000, "count": 5});
        let wanted = json!({"picture": "xy", "part": [0, 0, 1, 1], "points": [16, 16], "slice_ns": [0, 5], "vetoed": "all",
            "window": {"kind": "last", "seconds": 5}, "bins": bins, "regions": [region]});
        documented.check("LookWanted", &wanted, &mut seen);
        browser.wanted = 7;
        browser.say(json!({"type": "looks", "number": 7, "looks": [wanted]}).to_string()).await;
        browser.update_until(|_, frame| frame.is_some_and(|frame| !frame.head.regions.is_empty())).await;
        let head = serde_json::to_value(&browser.picture.as_ref().unwrap().head).unwrap();
        documented.check("LookHead", &head, &mut seen);
        browser.say(json!({"type": "looks", "looks": [{"picture": "?"}]}).to_string()).await;
        let refused = json!({"type": "refused", "message": browser.refusal().await});
        documented.check("LooksRefused", &refused, &mut seen);
        let region = ask("GET", view.address(), "/api/spectrum.json?region=a;rectangle;0,0;1,1", &host, "");
        documented.check("SpectrumCounts", &region.json(), &mut seen);
        // Trains instead of events.
        let (view, _sink) = of_trains();
        let mut browser = Browser::open(view.address()).await;
        documented.check("Hello", &browser.hello, &mut seen);
        let status = browser.update_until(|status, _| status["ledger"]["balances"] != Value::Null).await;
        documented.check("Status", &status, &mut seen);
        let trains = json!([{"of": "trains", "entered": 5, "left": 3, "discarded": 1, "held": 1}]);
        assert_eq!((&status["ledger"]["balances"], &status["ledger"]["unaccounted"]), (&trains, &0.into()));
    });
    // The data of a real run are looked at where there is one (crates/evforge/tests/live/page.rs).
    let unseen: Vec<_> = documented.objects.keys().filter(|name| !seen.contains(*name)).collect();
    let of_a_run =
        ["MonitorChannel", "MonitorData", "MonitorHit", "MonitorPlane", "MonitorTrack", "NoticedChannel"];
    assert_eq!(unseen, of_a_run, "objects in the document that no answer has");
}

#[test]
fn what_every_path_may_answer_is_answered() {
    let (view, _sink) = full(false);
    let (address, host) = (view.address(), view.address().to_string());
    let unknown = ask("GET", address, "/api/image.json?pictrue=xz", &host, "");
    assert_eq!(
        (unknown.status, unknown.text()),
        (
            400,
            "/api/image.json has no parameter \"pictrue\"; it has: picture, part, points, slice_ns, layers, window, vetoed, period, frames, complete, bins\n"
        )
    );
    let unknown = ask("GET", address, "/api/state.json?x", &host, "");
    assert_eq!(
        (unknown.status, unknown.text()),
        (400, "/api/state.json has no parameter \"x\": it has none at all\n")
    );
    let encoded = ask("GET", address, "/api/image.json?picture=monitor%201", &host, "");
    assert_eq!((encoded.status, &encoded.json()["counts"]), (200, &json!([0, 1, 0, 0])));
    for (method, path, wanted) in
        [("GET", "/monitor/on", "POST"), ("POST", "/api/state.json", "GET"), ("DELETE", "/nothing", "GET")]
    {
        let other = ask(method, address, path, &host, "");
        assert_eq!(other.status, 405, "{method} {path}");
        assert!(other.head.contains(&format!("allow: {}", wanted.to_lowercase())), "{}", other.head);
        assert_eq!(other.text(), format!("{path} is asked with {wanted}, not with {method}\n"));
    }
    // Every method that there is, and one that there is not, for every path.
    let paths = http_api::openapi()["paths"].as_object().unwrap().clone();
    let mut others = 0;
    for (path, operations) in &paths {
        let target = path.replace(['{', '}'], "");
        let known: BTreeSet<String> =
            operations.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            // Whoever may ask with GET may ask for the head alone.
            if known.contains(method) || method == "HEAD" && known.contains("GET") {
                continue;
            }
            let other = ask(method, address, &target, &host, BEARER);
            assert_eq!(other.status, 405, "{method} {path}");
            let allow = other.head.lines().find_map(|line| line.strip_prefix("allow: "));
            let allow = allow.unwrap_or_else(|| panic!("{method} {path}: {}", other.head)).to_uppercase();
            let allow: BTreeSet<String> = allow
                .split(',')
                .map(|method| method.trim().to_owned())
                .filter(|method| method != "HEAD")
                .collect();
            assert_eq!(allow, known, "{method} {path}");
            others += 1;
        }
    }
    assert!(others >= 6 * paths.len(), "only {others} requests for {} paths", paths.len());
    assert_eq!(ask("GET", address, "/", "evil.example", "").status, 403);
    // The page is not asked with parameters, but a reader may add some.
    assert_eq!(ask("GET", address, "/?x=1", &host, "").status, 200);
}

/// The router is made of the declarations: no other code adds a path, so none is missing in the document.
#[test]
fn no_path_is_added_anywhere_else() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates.join("view/src"), crates.join("evforge/src")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let adds = [".route(", ".route_service(", ".nest(", ".merge(", ".fallback("].iter();
            let count: usize = adds.map(|call| text.matches(call).count()).sum();
            if text.contains("axum") && count > 0 {
                found.push((path.strip_prefix(&crates).unwrap().to_string_lossy().into_owned(), count));
            }
        }
    }
    assert_eq!(found, [("view/src/http_api/router.rs".to_owned(), 1)]);
}

#[test]
fn the_example_in_python_reads_a_frame() {
    let text = std::fs::read_to_string(document_path()).unwrap();
    let (_, example) = text.split_once("```python\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let (view, _sink) = full(false);
    let example = example.replace("127.0.0.1:8080", &view.address().to_string());
    let python = std::env::var_os("EVFORGE_PYTHON").unwrap_or_else(|| "python3".into());
    let Ok(output) = Command::new(python).args(["-c", &example]).output() else {
        return skip("the_example_in_python_reads_a_frame", "Python");
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = "picture 0: 3 x 2 pixels, 2 events\npicture 1: 2 x 2 pixels, 1 events\nspectrum: 715 bins, 3 events\n";
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
}
