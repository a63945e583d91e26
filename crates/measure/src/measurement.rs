//! What a measurement has found, and all that somebody needs who repeats it.

use crate::error::MeasureError;
use crate::fingerprint::Fingerprint;
use crate::plot::Plot;
use crate::table::{Table, is_file_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Tables and plots that a result can have at most.
const MOST: usize = 200;

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Which measurement: `link`, `sweep` …, the name of its command. Only results of the same kind are compared.
    pub kind: String,
    /// What is above the report.
    pub title: String,
    /// The result in one sentence.
    pub verdict: Verdict,
    /// The command line, program first.
    pub command: Vec<String>,
    /// When it began: UTC, `2026-11-24T10:55:31Z`.
    pub began: String,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was asked for: speeds, sizes, times.
    pub settings: Vec<Setting>,
    /// What was found, a sentence each, the most important one first.
    pub findings: Vec<String>,
    /// What this setting cannot show, a sentence each.
    pub limits: Vec<String>,
    /// The figures.
    pub tables: Vec<Table>,
    /// The same as pictures.
    pub plots: Vec<Plot>,
    /// What the result depends on.
    pub fingerprint: Fingerprint,
}

/// The result in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Everything that was to be shown was shown.
    pub is_good: bool,
    /// The sentence.
    pub sentence: String,
}

impl Verdict {
    /// Everything that was to be shown was shown.
    pub fn good(sentence: impl Into<String>) -> Self {
        Self { is_good: true, sentence: sentence.into() }
    }

    /// Something was not.
    pub fn bad(sentence: impl Into<String>) -> Self {
        Self { is_good: false, sentence: sentence.into() }
    }
}

/// Something that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What: `speed`.
    pub name: String,
    /// Its value with its unit: `10 Gb/s`.
    pub value: String,
}

impl Setting {
    /// A setting.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into() }
    }
}

impl Measurement {
    /// The command line as one would type it.
    pub fn command_line(&self) -> String {
        self.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Makes sure that the result is sound: whatever is written can be read again.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn check(&self) -> Result<(), MeasureError> {
        let wrong = |problem: String| Err(MeasureError::Wrong(problem));
        if !is_file_name(&self.kind) {
            return wrong(format!("kind `{}`: a name has 1 to 60 small letters, digits and `-`", self.kind));
        }
        if self.began.parse::<jiff::Timestamp>().is_err() {
            return wrong(format!("began `{}`: expected a time as in 2026-11-24T10:55:31Z", self.began));
        }
        if !self.seconds.is_finite() || self.seconds < 0.0 {
            return wrong(format!("seconds {}: expected 0 or more", self.seconds));
        }
        if self.tables.len() > MOST || self.plots.len() > MOST {
            return wrong(format!(
                "{} tables, {} plots: at most {MOST} each",
                self.tables.len(),
                self.plots.len()
            ));
        }
        let mut names = BTreeSet::new();
        for table in &self.tables {
            table.check()?;
            if !names.insert(&table.name) {
                return wrong(format!("two tables are called `{}`", table.name));
            }
        }
        let mut names = BTreeSet::new();
        for plot in &self.plots {
            plot.check()?;
            if !names.insert(&plot.name) {
                return wrong(format!("two plots are called `{}`", plot.name));
            }
        }
        self.fingerprint.check()
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%{}[]".contains(c);
    match word {
        "" => "''".to_owned(),
        word if word.chars().all(is_plain) => word.to_owned(),
        word => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_it_otherwise() {
        assert_eq!(
            (quoted("--speed"), quoted("a b"), quoted("it's")),
            ("--speed".into(), "'a b'".into(), r"'it'\''s'".into())
        );
        assert_eq!(quoted("$(x)"), "'$(x)'");
    }
}
