//! A picture: what it shows, and where pixels are in it.

use crate::axis::Axis;
use crate::blades::Blades;
use crate::panels::PanelLayout;
use crate::plane::Plane;
use evforge_core::geometry::Coordinates;

/// A picture: what it shows and how.
#[derive(Clone, Debug, PartialEq)]
pub struct PicturePlan {
    /// What programs call it: "xy", "blades", or the name of a monitor.
    pub name: String,
    /// What people read: "xy, sum of 16 layers", "monitor_2".
    pub title: String,
    /// The plane.
    pub plane: Plane,
    /// How many panels it has.
    pub panels: u32,
    /// How they are arranged.
    pub layout: PanelLayout,
    /// Columns and rows of a panel in it.
    pub panel: [u32; 2],
    /// Blades that it takes for layers; none for pictures of the pixels as they are numbered.
    pub blades: Option<Blades>,
    /// The axis to the right.
    pub across: Axis,
    /// The axis upwards.
    pub up: Axis,
    /// Pixels along the axis that it does not show, whose counts are added up: 1 where there is nothing to add.
    pub depth: u32,
    /// What a step along that axis is called: "layer", "row", "column", "wire", "blade".
    pub beyond: &'static str,
    /// Whether it is of a beam monitor.
    pub is_monitor: bool,
    /// Whether it is a map of an axis against time of flight.
    pub is_map: bool,
    /// Whether it is the first of its detector or monitor: the first ones together hold every event once.
    pub is_first: bool,
    /// The part of the pixels of which it is: 0 for the detector, then beam monitors.
    pub part: usize,
}

impl PicturePlan {
    /// The plan of a part of it: left, bottom, right and top in pixels, the latter two the first ones beyond.
    #[must_use]
    pub fn of_part(&self, [x0, y0, x1, y1]: [u32; 4]) -> Self {
        let is_one_row = self.layout.is_one_row(self.panels);
        let is_whole = x1 - x0 == self.across.pixels && (is_one_row || y1 - y0 == self.up.pixels);
        Self {
            across: self.across.part(x0, x1),
            up: self.up.part(y0, y1),
            // Panels that are cut have no borders at equal distances.
            panels: if is_whole { self.panels } else { 1 },
            ..self.clone()
        }
    }

    /// Column and row of a pixel, and its number along the axis that the picture does not show.
    #[inline]
    pub(crate) fn place(&self, at: Coordinates) -> ([u32; 2], u32) {
        let at = self.blades.map_or(at, |blades| blades.within(at));
        let corner = self.layout.corner(at.panel, self.panel);
        let [column, row] = self.plane.place(at);
        let [.., along] = self.plane.axes();
        ([corner[0] + column, corner[1] + row], [at.x, at.y, at.z][along])
    }

    /// True if it is a single number.
    pub fn is_number(&self) -> bool {
        self.across.pixels == 1 && self.up.pixels == 1
    }
}
