//! `/metrics` as others read it: the parser of Python's `prometheus_client`, `promtool`, and a Prometheus that scrapes it.

use crate::common::{evforge, free_ports, wait_until, wait_until_idle};
use crate::metrics::carbon::configuration;
use crate::metrics::page::{Page, names, value};
use evforge_testkit::patience::wait_for;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Reads both formats with the parsers of `prometheus_client`: `[{name: {kind, unit, samples: {sample and labels: value}}}, …]`.
const PARSE: &str = "
import json, sys
from prometheus_client.parser import text_string_to_metric_families as plain
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
def read(families):
    return {f.name: {'kind': f.type, 'unit': f.unit, 'help': f.documentation,
        'samples': {s.name + json.dumps(s.labels, sort_keys=True): s.value for s in f.samples}} for f in families}
texts = json.load(sys.stdin)
print(json.dumps([read(plain(texts[0])), read(openmetrics(texts[1]))]))
";

/// A Python with `prometheus_client`.
fn python(test: &str) -> Option<std::path::PathBuf> {
    let interpreter = crate::common::python(test)?;
    let found = Command::new(&interpreter).args(["-c", "import prometheus_client"]).status();
    if found.is_ok_and(|status| status.success()) {
        return Some(interpreter);
    }
    evforge_testkit::skip(test, "Python has no prometheus_client: make test-tools installs it");
    None
}

/// Runs a program with a text as its input: what it prints.
fn through(program: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    let text = input.to_owned();
    let writing = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writing.join().expect("it writes").expect("it reads");
    let said = crate::common::text(&output.stdout) + &crate::common::text(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

/// A run of a simulated NMX that has had all of its packets.
pub(crate) fn loaded(folder: &Path) -> Page {
    let veto = "[[veto]]\nname = \"early\"\ntime_of_flight = [\"0ms\", \"1ms\"]\n";
    let tables = format!("{veto}[outputs.nexus]\nfile = \"run.nxs\"\n[outputs.csv]\nfile = \"run.csv\"\n");
    let config = configuration("nmx.toml", &tables, folder);
    let page = Page::start(&config, folder, &[]);
    let packets = folder.join("run.pcapng").display().to_string();
    let shipped = crate::common::workspace().join("configs/nmx.toml").display().to_string();
    evforge(&["simulate", "--config", &shipped, "--pulses", "28", "--output", &packets]);
    evforge(&["replay", &packets, "--to", &page.receives, "--rate", "20kpps"]);
    page
}

/// The text and the state of the page once it shows all that has come, and a later state has the same counters.
fn settled(page: &Page) -> (String, Value) {
    let counters = |state: &Value| state["streams"][0]["counters"].clone();
    let elapsed = |text: &str| value(text, "evforge_run_elapsed_seconds", "").unwrap_or(0.0);
    wait_for("a page that shows all", || {
        wait_until_idle(page.id());
        let (before, earlier) = (page.state(), elapsed(&page.metrics()));
        let text = wait_for("a later state", || Some(page.metrics()).filter(|text| elapsed(text) > earlier));
        let after = page.state();
        let events = value(&text, "evforge_run_events_total", "").unwrap_or(0.0);
        let is_one = events > 1000.0
            && after["ledger"]["events"].as_f64() == Some(events)
            && counters(&before) == counters(&after);
        is_one.then_some((text, after))
    })
}

#[test]
fn a_parser_of_prometheus_reads_every_counter_with_its_value() {
    let Some(python) = python("a_parser_of_prometheus_reads_every_counter_with_its_value") else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = loaded(folder.path());
    let (_, state) = settled(&page);
    let plain = page.ask("/metrics", "text/plain");
    let openmetrics = page.ask("/metrics", "application/openmetrics-text; version=1.0.0");
    assert_eq!(plain.0, "text/plain; version=0.0.4; charset=utf-8");
    assert_eq!(openmetrics.0, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(openmetrics.1.ends_with("# EOF\n") && openmetrics.1.len() < 1 << 20);
    let texts = serde_json::to_string(&[&plain.1, &openmetrics.1]).unwrap();
    let parsed: Value = serde_json::from_str(&through(&python, &["-c", PARSE], &texts)).unwrap();
    let labels = serde_json::json!({"detector": "ess_gdgem", "stream": state["title"]});
    let stages = evforge::counter_stages();
    let mut compared = 0;
    for format in parsed.as_array().unwrap() {
        for (name, expected) in state["streams"][0]["counters"].as_object().unwrap() {
            let declared = stages.iter().filter(|stage| stage.group == Some("detector"));
            let mut declared = declared.flat_map(|stage| stage.counters).filter(|info| info.name == name);
            let found = declared.find_map(|info| {
                let sample = evforge_metrics::counter_family("detector", info);
                let family = &format[sample.strip_suffix("_total").unwrap_or(&sample)];
                let labels =
                    serde_json::to_string(&labels).unwrap().replace(':', ": ").replace(",\"", ", \"");
                let value = family["samples"][format!("{sample}{labels}")].as_f64()?;
                // Stages of several detectors have counters of this name, and say so in their own words.
                let said = family["help"].as_str().is_some_and(|help| help.starts_with(info.help));
                let kind = if info.is_cumulative() { "counter" } else { "gauge" };
                (said && family["kind"] == kind).then_some(value)
            });
            assert_eq!(found, expected.as_f64(), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} values were compared");
    let units = &parsed[1]["evforge_run_events"]["unit"];
    assert_eq!(units, "events");
    page.end();
}

#[test]
fn counters_are_0_before_the_first_packet() {
    let folder = tempfile::tempdir().unwrap();
    let config = configuration("nmx.toml", "", folder.path());
    let page = Page::start(&config, folder.path(), &[]);
    let text = page.metrics();
    for info in evforge::counter_stages()
        .iter()
        .filter(|stage| stage.title == "VMM3a records of the ESS readout")
        .flat_map(|stage| stage.counters)
    {
        let name = evforge_metrics::counter_family("detector", info);
        assert_eq!(value(&text, &name, "detector=\"ess_gdgem\""), Some(0.0), "{name}");
    }
    assert_eq!(value(&text, "evforge_run_feed", "waiting"), Some(1.0));
    page.end();
}

#[test]
fn promtool_finds_nothing_wrong_with_the_text() {
    let Some(promtool) = promtool("promtool_finds_nothing_wrong_with_the_text") else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = loaded(folder.path());
    let said = through(&promtool, &["check", "metrics"], &settled(&page).0);
    assert_eq!(said, "");
    page.end();
}

/// promtool of Debian's prometheus, or of another one.
pub(crate) fn promtool(test: &str) -> Option<std::path::PathBuf> {
    let found =
        Command::new("promtool").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        evforge_testkit::skip(
            test,
            "promtool is not here: apt-get install prometheus (make test-tools does it)",
        );
    }
    found.then(|| "promtool".into())
}

/// A Prometheus of Debian that scrapes pages; killed when dropped.
struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    fn start(folder: &Path, target: &str, rules: &Path) -> Self {
        let settings = format!(
            "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files: [\"{}\"]\nscrape_configs:\n  \
             - job_name: evforge\n    static_configs: [{{targets: [\"{target}\"]}}]\n",
            rules.display()
        );
        let file = folder.join("prometheus.yml");
        std::fs::write(&file, settings).unwrap();
        let [port] = free_ports();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let log = std::fs::File::create(folder.join("prometheus.log")).unwrap();
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()));
        command.arg(format!("--web.listen-address={address}"));
        let child = command.stdout(Stdio::null()).stderr(log).spawn().expect("Prometheus starts");
        Self { child, address }
    }

    /// An answer of its interface; none as long as it has none.
    fn ask(&self, path: &str) -> Option<Value> {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(self.address).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// The result of a query.
    fn query(&self, expression: &str) -> Option<Value> {
        let encoded: String = expression
            .bytes()
            .map(|byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02x}")
                }
            })
            .collect();
        let answer = self.ask(&format!("/api/v1/query?query={encoded}"))?;
        assert_eq!(answer["status"], "success", "{expression}: {answer:#}");
        Some(answer["data"]["result"].clone())
    }
}

#[test]
fn a_prometheus_scrapes_a_run_and_evaluates_boards_and_rules() {
    let test = "a_prometheus_scrapes_a_run_and_evaluates_boards_and_rules";
    if promtool(test).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let page = loaded(folder.path());
    let (text, _) = settled(&page);
    let rules =
        crate::common::workspace().join("contrib/prometheus/evforge.rules.yml").canonicalize().unwrap();
    let prometheus = Prometheus::start(folder.path(), &page.page, &rules);
    let events = value(&text, "evforge_run_events_total", "");
    wait_until("Prometheus has the events", || {
        let found = prometheus.query("evforge_run_events_total");
        found.and_then(|found| found[0]["value"][1].as_str()?.parse::<f64>().ok()) == events
    });
    // Every name that the page has is one of Prometheus's.
    let known = prometheus.ask("/api/v1/label/__name__/values").unwrap();
    let known: Vec<&str> = known["data"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for name in names(&text) {
        assert!(known.contains(&name.as_str()), "{name}");
    }
    // Every expression of the boards is one that it understands.
    for (_, board) in evforge_metrics::boards::boards(&evforge::counter_stages()) {
        for expression in crate::metrics::made::expressions(&board) {
            let expression = expression.replace("$instance", ".*").replace("$__rate_interval", "1m");
            prometheus.query(&expression).unwrap_or_else(|| panic!("no answer to {expression}"));
        }
    }
    // Every rule has been evaluated, and well.
    wait_until("every rule is evaluated", || {
        let answer = prometheus.ask("/api/v1/rules").unwrap();
        let rules = answer["data"]["groups"][0]["rules"].as_array().unwrap().clone();
        assert_eq!(rules.len(), evforge_metrics::boards::ALERTS.len());
        rules.iter().all(|rule| rule["health"] == "ok")
    });
    page.end();
}
