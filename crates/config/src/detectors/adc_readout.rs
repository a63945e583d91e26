//! `[adc_readout]`.

use super::configured::{ConfiguredDetector, Parts};
use crate::document::{TableError, Tables};
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseChannel;
use evforge_core::settings::SettingsError;
use evforge_detect::adc_readout::{AdcReadout, AdcReadoutSettings};
use evforge_detect::settings::HeldHits;
use std::path::Path;

impl ConfiguredDetector for AdcReadoutSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, _: &Path) -> Result<Self, TableError> {
        tables.require(section)
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(match parts.averages {
            Some(averages) => Box::new(AdcReadout::with_sink(self, averages)?),
            None => Box::new(AdcReadout::new(self)?),
        })
    }

    fn set_pulse_channel(&mut self, channel: PulseChannel) -> bool {
        self.pulse_channel = Some(channel);
        true
    }

    fn held_hits(&self) -> Option<HeldHits> {
        self.pulse_channel.map(|_| self.sorting.held_hits("detector"))
    }

    fn makes_averages(&self) -> bool {
        self.averaging.is_some()
    }
}
