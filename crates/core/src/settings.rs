//! What is wrong with a setting, by the key of the configuration.

/// A setting that is refused. Its name is the key of the configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The key, as `section.key`, or `mapping[n].key`; empty if it is about the whole.
    pub key: String,
    /// What was found, what is expected, and how to repair it.
    pub problem: String,
}

impl SettingsError {
    /// Refuses the value of `key`.
    ///
    /// # Errors
    /// Always: this is how a check ends that found something.
    pub fn refuse<T>(key: impl Into<String>, problem: impl Into<String>) -> Result<T, Self> {
        Err(Self { key: key.into(), problem: problem.into() })
    }

    /// The same error with its key inside the table `table`.
    pub fn within(self, table: &str) -> Self {
        let key = match (table, &*self.key) {
            ("", key) => key.to_owned(),
            (table, "") => table.to_owned(),
            (table, key) => format!("{table}.{key}"),
        };
        Self { key, ..self }
    }
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.key.is_empty() {
            return f.write_str(&self.problem);
        }
        write!(f, "{}: {}", self.key, self.problem)
    }
}

impl std::error::Error for SettingsError {}

/// A [`SettingsError`] that was found while serde reads a table. Its key counts from the value that was read.
///
/// Errors of serde carry nothing but a text. This one marks where in that text the key ends, so that whoever reads the
/// configuration can put the name of the table in front of it.
#[derive(Clone, Debug)]
pub struct RefusedValue(pub SettingsError);

/// Separates key and problem; no key and no text of a configuration that is shown has it.
const MARK: char = '\u{1f}';

impl RefusedValue {
    /// A value that is refused as a whole.
    pub fn new(problem: impl Into<String>) -> Self {
        Self(SettingsError { key: String::new(), problem: problem.into() })
    }

    /// What a message of serde carries; none if it is one of its own.
    pub fn in_message(message: &str) -> Option<SettingsError> {
        let (key, problem) = message.strip_prefix(MARK)?.split_once(MARK)?;
        Some(SettingsError { key: key.to_owned(), problem: problem.to_owned() })
    }
}

impl From<SettingsError> for RefusedValue {
    fn from(error: SettingsError) -> Self {
        Self(error)
    }
}

impl std::fmt::Display for RefusedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{MARK}{}{MARK}{}", self.0.key, self.0.problem)
    }
}
