//! Where the pixels of a detector are: their spacing, and the place of each panel, of the source and of beam monitors.
//!
//! A [`LogicalGeometry`](crate::geometry::LogicalGeometry) numbers pixels; a [`Placement`] says where they stand. It is the
//! table `[placement]` of a configuration, and whoever needs a position (event files, axes of pictures) takes it from here.
//!
//! Coordinates are those of NeXus: the sample is the origin, z points along the beam, y up, and x completes a right-handed
//! system, so that it points to the left for somebody who looks along the beam. Columns of a panel run along its x, rows
//! along its y, layers along its z; the centre of the panel is its origin.
//!
//! From a pixel to its position, in this order:
//!
//! | step | |
//! |---|---|
//! | [`Placement::offsets`] | the pixel within its panel: a multiple of the pitch, or a place on an [`Arc`] |
//! | `rotation` | the panel turned about its own axes x, y and z, in this order |
//! | `offset` | the panel moved |
//! | `distance` | along the beam, from the sample |
//! | `elevation` | swung upwards about the sample |
//! | `angle` | swung sideways about the sample, towards x |

mod offsets;
mod place;
mod settings;
mod transformation;

pub use offsets::{Arc, GridAxis, Offsets, Pitch};
pub use place::{Placement, Trust};
pub use settings::{ArcSettings, PanelSettings, PlacementSettings};
pub use transformation::{Transformation, TransformationKind};

#[cfg(test)]
mod tests;
