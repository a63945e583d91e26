//! Every detector in a real browser, from its run, from Kafka and from its file: each picture, slice, region and spectrum on the page
//! is the cut that NumPy makes of the events of the run.

use crate::common::{PROGRAM, python, send_signal, text, workspace};
use evforge_testkit::kafka_broker::shared;
use evforge_testkit::patience::wait_until;
use evforge_testkit::skip;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Shipped configurations, with their pixels: columns, rows, layers, panels.
const DETECTORS: [(&str, [u32; 4]); 7] = [
    ("sonde-module", [8, 8, 1, 1]),
    ("multigrid", [12, 40, 20, 1]),
    ("multiblade", [32, 192, 1, 1]),
    ("freia", [64, 1024, 1, 1]),
    ("gdgem-srs", [128, 128, 1, 1]),
    ("nmx", [1280, 1280, 1, 1]),
    ("adc-readout", [4, 1, 1, 1]),
];
/// And one of beam monitors, with the first pixel, columns and rows of each.
const MONITORS: &str = "beam-monitors";
/// Those that are seen from Kafka and from their files as well: few pixels, depth, monitors. A page takes seconds of processor time;
/// EVFORGE_ALL_PAGES=1 looks at all.
const FROM_ALL: [&str; 3] = ["sonde-module", "multigrid", MONITORS];

/// A program with a page; killed when it is dropped.
struct Paged {
    child: Child,
    page: String,
    /// Where it receives, if it does.
    address: String,
}

impl Drop for Paged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Paged {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .args(["--view", "127.0.0.1:0"])
            .env_remove("EVFORGE_VIEW")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let (mut said, mut page, mut address) = (String::new(), String::new(), String::new());
        while page.is_empty() {
            let line = lines.next().unwrap_or_else(|| panic!("{arguments:?} has no page: {said}"));
            if let Some((_, rest)) = line.split_once("receiving at UDP ") {
                rest.clone_into(&mut address);
            }
            if let Some((_, rest)) = line.split_once("live view at http://") {
                rest.clone_into(&mut page);
            }
            said += &line;
        }
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, page, address }
    }

    /// What the page answers to programs.
    fn state(&self) -> Value {
        let mut stream = TcpStream::connect(&self.page).expect("the page is served");
        let request =
            format!("GET /api/state.json HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.page);
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
    }

    fn events(&self) -> u64 {
        self.state()["events"].as_u64().expect("a number")
    }

    /// Ends it as Ctrl-C does.
    fn end(mut self) {
        send_signal(self.child.id(), "INT");
        self.child.wait().expect("it ends");
    }
}

/// A detector's files and its entry for `seen.mjs` and `cuts.py`.
struct Unit {
    name: &'static str,
    config: String,
    folder: PathBuf,
    /// `geometry` or `monitors`.
    pixels: (&'static str, Value),
}

impl Unit {
    fn path(&self, end: &str) -> String {
        self.folder.join(format!("{}.{end}", self.name)).to_str().expect("text").to_owned()
    }

    fn entry(&self, from: &str, paged: &Paged, events: u64) -> Value {
        json!({
            "name": format!("{} from {from}", self.name),
            "page": format!("http://{}", paged.page),
            "events": events,
            "slice": [5_000_000, 25_000_000],
            "csv": self.path("csv"),
            self.pixels.0: self.pixels.1,
        })
    }

    fn lines(&self) -> u64 {
        let text = std::fs::read_to_string(self.path("csv")).expect("events");
        text.lines().count() as u64 - 1
    }
}

fn units(folder: &Path) -> Vec<Unit> {
    let config =
        |name: &str| workspace().join(format!("configs/{name}.toml")).to_str().expect("text").to_owned();
    let monitors = json!({ "monitor_1": [1, 1, 1], "monitor_2": [2, 512, 512] });
    let detectors = DETECTORS.into_iter().map(|(name, sides)| (name, ("geometry", json!(sides))));
    detectors
        .chain([(MONITORS, ("monitors", monitors))])
        .map(|(name, pixels)| Unit { name, config: config(name), folder: folder.to_owned(), pixels })
        .collect()
}

/// What a browser sees of the pages, in a file.
fn seen(folder: &Path, of: &str, entries: &[Value]) -> [PathBuf; 2] {
    let [pages, seen] = ["pages", "seen"].map(|name| folder.join(format!("{name}-{of}.json")));
    std::fs::write(&pages, serde_json::to_vec(entries).expect("JSON")).expect("a file");
    let output = Command::new("node")
        .args([Path::new("seen.mjs"), &pages, &seen])
        .current_dir(workspace().join("tests/browser"))
        .output()
        .expect("node");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    [pages, seen]
}

#[test]
fn each_detector_is_seen_in_a_browser_as_numpy_cuts_its_events_from_run_kafka_and_file() {
    const NAME: &str = "each_detector_is_seen_in_a_browser_as_numpy_cuts_its_events_from_run_kafka_and_file";
    let Some(broker) = shared(NAME) else { return };
    let Some(python) = python(NAME) else { return };
    if !workspace().join("tests/browser/node_modules/playwright-core").is_dir() {
        return skip(NAME, "playwright-core is not installed: run npm ci in tests/browser");
    }
    let brokers = broker.address();
    let folder = tempfile::tempdir().expect("a folder");
    let units = units(folder.path());

    let to = ["brokers", "topic", "create_topics"].map(|key| format!("outputs.kafka.{key}="));
    let runs: Vec<Paged> = units
        .iter()
        .map(|unit| {
            let kafka = [
                format!("{}{brokers}", to[0]),
                format!("{}{}", to[1], broker.name(unit.name)),
                format!("{}true", to[2]),
                format!("outputs.kafka.monitor_topic={}_monitors", broker.name(unit.name)),
            ];
            let sets: Vec<&str> = kafka.iter().flat_map(|one| ["--set", one]).collect();
            let outputs = ["--events", &unit.path("csv"), "--nexus", &unit.path("nxs")];
            let input = ["run", "--config", &unit.config, "--address", "127.0.0.1", "--port", "0"];
            Paged::start(&[&input[..], &outputs, &sets].concat())
        })
        .collect();
    let senders: Vec<Child> = units
        .iter()
        .zip(&runs)
        .map(|(unit, run)| {
            let what = ["simulate", "--config", &unit.config, "--pulses", "14"];
            let to = ["--to", &run.address, "--report", &unit.path("sent.json")];
            Command::new(PROGRAM)
                .args(what)
                .args(to)
                .stdout(Stdio::null())
                .spawn()
                .expect("the program starts")
        })
        .collect();
    for mut sender in senders {
        assert!(sender.wait().expect("it ends").success());
    }
    let entries: Vec<Value> = units
        .iter()
        .zip(&runs)
        .map(|(unit, run)| {
            let sent = std::fs::read(unit.path("sent.json")).expect("a report");
            let sent: Value = serde_json::from_slice(&sent).expect("JSON");
            wait_until(format_args!("{}: all packets have come, and all of their events", unit.name), || {
                let state = run.state();
                let ledger = &state["ledger"];
                // Sources that are silent are waited for, in real time, before the last events are formed.
                state["feed"]["packet_ms"].as_u64().is_some_and(|passed| passed > 1500)
                    && ledger["packets"]["received"] == sent["packets"]
                    && ledger["events"] == state["events"]
            });
            unit.entry("its run", run, run.events())
        })
        .collect();
    let of_runs = seen(folder.path(), "runs", &entries);
    runs.into_iter().for_each(Paged::end);

    let mut pages = Vec::new();
    let mut entries = Vec::new();
    let all = std::env::var_os("EVFORGE_ALL_PAGES").is_some();
    for unit in units.iter().filter(|unit| all || FROM_ALL.contains(&unit.name)) {
        let file = Paged::start(&["view", &unit.path("nxs"), "--config", &unit.config]);
        let events = broker.name(unit.name);
        let topic = ["view", "--kafka", brokers, "--events", &events, "--config", &unit.config, "--oldest"];
        let kafka = Paged::start(&topic);
        let events = unit.lines();
        assert!(events > 5000, "{}: {events}", unit.name);
        for (from, paged) in [("its file", file), ("Kafka", kafka)] {
            wait_until(format!("{} has all of {events} events from {from}", unit.name), || {
                paged.events() == events
            });
            entries.push(unit.entry(from, &paged, events));
            pages.push(paged);
        }
    }
    let of_others = seen(folder.path(), "others", &entries);
    for [pages, seen] in [of_runs, of_others] {
        let output =
            Command::new(&python).arg(workspace().join("tests/python/cuts.py")).args([pages, seen]).output();
        let output = output.expect("Python");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        println!("{}", text(&output.stdout));
    }
}
