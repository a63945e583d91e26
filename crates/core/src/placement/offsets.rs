//! Pixels within their panel: along which axes of the grid an offset changes, and its values.

use crate::geometry::{Coordinates, LogicalGeometry};

/// Distances between the centres of neighbouring pixels, in metres; greater than 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pitch {
    /// Of columns.
    pub x: f64,
    /// Of rows.
    pub y: f64,
    /// Of layers.
    pub z: f64,
}

/// An axis of the grid of pixels, the slowest first: the order of the sides of an array of pixel ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, schemars::JsonSchema)]
pub enum GridAxis {
    /// Layers, z.
    #[serde(rename = "layers")]
    Layer,
    /// Rows, y.
    #[serde(rename = "rows")]
    Row,
    /// Columns, x.
    #[serde(rename = "columns")]
    Column,
}

impl GridAxis {
    /// What a file calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Layer => "layer",
            Self::Row => "row",
            Self::Column => "column",
        }
    }

    /// Length of the axis.
    pub fn length(self, geometry: &LogicalGeometry) -> u32 {
        match self {
            Self::Layer => geometry.nz(),
            Self::Row => geometry.ny(),
            Self::Column => geometry.nx(),
        }
    }

    fn index(self, at: Coordinates) -> u32 {
        match self {
            Self::Layer => at.z,
            Self::Row => at.y,
            Self::Column => at.x,
        }
    }
}

/// Blocks of rows or columns of a panel that stand on an arc around the sample: the blades of a Multi-Blade, the vessels
/// of a Multi-Grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arc {
    /// What is cut into blocks: [`GridAxis::Column`] for an arc in the horizontal plane, [`GridAxis::Row`] for one in the
    /// vertical plane.
    pub along: GridAxis,
    /// Columns or rows per block.
    pub size: u32,
    /// Angle between neighbouring blocks as seen from the sample, in degrees; blocks with higher numbers stand further
    /// towards x or y if it is greater than 0.
    pub step: f64,
    /// Angle between the surface of a block and the line to the sample, in degrees: 90 if it faces the sample.
    pub inclination: f64,
    /// From the sample to the centre of each block, in metres.
    pub radius: f64,
}

/// Offsets of the pixels of a panel in one direction of space.
///
/// Those of a regular panel change along one axis of the grid only, those on an arc along two at most: so there is one
/// value for each place along these axes, and not one for each pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Offsets {
    /// The axes along which they change, the slowest first; none for the depth of a flat detector.
    pub axes: Vec<GridAxis>,
    /// Length of each of these axes.
    pub shape: Vec<usize>,
    /// Metres from the centre of the panel, in row-major order of `axes`. A single 0 without axes.
    pub values: Vec<f64>,
}

impl Offsets {
    fn along(axes: &[GridAxis], geometry: &LogicalGeometry, value: impl Fn(Coordinates) -> f64) -> Self {
        // A flat detector has no layers, but always rows and columns.
        let is_there = |axis: &GridAxis| *axis != GridAxis::Layer || geometry.nz() > 1;
        let axes: Vec<GridAxis> = axes.iter().copied().filter(is_there).collect();
        let shape: Vec<usize> = axes.iter().map(|axis| axis.length(geometry) as usize).collect();
        let values = (0..shape.iter().product::<usize>())
            .map(|index| {
                let mut rest = index;
                let mut at = Coordinates::default();
                for (axis, length) in axes.iter().zip(&shape).rev() {
                    let place = (rest % length) as u32;
                    rest /= length;
                    match axis {
                        GridAxis::Layer => at.z = place,
                        GridAxis::Row => at.y = place,
                        GridAxis::Column => at.x = place,
                    }
                }
                value(at)
            })
            .collect();
        Self { axes, shape, values }
    }

    /// The same with a value for each place along all of `axes`.
    pub fn across(&self, axes: &[GridAxis], geometry: &LogicalGeometry) -> Self {
        Self::along(axes, geometry, |at| self.at(at).unwrap_or_default())
    }

    /// The offset of a pixel; none outside the grid.
    pub fn at(&self, at: Coordinates) -> Option<f64> {
        let mut index = 0;
        for (axis, &length) in self.axes.iter().zip(&self.shape) {
            let place = axis.index(at) as usize;
            if place >= length {
                return None;
            }
            index = index * length + place;
        }
        self.values.get(index).copied()
    }
}

/// `index` of `count` places, `pitch` apart, from the middle.
fn from_middle(index: u32, count: u32, pitch: f64) -> f64 {
    (f64::from(index) - (f64::from(count) - 1.0) / 2.0) * pitch
}

/// The offsets in x, y and z of the pixels of each panel.
pub(super) fn of_panel(geometry: &LogicalGeometry, pitch: Pitch, arc: Option<Arc>) -> [Offsets; 3] {
    let (nx, ny, nz) = (geometry.nx(), geometry.ny(), geometry.nz());
    let x = |at: Coordinates| from_middle(at.x, nx, pitch.x);
    let y = |at: Coordinates| from_middle(at.y, ny, pitch.y);
    let z = |at: Coordinates| from_middle(at.z, nz, pitch.z);
    let flat = |axis, value: &dyn Fn(Coordinates) -> f64| Offsets::along(&[axis], geometry, value);
    match arc {
        None => [flat(GridAxis::Column, &x), flat(GridAxis::Row, &y), flat(GridAxis::Layer, &z)],
        Some(arc) => {
            let (count, pitch) = match arc.along {
                GridAxis::Row => (ny, pitch.y),
                GridAxis::Column | GridAxis::Layer => (nx, pitch.x),
            };
            let on_arc = |at: Coordinates| place_on_arc(&arc, count, pitch, arc.along.index(at), z(at));
            let bent =
                |part: usize| Offsets::along(&[GridAxis::Layer, arc.along], geometry, |at| on_arc(at)[part]);
            match arc.along {
                GridAxis::Row => [flat(GridAxis::Column, &x), bent(0), bent(1)],
                GridAxis::Column | GridAxis::Layer => [bent(0), flat(GridAxis::Row, &y), bent(1)],
            }
        }
    }
}

/// Across and along the beam, from the middle of the arc: where the place `index` of `count` is that lies `depth` behind
/// the surface of its block.
fn place_on_arc(arc: &Arc, count: u32, pitch: f64, index: u32, depth: f64) -> [f64; 2] {
    let (block, within) = (index / arc.size, index % arc.size);
    let direction = from_middle(block, count.div_ceil(arc.size), arc.step).to_radians();
    let (across, along) = (arc.radius * direction.sin(), arc.radius * (direction.cos() - 1.0));
    // A block that faces the sample is at right angles to the line from there.
    let (sine, cosine) = (direction + (90.0 - arc.inclination).to_radians()).sin_cos();
    let place = from_middle(within, arc.size, pitch);
    [across + place * cosine + depth * sine, along - place * sine + depth * cosine]
}
