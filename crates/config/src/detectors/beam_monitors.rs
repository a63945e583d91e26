//! `[ess_beam_monitors]`.

use super::configured::{ConfiguredDetector, Parts, with_ess};
use crate::document::{TableError, Tables};
use evforge_core::detector::Detector;
use evforge_core::settings::SettingsError;
use evforge_detect::beam_monitors::{self, BeamMonitorSettings};
use evforge_detect::settings::HeldHits;
use std::path::Path;

impl ConfiguredDetector for BeamMonitorSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, _: &Path) -> Result<Self, TableError> {
        let settings = with_ess(section, tables, |settings: &mut Self, ess| settings.ess = ess)?;
        match settings.packet_type {
            Some(_) => {
                let problem =
                    "is for monitors that send alongside a detector: of monitors alone the type is in [ess]";
                Ok(SettingsError::refuse(format!("{section}.type"), problem)?)
            }
            None => Ok(settings),
        }
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(beam_monitors::new(self)?))
    }

    fn held_hits(&self) -> Option<HeldHits> {
        Some(self.ess.sorting.held_hits("detector"))
    }
}
