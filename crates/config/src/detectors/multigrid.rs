//! `[multigrid]` and `[ess_multigrid]`.

use super::configured::{ConfiguredDetector, Parts, SideFile, ess_packets};
use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
use evforge_core::settings::SettingsError;
use evforge_detect::dumped_readouts::DumpedReadouts;
use evforge_detect::ess::EssSettings;
use evforge_detect::measured_windows::{HitSource, MeasuredWindows, WindowKind};
use evforge_detect::multigrid::settings::{CncsSettings, MesytecSettings, Ordering};
use evforge_detect::multigrid::{CncsCounters, ColumnCounters, MesytecCounters, OutletCounters};
use evforge_detect::multigrid::{EssMultiGridSettings, MultiGrid, MultiGridCncs, MultiGridSettings};
use evforge_detect::settings::HeldHits;
use evforge_detect::vmm_files::FileContent;
use evforge_inspect::expected::Expected;
use evforge_sim::multigrid as sim;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use evforge_wire::recognise::{EssRecords, Format};

impl ConfiguredDetector for MultiGridSettings {
    fn shipped() -> &'static [&'static str] {
        &["multigrid", "multigrid-cncs"]
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![
            CountedStage::of::<MesytecCounters>("Forming events of a Multi-Grid with VMMR modules"),
            CountedStage::of::<CncsCounters>("Forming events of the Multi-Grid demonstrator at CNCS"),
            CountedStage::of::<OutletCounters>("Handing out the events of a Multi-Grid"),
        ]
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        Ok(None)
    }

    fn expected(&self, _: Option<u8>) -> Expected {
        Expected::Format(match self {
            Self::Mesytec(_) => Format::Mesytec,
            Self::Cncs(_) => Format::Cncs,
        })
    }

    fn simulated(&self, settings: &SimulationSettings, _: PulseTrain) -> Result<Simulated, SimulationError> {
        sim::prototype(self, settings.multigrid)
    }

    fn dumped_readouts(&self) -> Option<DumpedReadouts<'_>> {
        match self {
            Self::Mesytec(settings) => {
                Some(DumpedReadouts::Vmmr { spoof_high_time: settings.spoof_high_time })
            }
            Self::Cncs(_) => None,
        }
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
    fn shipped() -> &'static [&'static str] {
        &["trex", "let"]
    }

    fn ess_mut(&mut self) -> Option<&mut EssSettings> {
        Some(&mut self.ess)
    }

    fn side_files(&self) -> Vec<SideFile> {
        let path = self.calibration_file.as_ref();
        let file = SideFile::named("calibration_file", path, "calibration", !self.calibration.is_empty());
        file.into_iter().collect()
    }

    fn take_file(&mut self, _: &str, text: &str) -> Result<FileContent<()>, String> {
        self.take_calibration(text)
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![CountedStage::of::<ColumnCounters>("Forming events of a Multi-Grid with the ESS readout")]
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        let windows = WindowKind::Columns(self.gap, self.max_grid_span.into(), self.pairing);
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
        sim::ess(self, settings.multigrid, pulses)
    }

    fn busy_beam(&self) -> (u64, usize) {
        // Columns are read side by side.
        (560_000, 7)
    }

    fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        self.detector(parts.monitors, parts.workers)
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
