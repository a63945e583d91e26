//! What is said of frames that are put together, for people and for programs.

use super::ending::{refused, refused_json};
use evforge_core::counter::{CounterSnapshot, Role};
use evforge_kafka::aggregate::{Aggregation, AggregationSettings};
use evforge_kafka::client::{Cause, Complaint};
use evforge_log::console;
use evforge_pipeline::report::{grouped, scaled};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between lines where they do not replace one another.
const PLAIN: Duration = Duration::from_secs(10);

/// Shows the state on standard error: on a terminal a line that changes every second, elsewhere one every ten seconds.
pub(super) struct StateLine {
    is_quiet: bool,
    is_terminal: bool,
    /// When it was shown last, with frames and events then.
    shown: (Instant, u64, u64),
    told: Vec<(Cause, String)>,
}

impl StateLine {
    pub(super) fn new(is_quiet: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { is_quiet, is_terminal, shown: (Instant::now(), 0, 0), told: Vec::new() }
    }

    /// Shows it, if it is time to. What is wrong is said once.
    pub(super) fn show(&mut self, aggregation: &Aggregation) {
        let (since, frames, events) = self.shown;
        let every = if self.is_terminal { Duration::from_secs(1) } else { PLAIN };
        if since.elapsed() < every {
            return;
        }
        self.complain(&aggregation.complaints());
        let counters = aggregation.counters();
        let seconds = since.elapsed().as_secs_f64().max(1e-3);
        self.shown = (Instant::now(), counters.frames_sent, counters.events_sent);
        if self.is_quiet {
            return;
        }
        let rate = |now: u64, before: u64| scaled(now.saturating_sub(before) as f64 / seconds);
        let mut line = format!(
            "{} frames/s  {} events/s  {} frames sent  {} wait  {} late  {} early",
            rate(counters.frames_sent, frames),
            rate(counters.events_sent, events),
            grouped(counters.frames_sent),
            grouped(counters.frames_waiting),
            grouped(counters.messages_late + counters.messages_too_old),
            grouped(counters.frames_early),
        );
        if let Some(behind) = aggregation.behind().filter(|behind| *behind > 0) {
            let _ = write!(line, "  {} messages behind", grouped(behind));
        }
        if self.is_terminal {
            console::show_state(&line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Says what brokers are in the way, each once.
    pub(super) fn complain(&mut self, complaints: &[Complaint]) {
        for complaint in complaints.iter().filter(|complaint| !complaint.broker.is_empty()) {
            let known = (complaint.cause, complaint.broker.clone());
            if !self.told.contains(&known) && self.told.len() < 64 {
                eprintln!("evforge: waiting: {}", complaint.sentence());
                self.told.push(known);
            }
        }
    }

    /// Ends the line, so that another text can follow.
    pub(super) fn end(&self) {
        console::end_state();
    }
}

/// The report for people.
pub(super) fn to_text(aggregation: &Aggregation, to: &str) -> String {
    let counters = aggregation.counters();
    let mut text = format!(
        "read {} messages with {} events\nsent {} frames with {} events to {to}: {} messages, the last is #{}\n",
        grouped(counters.messages_read),
        grouped(counters.events_read),
        grouped(counters.frames_sent),
        grouped(counters.events_sent),
        grouped(counters.messages_sent),
        aggregation.last_id(),
    );
    // Writing to a string cannot fail.
    let mut put = |what: &str, count: u64, words: &str| {
        if count > 0 {
            let _ = writeln!(text, "{what:13} {} {words}", grouped(count));
        }
    };
    put("early", counters.frames_early, "frames left because there was no room for more");
    put("no metadata", counters.frames_without_metadata, "frames have no period or no charge");
    put("dropped", counters.frames_dropped, "of these were not sent");
    put("NOT SENT", counters.frames_waiting, "frames were not acknowledged: they are read again");
    put("deleted", counters.messages_deleted, "messages were gone before they were read");
    for (info, value) in CounterSnapshot::of(&counters).iter() {
        if matches!(info.role, Role::Discarded(_)) && info.name.starts_with("messages_") {
            let what = info.name.trim_start_matches("messages_").replace('_', " ");
            put("left out", value, &format!("messages: {what}"));
        }
    }
    if aggregation.refused().total() > 0 {
        let first = aggregation.first_refused().unwrap_or_default();
        let _ = writeln!(text, "refused       {}; the first: {first}", refused(aggregation.refused()));
    }
    text
}

/// The report for programs.
pub(super) fn to_json(aggregation: &Aggregation, settings: &AggregationSettings) -> Value {
    let counters: Map<String, Value> = CounterSnapshot::of(&aggregation.counters())
        .iter()
        .map(|(info, value)| (info.name.to_owned(), json!(value)))
        .collect();
    json!({
        "schema": 1,
        "evforge": env!("CARGO_PKG_VERSION"),
        "from": settings.from,
        "to": settings.to,
        "group": settings.group,
        "source": settings.source,
        "last_message_id": aggregation.last_id(),
        "messages_behind": aggregation.behind(),
        "notes": aggregation.notes(),
        "counters": counters,
        "refused": refused_json(aggregation.refused()),
        "first_refused": aggregation.first_refused(),
    })
}
