//! What a neutron sends into the gas from a layer of boron carbide: an alpha particle or a lithium ion.
//!
//! Boron-10 catches the neutron and breaks up into both, which fly apart back to back: one of them towards the gas.

use rand::RngExt;
use rand::rngs::SmallRng;
use std::f64::consts::TAU;

/// Energy of a fragment below which it counts for nothing, in MeV: that for which the ranges are.
pub const LEAST_MEV: f64 = 0.1;

/// A fragment of boron-10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fragment {
    /// Energy at the start in MeV.
    pub energy: f64,
    /// Way in boron carbide after which [`LEAST_MEV`] is left, in micrometres.
    pub range_um: f64,
    /// Way in the gas, in millimetres.
    pub range_mm: f64,
}

const fn fragment(energy: f64, range_um: f64, range_mm: f64) -> Fragment {
    Fragment { energy, range_um, range_mm }
}

/// Alpha and lithium: of 94 % of the neutrons, and of the others, for which the lithium is not excited. Energies are
/// those of the reaction. Ranges are rounded: those in boron carbide are near those of the model of Piscitelli and Van
/// Esch (arXiv:1302.3153), those in argon with carbon dioxide at 1 bar are some 3000 times as long, as air is.
pub const FRAGMENTS: [[Fragment; 2]; 2] = [
    [fragment(1.47, 3.0, 8.5), fragment(0.84, 1.3, 4.3)],
    [fragment(1.78, 3.9, 10.0), fragment(1.01, 1.5, 5.0)],
];
/// Share of the neutrons that leave the lithium excited.
pub const EXCITED: f64 = 0.94;

/// A fragment that has come out of a layer much thicker than its range: neutrons that fall on it at a small angle are
/// caught everywhere in it alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emerged {
    /// What is left of its energy, in MeV.
    pub energy: f64,
    /// Its direction along two axes in the plane of the layer, as parts of a vector of length 1.
    pub direction: [f64; 2],
}

impl Emerged {
    /// Draws a fragment.
    #[inline]
    pub fn draw(random: &mut SmallRng) -> Self {
        let [pick, left, cosine_squared, azimuth]: [f64; 4] = random.random();
        // As many come out as there are neutrons caught within the range, and all ways in the layer are equally likely.
        let [[alpha, lithium], [of_others, _]] = FRAGMENTS;
        let weigh = |share: f64, fragment: &Fragment| share * fragment.range_um;
        let weights = [
            (weigh(EXCITED, &alpha), &alpha),
            (weigh(EXCITED, &lithium), &lithium),
            (weigh(1.0 - EXCITED, &of_others), &of_others),
        ];
        let last = &FRAGMENTS[1][1];
        let all = weights.iter().map(|(weight, _)| weight).sum::<f64>() + weigh(1.0 - EXCITED, last);
        let mut rest = pick * all;
        let mut fragment = last;
        for (weight, of) in weights {
            if rest < weight {
                fragment = of;
                break;
            }
            rest -= weight;
        }
        let energy = LEAST_MEV + (fragment.energy - LEAST_MEV) * left;
        // A direction counts by its cosine to the normal, by which the depth shrinks that it can come from.
        let sine = (1.0 - cosine_squared).sqrt();
        let (sine_of_azimuth, cosine_of_azimuth) = (TAU * azimuth).sin_cos();
        Self { energy, direction: [sine * cosine_of_azimuth, sine * sine_of_azimuth] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};

    #[test]
    fn energies_end_where_those_of_the_reaction_do_and_directions_have_no_preference() {
        let mut random = stream(1, Stream::Channels);
        let drawn: Vec<_> = (0..200_000).map(|_| Emerged::draw(&mut random)).collect();
        let share = |least: f64| drawn.iter().filter(|one| one.energy > least).count() as f64 / 2e5;
        assert_eq!((share(1.78), share(LEAST_MEV)), (0.0, 1.0));
        // Beyond the energies of all others there are only alphas without an excited lithium.
        let all = 0.94 * (3.0 + 1.3) + 0.06 * (3.9 + 1.5);
        let others = 0.06 * 3.9 / all;
        assert!((share(1.47) - others * 0.31 / 1.68).abs() < 1e-3, "{}", share(1.47));
        // And beyond those of the lithium only alphas.
        let expected = 0.94 * 3.0 / all * 0.46 / 1.37 + others * 0.77 / 1.68;
        assert!((share(1.01) - expected).abs() < 4e-3, "{} {expected}", share(1.01));
        for axis in 0..2 {
            let mean = drawn.iter().map(|one| one.direction[axis]).sum::<f64>() / 2e5;
            let square = drawn.iter().map(|one| one.direction[axis].powi(2)).sum::<f64>() / 2e5;
            assert!(mean.abs() < 5e-3 && (square - 0.25).abs() < 5e-3, "{mean} {square}");
        }
        assert!(drawn.iter().all(|one| one.direction[0].hypot(one.direction[1]) <= 1.0));
    }
}
