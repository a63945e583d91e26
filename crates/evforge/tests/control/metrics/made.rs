//! What is made from the declarations: boards, alert rules, tables. They are up to date, and name what is in real answers.

use crate::common::{wait_until, workspace};
use crate::metrics::carbon::configuration;
use crate::metrics::page::{Page, names};
use crate::metrics::prometheus::{loaded, promtool};
use evforge_metrics::boards::{ALERTS, Stage, boards, rules};
use evforge_metrics::{counter_family, document};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The last line of the document that is written by hand.
const MARK: &str = "<!-- Made from the declarations: everything below this line. -->\n";

/// Stages whose counters are in answers only of runs that need something else: AF_XDP, a broker of Kafka, the library of a
/// plugin, an output that asks for raw packets, an input that has ended by the time its counters are shown.
const ELSEWHERE: [&str; 6] = ["xdp", "topic", "packet_tap", "capture", "kafka", "dead time"];

fn is_updating() -> bool {
    std::env::var_os("EVFORGE_UPDATE").is_some_and(|value| value == "1")
}

/// The file must have this text; with `EVFORGE_UPDATE=1` it gets it.
fn expect(file: PathBuf, text: &str) {
    if is_updating() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == text, "{} is out of date: regenerate it with `make metrics`", file.display());
}

#[test]
fn boards_rules_and_the_document_are_up_to_date() {
    let stages = evforge::counter_stages();
    for (name, board) in boards(&stages) {
        let text = serde_json::to_string_pretty(&board).unwrap() + "\n";
        expect(workspace().join("contrib/grafana").join(name), &text);
    }
    expect(workspace().join("contrib/prometheus/evforge.rules.yml"), &rules(&stages));
    let path = workspace().join("docs/metrics.md");
    let found = std::fs::read_to_string(&path).unwrap();
    let (head, _) = found.split_once(MARK).expect("docs/metrics.md has lost the line before its tables");
    expect(path, &format!("{head}{MARK}{}", document(&stages)));
}

/// All expressions of a board.
pub(crate) fn expressions(board: &Value) -> Vec<String> {
    match board {
        Value::Object(fields) => {
            let own = fields.get("expr").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(expressions)).collect()
        }
        Value::Array(values) => values.iter().flat_map(expressions).collect(),
        _ => Vec::new(),
    }
}

/// The metrics of evforge in an expression.
fn metrics_in(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("evforge_")).map(str::to_owned).collect()
}

/// The names that real runs answer with: of every shipped configuration before its first packet, and of one under load.
fn answered() -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let under_load = loaded(folder.path());
    let mut found = names(&under_load.metrics());
    let configs = std::fs::read_dir(workspace().join("configs")).unwrap().flatten().map(|entry| entry.path());
    for config in configs.filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let graphite =
            "[outputs.graphite]\naddress = \"127.0.0.1:1\"\n[outputs.image]\nfile = \"image.png\"\n";
        let name = config.file_name().unwrap().to_str().unwrap();
        // Where pulses arrive on a channel there are counters of them as well.
        let pulses = match name {
            "adc-readout.toml" => "[pulses]\nfrequency = \"14Hz\"\nchannel = 3\nthreshold = 1000\n",
            _ => "",
        };
        let config = configuration(name, &format!("{graphite}{pulses}"), folder.path());
        let page = Page::start(&config, folder.path(), &[]);
        // The counters of outputs come with the first state.
        wait_until(format!("the counters of {name}"), || {
            let text = page.metrics();
            let names = names(&text);
            !found.is_disjoint(&names)
                && text.contains("output=\"graphite\"} ")
                && names.contains("evforge_output_lines_waiting")
        });
        found.extend(names(&page.metrics()));
    }
    // Sources, events and ages come with the packets.
    found.extend(names(&under_load.metrics()));
    found
}

/// Names of counters of stages that answers of these runs do not have.
fn elsewhere(stages: &[Stage]) -> BTreeSet<String> {
    let is_elsewhere = |stage: &&Stage| ELSEWHERE.contains(&stage.name) || stage.name == "plugin";
    let names = |stage: &Stage| -> Vec<String> {
        let group = stage.group.unwrap_or_default();
        stage.counters.iter().map(|info| counter_family(group, info)).collect()
    };
    stages.iter().filter(is_elsewhere).flat_map(names).collect()
}

#[test]
fn every_name_in_boards_and_rules_is_in_a_real_answer() {
    let stages = evforge::counter_stages();
    let (answered, elsewhere) = (answered(), elsewhere(&stages));
    let boards = boards(&stages);
    let expressions = boards.iter().flat_map(|(_, board)| expressions(board));
    let conditions = ALERTS.iter().map(|alert| alert.condition(&stages));
    let mut seen = BTreeSet::new();
    for expression in expressions.chain(conditions) {
        for name in metrics_in(&expression) {
            assert!(
                answered.contains(&name) || elsewhere.contains(&name),
                "{name} of {expression} is in no answer"
            );
            seen.insert(name);
        }
    }
    // And the boards leave nothing out.
    let forgotten: Vec<_> = answered
        .difference(&seen)
        .filter(|name| *name != "evforge_run_readings_left_out" && *name != "evforge_run_elapsed_seconds")
        .collect();
    assert!(forgotten.is_empty(), "no board shows {forgotten:?}");
    assert!(seen.len() > 300, "{}", seen.len());
}

#[test]
fn promtool_accepts_the_rules() {
    let Some(promtool) = promtool("promtool_accepts_the_rules") else { return };
    let file = workspace().join("contrib/prometheus/evforge.rules.yml");
    let output = Command::new(promtool).args(["check", "rules"]).arg(&file).output().unwrap();
    let said = crate::common::text(&output.stdout) + &crate::common::text(&output.stderr);
    assert!(output.status.success() && said.contains(&format!("{} rules found", ALERTS.len())), "{said}");
}

#[test]
fn grafanas_own_library_reads_the_boards() {
    let test = "grafanas_own_library_reads_the_boards";
    let Some(python) = crate::common::python(test) else { return };
    let read = "
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
for path in sys.argv[1:]:
    given = json.load(open(path))
    board = Dashboard.from_json(given)
    again = json.loads(JSONEncoder().encode(board))
    def lost(a, b, at):
        if isinstance(a, dict):
            return [p for k, v in a.items() for p in (lost(v, b[k], f'{at}.{k}') if k in b else [f'{at}.{k}'])]
        if isinstance(a, list):
            return [p for i, v in enumerate(a) for p in lost(v, b[i], f'{at}[{i}]')] if len(a) == len(b) else [at]
        return [] if a == b else [at]
    for place in lost(given, again, 'board'):
        sys.exit(f'{path}: {place} is nothing that Grafana knows')
    print(board.title, len(board.panels))
";
    if !Command::new(&python)
        .args(["-c", "import grafana_foundation_sdk"])
        .status()
        .is_ok_and(|status| status.success())
    {
        return evforge_testkit::skip(
            test,
            "Python has no grafana_foundation_sdk: make test-tools installs it",
        );
    }
    let mut command = Command::new(python);
    command.args(["-c", read]);
    for (name, _) in boards(&evforge::counter_stages()) {
        command.arg(workspace().join("contrib/grafana").join(name));
    }
    let output = command.output().unwrap();
    let said = crate::common::text(&output.stdout) + &crate::common::text(&output.stderr);
    assert!(output.status.success() && said.lines().count() == 4, "{said}");
}
