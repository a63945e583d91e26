//! Where something is in a structure.

use std::fmt::{self, Write as _};

use super::error::StructureError;

/// Characters of what was found that an error shows.
const SHOWN: usize = 60;

/// A step down into a structure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'p> {
    /// A name or a key.
    Name(&'p str),
    /// A place in a list, from 0.
    Index(usize),
}

/// Steps from the root. It is a chain of references, so that nothing is made of it before there is something to say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'p> {
    above: Option<(&'p Path<'p>, Step<'p>)>,
}

impl<'p> Path<'p> {
    pub(super) const ROOT: Path<'static> = Path { above: None };

    pub(super) fn step(&'p self, step: Step<'p>) -> Path<'p> {
        Path { above: Some((self, step)) }
    }

    pub(super) fn name(&'p self, name: &'p str) -> Path<'p> {
        self.step(Step::Name(name))
    }

    pub(super) fn index(&'p self, index: usize) -> Path<'p> {
        self.step(Step::Index(index))
    }

    /// That something else is expected here.
    pub(super) fn refuse(&self, found: impl Into<String>, expected: impl Into<String>) -> StructureError {
        StructureError::Refused { path: self.to_string(), found: found.into(), expected: expected.into() }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((above, step)) = self.above else { return f.write_char('/') };
        // The depth is bounded by that of the structure.
        if above.above.is_some() || matches!(step, Step::Index(_)) {
            above.fmt(f)?;
        }
        match step {
            Step::Name(name) => write!(f, "/{}", shown(name)),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Text as people may see it: not too long, and without characters that steer a terminal.
pub(super) fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let mut shown = String::new();
    for character in characters.by_ref().take(SHOWN) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// A piece of JSON as people may see it.
pub(super) fn shown_json(json: &str) -> String {
    match json.as_bytes().first() {
        Some(b'{') => "an object".into(),
        Some(b'[') => "a list".into(),
        _ => shown(json),
    }
}

/// A name in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text))
}
