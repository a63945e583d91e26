//! Which time of data belongs to a file, and which messages are read for it.

use crate::CommandError;
use crate::arguments::span::{BeginAt, EndAt, begin_at, end_at, now_ns};
use clap::Args;
use evforge_config::TimeSpan;
use evforge_filewriter::job::{Begin, Until, Window};
use std::time::Duration;

/// The run: its beginning and its end.
#[derive(Args)]
pub(super) struct StartArguments {
    /// The run begins at this time of the data: a date (2026-11-23T08:00:00Z), how long ago (10min), or with all that the topics have
    /// (oldest); now unless given
    #[arg(long, value_name = "PLACE", value_parser = begin_at, alias = "start", help_heading = "Run")]
    begin: Option<BeginAt>,
    /// It ends at this time, or with what the topics have at this moment (present); without it, with Ctrl-C
    #[arg(long, value_name = "PLACE", value_parser = end_at, alias = "stop", conflicts_with = "ends_after", help_heading = "Run")]
    end: Option<EndAt>,
    /// It ends so long after its start (60, 90s, 2h)
    #[arg(long = "for", id = "ends_after", value_name = "TIME", value_parser = TimeSpan::in_seconds, help_heading = "Run")]
    ends_after: Option<TimeSpan>,
    #[arg(long, hide = true, conflicts_with_all = ["begin", "end", "ends_after"])]
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
    /// If it would end before it begins, or is to begin or end with an offset: topics have their own.
    pub(super) fn run(&self) -> Result<Run, CommandError> {
        let leeway_after_s = self.after.to_std().as_secs_f64();
        let (begin, end) = match self.all {
            true => (Some(BeginAt::Oldest), Some(EndAt::Present)),
            false => (self.begin, self.end),
        };
        let (start_ns, begin) = match begin {
            Some(BeginAt::Oldest) => (0, Begin::Oldest),
            Some(BeginAt::Time(ns)) => (ns, self.read_from(ns)),
            None | Some(BeginAt::Newest) => {
                let now = now_ns();
                (now, self.read_from(now))
            }
            Some(BeginAt::Last(_) | BeginAt::Offset(_)) => {
                return Err(
                    "--begin of a file is a time, how long ago, oldest or newest: offsets are of one topic"
                        .into(),
                );
            }
        };
        let of_duration = self.ends_after.map(|span| start_ns.saturating_add(nanoseconds(span)));
        let (stop_ns, until) = match end {
            Some(EndAt::Present) => (None, Until::Present),
            Some(EndAt::Time(ns)) => (Some(ns), Until::Stop),
            None | Some(EndAt::Never) => (of_duration, Until::Stop),
            Some(EndAt::Offset(_)) => {
                return Err("--end of a file is a time, present or never: offsets are of one topic".into());
            }
        };
        if stop_ns.is_some_and(|stop| stop < start_ns) {
            return Err("the run ends before it begins: --end must not be before --begin".into());
        }
        Ok(Run { window: Window { start_ns, stop_ns }, begin, until, leeway_after_s })
    }

    /// Where messages are read for what begins at this time.
    fn read_from(&self, start_ns: i64) -> Begin {
        Begin::Since(start_ns.saturating_sub(nanoseconds(self.before)).max(0) / 1_000_000)
    }
}

fn nanoseconds(span: TimeSpan) -> i64 {
    i64::try_from(span.to_std().as_nanos()).unwrap_or(i64::MAX)
}
