//! Parameters of simulated sampled channels.

use crate::error::SimulationError;
use evforge_core::quantity::TimeSpan;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[simulation.adc_readout]`: what the converter samples of a neutron. All values are chosen: no document gives any.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdcReadoutPhysics {
    /// Mean height of a neutron's waveform above the baseline, in steps of the converter (14 bits).
    pub amplitude: f64,
    /// Standard deviation of the height, as a share of it.
    pub spread: f64,
    /// Samples where there is nothing.
    pub baseline: u16,
    /// Samples of a run: 4 to 1000. The peak is a quarter into it.
    pub samples: u16,
    /// How much later than it came the signal of a pulse is sent, on the channel of the pulses (`pulses.channel`): behind the
    /// runs of neutrons that have come meanwhile.
    pub pulse_latency: TimeSpan,
}

impl Default for AdcReadoutPhysics {
    fn default() -> Self {
        Self {
            amplitude: 3000.0,
            spread: 0.15,
            baseline: 200,
            samples: 40,
            pulse_latency: TimeSpan { picoseconds: 0 },
        }
    }
}

impl AdcReadoutPhysics {
    /// Checks what a run can be made of.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        if !(4..=1000).contains(&self.samples) {
            let problem =
                format!("simulation.adc_readout.samples: found {}, expected 4 to 1000", self.samples);
            return Err(SimulationError(problem));
        }
        Ok(())
    }

    /// Samples before the peak.
    pub(super) fn before_peak(&self) -> u16 {
        self.samples / 4
    }
}

/// A tick of the converter's clock in picoseconds, rounded up: a sample.
pub(super) const SAMPLE_PS: u64 = 22_714;
/// Height above which a neutron is recorded, as a share of the mean one.
pub(super) const THRESHOLD: f64 = 0.1;
/// Largest sample above the baseline: 14 bits.
pub(super) const LARGEST_AMPLITUDE: u16 = 16_383;
/// Mean height of noise above the threshold, as a share of a neutron's.
pub(super) const NOISE: f64 = 0.05;
