//! What is wrong with a setting, by the key of the configuration.

/// A setting that is refused. Its name is the key of the configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The key, as `section.key`, or `mapping[n].key`; empty if it is about the whole.
    pub key: String,
    /// What was found, what is expected, and how to mend it.
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
