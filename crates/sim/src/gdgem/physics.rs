//! Parameters of the simulated Gd-GEM.
//!
//! "EFU paper" is *ESS event formation*, of which section 4.4 describes the detector. "The recording" is the VMM3a
//! capture that the tests of Gd-GEM use: its clusters are those of points, not of tracks, so that it tells about gas
//! amplification, strips and electronics only. [`super`] compares both.

use schemars::JsonSchema;
use serde::Deserialize;

/// `[simulation.gdgem]`: converter, gas, strips and what the front end makes of their charge.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GdGemPhysics {
    /// Share of the neutrons whose electron gets into the gas. 1: rates are those of neutrons that are detected. (A
    /// Gd-GEM had 0.118 at 2 Å: Pfeiffer et al., arXiv:1510.02365.)
    pub efficiency: f64,
    /// Energy in keV of the slower conversion electrons: 79.5 keV of the first state of gadolinium 158 less the
    /// binding energy of the K shell, 50.2 keV.
    pub slow_electron: f64,
    /// Energy in keV of the faster ones: 79.5 keV less the 7.8 keV of the L shell.
    pub fast_electron: f64,
    /// Share of the faster ones. Chosen so that most tracks stay near the 5 to 6 strips of the recording, and few
    /// reach the 20 strips of the EFU paper (section 5).
    pub fast_share: f64,
    /// Energy in keV of the slowest electrons that get into the gas: between this and its full energy every value is
    /// equally likely, because electrons lose some of it in the foil. Chosen.
    pub least_energy: f64,
    /// Density of the gas in g/cm³: argon and carbon dioxide, 70 to 30 (EFU paper), at 20 °C and 1013 hPa. With it
    /// and the energy the range follows by the formula of Katz and Penfold (Rev. Mod. Phys. 24, 28, 1952).
    pub gas_density: f64,
    /// How far an electron gets on a straight line, as a share of its range: it is scattered all the way. Chosen.
    pub straightness: f64,
    /// Longest straight track in millimetres, at most [`LONGEST_TRACK`]: 15 strips, which with the width of the
    /// charge are the 20 strips of the EFU paper (section 5).
    pub longest_track: f64,
    /// Distance of two strips in millimetres (EFU paper: 400 µm).
    pub pitch: f64,
    /// From converter to gas amplification, in millimetres. Chosen, with `drift_velocity` so that it takes the 500 ns
    /// that an event may last at NMX (ESS readout formats, section 3, "MaxTimeSpan").
    pub drift_gap: f64,
    /// Velocity of the charge in the drift gap, in millimetres per microsecond. Chosen, see `drift_gap`.
    pub drift_velocity: f64,
    /// Standard deviation of a point's charge on the strips, in millimetres: diffusion, gas amplification and
    /// strips. Chosen so that a point has the 1.0 strips of the recording, its smallest amplitudes cut off.
    pub charge_width: f64,
    /// Amplitude on each plane of an energy of 1 keV, in steps of the converter. Chosen so that tracks use the
    /// converter as the recording does: half of the amplitudes are below 250, nine tenths below 550.
    pub amplitude_per_kev: f64,
    /// Amplitudes of hits below this are not passed to the electronics, in steps of the converter. Chosen well below
    /// any threshold.
    pub least_amplitude: f64,
    /// How much earlier the smallest amplitudes are timed, in nanoseconds: the recording's 60 at amplitudes of 45 to
    /// 60 …
    pub time_walk: f64,
    /// … and over how many steps of the amplitude above 45 that falls to 1/e: the recording's 18 ns at 90, 4 at 130.
    pub time_walk_decay: f64,
    /// Mean amplitude of a gamma on each plane; it falls off exponentially. Chosen: Compton electrons that cross the
    /// gas leave a few keV or less.
    pub gamma_amplitude: f64,
}

/// Longest `longest_track`, in strips.
pub const LONGEST_TRACK: f64 = 50.0;

impl Default for GdGemPhysics {
    fn default() -> Self {
        Self {
            efficiency: 1.0,
            slow_electron: 29.3,
            fast_electron: 71.7,
            fast_share: 0.2,
            least_energy: 6.0,
            gas_density: 0.001_716,
            straightness: 0.5,
            longest_track: 6.0,
            pitch: 0.4,
            drift_gap: 10.0,
            drift_velocity: 20.0,
            charge_width: 0.42,
            amplitude_per_kev: 100.0,
            least_amplitude: 15.0,
            time_walk: 60.0,
            time_walk_decay: 30.0,
            gamma_amplitude: 120.0,
        }
    }
}

/// Least amplitude that the front end gives: that of the recording's smallest readouts.
pub(super) const THRESHOLD: u16 = 45;
/// 10 bits (EFU paper, table 2).
pub(super) const LARGEST_AMPLITUDE: u16 = 1023;
/// A channel is busy for so long after a hit, in picoseconds: a VMM reads out a channel up to 4 million times in a
/// second.
pub(super) const DEAD_TIME_PS: u64 = 250_000;
/// Uncertainty of a time stamp in picoseconds: "in the order of 10 ns" (EFU paper). Strips of one charge differ by no
/// more than 2 ns in the recording.
pub(super) const JITTER_PS: u64 = 10_000;
/// Readouts of a FEC come up to so much later than their neighbours, in picoseconds: the recording's 5.1 µs.
pub(super) const LATENCY_PS: u64 = 5_000_000;
/// Standard deviation of the gains of the channels. Chosen: sums on x and y differ by 10 % in the recording.
pub(super) const GAIN_SPREAD: f64 = 0.05;
/// Mean amplitude of noise above the threshold. Chosen.
pub(super) const NOISE_AMPLITUDE: f64 = 15.0;

impl GdGemPhysics {
    /// Length of the straight track of an electron of this many keV in millimetres, if nothing ends it before.
    pub(super) fn track_length(&self, kev: f64) -> f64 {
        let mev = kev.max(0.1) / 1000.0;
        // g/cm² (Katz and Penfold, for 10 keV to 2.5 MeV; below that good enough for a tenth of a strip).
        let range = 0.412 * mev.powf(1.265 - 0.0954 * mev.ln());
        range / self.gas_density.max(1e-6) * 10.0 * self.straightness
    }
}
