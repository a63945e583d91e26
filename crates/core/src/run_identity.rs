//! What a run is called, and whose it is: said by the operator, shown by every output, never guessed.

use crate::settings::SettingsError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a text at most.
const LONGEST: usize = 1024;
/// The largest number of a run: what readers of NeXus files take for one has 31 bits.
const LARGEST_NUMBER: u32 = i32::MAX as u32;

/// The table `[run]` of a configuration, and the options that are short forms of it. What nobody has said is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunIdentity {
    /// What is measured, in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The number of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The experiment or proposal that it belongs to, by the facility's identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// What that is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment_description: Option<String>,
    /// Who measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What is in the beam.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
}

impl RunIdentity {
    /// The texts that there are, by their keys.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let texts = [
            ("title", &self.title),
            ("experiment", &self.experiment),
            ("experiment_description", &self.experiment_description),
            ("user", &self.user),
            ("sample", &self.sample),
        ];
        texts.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?)))
    }

    /// True if nobody has said anything.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What `first` says, and this where that says nothing.
    #[must_use]
    pub fn overridden_by(self, first: Self) -> Self {
        Self {
            title: first.title.or(self.title),
            number: first.number.or(self.number),
            experiment: first.experiment.or(self.experiment),
            experiment_description: first.experiment_description.or(self.experiment_description),
            user: first.user.or(self.user),
            sample: first.sample.or(self.sample),
        }
    }

    /// # Errors
    /// If a text is empty, too long, or has characters that are none of a line.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (key, text) in self.texts() {
            if text.trim().is_empty() {
                return SettingsError::refuse(key, "is empty: leave it out if there is none");
            }
            if text.len() > LONGEST {
                let problem = format!("has {} bytes, and at most {LONGEST} are kept", text.len());
                return SettingsError::refuse(key, problem);
            }
            if let Some(control) = text.chars().find(|letter| letter.is_control()) {
                let problem = format!("contains {control:?}; it must be a single line of text");
                return SettingsError::refuse(key, problem);
            }
        }
        match self.number {
            Some(number) if number > LARGEST_NUMBER => {
                SettingsError::refuse("number", format!("is {number}; the largest is {LARGEST_NUMBER}"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(title: &str) -> RunIdentity {
        RunIdentity { title: Some(title.into()), ..RunIdentity::default() }
    }

    #[test]
    fn the_first_to_say_something_wins() {
        let both = RunIdentity { user: Some("Ada".into()), ..titled("old") }.overridden_by(titled("new"));
        assert_eq!((both.title.as_deref(), both.user.as_deref()), (Some("new"), Some("Ada")));
        assert!(RunIdentity::default().is_empty() && !both.is_empty());
    }

    #[test]
    fn what_no_file_can_say_is_refused_by_its_key() {
        let refusal = |identity: &RunIdentity| identity.check().unwrap_err().to_string();
        assert!(refusal(&titled("a\0b")).starts_with("title: contains '\\0'"));
        assert!(refusal(&titled("two\nlines")).contains("a single line"));
        assert!(refusal(&titled(" ")).contains("is empty"));
        assert!(refusal(&titled(&"ü".repeat(600))).contains("1200 bytes"));
        let number = RunIdentity { number: Some(1 << 31), ..RunIdentity::default() };
        assert!(refusal(&number).starts_with("number: is 2147483648"));
        assert_eq!(RunIdentity { number: Some(12), ..titled("ε = ½") }.check(), Ok(()));
    }
}
