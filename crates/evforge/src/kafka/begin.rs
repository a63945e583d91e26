//! Where reading a topic begins.

use clap::Args;
use evforge_config::TimeSpan;
use evforge_kafka::tools::forward::time_of;
use evforge_kafka::topic::Begin;
use evforge_net::clock::wall_clock_ns;

/// The place to begin with.
#[derive(Args)]
#[group(id = "begin", multiple = false)]
pub(crate) struct BeginArguments {
    /// Begin with the newest N messages of each partition
    #[arg(long, short = 'n', value_name = "NUMBER")]
    last: Option<u64>,
    /// Begin with the oldest message that is kept
    #[arg(long)]
    oldest: bool,
    /// Begin with this offset, in each partition
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(0..), help_heading = "Begin")]
    offset: Option<i64>,
    /// Begin with what came from this time on: a date (2026-11-23T08:00:00Z), or how long ago (60, 10min, 2h)
    #[arg(long, value_name = "TIME", value_parser = since, help_heading = "Begin")]
    since: Option<Since>,
}

/// A time, or how long ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    Time(i64),
    Ago(TimeSpan),
}

impl BeginArguments {
    /// The place; `otherwise` if none was asked for.
    pub(crate) fn place(&self, otherwise: Begin) -> Begin {
        match (self.last, self.oldest, self.offset, self.since) {
            (Some(count), ..) => Begin::Last(count),
            (_, true, ..) => Begin::Oldest,
            (_, _, Some(offset), _) => Begin::Offset(offset),
            (.., Some(Since::Time(ns))) => Begin::Since(ns / 1_000_000),
            (.., Some(Since::Ago(span))) => {
                let ago = i64::try_from(span.to_std().as_millis()).unwrap_or(i64::MAX);
                Begin::Since((now_ns() / 1_000_000).saturating_sub(ago).max(0))
            }
            _ => otherwise,
        }
    }
}

/// The time of this host, in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    i64::try_from(wall_clock_ns()).unwrap_or(i64::MAX)
}

pub(crate) fn since(text: &str) -> Result<Since, String> {
    if text.contains(['T', '-']) {
        return time_of(text).map(Since::Time);
    }
    TimeSpan::in_seconds(text)
        .map(Since::Ago)
        .map_err(|error| format!("{error}; or a date such as 2026-11-23T08:00:00Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_or_ago() {
        assert_eq!(since("1970-01-01T00:00:02Z"), Ok(Since::Time(2_000_000_000)));
        assert_eq!(since("10min").map(|_| ()), Ok(()));
        assert!(since("soon").unwrap_err().contains("2026-11-23T08:00:00Z"));
        assert!(since("2026-13-01T00:00:00Z").unwrap_err().contains("no time"));
    }
}
