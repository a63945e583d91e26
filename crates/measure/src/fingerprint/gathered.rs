//! Facts, and gathering them.

use serde::{Deserialize, Serialize};

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Of what: `kernel`, `interface eth2`.
    pub part: String,
    /// Which: `release`.
    pub name: String,
    /// Its value, as the host tells it.
    pub value: String,
}

/// Gathers facts. What a host does not tell is left out.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) facts: Vec<Fact>,
    part: String,
}

impl Gathered {
    pub(super) fn part(&mut self, part: impl Into<String>) -> &mut Self {
        self.part = part.into();
        self
    }

    pub(super) fn add(&mut self, name: &str, value: Option<impl Into<String>>) -> &mut Self {
        if let Some(value) = value.map(Into::into).filter(|value: &String| !value.is_empty()) {
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            self.facts.push(Fact { part: self.part.clone(), name: name.to_owned(), value });
        }
        self
    }
}
