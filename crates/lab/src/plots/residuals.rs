//! How far events are from the truth: histograms as steps.

use super::chart::{Area, Axis, Mark, Panel};
use crate::LabError;
use evforge_sim::score::Histogram;

/// Draws histograms over the bins from the first to the last that holds anything, and one more on both sides; each as the
/// share of its neutrons per unit, so that bins of different width compare.
pub(super) fn draw(
    root: &Area<'_>,
    place: (u32, u32),
    size: (u32, u32),
    what: &str,
    [unit, units]: [&str; 2],
    histograms: &[(&str, Mark, &Histogram)],
) -> Result<(), LabError> {
    let ranges = || {
        histograms.iter().filter(|(_, _, histogram)| !histogram.counts.is_empty()).map(|(_, _, histogram)| {
            let from = histogram.from - histogram.bin_width;
            (from, from + (histogram.counts.len() + 2) as f64 * histogram.bin_width)
        })
    };
    let from = ranges().map(|(from, _)| from).fold(f64::INFINITY, f64::min);
    let to = ranges().map(|(_, to)| to).fold(f64::NEG_INFINITY, f64::max);
    // Nothing was found: an empty picture, but a picture.
    let (from, to) = if from < to { (from, to) } else { (-1.0, 1.0) };
    let most = histograms.iter().flat_map(|(_, _, histogram)| heights(histogram)).fold(0.0, f64::max);
    let across = Axis::even(format!("{what}: event \u{2212} truth ({units})"), from, to, 7);
    let most = if most > 0.0 { 1.08 * most } else { 1.0 };
    let up = Axis::even(format!("% of the neutrons per {unit}"), 0.0, most, 6);
    let keys: Vec<_> = histograms.iter().map(|(name, mark, _)| (*mark, (*name).to_owned())).collect();
    let panel = Panel::new(root, place, size, &[&keys], [&across, &up])?;
    for (_, mark, histogram) in histograms {
        let steps = heights(histogram).enumerate().flat_map(|(bin, height)| {
            let start = histogram.from + bin as f64 * histogram.bin_width;
            [(start, height), (start + histogram.bin_width, height)]
        });
        let end = histogram.from + histogram.counts.len() as f64 * histogram.bin_width;
        let zero = |at: f64| (at, 0.0);
        let steps: Vec<_> =
            [from, histogram.from].map(zero).into_iter().chain(steps).chain([end, to].map(zero)).collect();
        let Mark::Line(colour, width) = mark else { continue };
        panel.line(&steps, *colour, *width)?;
    }
    Ok(())
}

/// Percent of all that are counted, per unit.
fn heights(histogram: &Histogram) -> impl Iterator<Item = f64> {
    let all: u64 = histogram.counts.iter().sum();
    let whole = all.max(1) as f64 * histogram.bin_width;
    histogram.counts.iter().map(move |count| 100.0 * *count as f64 / whole)
}
