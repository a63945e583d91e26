//! The table `[placement]` of a configuration.

use super::offsets::{Arc, GridAxis, Pitch};
use super::place::{Placement, Trust};
use super::transformation::{Transformation, TransformationKind};
use crate::geometry::LogicalGeometry;
use crate::quantity::{Angle, Length};
use crate::settings::SettingsError;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The table `[placement]`: the spacing of pixels, and where panels, source and beam monitors stand.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementSettings {
    /// Distance between the centres of neighbouring columns, rows and, with depth, layers.
    #[serde(default)]
    #[schemars(length(max = 3), extend("x-unit" = "lengths", "x-default" = "not known"))]
    pub pitch: Vec<Length>,
    /// How far the figures can be trusted. It is in every file (`description` of the detector).
    pub figures: Trust,
    /// Where the figures are from, for people.
    #[serde(default)]
    #[schemars(extend("x-default" = "none"))]
    pub note: String,
    /// From the source to the sample, along the beam (L1).
    #[schemars(extend("x-range" = "above 0", "x-default" = "not known"))]
    pub source_distance: Option<Length>,
    /// Beam monitors by name: their place along the beam from the sample, less than 0 before it.
    #[serde(default)]
    #[schemars(extend("x-unit" = "lengths", "x-default" = "not known"))]
    pub monitors: BTreeMap<String, Length>,
    /// Blocks of rows or columns that stand on an arc around the sample.
    pub arc: Option<ArcSettings>,
    /// In pictures, the number of panels in a row.
    #[schemars(range(min = 1), extend("x-default" = "as they stand"))]
    pub panel_columns: Option<u32>,
    /// The place of each panel: a table for each, or none.
    #[serde(default)]
    pub panel: Vec<PanelSettings>,
}

/// `[placement.arc]`
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArcSettings {
    /// What is cut into blocks, which stand on an arc in the vertical (rows) or horizontal plane, `distance` from the sample.
    #[schemars(extend("enum" = ["rows", "columns"]))]
    pub along: GridAxis,
    /// Rows or columns per block.
    #[schemars(range(min = 1))]
    pub size: u32,
    /// Angle between neighbouring blocks, seen from the sample.
    pub step: Angle,
    /// Angle between the surface of a block and the line to the sample; 90 degrees faces it. Inclined blocks are blades, with
    /// [pictures](outputs.md#panels-and-blades) of their own.
    #[schemars(extend("x-default" = "90 deg"))]
    pub inclination: Option<Angle>,
}

/// `[[placement.panel]]`
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PanelSettings {
    /// From the sample to the centre of the panel.
    #[schemars(extend("x-range" = "not below 0"))]
    pub distance: Length,
    /// Swung sideways about the sample: towards x if greater than 0.
    #[serde(default)]
    pub angle: Angle,
    /// Swung upwards about the sample.
    #[serde(default)]
    pub elevation: Angle,
    /// The centre moved in x, y and z, before the panel is swung.
    #[serde(default)]
    #[schemars(extend("x-unit" = "lengths", "x-default" = "0"))]
    pub offset: [Length; 3],
    /// The panel turned about its own x, y and z axes, in this order, before it is moved.
    #[serde(default)]
    #[schemars(extend("x-unit" = "angles", "x-default" = "0"))]
    pub rotation: [Angle; 3],
}

/// Distances beyond this are mistakes: no instrument is a hundred kilometres long.
const LONGEST: f64 = 1e5;

impl PlacementSettings {
    /// Checks the settings against the grid of pixels.
    ///
    /// # Errors
    /// The first key that makes no sense, within `placement`.
    pub fn place(&self, geometry: LogicalGeometry) -> Result<Placement, SettingsError> {
        self.check(geometry).map_err(|error| error.within("placement"))
    }

    fn check(&self, geometry: LogicalGeometry) -> Result<Placement, SettingsError> {
        let directions = if geometry.nz() > 1 { 3 } else { 2 };
        if !self.pitch.is_empty() && self.pitch.len() != directions {
            let wanted = if directions == 3 { "columns, rows and layers" } else { "columns and rows" };
            let found = self.pitch.len();
            return SettingsError::refuse(
                "pitch",
                format!("found {found}, expected {directions} lengths: the spacing of {wanted}"),
            );
        }
        if self.pitch.iter().any(|pitch| pitch.metres <= 0.0) {
            return SettingsError::refuse("pitch", "the spacing of pixels must be greater than 0");
        }
        let pitch = match self.pitch.as_slice() {
            [x, y, rest @ ..] => {
                Some(Pitch { x: x.metres, y: y.metres, z: rest.first().unwrap_or(x).metres })
            }
            _ if self.arc.is_some() || !self.panel.is_empty() => {
                return SettingsError::refuse("pitch", "panels have pixels, so their spacing is needed");
            }
            _ => None,
        };
        let source_distance = self.source_distance.map(|distance| distance.metres);
        if source_distance.is_some_and(|distance| distance <= 0.0) {
            return SettingsError::refuse(
                "source_distance",
                "the distance from the source to the sample must be greater than 0",
            );
        }
        let panels = geometry.panels() as usize;
        if !self.panel.is_empty() && self.panel.len() != panels {
            let found = self.panel.len();
            let tables = if panels == 1 { "one table" } else { "a table for each panel" };
            return SettingsError::refuse(
                "panel",
                format!(
                    "{found} tables [[placement.panel]], but the geometry has {panels}: expected {tables}"
                ),
            );
        }
        if let Some(index) = self.panel.iter().position(|panel| panel.distance.metres < 0.0) {
            let problem =
                "must not be less than 0: to place a panel before the sample, use angle = \"180deg\"";
            return SettingsError::refuse(format!("panel[{index}].distance"), problem);
        }
        if let Some(found) = self.panel_columns.filter(|columns| !(1..=geometry.panels()).contains(columns)) {
            let panels = geometry.panels();
            let expected = format!("found {found}, expected 1 to {panels}: the geometry has {panels}");
            return SettingsError::refuse("panel_columns", expected);
        }
        let lengths = self.pitch.iter().chain(&self.source_distance).chain(self.monitors.values());
        let of_panels = self.panel.iter().flat_map(|panel| panel.offset.iter().chain([&panel.distance]));
        if let Some(far) = lengths.chain(of_panels).find(|length| length.metres.abs() > LONGEST) {
            return SettingsError::refuse(
                "",
                format!("a length of {} m is beyond any instrument", far.metres),
            );
        }
        Ok(Placement {
            geometry,
            pitch,
            trust: self.figures,
            note: self.note.clone(),
            source_distance,
            monitors: self.monitors.iter().map(|(name, at)| (name.clone(), at.metres)).collect(),
            arc: self.arc.map(|arc| self.arc(arc, geometry)).transpose()?,
            panel_columns: self.panel_columns,
            panels: self.panel.iter().map(PanelSettings::steps).collect(),
        })
    }

    fn arc(&self, arc: ArcSettings, geometry: LogicalGeometry) -> Result<Arc, SettingsError> {
        if arc.along == GridAxis::Layer {
            return SettingsError::refuse("arc.along", "expected \"rows\" or \"columns\"");
        }
        let length = arc.along.length(&geometry);
        if arc.size == 0 || !length.is_multiple_of(arc.size) {
            let name = arc.along.name();
            return SettingsError::refuse(
                "arc.size",
                format!("{} {name}s per block do not divide the {length} {name}s of a panel", arc.size),
            );
        }
        let [panel] = self.panel.as_slice() else {
            return SettingsError::refuse(
                "arc",
                "needs one table [[placement.panel]] with the distance from the sample to each block",
            );
        };
        if panel.distance.metres == 0.0 {
            return SettingsError::refuse("panel[0].distance", "an arc around the sample needs a radius");
        }
        let inclination = arc.inclination.map_or(90.0, |angle| angle.degrees);
        Ok(Arc {
            along: arc.along,
            size: arc.size,
            step: arc.step.degrees,
            inclination,
            radius: panel.distance.metres,
        })
    }
}

impl PanelSettings {
    /// The steps from the panel to the sample; those that do nothing are left out, but for the distance.
    fn steps(&self) -> Vec<Transformation> {
        const AXES: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        const DOWN: [f64; 3] = [-1.0, 0.0, 0.0];
        let turn = |name, angle: Angle, axis| Transformation {
            name,
            kind: TransformationKind::Rotation,
            amount: angle.degrees,
            axis,
        };
        let mut steps: Vec<Transformation> = ["rotation_x", "rotation_y", "rotation_z"]
            .into_iter()
            .zip(self.rotation)
            .zip(AXES)
            .map(|((name, angle), axis)| turn(name, angle, axis))
            .collect();
        let offset = self.offset.map(|length| length.metres);
        let length = offset.iter().map(|part| part * part).sum::<f64>().sqrt();
        let axis = if length > 0.0 { offset.map(|part| part / length) } else { AXES[2] };
        let translation = TransformationKind::Translation;
        steps.push(Transformation { name: "offset", kind: translation, amount: length, axis });
        // About -x: y comes from z if the angle is greater than 0.
        let swings = [turn("elevation", self.elevation, DOWN), turn("angle", self.angle, AXES[1])];
        steps.retain(|step| step.amount != 0.0);
        let amount = self.distance.metres;
        steps.push(Transformation { name: "distance", kind: translation, amount, axis: AXES[2] });
        steps.extend(swings.into_iter().filter(|step| step.amount != 0.0));
        steps
    }
}
