//! One picture with its axes, its panels, its colour bar and the numbers at them.

use crate::axis::{Axis, bar_number};
use crate::binning::{AxisFit, Cells, counts_label};
use crate::canvas::{Anchor, Area, Canvas, Font};
use crate::colours::{COLOUR_STEPS, EMPTY_COLOUR, Rgb, colours};
use crate::image::Image;
use crate::picture_plan::PicturePlan;
use crate::scale::Scale;
use evforge_core::quantity::grouped;
use std::collections::BTreeSet;

pub(crate) const INK: Rgb = [20, 22, 28];
pub(crate) const FRAME: Rgb = [90, 96, 110];

/// Room around the cells.
pub(crate) const LEFT: i32 = 92;
pub(crate) const RIGHT: i32 = 136;
pub(crate) const BOTTOM: i32 = 52;
pub(crate) const TITLE: i32 = 24;
const PANEL_NAMES: i32 = 20;
const BAR_GAP: i32 = 20;
const BAR_WIDTH: i32 = 18;
const EMPTY_BOX: i32 = 14;

/// A picture that has been given its size.
#[derive(Debug)]
pub(crate) struct Plot<'a> {
    pub(crate) plan: &'a PicturePlan,
    pub(crate) image: &'a Image,
    pub(crate) fit: [AxisFit; 2],
}

impl Plot<'_> {
    /// Width and height with everything around it.
    pub(crate) fn size(&self) -> (i32, i32) {
        let [across, up] = self.fit.map(|axis| axis.points() as i32);
        let title = Font::Heading.width(&self.title());
        (LEFT + across.max(title) + RIGHT, self.top_margin() + up + BOTTOM)
    }

    /// What it shows; of a monitor also how much, since the caption has the sum of all.
    fn title(&self) -> String {
        match self.plan.is_monitor {
            true => format!("{}: {} events", self.plan.title, grouped(self.image.total())),
            false => self.plan.title.clone(),
        }
    }

    fn top_margin(&self) -> i32 {
        TITLE + if self.plan.panels > 1 { PANEL_NAMES } else { 0 }
    }

    /// Draws it with its corner at a point, and says where its cells are.
    pub(crate) fn draw(&self, canvas: &mut Canvas, (left, top): (i32, i32)) -> Area {
        let [width, height] = self.fit.map(|axis| axis.points() as i32);
        let area = Area { left: left + LEFT, top: top + self.top_margin(), width, height };
        let title_at = (area.left, top + Font::Heading.height() / 2);
        canvas.text(&self.title(), title_at, Anchor::Left, Font::Heading, INK);
        let cells = Cells::of(self.image, self.fit);
        let scale = Scale::logarithmic(cells.largest, cells.smallest_possible);
        self.draw_cells(canvas, area, &cells, &scale);
        canvas.frame(area, FRAME);
        self.draw_panels(canvas, area);
        draw_across(canvas, area, &self.plan.across, self.fit[0]);
        draw_vertical(canvas, area, &self.plan.up, self.fit[1], Upwards::Yes);
        draw_bar(canvas, area, &scale, &counts_label(self.fit));
        area
    }

    fn draw_cells(&self, canvas: &mut Canvas, area: Area, cells: &Cells, scale: &Scale) {
        let [across, up] = self.fit.map(|axis| axis.factor as i32);
        for (&value, at) in cells.values.iter().zip(0_i32..) {
            let (column, row) = (at % cells.columns as i32, at / cells.columns as i32);
            let (left, top) = (area.left + column * across, area.top + row * up);
            canvas.fill(Area { left, top, width: across, height: up }, scale.colour(value));
        }
    }

    /// Borders of panels, and numbers of those that stand side by side. Borders are drawn beside the picture and not over it:
    /// every point within the frame is a count.
    fn draw_panels(&self, canvas: &mut Canvas, area: Area) {
        let PicturePlan { panels, layout, panel, across, up, .. } = self.plan;
        if *panels < 2 {
            return;
        }
        let point = |place: u32, all: u32, points: i32| {
            (i64::from(points) * i64::from(place) / i64::from(all.max(1))) as i32
        };
        let mut borders = [BTreeSet::new(), BTreeSet::new()];
        for number in 0..*panels {
            let corner = layout.corner(number, *panel);
            let [from, to] = [corner[0], corner[0] + panel[0]]
                .map(|column| area.left + point(column, across.pixels, area.width));
            borders[0].insert(corner[0]);
            borders[1].insert(corner[1]);
            let long = format!("panel {number}");
            let name = if Font::Normal.width(&long) < to - from { long } else { number.to_string() };
            if layout.is_one_row(*panels) && Font::Normal.width(&name) < to - from {
                canvas.text(&name, ((from + to) / 2, area.top - 12), Anchor::Middle, Font::Normal, INK);
            }
        }
        for &column in borders[0].iter().filter(|&&column| column > 0) {
            let left = area.left + point(column, across.pixels, area.width);
            let tick = Area { left, top: area.top - PANEL_NAMES, width: 1, height: PANEL_NAMES };
            canvas.fill(tick, FRAME);
            canvas.fill(Area { top: area.top + area.height, height: 8, ..tick }, FRAME);
        }
        for &row in borders[1].iter().filter(|&&row| row > 0) {
            let top = area.top + area.height - point(row, up.pixels, area.height);
            for left in [area.left - 8, area.left + area.width] {
                canvas.fill(Area { left, top, width: 8, height: 1 }, FRAME);
            }
        }
    }
}

/// Points from the beginning of an axis to a place in pixels.
fn point_at(place: f64, fit: AxisFit) -> i32 {
    (place / f64::from(fit.block) * f64::from(fit.factor)) as i32
}

/// Draws the numbers and the label of an axis below `area`.
pub(crate) fn draw_across(canvas: &mut Canvas, area: Area, axis: &Axis, fit: AxisFit) {
    let bottom = area.top + area.height;
    for (value, place) in axis.ticks(f64::from(area.width) / 72.0) {
        let at = area.left + point_at(place, fit).min(area.width - 1);
        canvas.fill(Area { left: at, top: bottom + 1, width: 1, height: 5 }, FRAME);
        canvas.text(&axis.number(value), (at, bottom + 15), Anchor::Middle, Font::Normal, INK);
    }
    let middle = (area.left + area.width / 2, bottom + 38);
    canvas.text(&axis.label, middle, Anchor::Middle, Font::Normal, INK);
}

/// Whether the numbers of an axis grow upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upwards {
    /// From the bottom, as in pictures of a detector.
    Yes,
    /// From the top, as the rows of a table.
    No,
}

/// Draws the numbers and the label of an axis at the left of `area`.
pub(crate) fn draw_vertical(canvas: &mut Canvas, area: Area, axis: &Axis, fit: AxisFit, upwards: Upwards) {
    let bottom = area.top + area.height;
    for (value, place) in axis.ticks(f64::from(area.height) / 44.0) {
        let point = point_at(place, fit).min(area.height - 1);
        let at = if upwards == Upwards::Yes { bottom - 1 - point } else { area.top + point };
        canvas.fill(Area { left: area.left - 6, top: at, width: 5, height: 1 }, FRAME);
        canvas.text(&axis.number(value), (area.left - 10, at), Anchor::Right, Font::Normal, INK);
    }
    canvas.text_upwards(&axis.label, (area.left - 76, area.top + area.height / 2), Font::Normal, INK);
}

/// Draws the colour bar at the right of `area`.
pub(crate) fn draw_bar(canvas: &mut Canvas, area: Area, scale: &Scale, label: &str) {
    let left = area.left + area.width + BAR_GAP;
    // The colour of nothing has a box of its own below the bar.
    let height = area.height - EMPTY_BOX - 6;
    let bar = Area { left, top: area.top, width: BAR_WIDTH, height };
    for row in 0..height {
        let step = (height - 1 - row) * (COLOUR_STEPS as i32 - 1) / (height - 1).max(1);
        canvas.fill(Area { top: bar.top + row, height: 1, ..bar }, colours()[step as usize]);
    }
    canvas.frame(bar, FRAME);
    let empty = Area { top: area.top + area.height - EMPTY_BOX, height: EMPTY_BOX, ..bar };
    canvas.fill(empty, EMPTY_COLOUR);
    canvas.frame(empty, FRAME);
    let right = left + BAR_WIDTH;
    canvas.text("0", (right + 9, empty.top + EMPTY_BOX / 2), Anchor::Left, Font::Normal, INK);
    let place =
        |value: f64| bar.top + height - 1 - (scale.position(value) * f64::from(height - 1)).round() as i32;
    // The top has its number in any case; round ones that would touch it are left out.
    let round =
        scale.ticks(f64::from(height) / 40.0).into_iter().filter(|&value| place(value) > bar.top + 14);
    for value in round.chain([scale.top()]) {
        let at = place(value);
        canvas.fill(Area { left: right + 1, top: at, width: 5, height: 1 }, FRAME);
        canvas.text(&bar_number(value), (right + 9, at), Anchor::Left, Font::Normal, INK);
    }
    // A label that is longer than the bar begins at its bottom.
    let half = Font::Normal.width(label) / 2;
    let middle = (area.top + area.height / 2).min(area.top + area.height - half).max(area.top + half);
    canvas.text_upwards(label, (right + 74, middle), Font::Normal, INK);
}
