//! `[ess_helium3]`.

use super::configured::{ConfiguredDetector, Parts, SideFile, ess_packets};
use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
use evforge_core::settings::SettingsError;
use evforge_detect::ess::{DeadTimeCounters, EssSettings};
use evforge_detect::helium3::{self, Helium3Counters, Helium3Settings};
use evforge_detect::measured_windows::MeasuredWindows;
use evforge_detect::settings::HeldHits;
use evforge_detect::vmm_files::FileContent;
use evforge_inspect::expected::Expected;
use evforge_sim::helium3 as sim;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use evforge_wire::recognise::EssRecords;

impl ConfiguredDetector for Helium3Settings {
    fn shipped() -> &'static [&'static str] {
        &["loki", "bifrost", "tbl3he", "miracles", "cspec"]
    }

    fn ess_mut(&mut self) -> Option<&mut EssSettings> {
        Some(&mut self.ess)
    }

    fn side_files(&self) -> Vec<SideFile> {
        SideFile::of_vmms(
            (self.mapping_file.as_ref(), "wiring", !self.wiring.is_empty()),
            (self.calibration_file.as_ref(), !self.calibration.is_empty()),
        )
    }

    fn take_file(&mut self, key: &str, text: &str) -> Result<FileContent<()>, String> {
        if key == "mapping_file" { self.take_wiring(text) } else { self.take_calibration(text) }
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![
            CountedStage::of::<Helium3Counters>("Readouts of helium-3 tubes"),
            CountedStage::of::<DeadTimeCounters>("Dead time of helium-3 tubes"),
        ]
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        // A neutron is one readout: there are no windows.
        Ok(None)
    }

    fn tubes(&self) -> Option<&Helium3Settings> {
        Some(self)
    }

    fn expected(&self, monitors: Option<u8>) -> Expected {
        ess_packets(&self.ess, EssRecords::R5560, monitors)
    }

    fn simulated(
        &self,
        settings: &SimulationSettings,
        pulses: PulseTrain,
    ) -> Result<Simulated, SimulationError> {
        sim::ess(self, settings.helium3, pulses)
    }

    fn busy_beam(&self) -> (u64, usize) {
        // Groups of tubes are read side by side.
        (1_000_000, 14)
    }

    fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(helium3::new(self, parts.monitors)?))
    }

    fn held_hits(&self) -> Option<HeldHits> {
        Some(self.ess.sorting.held_hits("detector"))
    }
}
