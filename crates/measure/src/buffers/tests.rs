//! A series from made measurements.

use super::*;
use evforge_lab::measured_link::{CoreShares, Direction, FirstSecondPoint, LinkMethod, LinkPoint};
use std::time::Duration;

fn series() -> BufferSeries {
    BufferSeries {
        mtus: vec![1500, 9000],
        buffers: vec![("128kB".into(), 128_000), ("4MB".into(), 4_000_000)],
        methods: vec![LinkMethod::Batched, LinkMethod::Tcp],
        directions: vec![Direction::OneWay, Direction::BothWays],
        rate: None,
        rounds: 1,
        time: Duration::from_secs(2),
    }
}

/// Faster with larger packets and buffers; over UDP one packet is lost in the first second.
fn measured(point: &LinkPoint) -> MeasuredPoint {
    let bits = 1e6 * point.size as f64 + point.buffer as f64;
    let lost = u64::from(point.method.can_lose());
    let one_way = MeasuredPoint {
        sent: 100,
        received: 100 - lost,
        lost,
        bits_per_second: bits,
        first_second: Some(FirstSecondPoint {
            bits_per_second: 0.9 * bits,
            lost,
            later_bits_per_second: 1.1 * bits,
            later_lost: 0,
        }),
        receiver_core: Some(CoreShares { system: 0.2, interrupts: 0.3, ..CoreShares::default() }),
        granted_buffer: Some(point.buffer.min(1_000_000)),
        ..MeasuredPoint::default()
    };
    let back = point.both_directions.then(|| Box::new(one_way.clone()));
    MeasuredPoint { back, ..one_way }
}

fn made(measure: impl Fn(&LinkPoint) -> MeasuredPoint) -> Measurement {
    let points = series().run(|point| Ok(measure(point)), |_, _, _, _| {}).expect("figures");
    let session = Session::without_host("buffers", "Buffers", &["evforge".to_owned()]);
    let result = result(session, &TwoHosts::on_loopback(), &series(), &points).expect("a result");
    result.check().expect("sound");
    result
}

#[test]
fn every_point_has_a_row_for_each_direction_and_the_first_second_apart() {
    let result = made(measured);
    let table = &result.tables[0];
    // 16 points, of which 8 go back as well.
    assert_eq!((table.rows.len(), result.plots.len()), (24, 4));
    let value = |row: &[Cell], name: &str| row[table.column(name).expect("a column")].value();
    let udp = &table.rows[0];
    assert_eq!((value(udp, "lost_first"), value(udp, "lost_later")), (Some(1.0), Some(0.0)));
    let [first, later] = ["first", "later"].map(|name| value(udp, name).expect("a figure"));
    assert!(first < later, "{first} {later}");
    assert!(result.plots.iter().all(|plot| plot.lines.len() == 4 && plot.lines[0].points.len() == 2));
    let is_said = |part: &str| result.findings.iter().any(|finding| finding.contains(part));
    assert!(is_said("All 12 packets lost over UDP were lost in the first second"), "{:?}", result.findings);
    assert!(is_said("batched, MTU 9000: fastest with a buffer of 4MB: 8976 Mb/s"), "{:?}", result.findings);
    assert!(is_said("less than was asked for: 4MB"), "{:?}", result.findings);
    assert!(result.verdict.is_good);
}

#[test]
fn packets_without_account_make_figures_worthless() {
    let result = made(|point| MeasuredPoint { received: 90, ..measured(point) });
    assert!(!result.verdict.is_good && result.verdict.sentence.contains("do not account for every packet"));
}
