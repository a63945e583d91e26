//! Drawing a [`Figure`]: matrices and stacked bars.

use crate::figure::{Figure, MOST_PARTS, Matrix, Stacks};
use crate::plot::Plot;
use crate::table::Cell;
use evforge_lab::LabError;
use evforge_lab::plots::chart::{
    Area, Axis, BLUE, Colour, GREEN, Mark, ORANGE, PAPER, PURPLE, Panel, SKY, TITLE_HEIGHT, VERMILION, WIDTH,
    picture,
};

/// Heights in points: of keys, axes and title together, of a row of a matrix, of bars.
const AROUND: u32 = 100;
const ROW: u32 = 52;
const LOWEST_ROW: u32 = 18;
const MOST_ROWS_HEIGHT: u32 = 640;
const BARS: u32 = 360;
/// The smallest share that has a colour of its own, and all below it.
const LOWEST_DECADE: i32 = -7;
/// Colours of shares from 10⁻⁷ to 1: a decade each, from light to dark, of one hue, so that they are in order for every eye.
const SHADES: [Colour; 8] = [
    Colour(255, 236, 217),
    Colour(253, 216, 179),
    Colour(253, 187, 132),
    Colour(252, 150, 85),
    Colour(239, 112, 50),
    Colour(214, 78, 20),
    Colour(166, 54, 3),
    Colour(110, 33, 1),
];
/// Letters on colours, which stay as they are in a dark window (`report.css`).
const DARK_LETTERS: Colour = Colour(31, 31, 31);
const LIGHT_LETTERS: Colour = Colour(255, 255, 254);
/// From this shade on letters are light.
const DARK: usize = 5;
/// Nothing is missing.
const NONE: Colour = Colour(226, 236, 242);
/// Nobody knows.
const UNKNOWN: Colour = Colour(205, 205, 205);
/// Parts of bars, by Okabe and Ito.
const PARTS: [Colour; MOST_PARTS] = [SKY, ORANGE, GREEN, VERMILION, PURPLE, BLUE];
/// Columns of a matrix in which values can be read.
const MOST_WRITTEN: usize = 8;
/// Points around a field.
const GAP: f64 = 1.2;
/// Width of a bar, of the distance between two.
const BAR: f64 = 0.62;
/// A part that is smaller than this share of the axis has no number in it.
const LEAST_NUMBERED: f64 = 0.06;

/// The figure of a plot as SVG.
pub(crate) fn svg(plot: &Plot, figure: &Figure) -> Result<String, LabError> {
    match figure {
        Figure::Matrix(matrix) => {
            let row = (MOST_ROWS_HEIGHT / matrix.rows.len().max(1) as u32).clamp(LOWEST_ROW, ROW);
            let height = AROUND + row * matrix.rows.len() as u32;
            picture(&plot.title, TITLE_HEIGHT + height, |root| draw_matrix(root, plot, matrix, height, row))
        }
        Figure::Stacks(stacks) => {
            picture(&plot.title, TITLE_HEIGHT + BARS + 4, |root| draw_stacks(root, plot, stacks))
        }
    }
}

/// An axis with a name in the middle of each place.
fn places(label: &str, names: impl ExactSizeIterator<Item = String>) -> Axis {
    let count = names.len() as f64;
    let ticks = names.enumerate().map(|(place, name)| (place as f64 + 0.5, name)).collect();
    Axis::with_ticks(label, 0.0, count, ticks)
}

/// The shade of a share above 0.
fn shade(share: f64) -> usize {
    let decade = share.log10().ceil().max(f64::from(LOWEST_DECADE)) as i32;
    usize::try_from(decade - LOWEST_DECADE).unwrap_or(0).min(SHADES.len() - 1)
}

/// Its colour, and that of letters on it.
fn colours(share: &Cell) -> (Colour, Colour) {
    match share.value() {
        None => (UNKNOWN, DARK_LETTERS),
        Some(0.0) => (NONE, DARK_LETTERS),
        Some(share) if shade(share) >= DARK => (SHADES[shade(share)], LIGHT_LETTERS),
        Some(share) => (SHADES[shade(share)], DARK_LETTERS),
    }
}

/// What is written of a share.
fn text(share: &Cell) -> String {
    match share {
        Cell::Missing | Cell::Text(_) => "unknown".to_owned(),
        Cell::Measured { value: 0.0, high, .. } => format!("none (< {high:.0e})"),
        Cell::Number(0.0) => "none".to_owned(),
        Cell::Number(value) | Cell::Measured { value, .. } => format!("{value:.1e}"),
    }
}

fn draw_matrix(
    root: &Area<'_>,
    plot: &Plot,
    matrix: &Matrix,
    height: u32,
    row_height: u32,
) -> Result<(), LabError> {
    let mut keys = vec![(Mark::Square(NONE), "none seen".to_owned())];
    let decades = (LOWEST_DECADE..=0).zip(SHADES).skip(1).step_by(2);
    keys.extend(decades.map(|(decade, colour)| {
        let upto = if decade == 0 { "1".to_owned() } else { format!("1e{decade}") };
        (Mark::Square(colour), format!("up to {upto}"))
    }));
    let across = places(&plot.across.title, matrix.columns.iter().cloned());
    // The first row is above.
    let up = places(&plot.up.title, matrix.rows.iter().rev().cloned());
    let panel = Panel::new(root, (0, TITLE_HEIGHT), (WIDTH, height), &[&keys], [&across, &up])?;
    // The same distance around each field.
    let (aside, above) = (GAP * matrix.columns.len() as f64 / f64::from(WIDTH), GAP / f64::from(row_height));
    for (place, field) in matrix.fields.iter().enumerate() {
        let (row, column) = (place / matrix.columns.len(), place % matrix.columns.len());
        let (x, y) = (column as f64, (matrix.rows.len() - 1 - row) as f64);
        let (colour, ink) = colours(&field.share);
        panel.fill([(x, y), (x + 1.0, y + 1.0)], PAPER)?;
        panel.fill([(x + aside, y + above), (x + 1.0 - aside, y + 1.0 - above)], colour)?;
        if matrix.columns.len() > MOST_WRITTEN {
            continue;
        }
        match row_height == ROW && !field.note.is_empty() {
            true => {
                panel.text((x + 0.5, y + 0.66), &text(&field.share), ink)?;
                panel.text((x + 0.5, y + 0.32), &field.note, ink)?;
            }
            false => panel.text((x + 0.5, y + 0.5), &text(&field.share), ink)?,
        }
    }
    Ok(())
}

fn draw_stacks(root: &Area<'_>, plot: &Plot, stacks: &Stacks) -> Result<(), LabError> {
    let keys: Vec<_> =
        stacks.parts.iter().zip(PARTS).map(|(part, colour)| (Mark::Square(colour), part.clone())).collect();
    let across = places(&plot.across.title, stacks.bars.iter().cloned());
    let highest = stacks.heights.iter().map(|bar| bar.iter().sum::<f64>()).fold(0.0, f64::max);
    let to = plot.up.to.unwrap_or(0.0).max(highest * 1.02);
    let to = if to > 0.0 { to } else { 1.0 };
    let label = match plot.up.unit.as_str() {
        "" => plot.up.title.clone(),
        unit => format!("{} ({unit})", plot.up.title),
    };
    let up = Axis::even(label, 0.0, to, 6);
    let panel = Panel::new(root, (0, TITLE_HEIGHT), (WIDTH, BARS), &[&keys], [&across, &up])?;
    for (bar, heights) in stacks.heights.iter().enumerate() {
        let middle = bar as f64 + 0.5;
        let mut from = 0.0;
        for (height, colour) in heights.iter().zip(PARTS) {
            panel.fill([(middle - BAR / 2.0, from), (middle + BAR / 2.0, from + height)], colour)?;
            if *height >= LEAST_NUMBERED * to && stacks.bars.len() <= 12 {
                panel.text((middle, from + height / 2.0), &number(*height), DARK_LETTERS)?;
            }
            from += height;
        }
    }
    Ok(())
}

/// A number with three significant digits.
fn number(value: f64) -> String {
    let decimals = (2.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 3.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing;
    use crate::figure::Field;
    use crate::plot::Axis as PlotAxis;

    fn plot(figure: Figure) -> Plot {
        let axes = (PlotAxis::linear("Receiver", ""), PlotAxis::linear("Sender", ""));
        Plot::new("p", "P", axes.0, axes.1).of(figure)
    }

    #[test]
    fn shares_have_shades_in_their_order_and_none_has_its_own() {
        let shades: Vec<usize> = [1e-9, 1e-7, 2e-7, 1e-6, 1e-3, 0.5, 1.0].map(shade).to_vec();
        assert_eq!(shades, [0, 0, 1, 1, 4, 7, 7]);
        assert_eq!(colours(&Cell::counted_share(0, 9)).0, NONE);
        assert_eq!(colours(&Cell::Missing).0, UNKNOWN);
        let written =
            [Cell::counted_share(0, 3_000_000), Cell::Number(0.012), Cell::Missing].map(|share| text(&share));
        assert_eq!(written, ["none (< 1e-6)", "1.2e-2", "unknown"]);
    }

    #[test]
    fn every_field_and_every_part_is_drawn_with_its_value() {
        let field = |lost| Field { share: Cell::counted_share(lost, 1000), note: format!("{lost} of 1 000") };
        let matrix = Matrix {
            rows: ["0", "1"].map(str::to_owned).to_vec(),
            columns: ["0", "1", "2"].map(str::to_owned).to_vec(),
            fields: [0, 1, 2, 3, 4, 500].map(field).to_vec(),
        };
        let drawn = drawing::svg(&plot(Figure::Matrix(matrix))).expect("a drawing");
        for expected in ["none (&lt; 3e-3)", "5.0e-1", "500 of 1 000", "up to 1e-2"] {
            assert!(drawn.contains(expected), "{expected}: {drawn}");
        }
        let stacks = Stacks {
            bars: vec!["0".to_owned()],
            parts: ["receiving", "assembling"].map(str::to_owned).to_vec(),
            heights: vec![vec![75.0, 25.0]],
        };
        let drawn = drawing::svg(&plot(Figure::Stacks(stacks))).expect("a drawing");
        for expected in ["75.0", "25.0", "receiving", "#56B4E9", "#E69F00"] {
            assert!(drawn.contains(expected), "{expected}: {drawn}");
        }
    }
}
