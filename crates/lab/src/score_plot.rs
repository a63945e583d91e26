//! Scores as a picture: efficiency and ghosts against the rate, and the residuals of positions and times.

use crate::LabError;
use evforge_sim::score::{Histogram, NeutronScore, RateBin, Score};
use plotters::chart::SeriesLabelPosition;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;

/// One point of the curves against the rate: shares, if there is anything that they are of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePoint {
    rate: f64,
    /// Found of the resolvable neutrons, found of all, its ceiling, ghosts.
    shares: [Option<f64>; 4],
}

/// What the curves against the rate are called, with their colours.
const CURVES: [(&str, RGBColor); 4] = [
    ("found of resolvable", RGBColor(0, 114, 178)),
    ("found of all", RGBColor(86, 180, 233)),
    ("ceiling", RGBColor(150, 150, 150)),
    ("ghosts", RGBColor(213, 94, 0)),
];
/// What the axes are called, with their colours.
const AXES: [(&str, RGBColor); 3] =
    [("x", RGBColor(0, 114, 178)), ("y", RGBColor(230, 159, 0)), ("z", RGBColor(0, 158, 115))];
/// Where a bin that begins at rate 0 is drawn, and the lowest rate that is, in hertz.
const LOWEST_RATE: f64 = 500.0;
/// A panel of the picture, in points.
const PANEL: (u32, u32) = (400, 320);
const TEXT: (&str, u32) = ("sans-serif", 13);

impl RatePoint {
    /// Of the neutrons at moments of similar rate.
    pub fn of_bin(bin: &RateBin) -> Self {
        let middle = match bin.to {
            _ if bin.from <= 0.0 => LOWEST_RATE,
            Some(to) => (bin.from * to).sqrt(),
            None => bin.from,
        };
        let shares = [bin.resolvable_efficiency(), bin.efficiency(), bin.ceiling(), bin.ghost_share()];
        Self { rate: middle, shares }
    }

    /// Of a whole run at a mean rate in hertz.
    pub fn at_rate(rate: f64, score: &Score) -> Self {
        let shares = [score.resolvable.efficiency, score.all.efficiency, score.ceiling, score.ghost_share];
        Self { rate: rate.max(LOWEST_RATE), shares }
    }
}

/// Draws curves against the rate, next to the residuals of `neutrons`.
///
/// # Errors
/// Does not fail: it draws into memory.
pub fn svg(title: &str, points: &[RatePoint], neutrons: &NeutronScore) -> Result<String, LabError> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (3 * PANEL.0, PANEL.1)).into_drawing_area();
        root.fill(&WHITE)?;
        let panels = root.split_evenly((1, 3));
        if let [of_rate, of_position, of_time] = &panels[..] {
            draw_rates(of_rate, title, points)?;
            let axes = neutrons.position.iter().zip(AXES);
            let axes: Vec<_> = axes
                .filter_map(|(residual, (name, colour))| {
                    residual.as_ref().map(|residual| (name, colour, &residual.histogram))
                })
                .collect();
            draw_histograms(of_position, "event less truth (pixels)", &axes)?;
            let time = [("time", RGBColor(0, 114, 178), &neutrons.time_ns.histogram)];
            draw_histograms(of_time, "event less truth (ns)", &time)?;
        }
        root.present()?;
    }
    Ok(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw_rates(area: &Area<'_>, title: &str, points: &[RatePoint]) -> Result<(), LabError> {
    let rates = || points.iter().map(|point| point.rate);
    let lowest = rates().fold(f64::INFINITY, f64::min).min(1e6) * 0.7;
    let highest = rates().fold(lowest * 2.0, f64::max) * 1.4;
    let mut chart = ChartBuilder::on(area)
        .caption(title, TEXT)
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d((lowest..highest).log_scale(), 0.0..105.0)?;
    let with_prefix = |rate: &f64| match *rate {
        rate if rate >= 1e6 => format!("{} M", rate / 1e6),
        rate if rate >= 1e3 => format!("{} k", rate / 1e3),
        rate => format!("{rate}"),
    };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("neutrons per second")
        .y_desc("%")
        .x_label_formatter(&with_prefix)
        .y_label_formatter(&|percent| format!("{percent:.0}"))
        .label_style(TEXT)
        .draw()?;
    for (curve, (name, colour)) in CURVES.into_iter().enumerate() {
        let curve =
            || points.iter().filter_map(move |point| Some((point.rate, 100.0 * point.shares[curve]?)));
        chart.draw_series(LineSeries::new(curve(), colour.stroke_width(2)))?.label(name).legend(key(colour));
        chart.draw_series(curve().map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    draw_legend(&mut chart, SeriesLabelPosition::MiddleLeft)
}

/// Histograms as steps, over the bins from the first to the last that holds anything, and one more on both sides.
fn draw_histograms(
    area: &Area<'_>,
    description: &str,
    histograms: &[(&str, RGBColor, &Histogram)],
) -> Result<(), LabError> {
    let filled = |histogram: &Histogram| {
        let first = histogram.counts.iter().position(|count| *count > 0)?;
        let last = histogram.counts.iter().rposition(|count| *count > 0)?;
        let half = 1.5 * histogram.bin_width;
        Some((histogram.middle(first) - half, histogram.middle(last) + half))
    };
    let ranges = || histograms.iter().filter_map(|(_, _, histogram)| filled(histogram));
    let from = ranges().map(|(from, _)| from).fold(f64::INFINITY, f64::min);
    let to = ranges().map(|(_, to)| to).fold(f64::NEG_INFINITY, f64::max);
    // Nothing was found: an empty picture, but a picture.
    let (from, to) = if from < to { (from, to) } else { (-1.0, 1.0) };
    let most = histograms.iter().flat_map(|(_, _, histogram)| &histogram.counts).max().copied().unwrap_or(0);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(from..to, 0.0..1.08 * most.max(1) as f64)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(description)
        .x_labels(7)
        .y_label_formatter(&|count| format!("{count:.0}"))
        .label_style(TEXT)
        .draw()?;
    for (name, colour, histogram) in histograms {
        let steps = histogram.counts.iter().enumerate().flat_map(|(bin, count)| {
            let (middle, half) = (histogram.middle(bin), histogram.bin_width / 2.0);
            [(middle - half, *count as f64), (middle + half, *count as f64)]
        });
        let steps = steps.filter(|(at, _)| (from..=to).contains(at));
        chart.draw_series(LineSeries::new(steps, colour.stroke_width(2)))?.label(*name).legend(key(*colour));
    }
    draw_legend(&mut chart, SeriesLabelPosition::UpperRight)
}

/// The line in front of a name in the legend.
fn key(colour: RGBColor) -> impl Fn((i32, i32)) -> PathElement<(i32, i32)> {
    move |(x, y)| PathElement::new(vec![(x, y), (x + 14, y)], colour.stroke_width(2))
}

fn draw_legend<'area, 'text: 'area, X, Y>(
    chart: &mut ChartContext<'area, SVGBackend<'text>, Cartesian2d<X, Y>>,
    position: SeriesLabelPosition,
) -> Result<(), LabError>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.8))
        .label_font(TEXT)
        .draw()?;
    Ok(())
}
