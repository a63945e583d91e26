//! Highest loss-free peaks against the buffer, with the relation as lines.

use crate::{Point, WORKS, pulse_time};
use plotters::chart::SeriesLabelPosition;
use plotters::prelude::*;

/// The packets that are drawn, and their colours by work and peak factor.
const SIZE: usize = 1472;
const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(86, 180, 233), RGBColor(213, 94, 0), RGBColor(230, 159, 0)];
const TEXT: (&str, u32) = ("sans-serif", 14);

/// Draws the points of packets of 1472 bytes.
pub(crate) fn svg(points: &[Point]) -> String {
    let mut text = String::new();
    draw(SVGBackend::with_string(&mut text, (760, 460)), points).expect("a picture in memory");
    text
}

fn draw(backend: SVGBackend<'_>, points: &[Point]) -> Result<(), Box<dyn std::error::Error>> {
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .caption(format!("pulses of 14 Hz, packets of {SIZE} bytes: all received up to this peak"), TEXT)
        .build_cartesian_2d((80.0..1000.0_f64).log_scale(), (40.0..2000.0_f64).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(RGBColor(235, 235, 235))
        .x_desc("buffer asked for (kB)")
        .y_desc("peak (thousand packets/s)")
        .axis_desc_style(TEXT)
        .label_style(TEXT)
        .x_labels(4)
        .y_labels(4)
        .x_label_formatter(&|value| format!("{value:.0}"))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    let groups = WORKS.iter().flat_map(|work| crate::FACTORS.map(|factor| (*work, factor)));
    for ((work, factor), colour) in groups.zip(COLOURS) {
        let all: Vec<&Point> = points
            .iter()
            .filter(|point| {
                point.receiving.size == SIZE && point.receiving.work == work && point.factor == factor
            })
            .collect();
        let Some(first) = all.first() else { continue };
        let relation = |buffer: f64| first.served + 2.0 * buffer / first.truesize as f64 / pulse_time(factor);
        let line = (0..=50).map(|step| {
            let buffer = 85e3 * (900.0_f64 / 85.0).powf(f64::from(step) / 50.0);
            (buffer / 1e3, relation(buffer) / 1e3)
        });
        chart.draw_series(LineSeries::new(line, colour.stroke_width(1)))?;
        let place = |point: &Point| (point.receiving.buffer as f64 / 1e3, point.found / 1e3);
        let name = format!("peak factor {factor}, {} us for each packet", work.as_micros());
        chart
            .draw_series(all.iter().map(|point| Circle::new(place(point), 5, colour.filled())))?
            .label(name)
            .legend(move |(x, y)| Circle::new((x + 8, y), 5, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(RGBColor(200, 200, 200))
        .label_font(TEXT)
        .draw()?;
    root.present()?;
    Ok(())
}
