//! `[multiblade]` and `[ess_multiblade]`.

use super::configured::{ConfiguredDetector, Parts, ess_alongside, with_ess};
use super::ess_files::SideFiles;
use crate::document::{TableError, Tables};
use evforge_core::detector::Detector;
use evforge_core::settings::SettingsError;
use evforge_detect::beam_monitors::BeamMonitorSettings;
use evforge_detect::multiblade::caen::settings::HitOrder;
use evforge_detect::multiblade::{EssMultiBladeSettings, MultiBlade, MultiBladeSettings};
use evforge_detect::settings::HeldHits;
use std::path::Path;

impl ConfiguredDetector for MultiBladeSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, _: &Path) -> Result<Self, TableError> {
        tables.require(section)
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(MultiBlade::new(self)?))
    }

    fn held_hits(&self) -> Option<HeldHits> {
        (self.order == HitOrder::Time).then(|| self.sorting.held_hits("cassette"))
    }
}

impl ConfiguredDetector for EssMultiBladeSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, folder: &Path) -> Result<Self, TableError> {
        let mut settings = with_ess(section, tables, |settings: &mut Self, ess| settings.ess = ess)?;
        let mut files = SideFiles { folder, notes: &mut tables.notes };
        let wiring = ("cassettes", !settings.cassettes.is_empty());
        let lines = ("calibration", !settings.calibration.is_empty());
        files
            .take("mapping_file", settings.mapping_file.clone(), wiring, |text| settings.take_wiring(text))
            .and_then(|()| {
                let file = settings.calibration_file.clone();
                files.take("calibration_file", file, lines, |text| settings.take_calibration(text))
            })
            .map_err(|error| error.within(section))?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn check_alongside(&self, monitors: &BeamMonitorSettings) -> Result<(), SettingsError> {
        ess_alongside(&self.ess, Some(monitors)).map(drop)
    }

    fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        let settings = Self { ess: ess_alongside(&self.ess, parts.monitors)?, ..self.clone() };
        settings.detector(parts.monitors, parts.workers)
    }

    fn shares_forming(&self) -> bool {
        true
    }

    fn held_hits(&self) -> Option<HeldHits> {
        Some(self.ess.sorting.held_hits("cassette"))
    }
}
