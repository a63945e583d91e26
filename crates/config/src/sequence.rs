//! The `[sequence]` table: how the numbers of packets are read.

use evforge_core::sequence::CONFIRM;
use evforge_core::settings::SettingsError;
use schemars::JsonSchema;
use serde::Deserialize;

/// Largest limit: a larger step ahead is a restart of the numbering, which must always be confirmed.
const LARGEST: u64 = 1 << 20;

/// `[sequence]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SequenceSettings {
    /// A number that is further ahead than this counts only when the next number follows it ([loss.md](loss.md#one-damaged-number)). Restarts
    /// of the numbering must always be confirmed so. Plugins follow their numbers by themselves.
    #[schemars(range(min = 1, max = 1_048_576), extend("x-unit" = "packets"))]
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
