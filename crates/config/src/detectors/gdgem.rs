//! `[gdgem]` with the files that it names, and `[ess_gdgem]`.

use super::configured::{ConfiguredDetector, Parts, ess_alongside, with_ess};
use super::ess_files::SideFiles;
use crate::document::{TableError, Tables};
use crate::region_threads::RegionThreads;
use crate::side_file;
use evforge_core::detector::Detector;
use evforge_core::settings::SettingsError;
use evforge_detect::beam_monitors::BeamMonitorSettings;
use evforge_detect::gdgem::ess::{self, EssGdGemSettings};
use evforge_detect::gdgem::{GdGem, GdGemSettings, vmm_files};
use evforge_detect::partition::RegionExecutor;
use evforge_detect::settings::HeldHits;
use std::path::Path;
use std::sync::Arc;

impl ConfiguredDetector for GdGemSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, folder: &Path) -> Result<Self, TableError> {
        let mut settings: Self = tables.require(section)?;
        read_files(&mut settings, folder, &mut tables.notes).map_err(|error| error.within(section))?;
        for (panel, plane) in settings.panels_without_events() {
            let what = format!("panel {panel} has strips of {plane} only, and no events");
            tables.notes.push(format!("{what}: if it has one plane only, list it in {section}.one_plane"));
        }
        Ok(settings)
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check().map_err(|error| in_file(self, error))
    }

    /// A detector whose regions, if its panels are cut, have the threads that they ask for.
    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(match self.partition {
            Some(partition) if partition.threads > 1 => {
                let threads = RegionThreads::new(partition.threads)?;
                GdGem::with_executor(self, &(Arc::new(threads) as Arc<dyn RegionExecutor>))?
            }
            _ => GdGem::new(self)?,
        }))
    }

    fn held_hits(&self) -> Option<HeldHits> {
        Some(self.sorting.held_hits("plane"))
    }
}

/// Reads the wiring and the calibration from the files that are named, which lie in `folder`.
fn read_files(
    settings: &mut GdGemSettings,
    folder: &Path,
    notes: &mut Vec<String>,
) -> Result<(), SettingsError> {
    if let Some(file) = &settings.mapping_file {
        if !settings.mapping.is_empty() {
            let problem = "there are [[gdgem.mapping]] entries as well: keep one";
            return SettingsError::refuse("mapping_file", problem);
        }
        let mut wiring = side_file::read_noting(folder, "mapping_file", file, notes, vmm_files::wiring)?;
        if settings.third_plane.is_none()
            && let Some(note) = wiring.leave_out_third_plane()
        {
            notes.push(format!("{}: {note}", file.display()));
        }
        settings.mapping = wiring.chips;
        let listed = std::mem::take(&mut settings.one_plane);
        settings.one_plane = wiring.one_plane;
        settings.one_plane.retain(|panel| !listed.contains(panel));
        settings.one_plane.extend(listed);
    }
    if let Some(file) = &settings.calibration_file {
        settings.calibration =
            side_file::read_noting(folder, "calibration", file, notes, vmm_files::calibration)?;
    }
    Ok(())
}

/// The error of a setting that stands in a file named in the section says so.
fn in_file(settings: &GdGemSettings, error: SettingsError) -> SettingsError {
    let files = [
        ("mapping", "mapping_file", &settings.mapping_file),
        ("calibration", "calibration", &settings.calibration_file),
    ];
    for (entry, key, file) in files {
        if let Some(file) = file
            && error.key.starts_with(entry)
            && error.key != key
        {
            let problem = format!("{}: {}: {}", file.display(), error.key, error.problem);
            return SettingsError { key: key.into(), problem };
        }
    }
    error
}

impl ConfiguredDetector for EssGdGemSettings {
    fn read(section: &'static str, tables: &mut Tables<'_>, folder: &Path) -> Result<Self, TableError> {
        let mut settings = with_ess(section, tables, |settings: &mut Self, ess| settings.ess = ess)?;
        let mut files = SideFiles { folder, notes: &mut tables.notes };
        let wiring = ("hybrid", !settings.hybrids.is_empty());
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
        ess::detector(&settings, parts.monitors, parts.workers)
    }

    fn shares_forming(&self) -> bool {
        true
    }

    fn held_hits(&self) -> Option<HeldHits> {
        Some(self.ess.sorting.held_hits("plane"))
    }
}
