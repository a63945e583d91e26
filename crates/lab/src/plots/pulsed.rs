//! The highest loss-free peaks of pulses against the receive buffer, with the relation as lines.

use super::chart::{Axis, BLUE, GREY, Mark, Panel, TITLE_HEIGHT, VERMILION, WIDTH, picture};
use crate::LabError;

/// The packets that are drawn, in bytes.
const SIZE: u64 = 1472;
/// By work for each packet in microseconds and peak factor: how its points look.
const GROUPS: [(u64, u64, Mark); 4] = [
    (5, 50, Mark::Square(BLUE)),
    (5, 10, Mark::Circle(BLUE)),
    (20, 50, Mark::Square(VERMILION)),
    (20, 10, Mark::Circle(VERMILION)),
];
/// The first line of the table of points.
pub const COLUMNS: &str = "bytes,truesize,work_us,peak_factor,served_per_second,buffer_bytes,\
                           peak_expected_per_second,peak_found_per_second,pulses_whole_at_90_percent,pulses";
const HEIGHT: u32 = 480;

/// A line of the table: the first eight columns.
struct Point {
    size: u64,
    work_us: u64,
    factor: u64,
    buffer: f64,
    expected: f64,
    found: f64,
}

impl Point {
    fn parse(line: &str) -> Option<Self> {
        let numbers: Result<Vec<f64>, _> = line.split(',').map(str::parse).collect();
        let numbers = numbers.ok()?;
        let [size, _, work, factor, _, buffer, expected, found, _, _] = numbers[..] else { return None };
        Some(Self { size: size as u64, work_us: work as u64, factor: factor as u64, buffer, expected, found })
    }
}

/// Draws the points of packets of 1472 bytes of the table in `docs/pictures/pulsed.csv`.
///
/// # Errors
/// If it is not that table.
pub fn svg(table: &str) -> Result<String, LabError> {
    let mut lines = table.lines();
    if lines.next() != Some(COLUMNS) {
        return Err(format!("the table of pulses begins with another line than `{COLUMNS}`").into());
    }
    let read = |(number, line)| {
        Point::parse(line).ok_or_else(|| format!("line {} of the table of pulses: `{line}`", number + 2))
    };
    let points: Vec<Point> = lines.enumerate().map(read).collect::<Result<_, _>>()?;
    let title = format!("Pulses of 14 Hz, packets of {SIZE} bytes: all are received up to this peak");
    picture(&title, HEIGHT, |root| {
        let across = Axis::logarithmic("receive buffer (kB)", 85.0, 950.0, &[100.0, 200.0, 400.0, 800.0]);
        let ticks = [50.0, 100.0, 200.0, 500.0];
        let up = Axis::logarithmic("peak rate (thousand packets per second)", 45.0, 800.0, &ticks);
        let key =
            |(work, factor, mark)| (mark, format!("peak factor {factor}, {work} \u{b5}s for each packet"));
        let keys = GROUPS.map(key);
        let lines = [(Mark::Line(GREY, 2), "lines: by the relation".to_owned())];
        let keys: [&[(Mark, String)]; 3] = [&keys[..2], &keys[2..], &lines];
        let panel =
            Panel::new(root, (0, TITLE_HEIGHT), (WIDTH, HEIGHT - TITLE_HEIGHT - 4), &keys, [&across, &up])?;
        for (work, factor, mark) in GROUPS {
            let group = points
                .iter()
                .filter(|point| (point.size, point.work_us, point.factor) == (SIZE, work, factor));
            let group: Vec<&Point> = group.collect();
            let place = |buffer: f64, peak: f64| ((buffer / 1e3).log10(), (peak / 1e3).log10());
            if let [first, .., last] = group[..] {
                // The relation is a straight line, but not on these axes.
                let slope = (last.expected - first.expected) / (last.buffer - first.buffer);
                let relation = |buffer: f64| first.expected + slope * (buffer - first.buffer);
                let line = (0..=20).map(|step| 88e3 * (920.0_f64 / 88.0).powf(f64::from(step) / 20.0));
                let line: Vec<_> = line.map(|buffer| place(buffer, relation(buffer))).collect();
                panel.line(&line, mark.colour(), 1)?;
            }
            for point in group {
                panel.mark(place(point.buffer, point.found), mark)?;
            }
        }
        Ok(())
    })
}
