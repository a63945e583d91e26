//! Entries of `[[change]]`: parameters that change at a time of the data.

use evforge_core::change::{Change, ChangeTime};
use schemars::JsonSchema;
use serde::Deserialize;

/// An entry of `[[change]]`. A report lists the changes of a run in the same words, so that the run can be repeated.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSettings {
    /// For readouts of this time and later ones, in nanoseconds on the clock of the events.
    #[schemars(range(max = i64::MAX))]
    pub at_ns: u64,
    /// How often a source's clock has been restarted before that.
    #[serde(default)]
    pub restarts: u32,
    /// The threshold: its key with the section of the detector, `gdgem.clustering.x.adc_threshold`.
    pub key: String,
    /// Its value from then on.
    pub value: u64,
}

impl ChangeSettings {
    /// As it is told to a detector and kept in the record of a run.
    pub fn change(&self) -> Change {
        let Self { at_ns: time_ns, restarts, .. } = *self;
        Change { at: ChangeTime { restarts, time_ns }, key: self.key.as_str().into(), value: self.value }
    }
}
