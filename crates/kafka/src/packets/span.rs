//! What of a topic is read: from where, to where.

use jiff::Timestamp;
use std::fmt;
use std::str::FromStr;

/// A place in a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The message with this offset, in each partition.
    Offset(i64),
    /// The first message that was written at this time or later, in milliseconds since 1970.
    Time(i64),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let offset = text.parse().map_err(|_| format!("`{text}` is too large for an offset"))?;
            return Ok(Self::Offset(offset));
        }
        let time: Timestamp = text.parse().map_err(|_| {
            format!(
                "`{text}` is neither the offset of a message (1200) nor a time with its zone (2026-11-23T08:00:00Z, \
                 2026-11-23T09:00:00+01:00)"
            )
        })?;
        Ok(Self::Time(time.as_millisecond()))
    }
}

impl fmt::Display for Place {
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

/// What of a topic is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first message; without it, the oldest that is there.
    pub from: Option<Place>,
    /// The first message that is not read any more; without it, what is there at the start is read, and nothing that comes later.
    pub to: Option<Place>,
    /// Reads on what comes, until it is stopped.
    pub follows: bool,
}

/// The offsets of a partition: those that are there, and those at the two times that a span may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offsets {
    pub(super) low: i64,
    pub(super) high: i64,
    /// The first message at the time `from`, and at the time `to`.
    pub(super) at_from: i64,
    pub(super) at_to: i64,
}

impl Span {
    /// The first message to read in a partition, and the first one not to read.
    pub(super) fn of(&self, offsets: &Offsets) -> (i64, Option<i64>) {
        let Offsets { low, high, at_from, at_to } = *offsets;
        let from = match self.from {
            None => low,
            Some(Place::Offset(offset)) => offset.clamp(low, high),
            Some(Place::Time(_)) => at_from.clamp(low, high),
        };
        let to = match self.to {
            None if self.follows => return (from, None),
            None => high,
            // With what follows, the end may not be there yet.
            Some(Place::Offset(offset)) if self.follows => offset,
            Some(Place::Offset(offset)) => offset.min(high),
            // The messages of that time are still to come.
            Some(Place::Time(_)) if self.follows && at_to >= high => return (from, None),
            Some(Place::Time(_)) => at_to.min(high),
        };
        (from, Some(to.max(from)))
    }

    /// The time of the first message that is not read any more, where that may still be to come.
    pub(super) fn until_ms(&self) -> Option<i64> {
        match self.to {
            Some(Place::Time(ms)) if self.follows => Some(ms),
            _ => None,
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from.map(|from| format!(" from {from} on"));
        let to = self.to.map(|to| format!(" before {to}"));
        write!(f, "{}{}", from.unwrap_or_default(), to.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_times_are_told_apart() {
        assert_eq!("1200".parse(), Ok(Place::Offset(1200)));
        assert_eq!("2026-11-23T09:00:00+01:00".parse(), Ok(Place::Time(1_795_420_800_000)));
        for text in ["", "-5", "yesterday", "2026-11-23", "2026-11-23T08:00:00", "99999999999999999999"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
        let span = Span { from: "7".parse().ok(), to: "2026-11-23T08:00:00Z".parse().ok(), follows: false };
        assert_eq!(span.to_string(), " from offset 7 on before 2026-11-23T08:00:00Z");
    }

    #[test]
    fn what_is_not_there_is_not_read() {
        let offsets = Offsets { low: 10, high: 20, at_from: 13, at_to: 17 };
        let time = Some(Place::Time(5));
        let offset = |offset| Some(Place::Offset(offset));
        for (from, to, follows, expected) in [
            (None, None, false, (10, Some(20))),
            (None, None, true, (10, None)),
            (offset(3), offset(30), false, (10, Some(20))),
            (offset(12), offset(14), false, (12, Some(14))),
            (offset(15), offset(14), false, (15, Some(15))),
            (offset(25), None, false, (20, Some(20))),
            (time, time, false, (13, Some(17))),
            (None, offset(25), true, (10, Some(25))),
            (None, time, true, (10, Some(17))),
        ] {
            assert_eq!(Span { from, to, follows }.of(&offsets), expected, "{from:?} {to:?}");
        }
        let to_come = Span { from: None, to: time, follows: true };
        assert_eq!(to_come.of(&Offsets { at_to: 20, ..offsets }), (10, None));
        assert_eq!((to_come.until_ms(), Span { follows: false, ..to_come }.until_ms()), (Some(5), None));
    }
}
