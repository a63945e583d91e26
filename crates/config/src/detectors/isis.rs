//! `[isis]`, with the wiring table that it names.

use super::configured::{ConfiguredDetector, Parts, PartsByOrigin, SideFile};
use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
use evforge_core::settings::SettingsError;
use evforge_detect::isis::IsisCounters;
use evforge_detect::isis::{Isis, IsisSettings, wiring};
use evforge_detect::measured_windows::MeasuredWindows;
use evforge_detect::vmm_files::FileContent;
use evforge_inspect::expected::Expected;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use evforge_wire::isis::Format as Versions;
use evforge_wire::recognise::Format;

impl ConfiguredDetector for IsisSettings {
    fn shipped() -> &'static [&'static str] {
        &["isis-v2", "isis-wlsf", "isis-madc", "isis-lvds", "isis-large"]
    }

    fn side_files(&self) -> Vec<SideFile> {
        SideFile::named("wiring", self.wiring.as_ref(), "wiring", false).into_iter().collect()
    }

    fn take_file(&mut self, _: &str, text: &str) -> Result<FileContent<()>, String> {
        self.rows = wiring::read(text)?;
        Ok(FileContent { content: (), notes: Vec::new() })
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![CountedStage::of::<IsisCounters>("Frames of the streaming readout of ISIS")]
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        Ok(None)
    }

    fn parts_by_origin(&self) -> Option<PartsByOrigin> {
        // Of version 1 each is known by its address alone.
        let by_source = !self.rows.is_empty() || self.boards.iter().any(|board| board.source.is_some());
        let has_boards = by_source || !self.boards.is_empty();
        has_boards.then_some(PartsByOrigin { what: "the boards of [isis]", one: "board", by_source })
    }

    fn expected(&self, _: Option<u8>) -> Expected {
        match self.format {
            Versions::V1 => Expected::Isis { is_v2: false },
            Versions::V2 => Expected::Isis { is_v2: true },
            Versions::Auto => Expected::Format(Format::Isis),
        }
    }

    fn simulated(
        &self,
        settings: &SimulationSettings,
        pulses: PulseTrain,
    ) -> Result<Simulated, SimulationError> {
        evforge_sim::isis::streaming(self, &settings.isis, pulses, settings.seed)
    }

    fn build(&self, _: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(Box::new(Isis::new(self)?))
    }
}
