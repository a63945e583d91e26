//! `[gdgem]` with the files that it names, and `[ess_gdgem]`.

use super::configured::{ConfiguredDetector, Parts, SideFile, ess_packets};
use crate::region_threads::RegionThreads;
use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
use evforge_core::settings::SettingsError;
use evforge_detect::dumped_readouts::DumpedReadouts;
use evforge_detect::ess::EssSettings;
use evforge_detect::gdgem::ess::{self, EssGdGemSettings};
use evforge_detect::gdgem::settings::ReadoutFormat;
use evforge_detect::gdgem::{GdGem, GdGemSettings, vmm_files};
use evforge_detect::gdgem::{GdGemCounters, TrackCounters};
use evforge_detect::measured_windows::{HitSource, MeasuredWindows, WindowKind};
use evforge_detect::partition::RegionExecutor;
use evforge_detect::settings::HeldHits;
use evforge_detect::vmm_files::FileContent;
use evforge_inspect::expected::Expected;
use evforge_sim::gdgem as sim;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use evforge_wire::recognise::{EssRecords, Format};
use std::sync::Arc;

impl ConfiguredDetector for GdGemSettings {
    fn shipped() -> &'static [&'static str] {
        &[
            "gdgem-srs",
            "gdgem-nmx",
            "reference-2018/gdgem-run16",
            "reference-2018/gdgem-recorded-vmm2",
            "reference-2018/gdgem-recorded-vmm3",
        ]
    }

    fn side_files(&self) -> Vec<SideFile> {
        let wiring = (self.mapping_file.as_ref(), "mapping", !self.mapping.is_empty());
        SideFile::of_vmms(wiring, (self.calibration_file.as_ref(), false))
    }

    fn take_file(&mut self, key: &str, text: &str) -> Result<FileContent<()>, String> {
        if key != "mapping_file" {
            let FileContent { content, notes } = vmm_files::calibration(text)?;
            self.calibration = content;
            return Ok(FileContent { content: (), notes });
        }
        let FileContent { content: mut wiring, mut notes } = vmm_files::wiring(text)?;
        if self.third_plane.is_none() {
            notes.extend(wiring.leave_out_third_plane());
        }
        self.mapping = wiring.chips;
        let listed = std::mem::take(&mut self.one_plane);
        self.one_plane = wiring.one_plane;
        self.one_plane.retain(|panel| !listed.contains(panel));
        self.one_plane.extend(listed);
        Ok(FileContent { content: (), notes })
    }

    fn notes(&self, section: &str) -> Vec<String> {
        let note = |(panel, plane)| {
            format!(
                "panel {panel} has strips of {plane} only, and no events: if it has one plane only, list it in \
                 {section}.one_plane"
            )
        };
        self.panels_without_events().into_iter().map(note).collect()
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![
            CountedStage::of::<GdGemCounters>("Packets and readouts of a Gd-GEM with SRS"),
            CountedStage::of::<TrackCounters>("Forming events of the tracks in a Gd-GEM"),
        ]
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check().map_err(|error| in_file(self, error))
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        let windows = WindowKind::Tracks(Box::new(self.tracks()));
        Ok(Some(MeasuredWindows { windows, hits: HitSource::Srs(self) }))
    }

    fn expected(&self, _: Option<u8>) -> Expected {
        Expected::Format(match self.format {
            ReadoutFormat::Vmm2 => Format::SrsVmm2,
            ReadoutFormat::Vmm3Of2018 => Format::SrsVmm3Of2018,
            ReadoutFormat::Vmm3a | ReadoutFormat::Vmm3aTriggered => Format::SrsVmm3a,
        })
    }

    fn simulated(&self, settings: &SimulationSettings, _: PulseTrain) -> Result<Simulated, SimulationError> {
        sim::srs(self, settings.gdgem)
    }

    fn dumped_readouts(&self) -> Option<DumpedReadouts<'_>> {
        Some(DumpedReadouts::Srs(self))
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
    fn shipped() -> &'static [&'static str] {
        &["nmx"]
    }

    fn ess_mut(&mut self) -> Option<&mut EssSettings> {
        Some(&mut self.ess)
    }

    fn side_files(&self) -> Vec<SideFile> {
        let wiring = (self.mapping_file.as_ref(), "hybrid", !self.hybrids.is_empty());
        SideFile::of_vmms(wiring, (self.calibration_file.as_ref(), !self.calibration.is_empty()))
    }

    fn take_file(&mut self, key: &str, text: &str) -> Result<FileContent<()>, String> {
        if key == "mapping_file" { self.take_wiring(text) } else { self.take_calibration(text) }
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![]
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        let windows = WindowKind::Tracks(Box::new(self.tracks()));
        // Planes count through the panels or sectors.
        let hits = HitSource::Ess { ess: &self.ess, vmm: Box::new(self.vmm()?), targets_of_module: 2 };
        Ok(Some(MeasuredWindows { windows, hits }))
    }

    fn expected(&self, monitors: Option<u8>) -> Expected {
        ess_packets(&self.ess, EssRecords::Vmm3a, monitors)
    }

    fn simulated(
        &self,
        settings: &SimulationSettings,
        pulses: PulseTrain,
    ) -> Result<Simulated, SimulationError> {
        sim::ess(self, settings.gdgem, pulses)
    }

    fn busy_beam(&self) -> (u64, usize) {
        // Clusters of a sector that are near in time are one event, wherever they are.
        (56_000, 21)
    }

    fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        ess::detector(self, parts.monitors, parts.workers)
    }

    fn shares_forming(&self) -> bool {
        true
    }

    fn held_hits(&self) -> Option<HeldHits> {
        Some(self.ess.sorting.held_hits("plane"))
    }
}
