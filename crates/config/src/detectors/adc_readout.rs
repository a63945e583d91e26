//! `[adc_readout]`.

use super::configured::{ConfiguredDetector, Parts};
use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::{PulseChannel, PulseTrain};
use evforge_core::settings::SettingsError;
use evforge_detect::adc_readout::{AdcReadout, AdcReadoutSettings};
use evforge_detect::adc_readout::{AdcReadoutCounters, PulseChannelCounters};
use evforge_detect::measured_windows::MeasuredWindows;
use evforge_detect::settings::HeldHits;
use evforge_inspect::expected::Expected;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use evforge_wire::recognise::Format;

impl ConfiguredDetector for AdcReadoutSettings {
    fn shipped() -> &'static [&'static str] {
        &["adc-readout"]
    }

    fn counted_stages() -> Vec<CountedStage> {
        vec![
            CountedStage::of::<AdcReadoutCounters>("Forming events of sampled channels"),
            CountedStage::of::<PulseChannelCounters>("Pulses that arrive on a channel"),
        ]
    }

    fn check(&self) -> Result<(), SettingsError> {
        self.check()
    }

    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError> {
        Ok(None)
    }

    fn expected(&self, _: Option<u8>) -> Expected {
        Expected::Format(Format::AdcReadout)
    }

    fn simulated(
        &self,
        settings: &SimulationSettings,
        pulses: PulseTrain,
    ) -> Result<Simulated, SimulationError> {
        evforge_sim::adc_readout::sampled(self, settings.adc_readout, pulses)
    }

    fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(match parts.averages {
            Some(averages) => Box::new(AdcReadout::with_sink(self, averages)?),
            None => Box::new(AdcReadout::new(self)?),
        })
    }

    fn set_pulse_channel(&mut self, channel: PulseChannel) -> bool {
        self.pulse_channel = Some(channel);
        true
    }

    fn held_hits(&self) -> Option<HeldHits> {
        self.pulse_channel.map(|_| self.sorting.held_hits("detector"))
    }

    fn makes_averages(&self) -> bool {
        self.averaging.is_some()
    }
}
