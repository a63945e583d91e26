//! How parts of a message are shown to people.

use crate::column::{Column, Element};
use std::fmt;

/// A text from elsewhere, on one line: characters that steer a terminal are escaped, and a long one is cut.
pub(crate) struct Text<'a>(pub(crate) &'a str);

const LONGEST: usize = 80;

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for (count, letter) in self.0.chars().enumerate() {
            if count == LONGEST {
                return f.write_char('…');
            }
            match letter {
                '"' | '\'' => f.write_char(letter)?,
                letter => write!(f, "{}", letter.escape_debug())?,
            }
        }
        Ok(())
    }
}

/// A text that may be absent.
pub(crate) struct TextIf<'a>(pub(crate) Option<&'a str>);

impl fmt::Display for TextIf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(text) => Text(text).fmt(f),
            None => f.write_str("(no name)"),
        }
    }
}

/// A time in nanoseconds since 1970.
pub(crate) struct Time(pub(crate) Option<i64>);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.map(|ns| jiff::Timestamp::from_nanosecond(ns.into())) {
            Some(Ok(time)) => write!(f, "{time:.9}"),
            Some(Err(_)) | None => f.write_str("(no time)"),
        }
    }
}

/// The first values of a column, and how many there are.
pub(crate) struct Values<'a, T>(pub(crate) Column<'a, T>);

const SHOWN: usize = 8;

impl<T: Element> fmt::Display for Values<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (place, value) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{value}", if place > 0 { " " } else { "" })?;
        }
        f.write_str(if self.0.len() > SHOWN { " …]" } else { "]" })
    }
}

/// "1 event", "2 events".
pub(crate) struct Count(pub(crate) usize, pub(crate) &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}
