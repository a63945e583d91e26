//! Draws a plot with everything that a plot can have, to look at: `cargo run -p evforge-measure --example plots > plot.svg`.
//! The figures are made up, but for the published ones (Reliable UDP at 10 Gb/s, Table 3).

use evforge_measure::MeasureError;
use evforge_measure::drawing::svg;
use evforge_measure::plot::{Axis, Line, Look, Plot, Point};
use evforge_measure::table::Cell;

fn main() -> Result<(), MeasureError> {
    let point = |size: f64, lost: u64| {
        let cell = Cell::counted_share(lost, 1_000_000_000);
        let (low, high) = cell.interval().unzip();
        Point { x: size, y: cell.value().unwrap_or(0.0), low, high }
    };
    let sizes = [64.0, 256.0, 1000.0, 1472.0, 1800.0, 2000.0, 4472.0, 8972.0];
    let line = |name: &str, lost: [u64; 8]| {
        let points = sizes.into_iter().zip(lost).map(|(size, lost)| point(size, lost));
        Line::new(name, Look::Measured, points.collect())
    };
    let published =
        [(64.0, 0.4), (1000.0, 0.38), (1472.0, 0.2), (1800.0, 3.2e-3), (1900.0, 6.1e-6), (2000.0, 1.3e-6)];
    let published = published.map(|(size, ratio)| Point::at(size, ratio)).to_vec();
    let plot = Plot::new(
        "example",
        "Packet error ratio against size (made up)",
        Axis::logarithmic("User data", "B").with_ticks(&[64.0, 256.0, 1024.0, 2048.0, 9000.0]),
        Axis::logarithmic("Packet error ratio", "share of the packets"),
    )
    .with(line("default", [410_000_000, 400_000_000, 390_000_000, 200_000_000, 8_000_000, 9_000, 40, 3]))
    .with(line("optimised", [90_000_000, 60_000_000, 2_000_000, 4_000, 20, 2, 0, 0]))
    .with(Line::new("paper", Look::Published, published))
    .with(Line::new(
        "1 in a million",
        Look::Theory,
        vec![Point::at(64.0, 1e-6), Point::at(8972.0, 1e-6)],
    ));
    println!("{}", svg(&plot)?);
    Ok(())
}
