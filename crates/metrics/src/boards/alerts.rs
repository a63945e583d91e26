//! Alert rules for Prometheus: what needs a person, with what it means and what to do.

use super::Stage;
use crate::host::declared as host;
use crate::metric::Metric;
use crate::reading::counter_family;
use crate::run_declared as run;
use std::fmt::Write as _;

/// What a part of a condition is.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// As it stands.
    Text(&'static str),
    /// The name of a metric.
    Name(&'static Metric),
    /// The name of a counter of any detector.
    Detector(&'static str),
}
use Part::{Detector, Name, Text};

/// An alert.
#[derive(Clone, Copy, Debug)]
pub struct Alert {
    /// Its name.
    pub name: &'static str,
    condition: &'static [Part],
    /// How long it must hold: "30s".
    pub lasting: &'static str,
    /// "critical": data are lost or wrong; "warning": they may be before long.
    pub severity: &'static str,
    /// What it means, in a sentence.
    pub meaning: &'static str,
    /// What to do, in a sentence or two.
    pub action: &'static str,
}

const fn alert(
    name: &'static str,
    condition: &'static [Part],
    lasting: &'static str,
    severity: &'static str,
    meaning: &'static str,
    action: &'static str,
) -> Alert {
    Alert { name, condition, lasting, severity, meaning, action }
}

/// All alerts.
pub const ALERTS: &[Alert] = &[
    alert(
        "EvforgeDown",
        &[Text("up{job=\"evforge\"} == 0")],
        "30s",
        "critical",
        "Prometheus cannot ask the program.",
        "See whether it runs; whether the page is at the address that Prometheus has (outputs.view.address); and what its log says last.",
    ),
    alert(
        "EvforgeRejecting",
        &[Name(&run::FEED), Text("{state=\"rejecting\"} == 1")],
        "30s",
        "critical",
        "Packets come, and none of them is used.",
        "The page says why: another format, another detector, another version. Look at the packets with evforge inspect.",
    ),
    alert(
        "EvforgeStalled",
        &[Name(&run::FEED), Text("{state=\"stalled\"} == 1")],
        "1m",
        "warning",
        "Packets came, and none has come for a while.",
        "Is the readout running, and its cable in? evforge doctor tells what this host is lacking.",
    ),
    alert(
        "EvforgeNoEvents",
        &[
            Text("rate("),
            Name(&run::EVENTS),
            Text("[5m]) == 0 and on (instance, stream) rate("),
            Name(&run::READOUTS),
            Text("[5m]) > 100"),
        ],
        "5m",
        "warning",
        "Readouts come and no event is formed of them.",
        "See what is thrown away (board: event formation): thresholds, masks and wiring of the configuration against what comes.",
    ),
    alert(
        "EvforgeDetectorFailed",
        &[Name(&run::DETECTOR_FAILED), Text(" == 1")],
        "0s",
        "critical",
        "The detector has failed, and forms no further events.",
        "The report and the page have the reason. Begin another run; report it to whoever wrote the plugin.",
    ),
    alert(
        "EvforgeUnaccounted",
        &[Name(&run::UNACCOUNTED), Text(" > 0")],
        "10s",
        "critical",
        "The laws of the counters leave something over: the program has a fault.",
        "Keep the report and a recording of the packets, and report it. Counts of this run cannot be relied on.",
    ),
    alert(
        "EvforgeSourceRestarted",
        &[Text("increase("), Name(&run::SOURCE_RESTARTS), Text("[10m]) > 0")],
        "0s",
        "warning",
        "A source of packets has started its numbering over.",
        "Its power was cut, or its firmware has started again: see its log. Nothing counts as lost for what it did not send meanwhile.",
    ),
    alert(
        "EvforgeAlarm",
        // A note is none: a host without a time server would raise it for ever.
        &[Name(&run::ALARMS), Text("{alarm!=\"clock\"} > 0")],
        "30s",
        "warning",
        "An alarm is raised; the label alarm says which.",
        "docs/operating.md says what to do; `evforge ctl state` has its numbers.",
    ),
    alert(
        "EvforgePacketsLost",
        &[Text("delta("), Name(&run::LOST_KNOWN), Text("[5m]) > 0")],
        "0s",
        "warning",
        "Packets were lost within the last five minutes.",
        "See where (board: receive and loss); docs/loss.md says what each place means.",
    ),
    alert(
        "EvforgeTooSlow",
        &[Text("delta("), Name(&run::LOST), Text("{location=\"own queue\"}[5m]) > 0")],
        "0s",
        "critical",
        "Events are formed more slowly than packets come.",
        "Give forming a core of its own ([threads]), let it have two threads, or find the output that holds it up.",
    ),
    alert(
        "EvforgeSocketBufferFull",
        &[Text("delta("), Name(&run::LOST), Text("{location=\"socket buffer\"}[5m]) > 0")],
        "0s",
        "critical",
        "The socket's receive buffer was full: the receiving thread does not keep up, or its buffer is small.",
        "evforge doctor tells how large it may be; docs/receive.md how to receive faster.",
    ),
    alert(
        "EvforgeForcedClosings",
        &[Text("increase("), Detector("forced_closings"), Text("[5m]) > 0")],
        "0s",
        "critical",
        "Waiting hits or events were closed early for want of room: events may be incomplete.",
        "A source is silent or far behind. Lower source_lag, or raise the room (evforge run --check says what is needed).",
    ),
    alert(
        "EvforgeLateHits",
        &[
            Text("sum by (instance, stream) (rate("),
            Name(&run::DISCARDED),
            Text("{reason=\"late\"}[5m])) / on (instance, stream) rate("),
            Name(&run::HITS),
            Text("[5m]) > 0.001"),
        ],
        "1m",
        "warning",
        "More than one in a thousand hits comes too late for its time.",
        "A source is behind the others by more than sorting.window: raise it, or see why the source is behind.",
    ),
    alert(
        "EvforgeOutputFailed",
        &[Name(&run::OUTPUT_FAILED), Text(" == 1")],
        "0s",
        "critical",
        "An output has failed and gets no more events; the others go on.",
        "The page and the report have the reason and what is left of it.",
    ),
    alert(
        "EvforgeOutputWaiting",
        &[Name(&run::OUTPUT_WAITING), Text(" == 1")],
        "30s",
        "warning",
        "An output waits for a cause to pass: no space on the disk, no connection.",
        "The page says for what. It goes on by itself; until then its queue fills.",
    ),
    alert(
        "EvforgeOutputIncomplete",
        &[Name(&run::OUTPUT_WHOLE), Text(" == 0")],
        "0s",
        "critical",
        "An output that must have everything did not get it.",
        "See on the board of outputs whether events were dropped (it is too slow), missed (it had failed) or refused.",
    ),
    alert(
        "EvforgeDiskFull",
        &[Name(&host::DISK_FREE), Text(" / "), Name(&host::DISK_SIZE), Text(" < 0.05")],
        "1m",
        "warning",
        "Less than a twentieth of a disk is free.",
        "Move files away. Files wait when the disk is full, and go on when there is room.",
    ),
    alert(
        "EvforgeDiskFillsUp",
        &[
            Text("predict_linear("),
            Name(&host::DISK_FREE),
            Text("[1h], 4 * 3600) < 0 and "),
            Name(&host::DISK_FREE),
            Text(" / "),
            Name(&host::DISK_SIZE),
            Text(" < 0.5"),
        ],
        "10m",
        "warning",
        "As it goes on, a disk is full within four hours.",
        "Move files away in time, or compress them.",
    ),
    alert(
        "EvforgeMemoryLow",
        &[
            Name(&host::MEMORY),
            Text("{what=\"available\"} / on (instance) "),
            Name(&host::MEMORY),
            Text("{what=\"total\"} < 0.05"),
        ],
        "1m",
        "critical",
        "Less than a twentieth of the memory is available: the kernel may end programs.",
        "See what takes it. evforge run --check tells how much evforge takes at most.",
    ),
    alert(
        "EvforgeDescriptors",
        &[Name(&host::DESCRIPTORS), Text(" / "), Name(&host::MOST_DESCRIPTORS), Text(" > 0.9")],
        "1m",
        "warning",
        "The program has nearly as many files and sockets open as it may.",
        "Raise the limit (LimitNOFILE of its unit), and see who is connected to the page.",
    ),
    alert(
        "EvforgeClockNotSynchronised",
        &[Name(&host::CLOCK_SYNCHRONISED), Text(" == 0")],
        "10m",
        "warning",
        "Nothing keeps the clock of the host right: arrival times and dates drift.",
        "Start chrony or ptp4l with phc2sys.",
    ),
    alert(
        "EvforgeKernelBacklog",
        &[Text("increase("), Name(&host::SOFTNET_DROPPED), Text("[5m]) > 0")],
        "0s",
        "warning",
        "The kernel dropped frames because the queue of a core was full.",
        "Spread the interrupts of the card over more cores, or raise net.core.netdev_max_backlog.",
    ),
];

impl Alert {
    /// Its condition.
    pub fn condition(&self, stages: &[Stage]) -> String {
        let word = |part: &Part| match part {
            Text(text) => (*text).to_owned(),
            Name(metric) => metric.query_name(),
            Detector(name) => {
                let detectors = stages.iter().filter(|stage| stage.group == Some(crate::run::DETECTOR));
                let found = detectors.flat_map(|stage| stage.counters).find(|info| info.name == *name);
                // A counter that nobody declares any more: the test of the rules looks for its name in real answers.
                found.map_or_else(
                    || format!("no_such_counter_{name}"),
                    |info| counter_family(crate::run::DETECTOR, info),
                )
            }
        };
        self.condition.iter().map(word).collect()
    }
}

/// The rules as Prometheus reads them.
pub fn rules(stages: &[Stage]) -> String {
    let mut text = String::from(
        "# Alert rules for Prometheus, made from the declarations of the metrics: do not edit them, `make metrics` makes them\n\
         # again. docs/metrics.md explains each. What differs at your place goes into a file of its own.\ngroups:\n  - name: evforge\n    rules:\n",
    );
    for alert in ALERTS {
        let Alert { name, lasting, severity, meaning, action, .. } = alert;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "      - alert: {name}");
        let _ = writeln!(text, "        expr: {}", quoted(&alert.condition(stages)));
        let _ = writeln!(text, "        for: {lasting}");
        let _ = writeln!(text, "        labels:\n          severity: {severity}");
        let _ = writeln!(text, "        annotations:\n          summary: {}", quoted(meaning));
        let _ = writeln!(text, "          description: {}", quoted(action));
    }
    text
}

/// A text of YAML in single quotes, in which nothing but the quote itself has a meaning.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
