//! What of a topic is read: one grammar of where reading begins and ends, for all commands.

use clap::Args;
use evforge_config::TimeSpan;
use evforge_kafka::tools::forward::time_of;
use evforge_kafka::topic::{At, Begin, Until};
use evforge_net::clock::wall_clock_ns;

/// Where reading begins, as it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BeginAt {
    /// `oldest`
    Oldest,
    /// `newest`
    Newest,
    /// `last:10`
    Last(u64),
    /// `1200`
    Offset(i64),
    /// A date, or how long ago: in nanoseconds since 1970.
    Time(i64),
}

/// Where it ends, as it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndAt {
    /// `present`
    Present,
    /// `never`
    Never,
    /// `1200`
    Offset(i64),
    /// A date, or how long ago: in nanoseconds since 1970.
    Time(i64),
}

/// The options of commands that read topics.
#[derive(Args)]
pub(crate) struct SpanArguments {
    /// Begin with oldest, newest, last:10, an offset, a time, or how long ago (10min)
    #[arg(long, value_name = "PLACE", value_parser = begin_at, group = "begins")]
    begin: Option<BeginAt>,
    /// End with what is there now (present), never, or before an offset or a time
    #[arg(long, value_name = "PLACE", value_parser = end_at, group = "ends", help_heading = "End")]
    end: Option<EndAt>,
    #[arg(long, short = 'n', hide = true, value_name = "NUMBER", group = "begins")]
    last: Option<u64>,
    #[arg(long, hide = true, group = "begins")]
    oldest: bool,
    #[arg(long, hide = true, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(0..), group = "begins")]
    offset: Option<i64>,
    #[arg(long, hide = true, value_name = "TIME", value_parser = time_or_ago, group = "begins")]
    since: Option<i64>,
    #[arg(long, hide = true, group = "ends")]
    until_end: bool,
}

impl SpanArguments {
    /// Where reading begins; `otherwise` if nothing is said.
    pub(crate) fn begin(&self, otherwise: Begin) -> Begin {
        let older = [
            self.last.map(BeginAt::Last),
            self.oldest.then_some(BeginAt::Oldest),
            self.offset.map(BeginAt::Offset),
            self.since.map(BeginAt::Time),
        ];
        self.begin.or(older.into_iter().flatten().next()).map_or(otherwise, BeginAt::of_topic)
    }

    /// Where it ends; `otherwise` if nothing is said.
    pub(crate) fn until(&self, otherwise: Until) -> Until {
        let end = self.end.or(self.until_end.then_some(EndAt::Present));
        end.map_or(otherwise, EndAt::of_topic)
    }
}

impl BeginAt {
    /// For a topic.
    pub(crate) fn of_topic(self) -> Begin {
        match self {
            Self::Oldest => Begin::Oldest,
            Self::Newest => Begin::Newest,
            Self::Last(count) => Begin::Last(count),
            Self::Offset(offset) => Begin::Offset(offset),
            Self::Time(ns) => Begin::Since(ns / 1_000_000),
        }
    }
}

impl EndAt {
    /// For a topic.
    pub(crate) fn of_topic(self) -> Until {
        match self {
            Self::Present => Until::Present,
            Self::Never => Until::Forever,
            Self::Offset(offset) => Until::Before(At::Offset(offset)),
            Self::Time(ns) => Until::Before(At::Time(ns / 1_000_000)),
        }
    }
}

/// The time of this host, in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    i64::try_from(wall_clock_ns()).unwrap_or(i64::MAX)
}

/// A date, or how long ago, a bare number in seconds: in nanoseconds since 1970.
pub(crate) fn time_or_ago(text: &str) -> Result<i64, String> {
    if text.contains(['T', '-']) {
        return time_of(text);
    }
    let ago = TimeSpan::in_seconds(text)
        .map_err(|error| format!("{error}; or a date such as 2026-11-23T08:00:00Z"))?;
    let ago_ns = i64::try_from(ago.to_std().as_nanos()).unwrap_or(i64::MAX);
    Ok(now_ns().saturating_sub(ago_ns).max(0))
}

/// Reads where to begin.
pub(crate) fn begin_at(text: &str) -> Result<BeginAt, String> {
    let expected = "oldest, newest, last:10";
    match text.split_once(':') {
        Some(("last", count)) => count
            .parse()
            .map(BeginAt::Last)
            .map_err(|_| format!("`{count}` is no number of messages: expected last:10")),
        _ if text == "oldest" => Ok(BeginAt::Oldest),
        _ if text == "newest" => Ok(BeginAt::Newest),
        _ => match offset(text)? {
            Some(offset) => Ok(BeginAt::Offset(offset)),
            None => time(text, expected).map(BeginAt::Time),
        },
    }
}

/// Reads where to end.
pub(crate) fn end_at(text: &str) -> Result<EndAt, String> {
    match text {
        "present" => Ok(EndAt::Present),
        "never" => Ok(EndAt::Never),
        _ => match offset(text)? {
            Some(offset) => Ok(EndAt::Offset(offset)),
            None => time(text, "present, never").map(EndAt::Time),
        },
    }
}

/// A time, where one of these words, or an offset, could stand as well.
fn time(text: &str, words: &str) -> Result<i64, String> {
    let has_digits = text.starts_with(|letter: char| letter.is_ascii_digit());
    time_or_ago(text).map_err(|error| match has_digits {
        true => error,
        false => format!(
            "expected {words}, an offset (1200), a time (2026-11-23T08:00:00Z) or how long ago (10min), found `{text}`"
        ),
    })
}

/// The number of a message; none for what is no number.
fn offset(text: &str) -> Result<Option<i64>, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| format!("`{text}` is too large for an offset"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        span: SpanArguments,
    }

    fn span(words: &[&str]) -> Result<(Begin, Until), String> {
        let command =
            Command::try_parse_from([&["command"], words].concat()).map_err(|error| error.to_string())?;
        Ok((command.span.begin(Begin::Newest), command.span.until(Until::Forever)))
    }

    #[test]
    fn one_grammar_says_where_reading_begins_and_ends() {
        const EIGHT: i64 = 1_795_420_800_000;
        for (begin, expected) in [
            ("oldest", Begin::Oldest),
            ("newest", Begin::Newest),
            ("last:3", Begin::Last(3)),
            ("1200", Begin::Offset(1200)),
            ("2026-11-23T09:00:00+01:00", Begin::Since(EIGHT)),
        ] {
            assert_eq!(span(&["--begin", begin]), Ok((expected, Until::Forever)), "{begin}");
        }
        for (end, expected) in [
            ("present", Until::Present),
            ("never", Until::Forever),
            ("1200", Until::Before(At::Offset(1200))),
            ("2026-11-23T08:00:00Z", Until::Before(At::Time(EIGHT))),
        ] {
            assert_eq!(span(&["--end", end]), Ok((Begin::Newest, expected)), "{end}");
        }
        let Ok((Begin::Since(ms), _)) = span(&["--begin", "10min"]) else { panic!("10 minutes ago") };
        let ago_s = now_ns() / 1_000_000_000 - ms / 1000;
        assert!((600..660).contains(&ago_s), "{ago_s} s ago");
        for wrong in ["yesterday", "last:x", "", "-5", "99999999999999999999", "2026-13-01T00:00:00Z"] {
            assert!(span(&["--begin", wrong]).is_err() && span(&["--end", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_said_before_is_understood() {
        for (old, new) in [
            (&["--oldest", "--until-end"][..], &["--begin", "oldest", "--end", "present"][..]),
            (&["-n", "3"], &["--begin", "last:3"]),
            (&["--last", "3"], &["--begin", "last:3"]),
            (&["--offset", "7"], &["--begin", "7"]),
            (&["--since", "2026-11-23T08:00:00Z"], &["--begin", "2026-11-23T08:00:00Z"]),
        ] {
            assert_eq!(span(old), span(new), "{old:?}");
            assert!(span(old).is_ok(), "{old:?}");
        }
        assert!(
            span(&["--oldest", "--begin", "newest"]).is_err()
                && span(&["--until-end", "--end", "5"]).is_err()
        );
    }

    #[test]
    fn times_are_dates_or_ago() {
        assert_eq!(time_or_ago("1970-01-01T00:00:02Z"), Ok(2_000_000_000));
        assert!(time_or_ago("10min").is_ok());
        assert!(time_or_ago("soon").unwrap_err().contains("2026-11-23T08:00:00Z"));
        assert!(time_or_ago("2026-13-01T00:00:00Z").unwrap_err().contains("no time"));
    }
}
