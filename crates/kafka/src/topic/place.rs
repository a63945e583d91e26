//! Where reading a topic begins and ends.

use super::partition::Place;
use super::state::TopicState;
use crate::client::{Cause, ClientError, Consumer, Deadline, first_since};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begin {
    /// With the oldest message that is kept.
    Oldest,
    /// With the next message that comes.
    Newest,
    /// With the newest N of each partition.
    Last(u64),
    /// With this number, in each partition.
    Offset(i64),
    /// With the first message that Kafka has from this time on, in milliseconds since 1970.
    Since(i64),
}

/// A message of each partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// With this number.
    Offset(i64),
    /// The first that Kafka has from this time on, in milliseconds since 1970.
    Time(i64),
}

/// Where reading ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Nowhere.
    Forever,
    /// With the last message that is there when reading begins.
    Present,
    /// Before this message, which may be to come.
    Before(At),
    /// Before this message, or with the last one that is there when reading begins.
    PresentBefore(At),
}

impl Until {
    /// True if messages are read that come later.
    pub fn waits(self) -> bool {
        matches!(self, Self::Forever | Self::Before(_))
    }

    fn before(self) -> Option<At> {
        match self {
            Self::Before(at) | Self::PresentBefore(at) => Some(at),
            Self::Forever | Self::Present => None,
        }
    }
}

/// Both, as they stand behind the name of a topic.
pub(crate) fn described(begin: Begin, until: Until) -> String {
    let begin = match begin {
        Begin::Oldest => String::new(),
        Begin::Newest => " that come from now on".to_owned(),
        Begin::Last(count) => format!(" among the newest {count}"),
        Begin::Offset(offset) => format!(" from {} on", At::Offset(offset)),
        Begin::Since(ms) => format!(" from {} on", At::Time(ms)),
    };
    begin + &until.before().map(|at| format!(" before {at}")).unwrap_or_default()
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(offset) => write!(f, "offset {offset}"),
            Self::Time(ms) => match Timestamp::from_millisecond(*ms) {
                Ok(time) => write!(f, "{time}"),
                Err(_) => write!(f, "{ms} ms since 1970"),
            },
        }
    }
}

/// Where the partitions of a topic, which is the one of this place in a list, are begun and end.
///
/// # Errors
/// If the brokers do not say what they have from a time on, or have nothing at this place.
pub fn places(
    consumer: &Consumer,
    (topic, name): (usize, &str),
    state: &TopicState,
    (begin, until): (Begin, Until),
    deadline: &Deadline,
) -> Result<Vec<Place>, ClientError> {
    // After the ends: a message that comes in between is read.
    let first_at = |ms: Option<i64>| match ms {
        Some(ms) => {
            let all: Vec<_> = state.ends.iter().map(|(number, ..)| (name, *number)).collect();
            first_since(consumer, &all, ms, &deadline.of_an_answer())
        }
        None => Ok(vec![None; state.ends.len()]),
    };
    let begins = first_at(match begin {
        Begin::Since(ms) => Some(ms),
        _ => None,
    })?;
    let until_ms = until.before().and_then(|at| match at {
        At::Time(ms) => Some(ms),
        At::Offset(_) => None,
    });
    let ends = first_at(until_ms)?;
    let mut places = Vec::with_capacity(state.ends.len());
    for (&(number, low, high), (begin_at, end_at)) in state.ends.iter().zip(begins.into_iter().zip(ends)) {
        if let Begin::Offset(offset) = begin
            && !(low..=high).contains(&offset)
        {
            return Err(ClientError::new(
                Cause::Other,
                format!(
                    "partition {number} of {name} has no message {offset}: it keeps {low} to {}",
                    high - 1
                ),
            ));
        }
        let first = first_of(begin, (low, high), begin_at);
        let end = end_of(until, high, end_at).map(|end| end.max(first));
        let until_ms = until_ms.filter(|_| until.waits() && end.is_none());
        places.push(Place { topic, number, low, high, id: state.id, first, end, until_ms });
    }
    Ok(places)
}

/// The first message that is read of a partition that keeps these, where `at` is the first one of the time to begin with.
fn first_of(begin: Begin, (low, high): (i64, i64), at: Option<i64>) -> i64 {
    match begin {
        Begin::Oldest => low,
        Begin::Newest => high,
        Begin::Last(count) => high.saturating_sub(i64::try_from(count).unwrap_or(i64::MAX)).max(low),
        Begin::Offset(offset) => offset,
        Begin::Since(_) => at.unwrap_or(high),
    }
}

/// The first message that is not read any more, where `at` is the first one of the time to end with. None if that is not known yet.
fn end_of(until: Until, high: i64, at: Option<i64>) -> Option<i64> {
    match until {
        Until::Forever => None,
        Until::Present => Some(high),
        Until::Before(At::Offset(offset)) => Some(offset),
        Until::Before(At::Time(_)) => at,
        Until::PresentBefore(At::Offset(offset)) => Some(offset.min(high)),
        Until::PresentBefore(At::Time(_)) => Some(at.unwrap_or(high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_read_from_what_it_has_to_what_it_has_or_gets() {
        let ends = (10, 20);
        for (begin, at, expected) in [
            (Begin::Oldest, None, 10),
            (Begin::Newest, None, 20),
            (Begin::Last(3), None, 17),
            (Begin::Last(30), None, 10),
            (Begin::Offset(12), None, 12),
            (Begin::Offset(20), None, 20),
            (Begin::Since(5), Some(13), 13),
            (Begin::Since(5), None, 20),
        ] {
            assert_eq!(first_of(begin, ends, at), expected, "{begin:?}");
        }
        let (offset, time) = (At::Offset, At::Time(5));
        for (until, at, expected) in [
            (Until::Forever, None, None),
            (Until::Present, None, Some(20)),
            (Until::Before(offset(14)), None, Some(14)),
            (Until::Before(offset(25)), None, Some(25)),
            (Until::Before(time), Some(17), Some(17)),
            (Until::Before(time), None, None),
            (Until::PresentBefore(offset(25)), None, Some(20)),
            (Until::PresentBefore(offset(14)), None, Some(14)),
            (Until::PresentBefore(time), Some(17), Some(17)),
            (Until::PresentBefore(time), None, Some(20)),
        ] {
            assert_eq!(end_of(until, 20, at), expected, "{until:?}");
        }
    }

    #[test]
    fn both_are_said_in_words() {
        let until = Until::Before(At::Time(1_795_420_800_000));
        assert_eq!(described(Begin::Offset(7), until), " from offset 7 on before 2026-11-23T08:00:00Z");
        assert_eq!(described(Begin::Oldest, Until::Present), "");
    }
}
