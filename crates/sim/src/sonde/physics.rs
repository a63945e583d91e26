//! Parameters of the simulated SoNDe.

use schemars::JsonSchema;
use serde::Deserialize;

/// `[simulation.sonde]`: scintillator and photomultiplier.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SondePhysics {
    /// Share of the neutrons that the scintillator converts. 1: rates of the EFU paper (section 1.1) are those of
    /// neutrons on the detector surface at full efficiency.
    pub efficiency: f64,
    /// Amplitude of a neutron that converts in the middle of a pixel, in steps of the converter (12 bits). Chosen; the
    /// trigger-time packets carry no amplitude.
    pub amplitude: f64,
    /// Standard deviation of a neutron's light, as a share of it. 0.07: the peak of lithium glass has a width of about
    /// 16 % at half its height.
    pub light_spread: f64,
    /// Distance, in pixels, over which the light beyond the border of a pixel falls to 1/e. 0.033 is 0.2 mm of the
    /// 6 mm pixel. Chosen: the documents give no value.
    pub sharing_length: f64,
    /// Share of a pixel's light that each of its four neighbours sees, wherever the neutron was. 0.03: typical
    /// cross-talk of flat-panel photomultipliers with 64 anodes.
    pub cross_talk: f64,
    /// Mean light of a gamma, as a share of a neutron's; it falls off exponentially. Chosen: gammas in a thin lithium
    /// glass leave much less light than neutrons.
    pub gamma_light: f64,
}

impl Default for SondePhysics {
    fn default() -> Self {
        Self {
            efficiency: 1.0,
            amplitude: 1000.0,
            light_spread: 0.07,
            sharing_length: 0.033,
            cross_talk: 0.03,
            gamma_light: 0.1,
        }
    }
}

/// Amplitude above which a pixel triggers, as a share of a neutron's. Above one half, so that a neutron between two
/// pixels does not trigger both.
pub(super) const THRESHOLD: f64 = 0.6;
/// After a trigger its channel is busy for so long, in picoseconds. Chosen: the documents give no value.
pub(super) const DEAD_TIME_PS: u64 = 1_000_000;
/// Uncertainty of a time stamp in picoseconds: the light of lithium glass decays within some 60 ns, of which the
/// leading edge is timed.
pub(super) const JITTER_PS: u64 = 10_000;
/// Step of the time stamps in picoseconds, unless it is configured: nanoseconds.
pub(super) const CLOCK_STEP_PS: u64 = 1000;
/// Largest amplitude of the boards: 12 bits.
pub(super) const LARGEST_AMPLITUDE: u16 = 4095;
