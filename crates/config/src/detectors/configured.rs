//! What each detector says of itself to the configuration.

use crate::document::{TableError, Tables};
use evforge_core::detector::Detector;
use evforge_core::settings::SettingsError;
use evforge_detect::adc_readout::SampleSink;
use evforge_detect::ess::EssSettings;
use serde::de::DeserializeOwned;
use std::path::Path;

/// What a detector can be given when it is built.
pub(crate) type Averages = Option<Box<dyn SampleSink>>;

/// What each detector says of itself.
pub(crate) trait ConfiguredDetector: Sized {
    /// Reads the section, and whatever tables and files belong to it.
    fn read(section: &'static str, tables: &mut Tables<'_>, folder: &Path) -> Result<Self, TableError>;

    /// Checks everything that can be checked without taking memory.
    fn check(&self) -> Result<(), SettingsError>;

    /// A fresh detector, whose averaged waveforms go to `averages` if it makes any.
    fn build(&self, averages: Averages) -> Result<Box<dyn Detector>, SettingsError>;

    /// How it forms events, by the name in the configuration, if it offers a choice.
    fn strategy(&self) -> Option<&'static str> {
        None
    }

    /// True if it makes averaged waveforms.
    fn makes_averages(&self) -> bool {
        false
    }
}

/// Settings of a detector of the ESS readout, with those of the table `[ess]`.
pub(super) fn with_ess<S: DeserializeOwned>(
    section: &'static str,
    tables: &mut Tables<'_>,
    set: impl FnOnce(&mut S, EssSettings),
) -> Result<S, TableError> {
    let ess: EssSettings = tables.require("ess")?;
    ess.check()?;
    let mut settings = tables.require(section)?;
    set(&mut settings, ess);
    Ok(settings)
}
