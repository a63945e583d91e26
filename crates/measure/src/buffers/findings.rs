//! What a series says, in sentences.

use evforge_core::quantity::grouped;
use evforge_lab::measured_link::{MeasuredPoint, SweptPoint};

/// Of each way to send: what the MTU and both directions do to it, and when packets were lost.
pub(super) fn all(points: &[SweptPoint]) -> Vec<String> {
    let mut findings = Vec::new();
    findings.extend(fastest(points));
    findings.extend(first_second(points));
    findings.extend(buffers_not_granted(points));
    for point in points {
        for failure in &point.failures {
            findings.push(format!(
                "Not measured: {}, MTU {}, buffer {}: {failure}",
                point.point.method,
                mtu(point),
                point.buffer
            ));
        }
    }
    findings
}

fn mtu(point: &SweptPoint) -> u32 {
    point.point.mtu.unwrap_or_default()
}

/// The fastest point of each method and MTU, one way.
fn fastest(points: &[SweptPoint]) -> Vec<String> {
    let speed = |point: &SweptPoint| {
        point.spread(|round| Some(round.bits_per_second / 1e6)).map(|[_, median, _]| median)
    };
    let mut said: Vec<(String, u32, f64, String)> = Vec::new();
    for point in points.iter().filter(|point| !point.point.both_directions) {
        let Some(speed) = speed(point) else { continue };
        let method = point.point.method.to_string();
        match said.iter_mut().find(|(known, mtu, ..)| *known == method && *mtu == self::mtu(point)) {
            Some(known) if known.2 >= speed => {}
            Some(known) => (known.2, known.3) = (speed, point.buffer.clone()),
            None => said.push((method, mtu(point), speed, point.buffer.clone())),
        }
    }
    said.iter()
        .map(|(method, mtu, speed, buffer)| {
            format!("{method}, MTU {mtu}: fastest with a buffer of {buffer}: {speed:.0} Mb/s one way.")
        })
        .collect()
}

/// Whether packets are lost in the first second, later, or both.
fn first_second(points: &[SweptPoint]) -> Option<String> {
    let rounds = points.iter().filter(|point| point.point.method.can_lose()).flat_map(SweptPoint::measured);
    let (mut first, mut later, mut seen) = (0_u64, 0_u64, 0);
    for second in rounds.filter_map(|round: &MeasuredPoint| round.first_second) {
        (first, later, seen) = (first + second.lost, later + second.later_lost, seen + 1);
    }
    (seen > 0).then(|| match (first, later) {
        (0, 0) => "No packet was lost over UDP, neither in the first second nor later.".to_owned(),
        (first, 0) => format!("All {} packets lost over UDP were lost in the first second.", grouped(first)),
        (first, later) => format!(
            "Lost over UDP: {} packets in the first second of {seen} measurements, {} later.",
            grouped(first),
            grouped(later)
        ),
    })
}

/// Buffers that the kernel did not give.
fn buffers_not_granted(points: &[SweptPoint]) -> Option<String> {
    let is_short = |point: &&SweptPoint| {
        point.measured().any(|round| round.granted_buffer.is_some_and(|granted| granted < point.point.buffer))
    };
    let mut short: Vec<&str> = points.iter().filter(is_short).map(|point| point.buffer.as_str()).collect();
    short.dedup();
    short.sort_unstable();
    short.dedup();
    (!short.is_empty()).then(|| {
        format!(
            "The kernel gave less than was asked for: {}. Raise net.core.rmem_max and net.core.wmem_max (`evforge tune`).",
            short.join(", ")
        )
    })
}
