//! Moderators: which wavelengths neutrons have, and how long after the protons they come out.
//!
//! The formulas are those that F. Mezei gave for the ESS ("ESS reference moderator characteristics", 2000), as the
//! component `ESS_moderator_long` of McStas documents them. Neutrons that are not fully moderated are left out.

use evforge_core::quantity::TimeSpan;
use schemars::JsonSchema;
use serde::Deserialize;

/// Exponent of the Maxwellian spectrum, in kelvin square ångström: h² / (2 m k), as `ESS_moderator_long` rounds it.
const KELVIN_SQUARE_ANGSTROM: f64 = 949.0;

/// Neutrons come out of a moderator this many times faster than they die out in it: `n` of `ESS_moderator_long`.
const RISE: f64 = 20.0;

/// A moderator that neutrons come from: `[[simulation.beam.moderators]]`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Moderator {
    /// Temperature of the Maxwellian spectrum in kelvin: 1 to 10 000.
    pub temperature: f64,
    /// Neutrons of all wavelengths that come from it, relative to the other moderators.
    pub weight: f64,
    /// Time in which the neutrons in it become fewer by a factor of e: at most 2 ms.
    pub decay: TimeSpan,
}

impl Moderator {
    /// Water at room temperature and liquid hydrogen, coupled, for long pulses: sets c1 and c2 of `ESS_moderator_long`.
    /// The slower second decay of the water (`tau1`) is left out.
    pub fn bispectral() -> Vec<Self> {
        let microseconds = |count: u64| TimeSpan { picoseconds: count * 1_000_000 };
        vec![
            Self { temperature: 325.0, weight: 13.5, decay: microseconds(80) },
            Self { temperature: 50.0, weight: 6.9, decay: microseconds(287) },
        ]
    }

    /// Share of its neutrons with wavelengths, in ångström, below this one: the integral of 2 a² λ⁻⁵ exp(−a/λ²) with
    /// a = 949/T.
    pub(super) fn share_below(&self, wavelength: f64) -> f64 {
        if wavelength <= 0.0 {
            return 0.0;
        }
        let exponent = KELVIN_SQUARE_ANGSTROM / self.temperature / (wavelength * wavelength);
        (1.0 + exponent) * (-exponent).exp()
    }

    /// Share of its neutrons that have come out this long (in picoseconds) after the protons began to arrive, if they
    /// arrive evenly for the length of `proton_pulse`. The form is that of [`Moderator`]'s source: protons that arrive
    /// at once make a pulse (exp(−t/τ) − exp(−nt/τ)) n/(n−1)/τ.
    pub(super) fn share_out(&self, time_ps: f64, proton_pulse: TimeSpan) -> f64 {
        let length = proton_pulse.picoseconds as f64;
        if time_ps <= 0.0 {
            0.0
        } else if length == 0.0 {
            self.share_out_at_once(time_ps)
        } else {
            let after = (time_ps - length).max(0.0);
            ((self.integral(time_ps) - self.integral(after)) / length).clamp(0.0, 1.0)
        }
    }

    /// After this time, in picoseconds, fewer than one in a million of its neutrons still come.
    pub(super) fn longest(&self, proton_pulse: TimeSpan) -> f64 {
        proton_pulse.picoseconds as f64 + 14.0 * self.decay.picoseconds as f64
    }

    fn share_out_at_once(&self, time_ps: f64) -> f64 {
        let decay = self.decay.picoseconds as f64;
        if decay == 0.0 {
            return 1.0;
        }
        let times = time_ps / decay;
        1.0 - (RISE * (-times).exp() - (-RISE * times).exp()) / (RISE - 1.0)
    }

    /// Integral of the above from 0.
    fn integral(&self, time_ps: f64) -> f64 {
        let decay = self.decay.picoseconds as f64;
        if decay == 0.0 {
            return time_ps;
        }
        let times = time_ps / decay;
        let slow = RISE * (1.0 - (-times).exp());
        let fast = (1.0 - (-RISE * times).exp()) / RISE;
        time_ps - decay * (slow - fast) / (RISE - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: TimeSpan = TimeSpan { picoseconds: 1_000_000_000 };

    #[test]
    fn shares_rise_from_none_to_all() {
        for moderator in Moderator::bispectral() {
            assert_eq!(moderator.share_below(0.0), 0.0);
            assert!(moderator.share_below(1000.0) > 0.999);
            assert!((0..1000).map(|step| moderator.share_below(f64::from(step) * 0.02)).is_sorted());
            for pulse in [TimeSpan { picoseconds: 0 }, MILLISECOND] {
                assert_eq!(moderator.share_out(0.0, pulse), 0.0);
                let longest = moderator.longest(pulse);
                assert!((1.0 - moderator.share_out(longest, pulse)).abs() < 2e-6);
                let steps = (0..1000).map(|step| longest * f64::from(step) / 1000.0);
                assert!(steps.map(|time| moderator.share_out(time, pulse)).is_sorted());
            }
        }
    }

    #[test]
    fn a_moderator_without_decay_follows_the_protons() {
        let moderator = Moderator { temperature: 300.0, weight: 1.0, decay: TimeSpan { picoseconds: 0 } };
        assert!((moderator.share_out(0.25e9, MILLISECOND) - 0.25).abs() < 1e-12);
        assert_eq!(moderator.share_out(2e9, MILLISECOND), 1.0);
        assert_eq!(moderator.share_out(1.0, TimeSpan { picoseconds: 0 }), 1.0);
    }

    #[test]
    fn half_of_the_thermal_neutrons_are_below_a_known_wavelength() {
        // (1 + u) exp(-u) is one half at u = 1.678347.
        let [thermal, _] = Moderator::bispectral()[..] else { panic!("two moderators") };
        let median = (KELVIN_SQUARE_ANGSTROM / 325.0 / 1.678_347_f64).sqrt();
        assert!((thermal.share_below(median) - 0.5).abs() < 1e-6);
    }
}
