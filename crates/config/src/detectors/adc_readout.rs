//! `[adc_readout]`.

use super::configured::{ConfiguredDetector, Parts};
use crate::document::{TableError, Tables};
use evforge_core::detector::Detector;
use evforge_core::settings::SettingsError;
use evforge_detect::adc_readout::{AdcReadout, AdcReadoutSettings};
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

    fn makes_averages(&self) -> bool {
        self.averaging.is_some()
    }
}
