//! What is said of a file while it is written, for people and for programs.

use evforge_core::counter::CounterSnapshot;
use evforge_core::printable::printable;
use evforge_filewriter::job::{JobEnd, Phase, Progress};
use evforge_log::console;
use evforge_pipeline::report::{grouped, scaled};
use serde_json::{Map, Value, json};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between lines where they do not replace one another.
const PLAIN: Duration = Duration::from_secs(5);
/// Names of sources that are shown.
const SHOWN: usize = 5;

/// Shows how far a file is, on standard error.
pub(super) struct ProgressLine {
    is_quiet: bool,
    is_terminal: bool,
    shown: Option<Instant>,
    last: Option<(Instant, u64, u64)>,
    told: Vec<String>,
}

impl ProgressLine {
    pub(super) fn new(is_quiet: bool) -> Self {
        Self {
            is_quiet,
            is_terminal: std::io::stderr().is_terminal(),
            shown: None,
            last: None,
            told: Vec::new(),
        }
    }

    /// Shows it, if it is time to. What is wrong is said once.
    pub(super) fn show(&mut self, progress: &Progress) {
        let mut wrong: Vec<String> =
            progress.complaints.iter().map(|what| format!("waiting: {what}")).collect();
        if let Phase::WaitsForDisk(why) = &progress.phase {
            wrong.push(format!("waiting: {why}. It continues when there is room"));
        }
        wrong.extend(progress.set_aside.iter().map(|(path, why)| {
            format!(
                "{} was set aside ({why}); the file is written again from its first messages",
                path.display()
            )
        }));
        wrong.extend(progress.changes.iter().map(ToString::to_string));
        for what in wrong {
            let without_numbers = what.replace(|letter: char| letter.is_ascii_digit(), "");
            if !self.told.contains(&without_numbers) {
                tracing::warn!(target: evforge_log::group::FILE, lead = "evforge", "{what}");
                self.told.push(without_numbers);
            }
        }
        let every = if self.is_terminal { Duration::from_millis(500) } else { PLAIN };
        if self.is_quiet || self.shown.is_some_and(|shown| shown.elapsed() < every) {
            return;
        }
        let line = self.line(progress);
        self.shown = Some(Instant::now());
        if self.is_terminal {
            console::show_state(&line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Ends the line, so that another text can follow.
    pub(super) fn end_line(&self) {
        console::end_state();
    }

    fn line(&mut self, progress: &Progress) -> String {
        let counters = &progress.counters;
        let now = (Instant::now(), counters.messages_read, counters.bytes_read);
        let rate = self.last.replace(now).map(|(since, messages, bytes)| {
            let seconds = since.elapsed().as_secs_f64().max(1e-3);
            let per_second = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
            (per_second(now.1, messages), per_second(now.2, bytes))
        });
        let mut line = format!(
            "{}: {} messages, {} events, {:.1} MB",
            progress.phase.name(),
            grouped(counters.messages_read),
            grouped(counters.events_written),
            progress.file_bytes as f64 * 1e-6
        );
        if let Some((messages, bytes)) = rate {
            line.push_str(&format!(", {} messages/s, {:.1} MB/s", scaled(messages), bytes * 1e-6));
            if let Some(lag) = progress.lag.filter(|lag| *lag > 0) {
                line.push_str(&format!(", {} behind", grouped(lag)));
                if messages > 0.0 {
                    line.push_str(&format!(" (about {:.0} s)", lag as f64 / messages));
                }
            }
        }
        if counters.events_late > 0 {
            line.push_str(&format!("; {} events late", grouped(counters.events_late)));
        }
        line + &never_came(progress)
    }
}

/// Sources that have not come.
fn never_came(progress: &Progress) -> String {
    let sources = &progress.never_came;
    if sources.is_empty() {
        return String::new();
    }
    let names: Vec<String> = sources.iter().take(SHOWN).map(|(_, source)| name(source)).collect();
    let more =
        if sources.len() > SHOWN { format!(" and {} more", sources.len() - SHOWN) } else { String::new() };
    format!("; nothing yet from {}{more}", names.join(", "))
}

/// The name of a source, which others have chosen, as people see it.
fn name(source: &str) -> String {
    printable(source, 80)
}

/// The state, for programs.
pub(super) fn to_json(progress: &Progress) -> Value {
    let snapshot = CounterSnapshot::of(&progress.counters);
    let counters: Map<String, Value> =
        snapshot.iter().map(|(info, value)| (info.name.to_owned(), json!(value))).collect();
    json!({
        "state": progress.phase.name(),
        "file": progress.file,
        "file_bytes": progress.file_bytes,
        "counters": counters,
        "newest_time": progress.newest_ns,
        "messages_behind": progress.lag,
        "never_came": progress.never_came.iter().map(|(topic, source)| json!({"topic": topic, "source": source})).collect::<Vec<_>>(),
        "waiting": match &progress.phase { Phase::WaitsForDisk(why) => Some(why), _ => None },
        "brokers": progress.complaints,
        "topics": progress.changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// The report at the end, for people.
pub(super) fn to_text(end: &JobEnd) -> String {
    let Progress { phase, file, file_bytes, counters, .. } = &end.progress;
    let mut text = String::new();
    let state = match phase {
        Phase::Complete => format!(
            "{} ({:.1} MB), read-only, with its checksum in {}.sha256",
            file.display(),
            *file_bytes as f64 * 1e-6,
            file.display()
        ),
        Phase::Aborted => format!("aborted: what there is is in {}", file.display()),
        Phase::Failed(why) => format!("FAILED: {why}"),
        other => other.name().to_owned(),
    };
    text.push_str(&format!("file          {state}\n"));
    let left_out: Vec<String> = CounterSnapshot::of(counters)
        .iter()
        .filter(|(info, value)| matches!(info.role, evforge_core::counter::Role::Discarded(_)) && *value > 0)
        .map(|(info, value)| {
            format!("{} {}", grouped(value), info.name.replacen("messages_", "", 1).replace('_', " "))
        })
        .collect();
    let and =
        if left_out.is_empty() { String::new() } else { format!(", left out: {}", left_out.join(", ")) };
    let read = counters.messages_read + counters.messages_shared;
    text.push_str(&format!(
        "messages      {} read = {} written{and}\n",
        grouped(read),
        grouped(counters.messages_written)
    ));
    text.push_str(&format!("events        {}\n", grouped(counters.events_written)));
    if counters.messages_removed > 0 {
        text.push_str(&format!(
            "ALARM         {} messages had been removed by the brokers before they were read\n",
            grouped(counters.messages_removed)
        ));
    }
    if counters.events_late > 0 {
        text.push_str(&format!(
            "ALARM         {} events are in events_late of their group: they came after events of a later pulse. A source is more \
             than 5 s behind the others, or its clock went back\n",
            grouped(counters.events_late)
        ));
    }
    for change in &end.progress.changes {
        let lead = if change.what.is_loss() { "ALARM" } else { "topics" };
        text.push_str(&format!("{lead:<14}{change}\n"));
    }
    for (topic, source) in &end.progress.never_came {
        text.push_str(&format!("ALARM         nothing came from {} in {topic}\n", name(source)));
    }
    for gap in &end.gaps {
        let source = usize::try_from(gap.source).ok().and_then(|place| end.sources.get(place));
        let name = source.map(|row| name(&row.source)).unwrap_or_default();
        let seconds = (gap.times[1] - gap.times[0]) as f64 * 1e-9;
        let what = if gap.messages >= 0 {
            format!(
                "{} messages missing between {} and {}",
                grouped(gap.messages.unsigned_abs()),
                gap.ids[0],
                gap.ids[1]
            )
        } else if gap.pulses < 0 {
            format!(
                "messages may be missing between {} and {}: the last number is far from all others",
                gap.ids[0], gap.ids[1]
            )
        } else {
            format!(
                "silent for {seconds:.1} s, in which others had {} pulses",
                grouped(gap.pulses.unsigned_abs())
            )
        };
        text.push_str(&format!("ALARM         {name}: {what}\n"));
    }
    for (reason, times, first) in &end.refused {
        let what = reason.replace('_', " ");
        text.push_str(&format!("refused       {} {what}: {}\n", grouped(*times), printable(first, 200)));
    }
    for what in &end.not_written {
        text.push_str(&format!("not written   {}\n", printable(what, 200)));
    }
    if counters.restarts > 0 {
        text.push_str(&format!("restarts      {}\n", counters.restarts));
    }
    let whole =
        if end.is_whole() { "yes: no source is missing, no number, no message" } else { "no: see above" };
    if matches!(phase, Phase::Complete) {
        text.push_str(&format!("complete      {whole}\n"));
    }
    text
}
