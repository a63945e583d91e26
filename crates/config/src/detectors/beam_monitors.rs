//! `[ess_beam_monitors]`.

use super::configured::{Averages, ConfiguredDetector, with_ess};
use crate::document::{TableError, Tables};
use evforge_core::detector::Detector;
use evforge_core::settings::SettingsError;
use evforge_detect::beam_monitors::{self, BeamMonitorSettings};
use std::path::Path;

impl ConfiguredDetector for BeamMonitorSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, _: &Path) -> Result<Self, TableError> {
        with_ess(section, tables, |settings: &mut Self, ess| settings.ess = ess)
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn build(&self, _: Averages) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(beam_monitors::new(self)?))
    }
}
