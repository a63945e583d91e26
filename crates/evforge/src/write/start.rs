//! Which time of data belongs to a file, and which messages are read for it.

use crate::CommandError;
use crate::kafka::begin::{Since, now_ns, since};
use clap::Args;
use evforge_config::TimeSpan;
use evforge_filewriter::job::{Begin, Until, Window};
use std::time::Duration;

/// The run: its beginning and its end.
#[derive(Args)]
pub(super) struct StartArguments {
    /// The run begins at this time of the data: a date (2026-11-23T08:00:00Z), or how long ago (10min); now unless given
    #[arg(long, value_name = "TIME", value_parser = since, help_heading = "Run")]
    start: Option<Since>,
    /// It ends at this time; without it, with Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = since, conflicts_with = "ends_after", help_heading = "Run")]
    stop: Option<Since>,
    /// It ends so long after its start (60, 90s, 2h)
    #[arg(long = "for", id = "ends_after", value_name = "TIME", value_parser = TimeSpan::in_seconds, help_heading = "Run")]
    ends_after: Option<TimeSpan>,
    /// Everything that the topics have at this moment, whatever its time
    #[arg(long, conflicts_with_all = ["start", "stop", "ends_after"], help_heading = "Run")]
    all: bool,
    /// Read messages from so long before the start on: the newest value of a log from before the start is written
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::in_seconds, help_heading = "Run")]
    before: TimeSpan,
    /// Read messages until so long after the end: for those that come late
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::in_seconds, help_heading = "Run")]
    after: TimeSpan,
}

/// What follows from it.
pub(super) struct Run {
    pub(super) window: Window,
    pub(super) begin: Begin,
    pub(super) until: Until,
    pub(super) leeway_after_s: f64,
}

impl StartArguments {
    /// How long before and after a run messages of it may come.
    pub(super) fn leeways(&self) -> (Duration, Duration) {
        (self.before.to_std(), self.after.to_std())
    }

    /// The run.
    ///
    /// # Errors
    /// If it would end before it begins.
    pub(super) fn run(&self) -> Result<Run, CommandError> {
        let leeway_after_s = self.after.to_std().as_secs_f64();
        if self.all {
            let window = Window { start_ns: 0, stop_ns: None };
            return Ok(Run { window, begin: Begin::Oldest, until: Until::Present, leeway_after_s });
        }
        let now = now_ns();
        let at = |since: Since| match since {
            Since::Time(ns) => ns,
            Since::Ago(span) => now.saturating_sub(nanoseconds(span)),
        };
        let start_ns = self.start.map_or(now, at);
        let stop_ns =
            self.stop.map(at).or(self.ends_after.map(|span| start_ns.saturating_add(nanoseconds(span))));
        if stop_ns.is_some_and(|stop| stop < start_ns) {
            return Err("the run ends before it begins: --stop must not be before --start".into());
        }
        let begin = Begin::Since(start_ns.saturating_sub(nanoseconds(self.before)).max(0) / 1_000_000);
        Ok(Run { window: Window { start_ns, stop_ns }, begin, until: Until::Stop, leeway_after_s })
    }
}

fn nanoseconds(span: TimeSpan) -> i64 {
    i64::try_from(span.to_std().as_nanos()).unwrap_or(i64::MAX)
}
