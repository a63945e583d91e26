//! The tables of `docs/metrics.md`.

use crate::boards::{ALERTS, Stage};
use crate::graphite::REFERENCE;
use crate::metric::Metric;
use crate::reading::counter_family;
use crate::{host, run_declared};
use std::fmt::Write as _;

/// Markdown: the metrics of runs, of the program and its host, of every stage; the names of the reference; the alerts.
pub fn document(stages: &[Stage]) -> String {
    let mut text = String::new();
    metrics(&mut text, "A run", run_declared::ALL);
    metrics(&mut text, "The program and its host", host::declared::ALL);
    text.push_str(
        "\n## Counters of the stages\n\nWhat each counts is in [counters.md](counters.md). In a run there are those of its own \
         input, detector and outputs.\n",
    );
    for stage in stages {
        let Some(group) = stage.group else { continue };
        let _ = writeln!(text, "\n### {}\n\n| metric | in Graphite | kind |\n|---|---|---|", stage.title);
        let label = if group == crate::run::OUTPUT { ".*" } else { "" };
        for info in stage.counters {
            let kind = if info.is_cumulative() { "counter" } else { "gauge" };
            let _ = writeln!(
                text,
                "| `{}` | `{group}{label}.{}` | {kind} |",
                counter_family(group, info),
                info.name
            );
        }
    }
    reference(&mut text);
    alerts(&mut text, stages);
    text
}

fn metrics(text: &mut String, title: &str, metrics: &[&Metric]) {
    let _ = writeln!(
        text,
        "\n## {title}\n\n| metric | in Graphite | kind | labels | meaning |\n|---|---|---|---|---|"
    );
    for metric in metrics {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = if labels.is_empty() { "–".to_owned() } else { labels.join(", ") };
        let path = format!("{}{}.{}", metric.group, ".*".repeat(metric.labels.len()), metric.name);
        let (name, kind) = (metric.query_name(), metric.kind.name());
        let _ = writeln!(
            text,
            "| `{name}` | `{path}` | {kind} | {labels} | {} |",
            metric.help.replace('|', "\\|")
        );
    }
}

fn reference(text: &mut String) {
    text.push_str(
        "\n## Names of the reference\n\nThe paths of Graphite that the EFU of the ESS has for the same, as of March 2026. They are \
         sent as well, so that its boards go on working. `*` stands for the name of an output.\n\n\
         | the reference's | the sum of ours | what differs |\n|---|---|---|\n",
    );
    for same in REFERENCE {
        let of: Vec<String> = same.of.iter().map(|path| format!("`{path}`")).collect();
        let note = if same.note.is_empty() { "–" } else { same.note };
        let _ = writeln!(text, "| `{}` | {} | {note} |", same.name, of.join(", "));
    }
}

fn alerts(text: &mut String, stages: &[Stage]) {
    text.push_str(
        "\n## Alerts\n\nThose of `contrib/prometheus/evforge.rules.yml`.\n\n| alert | condition, and how long | what it means | what to do |\n|---|---|---|---|\n",
    );
    for alert in ALERTS {
        let condition = alert.condition(stages).replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{}` ({}) | `{condition}`, {} | {} | {} |",
            alert.name, alert.severity, alert.lasting, alert.meaning, alert.action
        );
    }
}
