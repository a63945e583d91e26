//! The picture of a diffractometer: rings of a powder, Bragg spots of a single crystal.

use super::layer::{Area, Layer, normal_density};
use crate::error::SimulationError;
use crate::error::refuse;
use schemars::JsonSchema;
use serde::Deserialize;
use std::f64::consts::TAU;

/// A diffraction pattern: `[simulation.beam.image.diffraction]`. All lengths are shares of the picture's side. The direct
/// beam is taken by a beam stop. The numbers are chosen so that the picture is recognised at a glance; they stand for no
/// sample.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiffractionSettings {
    /// Where the direct beam would be: from the left and from the bottom.
    pub centre: [f64; 2],
    /// Radii of the rings of a powder; `[]` for none. Each ring has equally many neutrons per length.
    pub rings: Vec<f64>,
    /// Standard deviation of a ring's profile: 0.0001 to 1.
    pub ring_width: f64,
    /// The spots of a single crystal.
    pub spots: Option<SpotSettings>,
    /// Share of the neutrons that is spread evenly: 0 to 1.
    pub background: f64,
}

/// Bragg spots: the nodes of a lattice around the centre, without the centre itself.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpotSettings {
    /// From a spot to the next one, along the first axis of the lattice.
    pub a: [f64; 2],
    /// The same along the second axis.
    pub b: [f64; 2],
    /// Standard deviation of a spot's profile: 0.0001 to 1.
    pub width: f64,
    /// Distance from the centre at which spots have become weaker by a factor of e, as the Debye-Waller factor makes
    /// them: 0.01 to 100.
    pub falloff: f64,
}

impl Default for DiffractionSettings {
    fn default() -> Self {
        Self {
            centre: [0.5, 0.5],
            rings: vec![0.14, 0.22, 0.27, 0.36, 0.44],
            ring_width: 0.008,
            spots: None,
            background: 0.2,
        }
    }
}

const WIDTHS: std::ops::RangeInclusive<f64> = 0.0001..=1.0;

impl DiffractionSettings {
    pub(super) fn layers(&self) -> Result<Vec<Layer>, SimulationError> {
        let key = |key: &str| format!("image.diffraction.{key}");
        if !self.centre.iter().all(|share| share.is_finite()) {
            return refuse(&key("centre"), format!("{:?}", self.centre), "two numbers, such as [0.5, 0.5]");
        }
        if let Some(radius) = self.rings.iter().find(|radius| !(0.0..=10.0).contains(*radius)) {
            return refuse(&key("rings"), radius, "radii of 0 to 10");
        }
        if self.rings.len() > 1000 {
            return refuse(&key("rings"), format!("{} rings", self.rings.len()), "at most 1000");
        }
        if !WIDTHS.contains(&self.ring_width) {
            return refuse(&key("ring_width"), self.ring_width, "0.0001 to 1");
        }
        if !(0.0..=1.0).contains(&self.background) {
            return refuse(&key("background"), self.background, "0 to 1");
        }
        let lattice = self.spots.as_ref().map(Lattice::new).transpose()?;
        if self.rings.is_empty() && lattice.is_none() {
            return refuse(&key("rings"), "no ring and no spots", "one of them, or image = \"flat\"");
        }
        let Self { centre, rings, ring_width, background, .. } = self.clone();
        let intensity = move |area: &Area| {
            let [x, y] = area.centre();
            let place = [x - centre[0], y - centre[1]];
            let [blur_x, blur_y] = area.blur();
            let radius = place[0].hypot(place[1]);
            let variance = ring_width * ring_width + (blur_x + blur_y) / 2.0;
            let rings: f64 = rings.iter().map(|ring| normal_density(radius - ring, variance)).sum();
            rings + lattice.as_ref().map_or(0.0, |lattice| lattice.intensity(place, [blur_x, blur_y]))
        };
        Ok(vec![Layer {
            name: "diffraction pattern",
            share: 1.0 - background,
            intensity: Box::new(intensity),
        }])
    }
}

/// The nodes of a lattice.
struct Lattice {
    spots: SpotSettings,
    determinant: f64,
}

impl Lattice {
    fn new(spots: &SpotSettings) -> Result<Self, SimulationError> {
        let key = |key: &str| format!("image.diffraction.spots.{key}");
        let SpotSettings { a, b, width, falloff } = *spots;
        let determinant = a[0] * b[1] - a[1] * b[0];
        if !(determinant.abs() >= 1e-6 && determinant.abs() <= 1e6) {
            return refuse(&key("a"), format!("{a:?} with b = {b:?}"), "two axes that are not parallel");
        }
        if !WIDTHS.contains(&width) {
            return refuse(&key("width"), width, "0.0001 to 1");
        }
        if !(0.01..=100.0).contains(&falloff) {
            return refuse(&key("falloff"), falloff, "0.01 to 100");
        }
        Ok(Self { spots: *spots, determinant })
    }

    /// Intensity of the nearest node at a place that is given from the centre.
    fn intensity(&self, [x, y]: [f64; 2], [blur_x, blur_y]: [f64; 2]) -> f64 {
        let SpotSettings { a, b, width, falloff } = self.spots;
        let h = ((x * b[1] - y * b[0]) / self.determinant).round();
        let k = ((y * a[0] - x * a[1]) / self.determinant).round();
        if h == 0.0 && k == 0.0 {
            return 0.0;
        }
        let node = [h * a[0] + k * b[0], h * a[1] + k * b[1]];
        let variance = width * width;
        let profile =
            normal_density(x - node[0], variance + blur_x) * normal_density(y - node[1], variance + blur_y);
        let squared = (node[0] * node[0] + node[1] * node[1]) / (falloff * falloff);
        // A spot has as many neutrons as a ring has on a length of 2 π widths, so that both can be seen together.
        profile * TAU * width * (-squared).exp()
    }
}
