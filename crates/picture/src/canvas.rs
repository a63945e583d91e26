//! Points to draw on: rectangles, and text in the bitmap fonts of `embedded-graphics`, so that no font of the system is needed.

use crate::colours::Rgb;
use embedded_graphics::mono_font::iso_8859_1::{FONT_9X15, FONT_9X15_BOLD, FONT_10X20};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::{DrawTarget, Drawable, OriginDimensions, Pixel, Point, Size};
use embedded_graphics::text::{Baseline, Text};
use std::convert::Infallible;

/// A font.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Font {
    Title,
    Heading,
    Normal,
}

impl Font {
    fn bitmap(self) -> &'static MonoFont<'static> {
        match self {
            Self::Title => &FONT_10X20,
            Self::Heading => &FONT_9X15_BOLD,
            Self::Normal => &FONT_9X15,
        }
    }

    /// Height of a line.
    pub(crate) fn height(self) -> i32 {
        self.bitmap().character_size.height as i32
    }

    /// Width of a text.
    pub(crate) fn width(self, text: &str) -> i32 {
        text.chars().count() as i32 * self.bitmap().character_size.width as i32
    }
}

/// Where a text lies relative to the point that it is drawn at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The point is at its left, in the middle of its height.
    Left,
    /// The point is in its middle.
    Middle,
    /// The point is at its right, in the middle of its height.
    Right,
}

/// A rectangle: left, top, width, height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

/// Points, all of one colour at first.
#[derive(Debug)]
pub(crate) struct Canvas {
    width: u32,
    height: u32,
    points: Vec<u8>,
}

impl Canvas {
    pub(crate) fn new(width: u32, height: u32, colour: Rgb) -> Self {
        let points = colour.repeat(width as usize * height as usize);
        Self { width, height, points }
    }

    /// Width, height, and three bytes for each point from the top left.
    pub(crate) fn into_points(self) -> (u32, u32, Vec<u8>) {
        (self.width, self.height, self.points)
    }

    /// Colours a point; those outside are left out.
    pub(crate) fn set(&mut self, x: i32, y: i32, colour: Rgb) {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
        if x < self.width && y < self.height {
            let at = 3 * (y as usize * self.width as usize + x as usize);
            self.points[at..at + 3].copy_from_slice(&colour);
        }
    }

    pub(crate) fn fill(&mut self, area: Area, colour: Rgb) {
        for y in area.top..area.top + area.height {
            (area.left..area.left + area.width).for_each(|x| self.set(x, y, colour));
        }
    }

    /// A frame of one point around an area.
    pub(crate) fn frame(&mut self, area: Area, colour: Rgb) {
        let Area { left, top, width, height } = area;
        for (left, top, width, height) in [
            (left - 1, top - 1, width + 2, 1),
            (left - 1, top + height, width + 2, 1),
            (left - 1, top, 1, height),
            (left + width, top, 1, height),
        ] {
            self.fill(Area { left, top, width, height }, colour);
        }
    }

    pub(crate) fn text(&mut self, text: &str, at: (i32, i32), anchor: Anchor, font: Font, colour: Rgb) {
        let (width, height) = (font.width(text), font.height());
        let left = match anchor {
            Anchor::Left => 0,
            Anchor::Middle => width / 2,
            Anchor::Right => width,
        };
        let mut turned = Turned { canvas: self, origin: (at.0 - left, at.1 - height / 2), upwards: false };
        turned.draw(text, font, colour);
    }

    /// Text that runs upwards, with its middle at a point.
    pub(crate) fn text_upwards(&mut self, text: &str, at: (i32, i32), font: Font, colour: Rgb) {
        let (width, height) = (font.width(text), font.height());
        let mut turned =
            Turned { canvas: self, origin: (at.0 - height / 2, at.1 + width / 2), upwards: true };
        turned.draw(text, font, colour);
    }
}

/// The canvas for a text: its origin is where the text begins.
struct Turned<'a> {
    canvas: &'a mut Canvas,
    origin: (i32, i32),
    upwards: bool,
}

impl Turned<'_> {
    fn draw(&mut self, text: &str, font: Font, [red, green, blue]: Rgb) {
        let style = MonoTextStyle::new(font.bitmap(), Rgb888::new(red, green, blue));
        // Drawing into memory cannot fail.
        let _ = Text::with_baseline(text, Point::zero(), style, Baseline::Top).draw(self);
    }
}

impl OriginDimensions for Turned<'_> {
    fn size(&self) -> Size {
        Size::new(self.canvas.width, self.canvas.height)
    }
}

impl DrawTarget for Turned<'_> {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        let (left, top) = self.origin;
        for Pixel(at, colour) in pixels {
            let (x, y) = if self.upwards { (left + at.y, top - at.x) } else { (left + at.x, top + at.y) };
            self.canvas.set(x, y, [colour.r(), colour.g(), colour.b()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lit(canvas: Canvas) -> Vec<(u32, u32)> {
        let (width, _, points) = canvas.into_points();
        let lit = points.chunks_exact(3).zip(0..).filter(|(point, _)| point[0] == 255);
        lit.map(|(_, at)| (at % width, at / width)).collect()
    }

    #[test]
    fn text_upwards_is_text_turned_by_a_quarter() {
        let draw = |upwards| {
            let mut canvas = Canvas::new(40, 40, [0; 3]);
            match upwards {
                true => canvas.text_upwards("L7", (20, 20), Font::Normal, [255; 3]),
                false => canvas.text("L7", (20, 20), Anchor::Middle, Font::Normal, [255; 3]),
            }
            lit(canvas)
        };
        let (flat, up) = (draw(false), draw(true));
        assert!(flat.len() > 20 && flat.len() == up.len());
        // (x, y) of the text is at (y, -x) of the turned one, each from where the text begins.
        let (left, top) = (20 - Font::Normal.width("L7") as u32 / 2, 20 - Font::Normal.height() as u32 / 2);
        let bottom = 20 + Font::Normal.width("L7") as u32 / 2;
        let mut turned: Vec<_> = flat.iter().map(|(x, y)| (top + y - top, bottom - (x - left))).collect();
        turned.sort_by_key(|&(x, y)| (y, x));
        assert_eq!(turned, up);
    }

    #[test]
    fn what_lies_outside_is_left_out() {
        let mut canvas = Canvas::new(3, 3, [0; 3]);
        canvas.fill(Area { left: -5, top: 2, width: 6, height: 9 }, [255; 3]);
        canvas.frame(Area { left: 0, top: 0, width: 2, height: 2 }, [255; 3]);
        assert_eq!(lit(canvas), [(2, 0), (2, 1), (0, 2), (1, 2), (2, 2)]);
    }
}
