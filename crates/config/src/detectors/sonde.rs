//! `[sonde]`.

use super::configured::{ConfiguredDetector, Parts, PartsByOrigin};
use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
use evforge_core::settings::SettingsError;
use evforge_detect::measured_windows::MeasuredWindows;
use evforge_detect::settings::HeldHits;
use evforge_detect::sonde::SondeCounters;
use evforge_detect::sonde::settings::{EventSequence, GroupAddress};
use evforge_detect::sonde::{Sonde, SondeSettings};
use evforge_inspect::expected::Expected;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use evforge_wire::recognise::Format;

impl ConfiguredDetector for SondeSettings {
    fn shipped() -> &'static [&'static str] {
        &["sonde", "sonde-module"]
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![CountedStage::of::<SondeCounters>("Forming events of a SoNDe")]
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        Ok(None)
    }

    fn expected(&self, _: Option<u8>) -> Expected {
        Expected::Format(Format::Sonde)
    }

    fn simulated(&self, settings: &SimulationSettings, _: PulseTrain) -> Result<Simulated, SimulationError> {
        Ok(evforge_sim::sonde::boards(self, settings.sonde))
    }

    fn busy_beam(&self) -> (u64, usize) {
        (2_000_000, 7)
    }

    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(Sonde::new(self)?))
    }

    fn parts_by_origin(&self) -> Option<PartsByOrigin> {
        let has = |told: fn(&GroupAddress) -> bool| self.groups.iter().any(|group| told(&group.address));
        has(|address| *address != GroupAddress::Any).then(|| PartsByOrigin {
            what: "the groups of [sonde]",
            one: "module",
            by_source: has(|address| matches!(address, GroupAddress::Source(_))),
        })
    }

    fn held_hits(&self) -> Option<HeldHits> {
        (self.sequence == EventSequence::Time).then(|| self.sorting.held_hits("detector"))
    }
}
