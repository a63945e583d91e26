//! Accuracy as a picture: efficiency and ghosts against the rate, and the residuals of positions and times.

use super::chart::{
    Area, Axis, BLUE, GREEN, GREY, Mark, ORANGE, Panel, TITLE_HEIGHT, VERMILION, WIDTH, picture,
};
use super::figures::{Curve, Figures, RatePoint, Residuals};
use super::rates::rate_axis;
use super::{ghosts, residuals};
use crate::LabError;
use evforge_sim::score::{share, share_error};

/// A panel, in points.
const PANEL: (u32, u32) = (WIDTH / 2, 310);
/// Where the axis of shares may begin, in percent: the highest that leaves some room below all points.
const BEGINNINGS: [f64; 9] = [99.8, 99.5, 99.0, 98.0, 95.0, 90.0, 80.0, 50.0, 0.0];
/// How the axes of the detector look.
const AXES: [(&str, Mark); 3] =
    [("x", Mark::Line(BLUE, 5)), ("y", Mark::Line(ORANGE, 3)), ("z", Mark::Line(GREEN, 2))];
/// How several ways to form events look.
const WAYS: [Mark; 3] = [Mark::Square(ORANGE), Mark::Circle(BLUE), Mark::Circle(GREEN)];
const CEILING: Mark = Mark::Dashes(GREY);

/// Draws the figures: what was found and ghosts, both against the rate, and the residuals if there are any.
///
/// # Errors
/// If there are more curves than looks for them. It draws into memory, which does not fail.
pub fn svg(figures: &Figures) -> Result<String, LabError> {
    if figures.curves.len() > WAYS.len() {
        let number = figures.curves.len();
        return Err(format!("{number} curves in one plot: at most {} can be told apart", WAYS.len()).into());
    }
    let rows = if figures.residuals.is_some() { 2 } else { 1 };
    picture(&figures.title, TITLE_HEIGHT + rows * PANEL.1 + 4, |root| {
        let (left, right, top) = (0, PANEL.0, TITLE_HEIGHT);
        draw_found(root, (left, top), &figures.curves)?;
        let looks: Vec<_> = match &figures.curves[..] {
            [only] => vec![(only, Mark::Circle(VERMILION))],
            several => several.iter().zip(WAYS).collect(),
        };
        ghosts::draw(root, (right, top), PANEL, &looks)?;
        if let Some(Residuals { position, time_ns }) = &figures.residuals {
            let top = top + PANEL.1;
            let axes = position.iter().zip(AXES);
            let axes: Vec<_> = axes
                .filter_map(|(histogram, (name, mark))| Some((name, mark, histogram.as_ref()?)))
                .collect();
            residuals::draw(root, (left, top), PANEL, "position", ["pixel", "pixels"], &axes)?;
            let time = [("time", Mark::Line(BLUE, 2), time_ns)];
            residuals::draw(root, (right, top), PANEL, "time", ["ns", "ns"], &time)?;
        }
        Ok(())
    })
}

/// A share in percent with its uncertainty.
fn percent(part: u64, whole: u64) -> Option<(f64, f64)> {
    Some((100.0 * share(part, whole)?, 100.0 * share_error(part, whole)?))
}

/// Draws the shares of neutrons that were found, with the most that could be.
fn draw_found(root: &Area<'_>, place: (u32, u32), curves: &[Curve]) -> Result<(), LabError> {
    type Part = fn(&RatePoint) -> Option<(f64, f64)>;
    let of_all: Part = |point| percent(point.found, point.neutrons);
    let of_resolvable: Part = |point| percent(point.resolvable_found, point.resolvable);
    let ceiling: Part = |point| percent(point.resolvable, point.neutrons);
    let mut drawn: Vec<(&Curve, Mark, &str, Part)> = Vec::new();
    let label = match curves {
        [only] => {
            drawn.push((only, CEILING, "ceiling", ceiling));
            drawn.push((only, Mark::Square(ORANGE), "of all", of_all));
            drawn.push((only, Mark::Circle(BLUE), "of resolvable", of_resolvable));
            "found (% of the neutrons)"
        }
        several => {
            drawn.extend(several.first().map(|first| (first, CEILING, "ceiling", ceiling)));
            drawn.extend(several.iter().zip(WAYS).map(|(way, mark)| (way, mark, &*way.name, of_all)));
            "found (% of all neutrons)"
        }
    };
    let lowest = drawn.iter().flat_map(|(curve, _, _, part)| curve.points.iter().filter_map(part));
    let lowest = lowest.map(|(share, error)| share - error).fold(100.0, f64::min);
    let room = |from: &f64| lowest - from >= 0.08 * (100.0 - from);
    let from = BEGINNINGS.into_iter().find(room).unwrap_or(0.0);
    let across = rate_axis(curves.iter());
    let up = Axis::even(label, from, 100.0 + 0.04 * (100.0 - from), 6);
    let keys: Vec<_> = drawn.iter().map(|(_, mark, name, _)| (*mark, (*name).to_owned())).collect();
    let panel = Panel::new(root, place, PANEL, &[&keys], [&across.axis, &up])?;
    // The ceiling comes last: on what reaches it, it is still seen.
    for (curve, mark, _, part) in drawn.into_iter().rev() {
        let shares = curve.points.iter().filter_map(|point| Some((point, part(point)?)));
        let shares: Vec<_> =
            shares.map(|(point, share)| (point.neutrons_per_second.log10(), share)).collect();
        let line: Vec<_> = shares.iter().map(|(x, (share, _))| (*x, *share)).collect();
        if let Mark::Dashes(colour) = mark {
            panel.dashes(&line, colour)?;
            continue;
        }
        panel.line(&line, mark.colour(), 2)?;
        for (x, (share, error)) in shares {
            let ends = [(share - error).max(from), (share + error).min(100.0)];
            panel.line(&ends.map(|end| (x, end)), mark.colour(), 2)?;
            panel.mark((x, share), mark)?;
        }
    }
    Ok(())
}
