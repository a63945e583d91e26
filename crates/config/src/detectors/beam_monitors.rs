//! `[ess_beam_monitors]`.

use super::configured::{ConfiguredDetector, Parts, ess_packets};
use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
use evforge_core::settings::SettingsError;
use evforge_detect::beam_monitors::{self, BeamMonitorSettings};
use evforge_detect::beam_monitors::{BeamMonitorCounters, NeutronCounters};
use evforge_detect::ess::EssSettings;
use evforge_detect::measured_windows::MeasuredWindows;
use evforge_detect::settings::HeldHits;
use evforge_inspect::expected::Expected;
use evforge_sim::beam_monitors as sim;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use evforge_wire::recognise::EssRecords;

impl ConfiguredDetector for BeamMonitorSettings {
    fn shipped() -> &'static [&'static str] {
        &["beam-monitors"]
    }

    fn ess_mut(&mut self) -> Option<&mut EssSettings> {
        Some(&mut self.ess)
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![
            CountedStage::of::<BeamMonitorCounters>("Records of beam monitors"),
            CountedStage::of::<NeutronCounters>("Single neutrons of beam monitors"),
        ]
    }

    fn check(&self) -> Result<(), SettingsError> {
        if self.packet_type.is_some() {
            let problem =
                "is for monitors that send alongside a detector: of monitors alone the type is in [ess]";
            return SettingsError::refuse("type", problem);
        }
        self.check()
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        Ok(None)
    }

    fn expected(&self, monitors: Option<u8>) -> Expected {
        ess_packets(&self.ess, EssRecords::BeamMonitors, monitors)
    }

    fn simulated(
        &self,
        settings: &SimulationSettings,
        pulses: PulseTrain,
    ) -> Result<Simulated, SimulationError> {
        sim::ess(self, settings.beam_monitors, pulses)
    }

    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(beam_monitors::new(self)?))
    }

    fn held_hits(&self) -> Option<HeldHits> {
        Some(self.ess.sorting.held_hits("detector"))
    }
}
