//! The picture of a reflectometer: direct beam, specular reflection, off-specular scattering.

use super::layer::{Area, Layer, normal_density};
use crate::error::SimulationError;
use crate::error::refuse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The direction in which a reflectometer measures the angle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AngleAxis {
    /// From column to column.
    X,
    /// From row to row.
    #[default]
    Y,
}

/// The picture of a reflectometer: `[simulation.beam.image.reflectometry]`. All lengths are shares of the picture's side.
/// What the shares leave is spread evenly. The numbers are chosen so that the picture is recognised at a glance; they
/// stand for no sample.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReflectometrySettings {
    /// The direction in which the angle is measured.
    pub axis: AngleAxis,
    /// Where the direct beam is along this axis.
    pub direct: f64,
    /// Share of the neutrons in the direct beam: 0 to 1.
    pub direct_share: f64,
    /// Where the specular reflection is along this axis.
    pub specular: f64,
    /// Share of the neutrons in the specular reflection: 0 to 1.
    pub specular_share: f64,
    /// Standard deviation of both profiles along the axis: 0.0001 to 1.
    pub width: f64,
    /// Length of both stripes across the axis, in the middle of the picture: above 0, up to 1.
    pub length: f64,
    /// Share of the neutrons that is scattered off specular, around the specular reflection: 0 to 1.
    pub off_specular_share: f64,
    /// Standard deviation of what is scattered off specular, along the axis: 0.0001 to 1.
    pub off_specular_width: f64,
}

impl Default for ReflectometrySettings {
    fn default() -> Self {
        Self {
            axis: AngleAxis::Y,
            direct: 0.25,
            direct_share: 0.2,
            specular: 0.65,
            specular_share: 0.5,
            width: 0.01,
            length: 0.6,
            off_specular_share: 0.2,
            off_specular_width: 0.08,
        }
    }
}

impl ReflectometrySettings {
    pub(super) fn layers(&self) -> Result<Vec<Layer>, SimulationError> {
        let key = |key: &str| format!("image.reflectometry.{key}");
        let between = |name: &str, value: f64, from: f64, to: f64| {
            if (from..=to).contains(&value) {
                return Ok(());
            }
            refuse(&key(name), value, &format!("{from} to {to}"))
        };
        between("direct", self.direct, 0.0, 1.0)?;
        between("specular", self.specular, 0.0, 1.0)?;
        between("width", self.width, 0.0001, 1.0)?;
        between("off_specular_width", self.off_specular_width, 0.0001, 1.0)?;
        between("length", self.length, 0.0001, 1.0)?;
        between("direct_share", self.direct_share, 0.0, 1.0)?;
        between("specular_share", self.specular_share, 0.0, 1.0)?;
        between("off_specular_share", self.off_specular_share, 0.0, 1.0)?;
        let sum = self.direct_share + self.specular_share + self.off_specular_share;
        // A sum of decimal fractions may be above 1 by rounding alone.
        if sum > 1.0 + 1e-9 {
            return refuse(
                &key("specular_share"),
                format!("shares with the sum {sum}"),
                "at most 1 for all three",
            );
        }
        let stripe = |name, share, position, width| {
            let Self { axis, length, .. } = *self;
            let intensity = move |area: &Area| stripe(area, axis, position, width, length);
            Layer { name, share, intensity: Box::new(intensity) }
        };
        Ok(vec![
            stripe("direct beam", self.direct_share, self.direct, self.width),
            stripe("specular reflection", self.specular_share, self.specular, self.width),
            stripe(
                "off-specular scattering",
                self.off_specular_share,
                self.specular,
                self.off_specular_width,
            ),
        ])
    }
}

/// Intensity of a stripe across the axis.
fn stripe(area: &Area, axis: AngleAxis, position: f64, width: f64, length: f64) -> f64 {
    let along = usize::from(axis == AngleAxis::Y);
    let profile = normal_density(area.centre()[along] - position, width * width + area.blur()[along]);
    let [from, to] = if axis == AngleAxis::Y { area.x } else { area.y };
    let covered = to.min(0.5 + length / 2.0) - from.max(0.5 - length / 2.0);
    profile * covered.max(0.0)
}
