//! The value of an option of librdkafka: as it is, or where it is kept.

use super::{ClientError, secret};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt;
use std::path::PathBuf;

/// A value in `options = { "key" = … }`.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "options: expected a text, a number, true or false, or { file = \"…\" } or { env = \"…\" } for a secret"
)]
pub enum OptionValue {
    /// `"sasl_ssl"`
    Text(String),
    /// `100`
    Number(i64),
    /// `true`
    Switch(bool),
    /// `{ file = "/etc/evforge/password" }`: the content of a file.
    File {
        /// The file.
        file: PathBuf,
    },
    /// `{ env = "KAFKA_PASSWORD" }`: a variable of the environment.
    Environment {
        /// Its name.
        env: String,
    },
}

impl OptionValue {
    /// The value that librdkafka gets.
    ///
    /// # Errors
    /// If it cannot be read from where it is kept.
    pub(super) fn resolve(&self, key: &str) -> Result<String, ClientError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Number(number) => Ok(number.to_string()),
            Self::Switch(is_on) => Ok(is_on.to_string()),
            Self::File { file } => secret::from_file(key, file),
            Self::Environment { env } => secret::from_environment(key, env),
        }
    }

    /// As it may be shown to anybody, of the option `key`.
    pub(super) fn shown(&self, key: &str) -> String {
        match self {
            Self::File { file } => format!("(in the file {})", file.display()),
            Self::Environment { env } => format!("(in the variable {env})"),
            _ if secret::is_secret(key) => "(not shown)".to_owned(),
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Switch(is_on) => is_on.to_string(),
        }
    }
}

impl fmt::Debug for OptionValue {
    /// Without what may be secret: the value does not know of which option it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown("password"))
    }
}
