//! The configurations that evforge comes with, for those who look for one that fits.

use crate::content::Content;
use crate::expected::Expected;
use evforge_wire::recognise::{EssRecords, Format};

/// A configuration that evforge comes with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShippedConfiguration {
    /// Its path from the folder that evforge is installed from.
    pub path: String,
    /// What it reads, with `key`.
    pub expected: Expected,
    /// A key that has to be set in it, as `key=value`.
    pub key: Option<&'static str>,
}

impl ShippedConfiguration {
    /// Whether it may be the one for packets of this format with this content. Records of beam monitors are alike whatever their
    /// type, which is a key to set.
    pub(crate) fn fits(&self, format: Option<Format>, content: &Content) -> bool {
        let is_of_monitors = matches!(self.expected, Expected::Ess { records: EssRecords::BeamMonitors, .. });
        let has_monitors =
            matches!(content, Content::Ess(content) if content.records() == EssRecords::BeamMonitors);
        self.expected.reads(format, content) || is_of_monitors && has_monitors
    }

    /// In words: "configs/multiblade.toml, with multiblade.readout = \"jadaq-1.3\"".
    pub fn in_words(&self) -> String {
        match self.key {
            Some(key) => format!("{}, with {}", self.path, key.replacen('=', " = ", 1)),
            None => self.path.clone(),
        }
    }
}
