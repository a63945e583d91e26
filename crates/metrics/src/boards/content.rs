//! What the four boards show.

use super::Stage;
use super::grafana::{Board, Panel, Query, Row};
use crate::host::declared as host;
use crate::metric::{Kind, Metric};
use crate::reading::counter_family;
use crate::run_declared as run;
use evforge_core::counter::{CounterInfo, Role};
use serde_json::Value;

/// The programs that are chosen.
const CHOSEN: &str = "instance=~\"$instance\"";
/// Counters in one panel.
const MOST_IN_A_PANEL: usize = 12;

/// The boards, each with the name of its file: event formation, receive and loss, host, outputs.
pub fn boards(stages: &[Stage]) -> Vec<(String, Value)> {
    let boards = [events(stages), receive(stages), host_board(stages), outputs(stages)];
    boards.iter().map(|board| (format!("{}.json", board.uid), board.json())).collect()
}

/// The rate of a counter, or the value of a gauge.
fn over_time(name: &str, kind: Kind, labels: &str) -> String {
    let labels = if labels.is_empty() { CHOSEN.to_owned() } else { format!("{CHOSEN},{labels}") };
    match kind {
        Kind::Counter => format!("rate({name}{{{labels}}}[$__rate_interval])"),
        Kind::Gauge => format!("{name}{{{labels}}}"),
    }
}

fn of(metric: &Metric, labels: &str, legend: &str) -> Query {
    Query { expression: over_time(&metric.query_name(), metric.kind, labels), legend: legend.to_owned() }
}

/// A panel with one metric.
fn panel(metric: &Metric, title: &str, unit: &'static str, legend: &str) -> Panel {
    panel_of(title, unit, metric.help, vec![of(metric, "", legend)])
}

fn panel_of(title: &str, unit: &'static str, about: &str, queries: Vec<Query>) -> Panel {
    Panel { title: title.to_owned(), about: about.to_owned(), unit, queries }
}

fn row(title: &str, panels: Vec<Panel>) -> Row {
    Row { title: title.to_owned(), is_folded: false, panels }
}

/// A folded row for each stage of these groups, with all of its counters.
fn rows_of_stages<'a>(
    stages: &'a [Stage],
    wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = Row> + 'a {
    let wanted = move |stage: &&Stage| stage.group.is_some_and(&wanted);
    stages.iter().filter(wanted).map(|stage| Row {
        title: format!("{} ({})", stage.title, stage.name),
        is_folded: true,
        panels: stage_panels(stage),
    })
}

/// Whether a counter belongs to a panel.
type Wanted = fn(&CounterInfo) -> bool;

/// Counters of a stage by what they do: what goes through, what is thrown away, what is there, everything else.
fn stage_panels(stage: &Stage) -> Vec<Panel> {
    let group = stage.group.unwrap_or_default();
    let kinds: [(&str, Wanted); 4] = [
        ("In and out, per second", |info| {
            matches!(info.role, Role::Enters(_) | Role::Leaves(_) | Role::Joins(..) | Role::HandedOut)
        }),
        ("Thrown away, per second", |info| matches!(info.role, Role::Discarded(_))),
        ("Further counts, per second", |info| info.role == Role::Information && info.is_cumulative()),
        ("At this moment", |info| !info.is_cumulative()),
    ];
    let legend = if group == crate::run::OUTPUT { "{{instance}} {{output}} " } else { "{{instance}} " };
    let mut panels = Vec::new();
    for (title, wanted) in kinds {
        let counters: Vec<&CounterInfo> = stage.counters.iter().filter(|info| wanted(info)).collect();
        for part in counters.chunks(MOST_IN_A_PANEL) {
            let query = |info: &&CounterInfo| {
                let kind = if info.is_cumulative() { Kind::Counter } else { Kind::Gauge };
                let expression = over_time(&counter_family(group, info), kind, "");
                Query { expression, legend: format!("{legend}{}", info.name) }
            };
            let about: Vec<String> =
                part.iter().map(|info| format!("**{}**: {}", info.name, info.help)).collect();
            panels.push(panel_of(title, "short", &about.join("\n\n"), part.iter().map(query).collect()));
        }
    }
    panels
}

fn events(stages: &[Stage]) -> Board {
    let each = "{{instance}}";
    let through = vec![
        of(&run::PACKETS, "", "{{instance}} packets"),
        of(&run::READOUTS, "", "{{instance}} readouts"),
        of(&run::HITS, "", "{{instance}} hits"),
        of(&run::EVENTS, "", "{{instance}} events"),
    ];
    let top = row(
        "Whether it is well",
        vec![
            panel_of("Rates", "short", "What comes in, and what is made of it.", through),
            panel(&run::EVENTS, "Events per second", "short", each),
            panel(&run::FEED, "What comes in", "short", "{{instance}} {{state}}"),
            panel(&run::ALARMS, "Alarms", "short", "{{instance}} {{alarm}}"),
            panel_of(
                "Faults",
                "short",
                "All of these are 0.",
                vec![
                    of(&run::UNACCOUNTED, "", "{{instance}} unaccounted"),
                    of(&run::DETECTOR_FAILED, "", "{{instance}} detector failed"),
                ],
            ),
            panel_of(
                "Age of the newest packet and event",
                "s",
                run::EVENT_AGO.help,
                vec![
                    of(&run::PACKET_AGO, "", "{{instance}} packet"),
                    of(&run::EVENT_AGO, "", "{{instance}} event"),
                ],
            ),
        ],
    );
    let thrown = row(
        "Thrown away, and waiting",
        vec![
            panel(
                &run::DISCARDED,
                "Thrown away, per second, by reason",
                "short",
                "{{instance}} {{of}} {{reason}}",
            ),
            panel(&run::HELD, "Waiting", "short", each),
            panel(&run::VETOED, "Marked by vetoes, per second", "short", "{{instance}} {{veto}}"),
            panel(&run::MONITOR_TOTAL, "Beam monitors, per second", "short", "{{instance}} {{monitor}}"),
            panel(
                &run::MONITOR_PULSES,
                "Pulses of beam monitors, per second",
                "short",
                "{{instance}} {{monitor}}",
            ),
        ],
    );
    let frames = row(
        "Frames",
        vec![
            panel(&run::FRAMES_RAW, "Raw frames per second", "short", each),
            panel(&run::FRAMES_GOOD, "Good frames per second", "short", each),
            panel(
                &run::FRAMES_IN_STATE,
                "Frames per second, complete or not",
                "short",
                "{{instance}} {{state}}",
            ),
            panel(&run::FRAMES_WITH_VETO, "Frames with a veto, per second", "short", "{{instance}} {{veto}}"),
            panel(&run::FRAMES_CHARGE_RAW, "Proton charge per second, µAh", "short", each),
            panel(&run::FRAMES_CHARGE_GOOD, "Of good frames, µAh per second", "short", each),
            panel(&run::FRAMES_EVENTS_GOOD, "Events of good frames per second", "short", each),
        ],
    );
    let rows = [top, thrown, frames]
        .into_iter()
        .chain(rows_of_stages(stages, |group| group == crate::run::DETECTOR));
    Board {
        uid: "evforge-events",
        title: "evforge: event formation",
        about: "What is made of readouts, and what is thrown away, for all detectors.",
        instances_of: run::ELAPSED.query_name(),
        rows: rows.collect(),
    }
}

fn receive(stages: &[Stage]) -> Board {
    let source = "{{instance}} {{source}}";
    let interface = "{{instance}} {{interface}} {{direction}}";
    let losses = row(
        "Loss",
        vec![
            panel(&run::LOST_KNOWN, "Packets lost", "short", "{{instance}}"),
            panel(&run::LOST, "Packets lost, by where", "short", "{{instance}} {{location}}"),
            panel(&run::LOSS_BOUND, "Share lost, at most (95 %)", "percentunit", "{{instance}}"),
            panel(&run::HINTS, "Hints", "short", "{{instance}}"),
        ],
    );
    let sources = row(
        "Sources",
        vec![
            panel(&run::SOURCE_RECEIVED, "Received, per second", "pps", source),
            panel(&run::SOURCE_SENT, "Sent, by their numbers", "short", source),
            panel(&run::SOURCE_LOST, "Lost", "short", source),
            panel(&run::SOURCE_REORDERED, "Out of order, per second", "pps", source),
            panel(&run::SOURCE_DUPLICATED, "Received twice, per second", "pps", source),
            panel(&run::SOURCE_UNCONFIRMED, "Unconfirmed", "short", source),
            panel(&run::SOURCE_RESTARTS, "Numbering started over, per second", "short", source),
        ],
    );
    let kernel = row(
        "Kernel and cards of the host",
        vec![
            panel(&host::INTERFACE_PACKETS, "Frames per second", "pps", interface),
            panel(&host::INTERFACE_BYTES, "Bytes per second", "Bps", interface),
            panel(&host::INTERFACE_DROPPED, "Frames dropped, per second", "pps", interface),
            panel(
                &host::INTERFACE_LOSSES,
                "Why frames were lost, per second",
                "short",
                "{{instance}} {{interface}} {{counter}}",
            ),
            panel(
                &host::SOFTNET_DROPPED,
                "Dropped because a core was behind, per second",
                "pps",
                "{{instance}} core {{core}}",
            ),
            panel(&host::UDP, "UDP, per second", "pps", "{{instance}} {{what}}"),
        ],
    );
    let groups = ["receive", "xdp", "kernel", "interface", "capture", "topic", "packet_tap"];
    let rows = [losses, sources, kernel]
        .into_iter()
        .chain(rows_of_stages(stages, move |group| groups.contains(&group)));
    Board {
        uid: "evforge-receive",
        title: "evforge: receive and loss",
        about: "Where packets come from, how many are lost, and where.",
        instances_of: run::ELAPSED.query_name(),
        rows: rows.collect(),
    }
}

fn host_board(stages: &[Stage]) -> Board {
    let core = "{{instance}} core {{core}}";
    let direction = "{{instance}} {{interface}} {{direction}}";
    let program = row(
        "Program",
        vec![
            panel(&host::THREAD_TIME, "Cores used by threads", "short", "{{instance}} {{thread}}"),
            panel(&host::THREADS, "Threads", "short", "{{instance}} {{thread}}"),
            panel(&host::RESIDENT, "Memory", "bytes", "{{instance}}"),
            panel_of(
                "Open files and sockets",
                "short",
                host::DESCRIPTORS.help,
                vec![
                    of(&host::DESCRIPTORS, "", "{{instance}} open"),
                    of(&host::MOST_DESCRIPTORS, "", "{{instance}} at most"),
                ],
            ),
            panel(&host::UPTIME, "Time since it was started", "s", "{{instance}}"),
        ],
    );
    let cores = row(
        "Cores",
        vec![
            panel_of(
                "Share of a core that is not idle",
                "percentunit",
                host::CORE_TIME.help,
                vec![Query {
                    expression: format!(
                        "sum by (instance, core) ({})",
                        over_time(&host::CORE_TIME.query_name(), Kind::Counter, "mode!~\"idle|iowait\"")
                    ),
                    legend: core.to_owned(),
                }],
            ),
            panel(&host::LOAD, "Load", "short", "{{instance}}"),
            panel(&host::INTERRUPTS, "Interrupts per second", "short", core),
            panel(&host::SOFTIRQ_RECEIVE, "The kernel's work on received packets, per second", "short", core),
            panel(&host::SOFTNET_PROCESSED, "Frames taken from drivers, per second", "pps", core),
            panel(&host::SOFTNET_SQUEEZED, "Frames left for later, per second", "short", core),
        ],
    );
    let memory = row(
        "Memory, disks, clock",
        vec![
            panel(&host::MEMORY, "Memory", "bytes", "{{instance}} {{what}}"),
            panel(&host::UDP_MEMORY, "Memory of UDP sockets", "bytes", "{{instance}}"),
            panel_of(
                "Room on disks",
                "bytes",
                host::DISK_FREE.help,
                vec![
                    of(&host::DISK_FREE, "", "{{instance}} {{folder}} free"),
                    of(&host::DISK_SIZE, "", "{{instance}} {{folder}} size"),
                ],
            ),
            panel(&host::CLOCK_SYNCHRONISED, "Clock is kept right", "short", "{{instance}}"),
            panel_of(
                "Error of the clock",
                "s",
                host::CLOCK_ERROR.help,
                vec![
                    of(&host::CLOCK_ERROR, "", "{{instance}} at most"),
                    of(&host::CLOCK_ESTIMATE, "", "{{instance}} probably"),
                ],
            ),
            panel(&host::CLOCK_OFFSET, "Correction of the clock", "s", "{{instance}}"),
        ],
    );
    let cards = row(
        "Network cards",
        vec![
            panel(&host::INTERFACE_ERRORS, "Errors per second", "short", direction),
            panel(
                &host::DRIVER,
                "Counters of drivers, per second",
                "short",
                "{{instance}} {{interface}} {{counter}}",
            ),
        ],
    );
    let of_the_program = rows_of_stages(stages, |group| group == "control" || group == "log");
    Board {
        uid: "evforge-host",
        title: "evforge: host",
        about: "The program and the host that it runs on: cores, threads, memory, disks, cards, clock.",
        instances_of: host::UPTIME.query_name(),
        rows: [program, cores, memory, cards].into_iter().chain(of_the_program).collect(),
    }
}

fn outputs(stages: &[Stage]) -> Board {
    let output = "{{instance}} {{output}}";
    let top = row(
        "Whether everything arrives",
        vec![
            panel(&run::OUTPUT_WHOLE, "Whole", "short", output),
            panel(&run::OUTPUT_WAITING, "Waiting for a cause to pass", "short", output),
            panel(&run::OUTPUT_FAILED, "Failed", "short", output),
        ],
    );
    let rows = std::iter::once(top).chain(rows_of_stages(stages, |group| group == crate::run::OUTPUT));
    Board {
        uid: "evforge-outputs",
        title: "evforge: outputs",
        about: "Files, messages, the page: what each has got, what waits, what was dropped.",
        instances_of: run::ELAPSED.query_name(),
        rows: rows.collect(),
    }
}
