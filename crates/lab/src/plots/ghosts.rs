//! Ghosts against the rate, on an axis of their own: from one in a hundred thousand events to all of them.

use super::chart::{Area, Axis, INK, Mark, Panel};
use super::figures::{Curve, RatePoint};
use super::rates::rate_axis;
use crate::LabError;
use plotters::style::RGBColor;

/// The share at which the axis begins, or lower if the limit of a point is.
const SMALLEST: f64 = 1e-5;
/// Behind the points without any ghost.
const BAND: RGBColor = RGBColor(240, 240, 240);
/// Of the mark for none; those of several curves lie around one another.
const RADIUS: i32 = 4;
/// How far below the lowest decade "0" is written and ends the axis, in decades: a place that no logarithm has.
const ZERO_BELOW: f64 = 0.6;
const END_BELOW: f64 = 1.0;

/// The most that the true share is, with 95 % confidence, of which nothing was seen in so many events: 3/N.
fn upper_limit(events: u64) -> f64 {
    3.0 / events as f64
}

/// Draws the ghosts of each curve with its mark. Where there are none, an open mark is at 0 and an arrow comes down to it from
/// the upper limit.
pub(super) fn draw(
    root: &Area<'_>,
    place: (u32, u32),
    size: (u32, u32),
    curves: &[(&Curve, Mark)],
) -> Result<(), LabError> {
    let measured = |point: &&RatePoint| point.events > 0;
    let all = || curves.iter().flat_map(|(curve, _)| &curve.points).filter(measured);
    let lowest = all().map(|point| if point.ghosts > 0 { share(point) } else { upper_limit(point.events) });
    let lowest = lowest.fold(SMALLEST, f64::min).log10().floor();
    let (zero, end) = (lowest - ZERO_BELOW, lowest - END_BELOW);
    // A little more than all, so that a point at 100 % is whole.
    let up = Axis::decades("ghosts (% of the events)", 10_f64.powf(lowest), 1.6, percent);
    let up = up.without_fine_lines().begun_at(end, (zero, "0"));
    let across = rate_axis(curves.iter().map(|(curve, _)| *curve));
    let name = |curve: &Curve| if curve.name.is_empty() { "ghosts" } else { &curve.name }.to_owned();
    let mut keys: Vec<_> = curves.iter().map(|(curve, mark)| (*mark, name(curve))).collect();
    if all().any(|point| point.ghosts == 0) {
        keys.push((Mark::Open(INK, RADIUS), "none: < 3/N".to_owned()));
    }
    let panel = Panel::new(root, place, size, &[&keys], [&across.axis, &up])?;
    panel.fill([(across.from, end), (across.to, zero + END_BELOW - ZERO_BELOW)], BAND)?;
    for (number, (curve, mark)) in curves.iter().enumerate() {
        let radius = RADIUS + 3 * (curves.len() - 1 - number) as i32;
        let points: Vec<&RatePoint> = curve.points.iter().filter(measured).collect();
        let place = |point: &RatePoint| (point.neutrons_per_second.log10(), share(point).log10());
        for some in points.chunk_by(|before, after| before.ghosts > 0 && after.ghosts > 0) {
            let line: Vec<_> = some.iter().map(|point| place(point)).collect();
            panel.line(&line, mark.colour(), 2)?;
        }
        for point in points {
            let x = point.neutrons_per_second.log10();
            if point.ghosts == 0 {
                let limit = upper_limit(point.events).min(1.0).log10();
                panel.limit(x, [limit, zero], mark.colour(), radius)?;
            } else {
                let error = 1.0 / (point.ghosts as f64).sqrt();
                let (_, y) = place(point);
                // A single ghost is one more or less than none: the bar ends at the lowest decade.
                let least = (y + (1.0 - error).log10()).max(lowest);
                panel.line(&[(x, least), (x, (y + (1.0 + error).log10()).min(0.0))], mark.colour(), 2)?;
                panel.mark(place(point), *mark)?;
            }
        }
    }
    Ok(())
}

fn share(point: &RatePoint) -> f64 {
    point.ghosts as f64 / point.events as f64
}

/// A share that is a power of ten as a number of percent: 0.001, and 10⁻⁴ below that.
fn percent(share: f64) -> String {
    let decimals = (-(100.0 * share).log10().round()).max(0.0) as usize;
    match ["\u{2074}", "\u{2075}", "\u{2076}", "\u{2077}", "\u{2078}", "\u{2079}"]
        .get(decimals.wrapping_sub(4))
    {
        Some(digit) => format!("10\u{207b}{digit}"),
        None => format!("{:.decimals$}", 100.0 * share),
    }
}
