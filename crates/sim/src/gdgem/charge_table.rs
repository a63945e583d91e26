//! What does not change from neutron to neutron: looked up, because it is needed for every point of every track.

use super::physics::{GdGemPhysics, LONGEST_TRACK, THRESHOLD};

/// Strips on each side of a point that get some of its charge.
pub(super) const REACH: usize = 3;
/// Strips that get some of the charge of a point, with one that gets none, for even numbers.
pub(super) const WIDTH: usize = 2 * REACH + 2;
/// Places in a strip that are told apart.
const PLACES: usize = 64;
/// Energies that are told apart, in a keV.
const PER_KEV: f64 = 8.0;
/// Amplitudes that are told apart for their time walk: all above are timed alike.
const WALKING: usize = 512;

/// The track of an electron: how long, in strips, and how much charge, in steps of the converter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Track {
    pub(super) length: f32,
    pub(super) amplitude: f32,
}

/// Tables of a detector with this physics.
#[derive(Clone, Debug)]
pub(super) struct ChargeTables {
    tracks: Vec<Track>,
    shares: Vec<[f32; WIDTH]>,
    walk_ps: Vec<f32>,
}

impl ChargeTables {
    pub(super) fn new(physics: &GdGemPhysics) -> Self {
        let energies = physics.fast_electron.max(physics.slow_electron).clamp(0.0, 10_000.0) * PER_KEV;
        let pitch = physics.pitch.max(1e-3);
        let longest = (physics.longest_track / pitch).clamp(0.0, LONGEST_TRACK);
        let track = |index: usize| {
            let kev = index as f64 / PER_KEV;
            let whole = physics.track_length(kev) / pitch;
            // A track that ends before its electron has lost all energy leaves the rest elsewhere.
            let share = if whole > longest { longest / whole } else { 1.0 };
            Track {
                length: (whole * share) as f32,
                amplitude: (kev * physics.amplitude_per_kev * share) as f32,
            }
        };
        let width = (physics.charge_width / pitch).max(1e-3);
        let shares = |place: usize| {
            let at = (place as f64 + 0.5) / PLACES as f64;
            let up_to = |strip: usize| normal_below((strip as f64 - REACH as f64 - at) / width);
            std::array::from_fn(|strip| {
                if strip < WIDTH - 1 { (up_to(strip + 1) - up_to(strip)) as f32 } else { 0.0 }
            })
        };
        let decay = physics.time_walk_decay.max(1e-3);
        let walk = |amplitude: usize| {
            let above = (amplitude as f64 - f64::from(THRESHOLD)).max(0.0);
            (physics.time_walk * 1000.0 * (-above / decay).exp()) as f32
        };
        Self {
            tracks: (0..=energies.ceil() as usize).map(track).collect(),
            shares: (0..PLACES).map(shares).collect(),
            walk_ps: (0..WALKING).map(walk).collect(),
        }
    }

    /// The track of an electron of this many keV.
    #[inline]
    pub(super) fn track(&self, kev: f64) -> Track {
        let index = (kev * PER_KEV) as usize;
        self.tracks.get(index).or(self.tracks.last()).copied().unwrap_or_default()
    }

    /// How the charge of a point at `fraction` of its strip is shared by the strips from [`REACH`] before it on.
    #[inline]
    pub(super) fn shares(&self, fraction: f32) -> &[f32; WIDTH] {
        let place = (fraction * PLACES as f32) as usize;
        &self.shares[place.min(PLACES - 1)]
    }

    /// How much earlier a hit of this amplitude is timed.
    #[inline]
    pub(super) fn walk_ps(&self, amplitude: f32) -> f32 {
        self.walk_ps.get(amplitude as usize).copied().unwrap_or(0.0)
    }
}

/// Share of a normal distribution that lies below this many standard deviations: the approximation of Abramowitz and
/// Stegun, 7.1.26, good to 2e-7.
fn normal_below(deviations: f64) -> f64 {
    let x = deviations.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let sum = series.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    let beyond = 0.5 * sum * (-x * x).exp();
    if deviations < 0.0 { beyond } else { 1.0 - beyond }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_charge_is_on_the_strips_and_most_of_it_where_the_point_is() {
        let tables = ChargeTables::new(&GdGemPhysics::default());
        for fraction in [0.0, 0.25, 0.5, 0.99, 1.0] {
            let shares = tables.shares(fraction);
            let sum: f32 = shares.iter().sum();
            assert!((0.99..1.001).contains(&sum), "{sum}");
            let centre: f32 = shares.iter().zip(0_i16..).map(|(share, at)| share * f32::from(at)).sum();
            assert!((centre / sum - REACH as f32 + 0.5 - fraction).abs() < 0.03, "{centre}");
        }
    }

    #[test]
    fn tracks_follow_the_range_and_small_amplitudes_come_early() {
        let physics = GdGemPhysics::default();
        let tables = ChargeTables::new(&physics);
        // 29.3 keV: 8.4 mm of range in this gas.
        assert!((8.0..9.0).contains(&(physics.track_length(29.3) / physics.straightness)));
        assert!(tables.track(10.0).length < tables.track(29.0).length);
        assert_eq!(tables.track(70.0).length, 15.0);
        assert!(tables.track(29.0).amplitude > tables.track(70.0).amplitude);
        assert_eq!(tables.track(1e9).length, 15.0);
        assert!(tables.walk_ps(50.0) > 50_000.0 * 0.8 && tables.walk_ps(200.0) < 1000.0);
    }

    #[test]
    fn the_normal_distribution_is_known_at_a_few_points() {
        for (deviations, share) in [(0.0, 0.5), (1.0, 0.841_345), (-1.96, 0.024_998), (3.0, 0.998_650)] {
            assert!((normal_below(deviations) - share).abs() < 1e-5);
        }
    }
}
