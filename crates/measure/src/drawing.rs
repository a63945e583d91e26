//! Drawing a [`Plot`] as SVG, with the axes, marks and keys of all plots of this project ([`evforge_lab::plots::chart`]).

use crate::drawing_figure;
use crate::error::MeasureError;
use crate::plot::{self, Line, Look, Plot, Point, Scale};
use evforge_lab::LabError;
use evforge_lab::plots::chart::{
    Area, Axis, BLUE, GREEN, GREY, INK, Mark, ORANGE, PURPLE, Panel, SKY, TITLE_HEIGHT, VERMILION, WIDTH,
    even_steps, picture,
};

/// Height of a plot in points, without what its keys take.
const HEIGHT: u32 = 360;
const KEYS_HEIGHT: u32 = 24;
/// Characters of keys on one line, with what their marks take.
const KEYS_WIDTH: usize = 96;
const MARK_WIDTH: usize = 5;
/// How measured lines look, in their order: no two differ by colour alone.
const LOOKS: [Mark; plot::MOST_MEASURED] = [
    Mark::Circle(BLUE),
    Mark::Square(ORANGE),
    Mark::Triangle(GREEN),
    Mark::Diamond(VERMILION),
    Mark::Cross(PURPLE),
    Mark::Open(SKY, 4),
];
const THEORY: Mark = Mark::Dashes(GREY);
const PUBLISHED: Mark = Mark::Open(INK, 7);
/// The open mark of the place of none.
const NONE_RADIUS: i32 = 4;
/// Where the place of none is below the lowest decade, and where the axis ends, in decades of a short axis.
const NONE_BELOW: f64 = 0.08;
const END_BELOW: f64 = 0.14;

/// The plot as SVG, 830 points wide. Colours are those of Okabe and Ito; keys are above the data.
///
/// # Errors
/// If the plot is not sound ([`Plot::check`]).
pub fn svg(plot: &Plot) -> Result<String, MeasureError> {
    plot.check()?;
    let failed = |error: LabError| MeasureError::Wrong(format!("plot `{}`: {error}", plot.name));
    if let Some(figure) = &plot.figure {
        return drawing_figure::svg(plot, figure).map_err(failed);
    }
    let marks = marks(&plot.lines);
    let keys = keys(plot, &marks);
    let key_lines: Vec<&[(Mark, String)]> = keys.iter().map(Vec::as_slice).collect();
    let height = HEIGHT + KEYS_HEIGHT * key_lines.len() as u32;
    let drawn =
        picture(&plot.title, TITLE_HEIGHT + height + 4, |root| draw(root, plot, &marks, &key_lines, height));
    drawn.map_err(failed)
}

fn marks(lines: &[Line]) -> Vec<Mark> {
    let mut looks = LOOKS.into_iter();
    let of = |line: &Line| match line.look {
        Look::Measured => looks.next().unwrap_or(LOOKS[0]),
        Look::Theory => THEORY,
        Look::Published => PUBLISHED,
    };
    lines.iter().map(of).collect()
}

/// The keys, in lines that are not too long.
fn keys(plot: &Plot, marks: &[Mark]) -> Vec<Vec<(Mark, String)>> {
    let mut all: Vec<(Mark, String)> =
        plot.lines.iter().zip(marks).map(|(line, mark)| (*mark, line.name.clone())).collect();
    if has_bounds(plot) {
        all.push((Mark::Open(INK, NONE_RADIUS), "none seen: below the bar, with 95 % confidence".to_owned()));
    }
    let (mut lines, mut line, mut width) = (Vec::new(), Vec::new(), 0);
    for key in all {
        let wide = MARK_WIDTH + key.1.chars().count();
        if width + wide > KEYS_WIDTH && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            width = 0;
        }
        width += wide;
        line.push(key);
    }
    lines.push(line);
    lines
}

fn is_bound(plot: &Plot, point: &Point) -> bool {
    plot.up.scale == Scale::Logarithmic && point.y == 0.0
}

fn has_bounds(plot: &Plot) -> bool {
    plot.lines.iter().flat_map(|line| &line.points).any(|point| is_bound(plot, point))
}

fn draw(
    root: &Area<'_>,
    plot: &Plot,
    marks: &[Mark],
    keys: &[&[(Mark, String)]],
    height: u32,
) -> Result<(), LabError> {
    let points = || plot.lines.iter().flat_map(|line| &line.points);
    let across = axis(&plot.across, points().map(|point| point.x), None);
    let ends = points().flat_map(|point| [Some(point.y), point.low, point.high].into_iter().flatten());
    let none = has_bounds(plot).then(|| none_places(&plot.up, ends.clone()));
    // An interval that reaches what a logarithmic axis does not have ends where the axis does.
    let bottom = none.map_or_else(|| range(&plot.up, ends.clone()).0, |(_, begins)| begins);
    let up = axis(&plot.up, ends, none);
    let panel = Panel::new(root, (0, TITLE_HEIGHT), (WIDTH, height), keys, [&across, &up])?;
    let place = |x: f64, y: f64| (on(&plot.across, x), on(&plot.up, y));
    // Theory lies below what was measured, and what others have published around it.
    for look in [Look::Theory, Look::Published, Look::Measured] {
        for (line, mark) in plot.lines.iter().zip(marks).filter(|(line, _)| line.look == look) {
            let seen = |point: &&Point| !is_bound(plot, point);
            let chunks = line.points.chunk_by(|a, b| seen(&a) && seen(&b));
            for chunk in chunks {
                let through: Vec<_> =
                    chunk.iter().filter(seen).map(|point| place(point.x, point.y)).collect();
                match look {
                    Look::Theory => panel.dashes(&through, mark.colour())?,
                    Look::Measured => panel.line(&through, mark.colour(), 2)?,
                    Look::Published => {}
                }
            }
            if look == Look::Theory {
                continue;
            }
            for point in &line.points {
                let x = on(&plot.across, point.x);
                if let Some((zero, _)) = none.filter(|_| is_bound(plot, point)) {
                    match point.high.filter(|high| *high > 0.0) {
                        Some(high) => {
                            panel.limit(x, [on(&plot.up, high), zero], mark.colour(), NONE_RADIUS)?
                        }
                        None => panel.mark((x, zero), Mark::Open(mark.colour(), NONE_RADIUS))?,
                    }
                    continue;
                }
                if let (Some(low), Some(high)) = (point.low, point.high) {
                    panel.bar(x, [on(&plot.up, low).max(bottom), on(&plot.up, high)], mark.colour())?;
                }
                panel.mark(place(point.x, point.y), *mark)?;
            }
        }
    }
    Ok(())
}

/// Where a value is on an axis.
fn on(axis: &plot::Axis, value: f64) -> f64 {
    match axis.scale {
        Scale::Linear => value,
        Scale::Logarithmic => value.log10(),
    }
}

/// The ends of an axis, with some room around its points.
fn range(axis: &plot::Axis, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let is_logarithmic = axis.scale == Scale::Logarithmic;
    let values: Vec<f64> =
        values.filter(|value| !is_logarithmic || *value > 0.0).map(|value| on(axis, value)).collect();
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (lowest, highest) = if lowest <= highest { (lowest, highest) } else { (0.0, 1.0) };
    let room = 0.05 * (highest - lowest);
    let room = if room > 0.0 { room } else { 0.1 * highest.abs().max(1.0) };
    let end = |given: Option<f64>, asked: f64, further: fn(f64, f64) -> f64| match given {
        Some(given) => further(on(axis, given), asked),
        None => asked,
    };
    // Where an end is given, and no point is beyond it, it stays.
    let from = axis.from.map(|from| on(axis, from)).filter(|from| *from <= lowest);
    let to = axis.to.map(|to| on(axis, to)).filter(|to| *to >= highest);
    let from = from.unwrap_or_else(|| end(axis.from, lowest - room, f64::min));
    let to = to.unwrap_or_else(|| end(axis.to, highest + room, f64::max));
    if from < to { (from, to) } else { (from, from + 1.0) }
}

/// Where none is, and where the axis begins, both below all values of a logarithmic axis.
fn none_places(axis: &plot::Axis, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (from, to) = range(axis, values);
    let from = from.floor();
    (from - NONE_BELOW * (to - from), from - END_BELOW * (to - from))
}

fn axis(axis: &plot::Axis, values: impl Iterator<Item = f64>, none: Option<(f64, f64)>) -> Axis {
    let label = match axis.unit.as_str() {
        "" => axis.title.clone(),
        unit => format!("{} ({unit})", axis.title),
    };
    let (from, to) = range(axis, values);
    let is_logarithmic = axis.scale == Scale::Logarithmic;
    let named = |ticks: &[f64]| -> Vec<(f64, String)> {
        ticks.iter().map(|tick| (on(axis, *tick), number(*tick))).collect()
    };
    let drawn = match (is_logarithmic, axis.ticks.as_slice()) {
        (false, []) => Axis::even(label, from, to, 7),
        (true, []) => {
            let from = if none.is_some() { from.floor() } else { from };
            let decades = Axis::decades(label.clone(), 10_f64.powf(from), 10_f64.powf(to), number);
            // A number for each of at most seven decades; of less than two, also between them.
            match to - from {
                short if short < 2.0 => Axis::with_ticks(label, from, to, named(&between(from, to))),
                long if long > 8.0 => Axis::with_ticks(label, from, to, named(&every_other(from, to))),
                _ => decades,
            }
        }
        (_, ticks) => Axis::with_ticks(label, from, to, named(ticks)),
    };
    match none {
        Some((zero, end)) => drawn.begun_at(end, (zero, "none")),
        None => drawn,
    }
}

/// 1, 2 and 5 times powers of ten; where there are not two of them, even steps, as nobody can read an axis with one number.
fn between(from: f64, to: f64) -> Vec<f64> {
    let decades = from.floor() as i32..=to.ceil() as i32;
    let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|part| part * 10_f64.powi(decade)));
    let ticks: Vec<f64> = all.filter(|tick| (from..=to).contains(&tick.log10())).collect();
    if ticks.len() > 1 { ticks } else { even_steps(10_f64.powf(from), 10_f64.powf(to), 5).1.collect() }
}

fn every_other(from: f64, to: f64) -> Vec<f64> {
    let step = (((to - from) / 7.0).ceil() as usize).max(2);
    (from.ceil() as i32..=to.floor() as i32).step_by(step).map(|decade| 10_f64.powi(decade)).collect()
}

/// A number at an axis: 0 and 0.001 to 10 000 as they are, others as powers of ten.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if (0.99e-3..=99_999.0).contains(&value) {
        let decimals = (0..6).find(|decimals| {
            let scaled = value * 10_f64.powi(*decimals);
            (scaled - scaled.round()).abs() < 1e-6 * scaled
        });
        return format!("{value:.*}", decimals.unwrap_or(6) as usize);
    }
    let exponent = value.log10().floor() as i32;
    let (exponent, part) = match (value / 10_f64.powi(exponent)).round() as i32 {
        10 => (exponent + 1, 1),
        part => (exponent, part),
    };
    let digits = exponent.to_string().chars().map(superscript).collect::<String>();
    match part {
        1 => format!("10{digits}"),
        part => format!("{part}·10{digits}"),
    }
}

fn superscript(c: char) -> char {
    match c {
        '-' => '\u{207b}',
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        digit => digit.to_digit(10).and_then(|digit| char::from_u32(0x2070 + digit)).unwrap_or(digit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_an_axis_are_short() {
        let found = [0.0, 0.001, 0.25, 1.0, 64.0, 8972.0, 1e-6, 5e-7, 1e12, 1e-10].map(number);
        let expected = ["0", "0.001", "0.25", "1", "64", "8972", "10⁻⁶", "5·10⁻⁷", "10¹²", "10⁻¹⁰"];
        assert_eq!(found, expected);
    }

    /// Points that were not seen are told from those that were, and all are inside.
    #[test]
    fn upper_bounds_have_an_arrow_and_a_place_of_their_own() {
        let bound = Point { x: 4000.0, y: 0.0, low: Some(0.0), high: Some(3e-9) };
        let points = vec![Point::at(64.0, 0.4), Point::at(1900.0, 6.1e-6), bound];
        let plot = Plot::new(
            "per",
            "Lost",
            plot::Axis::logarithmic("Size", "B"),
            plot::Axis::logarithmic("Ratio", ""),
        )
        .with(Line::new("measured", Look::Measured, points));
        let drawn = svg(&plot).unwrap();
        assert_eq!(drawn.matches("<polygon").count(), 1, "an arrow: {drawn}");
        assert!(drawn.contains("none seen") && drawn.contains(">\nnone\n<"), "{drawn}");
        let mut seen = plot.clone();
        seen.lines[0].points.pop();
        let drawn = svg(&seen).unwrap();
        assert!(!drawn.contains("<polygon") && !drawn.contains("\nnone"), "{drawn}");
    }

    #[test]
    fn a_logarithmic_axis_of_a_part_of_a_decade_has_numbers() {
        for (low, high) in [(46.5_f64, 49.0_f64), (131.0, 172.0), (1.05e-3, 1.9e-3), (6.0, 9.0)] {
            let ticks = between(low.log10(), high.log10());
            assert!((2..=6).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
            assert!(ticks.iter().all(|tick| (low..=high).contains(tick)), "{low} to {high}: {ticks:?}");
        }
        assert_eq!(between(0.9_f64.log10(), 30.0_f64.log10()), [1.0, 2.0, 5.0, 10.0, 20.0]);
    }

    #[test]
    fn a_plot_without_points_is_a_plot() {
        let empty =
            Plot::new("p", "Nothing", plot::Axis::linear("Size", "B"), plot::Axis::logarithmic("Ratio", ""));
        assert!(svg(&empty).unwrap().starts_with("<svg"));
        let one = Line::new("one", Look::Measured, vec![Point::at(5.0, 1e-3)]);
        assert!(svg(&empty.with(one)).unwrap().contains("<circle"));
    }
}
