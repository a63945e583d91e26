//! What all plots share: axes with labels and ticks, marks, and the line of keys above the data.

use crate::LabError;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// A colour: red, green and blue.
pub use plotters::style::RGBColor as Colour;

/// What is drawn on: white.
pub const PAPER: RGBColor = RGBColor(255, 255, 255);
/// Colours of data, by Okabe and Ito: the first.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// The second.
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
/// The third.
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);
/// The fourth.
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
/// A light blue.
pub const SKY: RGBColor = RGBColor(86, 180, 233);
/// A reddish purple.
pub const PURPLE: RGBColor = RGBColor(204, 121, 167);
/// For what is not data: theory, limits.
pub const GREY: RGBColor = RGBColor(110, 110, 110);
/// The lines behind the data, and the finer ones.
pub const GRID: RGBColor = RGBColor(205, 205, 205);
const FINE_GRID: RGBColor = RGBColor(235, 235, 235);
/// Letters, axes.
pub const INK: RGBColor = RGBColor(30, 30, 30);

/// Documents show plots about 830 points wide: so they are made, and letters keep their size.
pub const WIDTH: u32 = 830;
/// Points that the title takes.
pub const TITLE_HEIGHT: u32 = 30;
const FONT: &str = "sans-serif";
const TEXT: u32 = 15;
/// Points that a letter of the keys takes at most, on average, in any usual font.
const LETTER: f64 = 7.4;
/// Height of the line of keys.
const KEYS: u32 = 24;

/// What is drawn on.
pub type Area<'text> = DrawingArea<SVGBackend<'text>, Shift>;

/// Multiples of 1, 2 or 5 times a power of ten from one value to another, about `most` of them at most: the step, and where they are.
pub fn even_steps(from: f64, to: f64, most: u32) -> (f64, impl Iterator<Item = f64>) {
    let least_step = (to - from) / f64::from(most.max(1));
    let power = 10_f64.powf(least_step.log10().floor());
    let step = [1.0, 2.0, 5.0].map(|factor| factor * power).into_iter().find(|step| *step >= least_step);
    let step = step.unwrap_or(10.0 * power);
    let numbers = (from / step).ceil() as i64..=(to / step).floor() as i64;
    (step, numbers.map(move |number| number as f64 * step))
}

/// An axis: what it shows with its unit, from where to where, and what is written where. Logarithmic ones are of the logarithms.
pub struct Axis {
    label: String,
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
    fine: Vec<f64>,
}

impl Axis {
    /// An even axis with ticks at multiples of 1, 2 or 5 times a power of ten, at most about `most` of them.
    pub fn even(label: impl Into<String>, from: f64, to: f64, most: u32) -> Self {
        let (step, places) = even_steps(from, to, most);
        let decimals = (-(step * 1.0001).log10().floor()).max(0.0) as usize;
        let ticks = places.map(|place| (place, number_text(place, decimals)));
        Self { label: label.into(), from, to, ticks: ticks.collect(), fine: Vec::new() }
    }

    /// A logarithmic axis between two positive values, with ticks at the powers of ten and fine lines in between.
    pub fn decades(label: impl Into<String>, from: f64, to: f64, name: fn(f64) -> String) -> Self {
        let (from, to) = (from.log10(), to.log10());
        let ticks = (from.ceil() as i32..=to.floor() as i32).map(f64::from);
        let fine = (from.floor() as i32..=to.floor() as i32)
            .flat_map(|decade| (2..10).map(move |part| f64::from(decade) + f64::from(part).log10()))
            .filter(|at| (from..=to).contains(at));
        let ticks = ticks.map(|decade| (decade, name(10_f64.powf(decade))));
        Self { label: label.into(), from, to, ticks: ticks.collect(), fine: fine.collect() }
    }

    /// An axis with these ticks, in its own unit: logarithms on a logarithmic one.
    pub fn with_ticks(label: impl Into<String>, from: f64, to: f64, mut ticks: Vec<(f64, String)>) -> Self {
        ticks.retain(|(at, _)| (from..=to).contains(at));
        Self { label: label.into(), from, to, ticks, fine: Vec::new() }
    }

    /// The axis with a line at each tick and no others.
    pub fn without_fine_lines(mut self) -> Self {
        self.fine.clear();
        self
    }

    /// The axis, begun earlier, with one more tick.
    pub fn begun_at(mut self, from: f64, tick: (f64, &str)) -> Self {
        self.from = from;
        self.ticks.insert(0, (tick.0, tick.1.to_owned()));
        self
    }

    fn scale(&self) -> Scale {
        let ticks = self.ticks.iter().map(|(at, _)| *at).collect();
        Scale { range: self.from..self.to, ticks, fine: self.fine.clone() }
    }

    fn text(&self, at: f64) -> String {
        let tick = self.ticks.iter().find(|(tick, _)| *tick == at);
        tick.map(|(_, text)| text.clone()).unwrap_or_default()
    }
}

/// An even axis as plotters takes it, with ticks of our choice.
struct Scale {
    range: Range<f64>,
    ticks: Vec<f64>,
    fine: Vec<f64>,
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let part = (value - self.range.start) / (self.range.end - self.range.start);
        start + (part * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { self.fine.clone() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// A number with a minus that is as wide as a plus.
fn number_text(number: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", number.abs());
    if number < 0.0 { format!("\u{2212}{text}") } else { text }
}

/// How a curve looks, in the data and in its key.
#[derive(Clone, Copy)]
pub enum Mark {
    /// A filled circle.
    Circle(RGBColor),
    /// A filled square.
    Square(RGBColor),
    /// A filled triangle.
    Triangle(RGBColor),
    /// A filled square on its corner.
    Diamond(RGBColor),
    /// A cross.
    Cross(RGBColor),
    /// An open circle of this radius.
    Open(RGBColor, i32),
    /// A line with dashes.
    Dashes(RGBColor),
    /// A line of this width.
    Line(RGBColor, u32),
}

impl Mark {
    /// Its colour.
    pub fn colour(self) -> RGBColor {
        match self {
            Self::Circle(colour) | Self::Square(colour) | Self::Triangle(colour) => colour,
            Self::Diamond(colour) | Self::Cross(colour) | Self::Dashes(colour) => colour,
            Self::Open(colour, _) | Self::Line(colour, _) => colour,
        }
    }

    /// Draws a single mark, or a short piece of a line.
    fn draw(self, root: &Area<'_>, (x, y): (i32, i32)) -> Result<(), LabError> {
        let piece = vec![(x - 10, y), (x + 10, y)];
        match self {
            Self::Circle(colour) => root.draw(&Circle::new((x, y), 4, colour.filled()))?,
            Self::Square(colour) => {
                root.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], colour.filled()))?;
            }
            Self::Triangle(colour) => {
                let corners = vec![(x - 5, y + 4), (x + 5, y + 4), (x, y - 5)];
                root.draw(&Polygon::new(corners, colour.filled()))?;
            }
            Self::Diamond(colour) => {
                let corners = vec![(x - 5, y), (x, y - 5), (x + 5, y), (x, y + 5)];
                root.draw(&Polygon::new(corners, colour.filled()))?;
            }
            Self::Cross(colour) => {
                for rise in [-4, 4] {
                    let stroke = vec![(x - 4, y - rise), (x + 4, y + rise)];
                    root.draw(&PathElement::new(stroke, colour.stroke_width(2)))?;
                }
            }
            Self::Open(colour, radius) => {
                root.draw(&Circle::new((x, y), radius, WHITE.filled()))?;
                root.draw(&Circle::new((x, y), radius, colour.stroke_width(2)))?;
            }
            Self::Dashes(colour) => dashes(root, &piece, colour)?,
            Self::Line(colour, width) => root.draw(&PathElement::new(piece, colour.stroke_width(width)))?,
        }
        Ok(())
    }
}

fn dashes(root: &Area<'_>, points: &[(i32, i32)], colour: RGBColor) -> Result<(), LabError> {
    for pair in points.windows(2) {
        let [(x, y), (to_x, to_y)] = pair[..] else { continue };
        let length = f64::from((to_x - x).pow(2) + (to_y - y).pow(2)).sqrt();
        let place = |at: f64| {
            let part = (at / length).min(1.0);
            let along = |from: i32, to: i32| (f64::from(from) + part * f64::from(to - from)).round() as i32;
            (along(x, to_x), along(y, to_y))
        };
        let starts = (0..).map(|dash| 10.0 * f64::from(dash)).take_while(|start| *start < length);
        for start in starts {
            let dash = vec![place(start), place(start + 6.0)];
            root.draw(&PathElement::new(dash, colour.stroke_width(2)))?;
        }
    }
    Ok(())
}

/// Axes with their grid, to draw data into.
pub struct Panel<'root, 'text> {
    root: &'root Area<'text>,
    chart: ChartContext<'root, SVGBackend<'text>, Cartesian2d<Scale, Scale>>,
}

impl<'root, 'text> Panel<'root, 'text> {
    /// A panel at a place with a width and a height, its keys in lines above the data.
    pub fn new(
        root: &'root Area<'text>,
        (x, y): (u32, u32),
        (width, height): (u32, u32),
        keys: &[&[(Mark, String)]],
        [across, up]: [&Axis; 2],
    ) -> Result<Self, LabError> {
        for (line, keys) in keys.iter().enumerate() {
            draw_keys(root, (x + 64, y + line as u32 * KEYS + KEYS / 2), keys)?;
        }
        let above = KEYS * keys.len() as u32;
        let area = root.clone().shrink((x, y + above), (width, height - above));
        let mut chart = ChartBuilder::on(&area)
            .margin_top(4)
            .margin_bottom(10)
            .margin_right(22)
            .margin_left(4)
            .x_label_area_size(42)
            .y_label_area_size(74)
            .build_cartesian_2d(across.scale(), up.scale())?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(FINE_GRID)
            .axis_style(INK)
            .x_desc(&across.label)
            .y_desc(&up.label)
            .x_label_formatter(&|at| across.text(*at))
            .y_label_formatter(&|at| up.text(*at))
            .label_style((FONT, TEXT, &INK))
            .axis_desc_style((FONT, TEXT, &INK))
            .draw()?;
        Ok(Self { root, chart })
    }

    /// Where a point is on the picture.
    pub fn place(&self, x: f64, y: f64) -> (i32, i32) {
        self.chart.plotting_area().map_coordinate(&(x, y))
    }

    /// Fills a part of the panel.
    pub fn fill(&self, corners: [(f64, f64); 2], colour: RGBColor) -> Result<(), LabError> {
        let corners = corners.map(|(x, y)| self.place(x, y));
        Ok(self.root.draw(&Rectangle::new(corners, colour.filled()))?)
    }

    /// A text around a point.
    pub fn text(&self, (x, y): (f64, f64), text: &str, colour: RGBColor) -> Result<(), LabError> {
        let style = TextStyle::from((FONT, TEXT)).color(&colour).pos(Pos::new(HPos::Center, VPos::Center));
        Ok(self.root.draw(&Text::new(text.to_owned(), self.place(x, y), style))?)
    }

    /// A line through points.
    pub fn line(&self, points: &[(f64, f64)], colour: RGBColor, width: u32) -> Result<(), LabError> {
        if points.len() < 2 {
            return Ok(());
        }
        let places: Vec<_> = points.iter().map(|(x, y)| self.place(*x, *y)).collect();
        Ok(self.root.draw(&PathElement::new(places, colour.stroke_width(width)))?)
    }

    /// A line with dashes through points.
    pub fn dashes(&self, points: &[(f64, f64)], colour: RGBColor) -> Result<(), LabError> {
        let places: Vec<_> = points.iter().map(|(x, y)| self.place(*x, *y)).collect();
        dashes(self.root, &places, colour)
    }

    /// A mark at a point.
    pub fn mark(&self, (x, y): (f64, f64), mark: Mark) -> Result<(), LabError> {
        mark.draw(self.root, self.place(x, y))
    }

    /// An interval: an upright bar with short ends.
    pub fn bar(&self, x: f64, [low, high]: [f64; 2], colour: RGBColor) -> Result<(), LabError> {
        let ((x, bottom), (_, top)) = (self.place(x, low), self.place(x, high));
        let style = colour.stroke_width(1);
        for stroke in
            [[(x, bottom), (x, top)], [(x - 4, bottom), (x + 4, bottom)], [(x - 4, top), (x + 4, top)]]
        {
            self.root.draw(&PathElement::new(stroke.to_vec(), style))?;
        }
        Ok(())
    }

    /// An upper limit at `(x, limit)`: a bar, an arrow from it down to `zero`, and there an open circle of this radius.
    pub fn limit(
        &self,
        x: f64,
        [limit, zero]: [f64; 2],
        colour: RGBColor,
        radius: i32,
    ) -> Result<(), LabError> {
        let ((x, top), (_, bottom)) = (self.place(x, limit), self.place(x, zero));
        let style = colour.stroke_width(2);
        self.root.draw(&PathElement::new(vec![(x - radius - 3, top), (x + radius + 3, top)], style))?;
        Mark::Open(colour, radius).draw(self.root, (x, bottom))?;
        let tip = bottom - radius - 3;
        self.root.draw(&PathElement::new(vec![(x, top), (x, tip - 6)], style))?;
        Ok(self
            .root
            .draw(&Polygon::new(vec![(x - 4, tip - 7), (x + 4, tip - 7), (x, tip)], colour.filled()))?)
    }
}

fn draw_keys(root: &Area<'_>, (x, y): (u32, u32), keys: &[(Mark, String)]) -> Result<(), LabError> {
    let (mut x, y) = (f64::from(x), y as i32);
    let style = TextStyle::from((FONT, TEXT)).color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    for (mark, name) in keys {
        mark.draw(root, (x as i32 + 10, y))?;
        root.draw(&Text::new(name.clone(), (x as i32 + 26, y), style.clone()))?;
        x += 26.0 + LETTER * name.chars().count() as f64 + 10.0;
    }
    Ok(())
}

/// Draws a picture of this height with a title.
pub fn picture(
    title: &str,
    height: u32,
    draw: impl FnOnce(&Area<'_>) -> Result<(), LabError>,
) -> Result<String, LabError> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let style = TextStyle::from((FONT, TEXT + 2, FontStyle::Bold));
        let style = style.color(&INK).pos(Pos::new(HPos::Center, VPos::Center));
        root.draw(&Text::new(title.to_owned(), (WIDTH as i32 / 2, TITLE_HEIGHT as i32 / 2), style))?;
        draw(&root)?;
        root.present()?;
    }
    Ok(text)
}
