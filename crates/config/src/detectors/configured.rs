//! What each detector says of itself to the configuration.

use crate::document::{TableError, Tables};
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseChannel;
use evforge_core::settings::SettingsError;
use evforge_detect::adc_readout::SampleSink;
use evforge_detect::beam_monitors::BeamMonitorSettings;
use evforge_detect::ess::EssSettings;
use evforge_detect::settings::HeldHits;
use evforge_detect::workers::Workers;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::Arc;

/// What a detector can be given when it is built.
#[derive(Default)]
pub(crate) struct Parts<'a> {
    /// Where averaged waveforms go.
    pub(crate) averages: Option<Box<dyn SampleSink>>,
    /// Beam monitors that send to the same ports.
    pub(crate) monitors: Option<&'a BeamMonitorSettings>,
    /// Threads that share the forming of events, if there are several.
    pub(crate) workers: Option<Arc<dyn Workers>>,
}

/// What each detector says of itself.
pub(crate) trait ConfiguredDetector: Sized {
    /// Reads the section, and whatever tables and files belong to it.
    fn read(section: &'static str, tables: &mut Tables<'_>, folder: &Path) -> Result<Self, TableError>;

    /// Checks everything that can be checked without taking memory.
    fn check(&self) -> Result<(), SettingsError>;

    /// A fresh detector, given what it can use of `parts`.
    fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError>;

    /// Takes the source's pulses from this channel. False if it has no channels for them.
    fn set_pulse_channel(&mut self, _channel: PulseChannel) -> bool {
        false
    }

    /// Checks that these beam monitors can send alongside.
    fn check_alongside(&self, _monitors: &BeamMonitorSettings) -> Result<(), SettingsError> {
        Ok(())
    }

    /// How it forms events, by the name in the configuration, if it offers a choice.
    fn strategy(&self) -> Option<&'static str> {
        None
    }

    /// What may wait for its time, if it puts hits or events into order.
    fn held_hits(&self) -> Option<HeldHits> {
        None
    }

    /// True if several threads can share the forming of its events.
    fn shares_forming(&self) -> bool {
        false
    }

    /// True if it makes averaged waveforms.
    fn makes_averages(&self) -> bool {
        false
    }
}

/// `[ess]` of a detector that has these beam monitors alongside.
pub(super) fn ess_alongside(
    ess: &EssSettings,
    monitors: Option<&BeamMonitorSettings>,
) -> Result<EssSettings, SettingsError> {
    let mut ess = ess.clone();
    if let Some(monitors) = monitors {
        ess.header.monitor_type = Some(monitors.type_alongside()?);
    }
    ess.check().map(|()| ess)
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
