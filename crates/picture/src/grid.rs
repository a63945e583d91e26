//! A square of numbers that are no counts of pixels, such as how often each word came, as a PNG with axes and a colour bar.

use crate::axis::Axis;
use crate::binning::AxisFit;
use crate::canvas::{Anchor, Area, Canvas, Font};
use crate::plot::{BOTTOM, FRAME, INK, LEFT, RIGHT, TITLE, Upwards, draw_across, draw_bar, draw_vertical};
use crate::png_file::{PictureError, encode_png};
use crate::scale::Scale;
use crate::sheet::PAPER;

/// Numbers in rows, the first row at the top.
#[derive(Clone, Debug)]
pub struct Grid<'a> {
    /// What stands above it.
    pub title: String,
    /// The axis to the right.
    pub across: Axis,
    /// The axis down.
    pub down: Axis,
    /// The numbers, `across.pixels` in a row.
    pub values: &'a [f64],
    /// Points that a number takes in both directions.
    pub factor: u32,
    /// What the colour bar counts.
    pub counts: String,
}

impl Grid<'_> {
    /// The grid as a PNG, and where its first number begins: points from the left and from the top. Colours are in equal
    /// differences from 0, which has one of its own, to the largest number.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn to_png(&self) -> Result<(Vec<u8>, [u32; 2]), PictureError> {
        let fit = |axis: &Axis| AxisFit { pixels: axis.pixels, block: 1, factor: self.factor };
        let [across, down] = [&self.across, &self.down].map(fit);
        let (width, height) = (across.points() as i32, down.points() as i32);
        let area = Area { left: LEFT, top: TITLE + TITLE, width, height };
        let size = (LEFT + width + RIGHT, area.top + height + BOTTOM);
        let mut canvas = Canvas::new(size.0 as u32, size.1 as u32, PAPER);
        canvas.text(&self.title, (area.left, TITLE), Anchor::Left, Font::Heading, INK);
        let scale = Scale::linear(self.values.iter().copied().fold(0.0, f64::max));
        let factor = self.factor as i32;
        for (&value, at) in self.values.iter().zip(0_i32..) {
            let (column, row) = (at % self.across.pixels as i32, at / self.across.pixels as i32);
            let (left, top) = (area.left + column * factor, area.top + row * factor);
            canvas.fill(Area { left, top, width: factor, height: factor }, scale.colour(value));
        }
        canvas.frame(area, FRAME);
        draw_across(&mut canvas, area, &self.across, across);
        draw_vertical(&mut canvas, area, &self.down, down, Upwards::No);
        draw_bar(&mut canvas, area, &scale, &self.counts);
        let (width, height, points) = canvas.into_points();
        let png = encode_png(width, height, &points, &[("Title", self.title.clone())])?;
        Ok((png, [area.left as u32, area.top as u32]))
    }
}
