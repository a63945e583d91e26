//! Parameters of simulated beam monitors.

use evforge_core::quantity::TimeSpan;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[simulation.beam_monitors]`: what a neutron leaves, and how sums are made.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BeamMonitorPhysics {
    /// Mean amplitude of a neutron, in steps of the converter (16 bits). Chosen: no document gives a value.
    pub amplitude: f64,
    /// Standard deviation of a neutron's amplitude, as a share of it. 0.2: chosen, as wide as the peak of a thin gas detector.
    pub spread: f64,
    /// Time between two sums of an integrating monitor. Chosen: as long as a bin of the histogram in `configs/beam-monitors.toml`.
    pub sum_period: TimeSpan,
    /// Samples of the converter in a sum: 1 to 255. Chosen.
    pub samples: u8,
}

impl Default for BeamMonitorPhysics {
    fn default() -> Self {
        Self {
            amplitude: 1000.0,
            spread: 0.2,
            sum_period: TimeSpan { picoseconds: 100_000_000 },
            samples: 10,
        }
    }
}

/// Amplitude above which a neutron is digitised, as a share of the mean one: five standard deviations below it.
pub(super) const THRESHOLD: f64 = 0.01;
/// A monitor is busy for so long after a neutron, in picoseconds; of one with positions, the pixel is. Chosen.
pub(super) const DEAD_TIME_PS: u64 = 500_000;
/// Largest amplitude: 16 bits.
pub(super) const LARGEST_AMPLITUDE: u16 = u16::MAX;
/// Noise has a small share of a neutron's amplitude.
pub(super) const NOISE: f64 = 0.05;
