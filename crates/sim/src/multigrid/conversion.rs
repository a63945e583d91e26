//! Where a neutron converts, and which fragment gets how far into the gas.
//!
//! Boron-10 catches the neutron and breaks up into an alpha particle and a lithium ion, which fly apart back to back:
//! one of them towards the gas of the cell. It loses energy in what is left of the coating on its way.
//!
//! ```text
//! beam ─►  ▌coating 0 · gas of cell 0 · coating 1▐▌coating 2 · gas of cell 1 · coating 3▐ …
//! ```

use super::physics::MultiGridPhysics;
use crate::boron_layer::{EXCITED, FRAGMENTS, LEAST_MEV};
use crate::random::exponential;
use rand::RngExt;
use rand::rngs::SmallRng;

/// Probability that boron carbide catches a neutron, per micrometre and ångström of its wavelength. Boron-10 has 3835
/// barn at 1.798 Å, and 1 cm³ of B₄C of 2.24 g/cm³ has 1.04 × 10²³ atoms of boron, of which 97 % are boron-10.
const ABSORPTION_PER_UM: f64 = 3835e-24 * 1.04e23 * 0.97 * 1e-4 / 1.798;

/// What reached the gas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Converted {
    /// The layer of cells, from 0 in front.
    pub layer: u32,
    /// Where in the layer, in layers from its front: at the front coating or at the rear one.
    pub depth: f64,
    /// Energy left in the gas of the cell in MeV.
    pub energy_mev: f64,
    /// Way across the wires in the gas, in millimetres: by so much it went along the row of cells.
    pub across_mm: f64,
    /// Way along the wires in the gas, in millimetres.
    pub along_mm: f64,
}

/// Where coatings are, in layers from the front of their cell: blades are thin.
const COATING_DEPTHS: [f64; 2] = [0.02, 0.98];

/// Lets a neutron with this wavelength in ångström fall on a detector with this many layers, and its fragment fly. None
/// if the neutron goes through, or if nothing gets out of the coating.
#[inline]
pub fn convert(
    physics: &MultiGridPhysics,
    wavelength: f64,
    layers: u32,
    random: &mut SmallRng,
) -> Option<Converted> {
    let absorption = ABSORPTION_PER_UM * wavelength * physics.coating_um;
    // How many coatings the neutron gets through: earlier ones take their share before later ones see any.
    let coatings = exponential(random) / absorption;
    if coatings.is_nan() || coatings >= f64::from(2 * layers) {
        return None;
    }
    let coating = coatings as u32;
    let (layer, is_rear) = (coating / 2, coating % 2 == 1);
    let from_front = coatings.fract();
    let to_gas = if is_rear { from_front } else { 1.0 - from_front };
    let choice: f64 = random.random();
    let of_kind = &FRAGMENTS[usize::from(choice >= EXCITED)];
    let fragment = of_kind[usize::from(random.random::<bool>())];
    // Directions are alike, and one of the two fragments flies towards the gas.
    let cosine: f64 = random.random();
    let in_coating = to_gas * physics.coating_um / cosine;
    if in_coating >= fragment.range_um || cosine <= 0.0 {
        return None;
    }
    let lost = (fragment.energy - LEAST_MEV) * in_coating / fragment.range_um;
    let energy = fragment.energy - lost;
    // The blade on the other side of the gas is in its way, too.
    let straight = fragment.range_mm * energy / fragment.energy;
    let flown = straight.min(physics.cell_mm[2] / cosine);
    let flat = flown * (1.0 - cosine * cosine).sqrt();
    let (sine, cosine) = (random.random::<f64>() * std::f64::consts::TAU).sin_cos();
    Some(Converted {
        layer,
        depth: COATING_DEPTHS[usize::from(is_rear)],
        energy_mev: energy * flown / straight,
        across_mm: flat * cosine,
        along_mm: flat * sine,
    })
}

/// Where in a row of cells a neutron is that came in at `column` (columns from the first one's left wall), so far behind the front of a
/// tilted detector; none if a wall between columns has caught it on its way.
#[inline]
pub fn drift(
    physics: &MultiGridPhysics,
    column: f64,
    depth_mm: f64,
    wavelength: f64,
    random: &mut SmallRng,
) -> Option<f64> {
    // An upright detector draws no random number here.
    if physics.tilt_deg == 0.0 {
        return Some(column);
    }
    let (sine, cosine) = physics.tilt_deg.to_radians().sin_cos();
    let at = column + depth_mm * sine / cosine / physics.cell_mm[0];
    let walls = (at.floor() - column.floor()).abs();
    let absorption = ABSORPTION_PER_UM * wavelength * 2.0 * physics.side_coating_um / sine.abs() * walls;
    (at >= 0.0 && exponential(random) >= absorption).then_some(at)
}

impl Converted {
    /// Cuts the track where it meets a wall next to the cell, `at` of a width of `width_mm` away from its left one.
    #[inline]
    pub fn stop_at_walls(&mut self, at: f64, width_mm: f64) {
        let (from, to) = (at * width_mm, at * width_mm + self.across_mm);
        let inside = to.clamp(0.0, width_mm) - from;
        if inside != self.across_mm {
            let share = inside / self.across_mm;
            self.energy_mev *= share;
            self.along_mm *= share;
            self.across_mm = inside;
        }
    }
}
