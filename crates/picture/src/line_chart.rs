//! Counts in bins as lines: spectra of time of flight, for people.

use crate::axis::{round_step, short};
use crate::canvas::{Anchor, Area, Canvas, Font};
use crate::caption::Caption;
use crate::colours::Rgb;
use crate::plot::{BOTTOM, FRAME, INK, LEFT};
use crate::png_file::{PictureError, encode_png};
use crate::sheet::{LINE_GAP, MARGIN, PAPER, caption_lines};

/// Points of the plot: to the right and upwards.
const WIDTH: i32 = 900;
const HEIGHT: i32 = 420;
/// The line of all counts.
const ALL: Rgb = [31, 111, 156];
/// Lines of regions, as on the page (`web/src/style.css`), which begin again after the last.
const REGIONS: [Rgb; 6] =
    [[200, 80, 10], [0, 128, 92], [168, 67, 138], [59, 42, 156], [128, 96, 0], [27, 30, 40]];

/// A line: what it is called, and its counts.
#[derive(Clone, Debug)]
pub struct Curve<'a> {
    /// What people call it.
    pub name: String,
    /// Counts per bin.
    pub counts: &'a [u64],
}

/// Lines over the same bins: the first is that of everything, the others are those of regions.
#[derive(Clone, Debug)]
pub struct LineChart<'a> {
    /// What stands above.
    pub caption: &'a Caption,
    /// Label of the axis to the right, with its unit.
    pub label: String,
    /// What the counts are.
    pub up: String,
    /// Where the first bin begins, in that unit.
    pub from: f64,
    /// Width of a bin in that unit.
    pub step: f64,
    /// The lines.
    pub curves: Vec<Curve<'a>>,
}

impl LineChart<'_> {
    /// The chart as a PNG.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn to_png(&self) -> Result<Vec<u8>, PictureError> {
        let (width, height, points) = self.draw().into_points();
        let description = [&self.caption.lines[..], &self.caption.warnings].concat().join("; ");
        let texts = [
            ("Title", self.caption.title.clone()),
            ("Description", description),
            ("Software", format!("evforge {}", env!("CARGO_PKG_VERSION"))),
        ];
        encode_png(width, height, &points, &texts)
    }

    fn draw(&self) -> Canvas {
        let mut lines = caption_lines(self.caption, &[]);
        // A legend, unless there is one line only.
        let named = if self.curves.len() > 1 { &self.curves[..] } else { &[] };
        lines.extend(named.iter().zip(0..).map(|(curve, at)| {
            (format!("- {}", curve.name.chars().take(100).collect::<String>()), Font::Heading, colour(at))
        }));
        let above = MARGIN + lines.iter().map(|(_, font, _)| font.height() + LINE_GAP).sum::<i32>() + 12;
        let text_width = lines.iter().map(|(text, font, _)| font.width(text)).max().unwrap_or(0);
        let width = (LEFT + WIDTH + 2 * MARGIN).max(text_width + 2 * MARGIN);
        let mut canvas = Canvas::new(width as u32, (above + HEIGHT + BOTTOM + MARGIN) as u32, PAPER);
        let mut top = MARGIN;
        for (text, font, ink) in &lines {
            canvas.text(text, (MARGIN, top + font.height() / 2), Anchor::Left, *font, *ink);
            top += font.height() + LINE_GAP;
        }
        let area = Area { left: LEFT, top: above, width: WIDTH, height: HEIGHT };
        let largest = self.curves.iter().flat_map(|curve| curve.counts).copied().max().unwrap_or(0).max(1);
        canvas.frame(area, FRAME);
        self.draw_axes(&mut canvas, area, largest);
        // Regions lie over everything.
        for (curve, at) in self.curves.iter().zip(0..) {
            draw_curve(&mut canvas, area, curve.counts, largest, colour(at));
        }
        canvas
    }

    fn draw_axes(&self, canvas: &mut Canvas, area: Area, largest: u64) {
        let bottom = area.top + area.height;
        let bins = self.curves.first().map_or(0, |curve| curve.counts.len());
        let span = (bins as f64 * self.step).max(f64::MIN_POSITIVE);
        for value in ticks(self.from, self.from + span, f64::from(area.width) / 72.0) {
            let at = area.left + ((value - self.from) / span * f64::from(area.width)) as i32;
            canvas.fill(Area { left: at, top: bottom + 1, width: 1, height: 5 }, FRAME);
            canvas.text(&short(value), (at, bottom + 15), Anchor::Middle, Font::Normal, INK);
        }
        let middle = (area.left + area.width / 2, bottom + 38);
        canvas.text(&self.label, middle, Anchor::Middle, Font::Normal, INK);
        for value in ticks(0.0, top_of(largest), f64::from(area.height) / 44.0) {
            let at = bottom - 1 - (value / top_of(largest) * f64::from(area.height - 1)) as i32;
            canvas.fill(Area { left: area.left - 6, top: at, width: 5, height: 1 }, FRAME);
            canvas.text(&short(value), (area.left - 10, at), Anchor::Right, Font::Normal, INK);
        }
        canvas.text_upwards(&self.up, (area.left - 76, area.top + area.height / 2), Font::Normal, INK);
    }
}

/// The colour of a line.
fn colour(curve: usize) -> Rgb {
    curve.checked_sub(1).map_or(ALL, |region| REGIONS[region % REGIONS.len()])
}

/// The value at the top of the plot.
fn top_of(largest: u64) -> f64 {
    largest as f64 * 1.05
}

/// Round values from one to another, at most about `most`.
fn ticks(from: f64, to: f64, most: f64) -> Vec<f64> {
    let step = round_step(to - from, most);
    let (first, last) = (libm::ceil(from / step) as i64, libm::floor(to / step * 1.000_001) as i64);
    // -0 is no number for people.
    (first..=last).take(100).map(|number| number as f64 * step + 0.0).collect()
}

/// Draws counts as steps. Where several bins share a column of points, the line goes from the least to the most of them: no
/// peak is left out.
fn draw_curve(canvas: &mut Canvas, area: Area, counts: &[u64], largest: u64, colour: Rgb) {
    let height = |count: u64| {
        area.top + area.height - 1 - (count as f64 / top_of(largest) * f64::from(area.height - 1)) as i32
    };
    let bins = counts.len() as i64;
    let bin_at = |column: i32| (i64::from(column) * bins / i64::from(area.width)) as usize;
    let mut before: Option<i32> = None;
    for column in 0..area.width {
        let (first, end) = (bin_at(column), bin_at(column + 1));
        let Some(part) = counts.get(first..end.max(first + 1).min(counts.len())) else { continue };
        let (Some(most), Some(least)) = (part.iter().max(), part.iter().min()) else { continue };
        let (mut from, mut to) = (height(*most), height(*least));
        let last = part.last().map_or(to, |count| height(*count));
        // From where the line was before.
        if let Some(before) = before {
            (from, to) = (from.min(before), to.max(before));
        }
        canvas.fill(Area { left: area.left + column, top: from, width: 1, height: to - from + 2 }, colour);
        before = Some(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(curves: &[&[u64]]) -> (u32, Vec<u8>) {
        let caption = Caption { title: "V20".into(), lines: vec!["7 events".into()], warnings: Vec::new() };
        let curves = curves.iter().zip(0..).map(|(counts, at)| Curve { name: format!("curve {at}"), counts });
        let chart = LineChart {
            caption: &caption,
            label: "time of flight (ms)".into(),
            up: "events".into(),
            from: 0.0,
            step: 0.1,
            curves: curves.collect(),
        };
        let (width, _, points) = chart.draw().into_points();
        (width, points)
    }

    /// Columns of the plot with points of a colour, from its left edge, with the highest point of each from the top.
    fn drawn((width, points): &(u32, Vec<u8>), wanted: Rgb) -> Vec<(i32, u32)> {
        let mut found = std::collections::BTreeMap::new();
        for (point, at) in points.chunks_exact(3).zip(0_u32..) {
            let (x, y) = ((at % width) as i32 - LEFT, at / width);
            // The legend stands above, in the same colours.
            if point == wanted && (0..WIDTH).contains(&x) && y > 130 {
                found.entry(x).or_insert(y);
            }
        }
        found.into_iter().collect()
    }

    #[test]
    fn every_bin_is_drawn_and_a_peak_narrower_than_a_point_is_not_lost() {
        let mut counts = vec![1_u64; 5000];
        counts[3333] = 100;
        let columns = drawn(&chart(&[&counts]), ALL);
        assert_eq!(columns.len(), WIDTH as usize);
        let (highest, _) = *columns.iter().min_by_key(|(_, top)| *top).expect("columns");
        // The last column whose bins begin at it or before.
        assert_eq!(highest, (3334 * WIDTH).unsigned_abs().div_ceil(5000) as i32 - 1);
        let flat = columns.iter().filter(|(_, top)| *top == columns[0].1).count();
        assert!(flat > 890, "{flat}");
    }

    #[test]
    fn each_region_has_its_colour_and_empty_charts_are_charts() {
        let both = chart(&[&[0, 9, 9, 0], &[0, 0, 4, 0], &[4, 0, 0, 0]]);
        let tops = |colour| drawn(&both, colour).iter().map(|(_, top)| *top).min();
        assert!(tops(ALL) < tops(REGIONS[0]));
        assert_eq!(tops(REGIONS[0]), tops(REGIONS[1]));
        assert_eq!((colour(0), colour(1), colour(7)), (ALL, REGIONS[0], REGIONS[0]));
        assert!(drawn(&chart(&[&[]]), ALL).is_empty());
        assert_eq!(chart(&[]).0, chart(&[&[1]]).0);
    }

    #[test]
    fn numbers_at_the_axes_are_round() {
        assert_eq!(ticks(0.0, 71.5, 12.5), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]);
        assert_eq!(ticks(0.5, 1.0, 3.0), [0.6, 0.8, 1.0].map(|value: f64| (value / 0.2).round() * 0.2));
    }
}
