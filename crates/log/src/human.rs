//! What people see: sentences, one below the other.

use crate::group::Level;
use crate::record::{Record, Severity};
use serde_json::Value;
use std::fmt::Write as _;

/// Characters of one message on a terminal.
const MOST: usize = 16 << 10;

/// The line, or lines, that a message is on a terminal, with the end of the last one. Nothing in it does anything to a terminal,
/// and nothing but a message begins at the begin of a line.
pub fn to_text(record: &Record) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match (&record.lead, record.severity) {
        (Some(lead), _) if lead.is_empty() => Ok(()),
        (Some(lead), _) => write!(text, "{}: ", harmless(lead)),
        (None, Severity::Error) => write!(text, "evforge: "),
        (None, Severity::Warning) => write!(text, "warning: "),
        (None, Severity::Notice) => write!(text, "evforge: "),
        (None, Severity::Informational) => Ok(()),
        (None, Severity::Debug) => write!(text, "{} {}: ", record.level, record.group.name()),
    };
    text.push_str(&harmless(record.message.trim_end()));
    if record.level >= Level::Debug {
        for (name, value) in &record.fields {
            let _ = match value {
                Value::String(value) => write!(text, " {name}={}", harmless(value)),
                value => write!(text, " {name}={value}"),
            };
        }
    }
    text.push('\n');
    text
}

/// Text without what a terminal obeys; further lines are moved in.
fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(MOST));
    for (number, c) in text.chars().enumerate() {
        if number == MOST {
            let _ = write!(shown, " … ({} bytes in all)", text.len());
            break;
        }
        match c {
            '\n' => shown.push_str("\n    "),
            '\t' => shown.push('\t'),
            // Marks that turn the direction of writing can make a line look like another.
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown.push('·'),
            c if c.is_control() => shown.push('·'),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;

    fn text(severity: Severity, message: &str) -> String {
        to_text(&Record::new(severity, Group::Parse, message))
    }

    #[test]
    fn sentences_have_the_word_of_their_severity() {
        assert_eq!(text(Severity::Error, "it failed"), "evforge: it failed\n");
        assert_eq!(text(Severity::Warning, "it may fail"), "warning: it may fail\n");
        assert_eq!(text(Severity::Notice, "it was changed"), "evforge: it was changed\n");
        assert_eq!(text(Severity::Informational, "it began"), "it began\n");
        let mut record = Record::new(Severity::Debug, Group::Parse, "a packet");
        record.fields = vec![("bytes", 17.into()), ("why", "short\u{1b}[2J".into())];
        assert_eq!(to_text(&record), "debug parse: a packet bytes=17 why=short·[2J\n");
        record.lead = Some("note".into());
        record.level = Level::Info;
        assert_eq!(to_text(&record), "note: a packet\n");
    }

    #[test]
    fn nothing_reaches_a_terminal_that_it_obeys_and_no_line_is_made_up() {
        let hostile = "a\u{1b}]0;title\u{7}\r\u{9b}2J\nevforge: made up\u{202e}\u{0}\u{7f}";
        let shown = text(Severity::Informational, hostile);
        assert_eq!(shown, "a·]0;title···2J\n    evforge: made up···\n");
        assert!(text(Severity::Error, &"x".repeat(1 << 20)).len() < 17 << 10);
    }
}
