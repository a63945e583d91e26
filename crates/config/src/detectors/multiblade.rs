//! `[multiblade]` and `[ess_multiblade]`.

use super::configured::{ConfiguredDetector, Parts, SideFile, ess_packets};
use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
use evforge_core::settings::SettingsError;
use evforge_detect::dumped_readouts::DumpedReadouts;
use evforge_detect::ess::EssSettings;
use evforge_detect::measured_windows::{HitSource, MeasuredWindows, WindowKind};
use evforge_detect::multiblade::caen::settings::{HitOrder, ReadoutFormat};
use evforge_detect::multiblade::{CassetteCounters, MultiBladeCounters};
use evforge_detect::multiblade::{EssMultiBladeSettings, MultiBlade, MultiBladeSettings};
use evforge_detect::settings::HeldHits;
use evforge_detect::settings::pairing::PairingSettings;
use evforge_detect::vmm_files::FileContent;
use evforge_inspect::expected::Expected;
use evforge_sim::multiblade as sim;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use evforge_wire::recognise::{EssRecords, Format};

impl ConfiguredDetector for MultiBladeSettings {
    fn shipped() -> &'static [&'static str] {
        &["multiblade-50", "multiblade"]
    }

    fn other_formats() -> &'static [&'static str] {
        &["multiblade.readout=\"jadaq-1.3\"", "multiblade.readout=\"jadaq-2018-06\""]
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![
            CountedStage::of::<MultiBladeCounters>("Readouts of a Multi-Blade with CAEN digitisers"),
            CountedStage::of::<CassetteCounters>("Forming events of a Multi-Blade"),
        ]
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        let windows = WindowKind::Cassettes(self.window, PairingSettings::default(), Some(self.tick));
        Ok(Some(MeasuredWindows { windows, hits: HitSource::CaenRecords(self) }))
    }

    fn expected(&self, _: Option<u8>) -> Expected {
        Expected::Format(match self.format {
            ReadoutFormat::Records => Format::CaenRecords,
            ReadoutFormat::JadaqOfJune2018 => Format::JadaqOfJune2018,
            ReadoutFormat::Jadaq1_3 => Format::Jadaq1_3,
        })
    }

    fn simulated(
        &self,
        settings: &SimulationSettings,
        pulses: PulseTrain,
    ) -> Result<Simulated, SimulationError> {
        sim::prototype(self, settings.multiblade, pulses)
    }

    fn dumped_readouts(&self) -> Option<DumpedReadouts<'_>> {
        Some(DumpedReadouts::Caen(self))
    }

    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(MultiBlade::new(self)?))
    }

    fn held_hits(&self) -> Option<HeldHits> {
        (self.order == HitOrder::Time).then(|| self.sorting.held_hits("cassette"))
    }
}

impl ConfiguredDetector for EssMultiBladeSettings {
    fn shipped() -> &'static [&'static str] {
        &["freia", "amor-ess", "estia", "tblmb"]
    }

    fn ess_mut(&mut self) -> Option<&mut EssSettings> {
        Some(&mut self.ess)
    }

    fn side_files(&self) -> Vec<SideFile> {
        let wiring = (self.mapping_file.as_ref(), "cassettes", !self.cassettes.is_empty());
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
        let windows = WindowKind::Cassettes(self.window, self.pairing, None);
        let hits = HitSource::Ess { ess: &self.ess, vmm: Box::new(self.vmm()?), targets_of_module: 1 };
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
        sim::ess(self, settings.multiblade, pulses)
    }

    fn busy_beam(&self) -> (u64, usize) {
        // Cassettes are read side by side.
        (560_000, 7)
    }

    fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        self.detector(parts.monitors, parts.workers)
    }

    fn shares_forming(&self) -> bool {
        true
    }

    fn held_hits(&self) -> Option<HeldHits> {
        Some(self.ess.sorting.held_hits("cassette"))
    }
}
