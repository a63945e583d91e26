//! The `[sequence]` table: how the numbers of packets are read.

use evforge_core::sequence::CONFIRM;
use evforge_core::settings::SettingsError;
use serde::Deserialize;

/// Largest limit: a larger step ahead is a restart of the numbering, which must always be confirmed.
const LARGEST: u64 = 1 << 20;

/// `[sequence]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SequenceSettings {
    /// Packets: a number further ahead than this counts only when the next one follows it.
    pub confirm: u64,
}

impl Default for SequenceSettings {
    fn default() -> Self {
        Self { confirm: CONFIRM }
    }
}

impl SequenceSettings {
    pub(crate) fn check(self) -> Result<(), SettingsError> {
        if !(1..=LARGEST).contains(&self.confirm) {
            let problem = format!("{} is not in 1..={LARGEST} packets", self.confirm);
            return SettingsError::refuse("sequence.confirm", problem);
        }
        Ok(())
    }
}
