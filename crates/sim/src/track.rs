//! What a neutron leaves on the two planes of a Gd-GEM: a track of hits on neighbouring strips.
//!
//! The conversion electron runs away from where the neutron was absorbed, and its charge drifts to the
//! strips: what lies closest to the neutron arrives last. So on each plane the latest hit is on the neutron's
//! strip, and earlier ones lie to one side of it.

use crate::neutron_source::exponential;
use evforge_detect::gdgem::settings::Plane;
use rand::{Rng, RngExt};

/// A hit that the electronics will digitise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChargeOnStrip {
    /// The plane.
    pub plane: Plane,
    /// The strip.
    pub strip: u32,
    /// Nanoseconds, with the fraction that the electronics may resolve.
    pub time_ns: f64,
    /// Amplitude, 0..=1023.
    pub adc: u16,
}

/// Strips of a track on one plane.
const SHORTEST: u32 = 4;
const LONGEST: u32 = 9;
/// Time between hits on neighbouring strips, in nanoseconds.
const STEP_NS: std::ops::Range<f64> = 15.0..60.0;
/// Typical amplitude.
const TYPICAL_ADC: f64 = 180.0;

/// Adds the hits of a neutron at column `x`, row `y` of a detector with `sides` strips to `hits`. The latest
/// hit of each plane is at `time_ns`.
pub fn add_track(
    (x, y): (u32, u32),
    time_ns: f64,
    sides: (u32, u32),
    random: &mut impl Rng,
    hits: &mut Vec<ChargeOnStrip>,
) {
    for (plane, strip, strips) in [(Plane::X, x, sides.0), (Plane::Y, y, sides.1)] {
        let length = random.random_range(SHORTEST..=LONGEST);
        // Towards the side where there is room for the whole track.
        let downwards = if strip + length > strips {
            true
        } else if strip < length {
            false
        } else {
            random.random_bool(0.5)
        };
        let step = random.random_range(STEP_NS);
        for index in 0..length {
            let strip = if downwards { strip.saturating_sub(index) } else { strip + index };
            let adc = (TYPICAL_ADC * (0.2 + exponential(random))).min(1023.0) as u16;
            let time_ns = time_ns - step * f64::from(index);
            hits.push(ChargeOnStrip { plane, strip, time_ns, adc });
        }
    }
}
