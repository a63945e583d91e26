//! The plots of a sweep: Figure 3 a to c.

use super::paper::{PAPER_BYTES, PAPER_ERROR_RATIOS};
use crate::error::MeasureError;
use crate::link::Link;
use crate::plot::{Axis, Line, Look, Plot, Point};
use crate::table::{Cell, Table};
use evforge_lab::measured_link::{GROWING, LinkMethod, Sweep, SweptPoint};

const TICKS: [f64; 8] = [64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0];

fn sizes() -> Axis {
    Axis::logarithmic("User data", "B").with_ticks(&TICKS)
}

/// Speed and error ratio for each buffer, processor time for each method.
pub(super) fn all(
    link: &Link,
    sweep: &Sweep,
    table: &Table,
    points: &[SweptPoint],
) -> Result<Vec<Plot>, MeasureError> {
    let mut plots = Vec::new();
    for (number, (buffer, _)) in sweep.buffers.iter().enumerate() {
        let line = |method: LinkMethod, column: &str| {
            let chosen = |row: &[Cell]| {
                let is_of_buffer = !method.can_lose() || row.get(1) == Some(&Cell::text(buffer));
                row.first() == Some(&Cell::text(method.name()))
                    && is_of_buffer
                    && row.get(3) != Some(&Cell::text("both ways: back"))
            };
            Line::of_columns(method.name(), table, ["size", column], chosen)
        };
        let number = number + 1;
        let mut speed = Plot::new(
            &format!("speed-{number}"),
            &format!("Speed by size, receive buffer: {buffer} (Figure 3 a)"),
            sizes(),
            Axis::logarithmic("User data received", "Gb/s"),
        )
        .captioned("Dashes: what the link carries at most. A virtual link has no such limit.");
        let mut errors = Plot::new(
            &format!("error-ratio-{number}"),
            &format!("Packet error ratio by size, receive buffer: {buffer} (Figure 3 b)"),
            sizes(),
            Axis::logarithmic("Packet error ratio", ""),
        )
        .captioned("Bars with an arrow: nothing was lost; the ratio is below their upper end with 95 % confidence. Circles: Table 3.");
        for &method in &sweep.methods {
            speed = speed.with(line(method, "speed")?);
            if method.can_lose() {
                errors = errors.with(line(method, "error_ratio")?);
            }
        }
        plots.push(speed.with(theory(link, sweep)?));
        plots.push(errors.with(published()));
    }
    for &method in &sweep.methods {
        plots.push(processor(method, sweep, points));
    }
    Ok(plots)
}

fn theory(link: &Link, sweep: &Sweep) -> Result<Line, MeasureError> {
    let (least, most) = (sweep.sizes.iter().min(), sweep.sizes.iter().max());
    let (least, most) = (least.copied().unwrap_or(64) as f64, most.copied().unwrap_or(64) as f64);
    let mut points = Vec::new();
    for step in 0..=60 {
        let size = (least * (most / least).powf(f64::from(step) / 60.0)).round() as u32;
        points.push(Point::at(f64::from(size), link.packet(size)?.user_bits_per_second() / 1e9));
    }
    points.dedup_by(|one, other| one.x == other.x);
    Ok(Line::new("link at most", Look::Theory, points))
}

fn published() -> Line {
    let points = PAPER_ERROR_RATIOS.iter().map(|&(size, ratio)| {
        let bound = 3.0 / (PAPER_BYTES / f64::from(size));
        let point = Point::at(f64::from(size), ratio);
        if ratio > 0.0 { point } else { Point { low: Some(0.0), high: Some(bound), ..point } }
    });
    Line::new("Table 3 of the paper", Look::Published, points.collect())
}

/// With the last buffer, which is the largest of a usual sweep.
fn processor(method: LinkMethod, sweep: &Sweep, points: &[SweptPoint]) -> Plot {
    let last = sweep.buffers.last().map_or("", |(name, _)| name.as_str());
    let buffer = if method.can_lose() { last } else { GROWING };
    let mut plot = Plot::new(
        &format!("processor-{method}"),
        &format!("Processor time by size: {method}, receive buffer: {buffer} (Figure 3 c)"),
        sizes(),
        Axis::linear("Share of the core", "%").over(0.0, 100.0),
    )
    .captioned(
        "A receiver that spins for packets is always busy: compare its nanoseconds per packet instead.",
    );
    type Share = fn(&evforge_lab::measured_link::MeasuredPoint) -> Option<f64>;
    let lines: [(&str, Share); 4] = [
        ("sender, user and system", |round| round.sender_core.map(|core| core.user + core.system)),
        ("sender, softirq and irq", |round| round.sender_core.map(|core| core.interrupts)),
        ("receiver, user and system", |round| round.receiver_core.map(|core| core.user + core.system)),
        ("receiver, softirq and irq", |round| round.receiver_core.map(|core| core.interrupts)),
    ];
    for (name, share) in lines {
        let chosen = points.iter().filter(|point| point.point.method == method && point.buffer == buffer);
        let of = |point: &SweptPoint| {
            let [low, middle, high] = point.spread(share)?.map(|share| 100.0 * share);
            Some(Point { low: Some(low), high: Some(high), ..Point::at(point.point.size as f64, middle) })
        };
        plot = plot.with(Line::new(name, Look::Measured, chosen.filter_map(of).collect()));
    }
    plot
}
