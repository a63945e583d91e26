//! The built-in picture: a plate with a letter F, a fainter cross and a small square, in front of a broad beam.
//!
//! It has no symmetry: mirrored or turned it is another picture, so that a wrong orientation of an axis
//! shows at once.

use super::layer::Layer;

/// Drawn from the top row down; `#` is open, `+` half open, anything else stops nearly all neutrons.
const PICTURE: [&[u8; 16]; 16] = [
    b"................",
    b".########.......",
    b".########.......",
    b".###............",
    b".###............",
    b".######.........",
    b".######.........",
    b".###............",
    b".###............",
    b".###........++..",
    b"...........++++.",
    b"............++..",
    b"................",
    b".......#........",
    b"................",
    b"................",
];

/// How many neutrons pass, relative to an open place.
const OPEN: f64 = 1.0;
const HALF_OPEN: f64 = 0.45;
const CLOSED: f64 = 0.03;

/// Relative intensity at a place of the picture: shares of its side, from the left and from the bottom.
pub(crate) fn intensity([x, y]: [f64; 2]) -> f64 {
    let side = PICTURE.len();
    let cell = |share: f64| ((share * side as f64) as usize).min(side - 1);
    match PICTURE[side - 1 - cell(y)][cell(x)] {
        b'#' => OPEN,
        b'+' => HALF_OPEN,
        _ => CLOSED,
    }
}

pub(super) fn layer() -> Layer {
    Layer { name: "mask", share: 1.0, intensity: Box::new(|area| intensity(area.centre())) }
}
