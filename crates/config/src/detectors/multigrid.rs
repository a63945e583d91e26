//! `[multigrid]` and `[ess_multigrid]`.

use super::configured::{ConfiguredDetector, Parts, ess_alongside, with_ess};
use super::ess_files::SideFiles;
use crate::document::{TableError, Tables};
use evforge_core::detector::Detector;
use evforge_core::settings::SettingsError;
use evforge_detect::beam_monitors::BeamMonitorSettings;
use evforge_detect::multigrid::settings::{CncsSettings, MesytecSettings, Ordering};
use evforge_detect::multigrid::{EssMultiGridSettings, MultiGrid, MultiGridCncs, MultiGridSettings};
use evforge_detect::settings::HeldHits;
use std::path::Path;

impl ConfiguredDetector for MultiGridSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, _: &Path) -> Result<Self, TableError> {
        tables.require(section)
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(match self {
            Self::Mesytec(settings) => Box::new(MultiGrid::new(settings)?),
            Self::Cncs(settings) => Box::new(MultiGridCncs::new(settings)?),
        })
    }

    fn strategy(&self) -> Option<&'static str> {
        match self {
            Self::Mesytec(settings) => Some(settings.strategy.name()),
            Self::Cncs(_) => None,
        }
    }

    fn held_hits(&self) -> Option<HeldHits> {
        let (Self::Mesytec(MesytecSettings { time, .. }) | Self::Cncs(CncsSettings { time, .. })) = self;
        match time.order {
            Ordering::Time(sorting) => Some(sorting.held_hits("detector")),
            Ordering::Arrival => None,
        }
    }
}

impl ConfiguredDetector for EssMultiGridSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, folder: &Path) -> Result<Self, TableError> {
        let mut settings = with_ess(section, tables, |settings: &mut Self, ess| settings.ess = ess)?;
        let lines = ("calibration", !settings.calibration.is_empty());
        let file = settings.calibration_file.clone();
        SideFiles { folder, notes: &mut tables.notes }
            .take("calibration_file", file, lines, |text| settings.take_calibration(text))
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

    fn strategy(&self) -> Option<&'static str> {
        Some(self.strategy.name())
    }

    fn shares_forming(&self) -> bool {
        true
    }

    fn held_hits(&self) -> Option<HeldHits> {
        Some(self.ess.sorting.held_hits("FEN"))
    }
}
