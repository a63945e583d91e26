//! MTU × buffers × methods × directions, in rounds: the series that the slides *10GE network tests with UDP* made with netperf.

use super::sweep::in_rounds;
use super::{LinkMethod, LinkPoint, MeasureError, MeasuredPoint, SweptPoint};
use std::time::Duration;

/// Bytes of an IPv4 and a UDP header: user data of a packet that fills an MTU.
const HEADERS: u32 = 28;

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the sender to the receiver.
    OneWay,
    /// Back as well, at the same time.
    BothWays,
}

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferSeries {
    /// MTUs of the link, in bytes.
    pub mtus: Vec<u32>,
    /// Receive buffers, of a connection send buffers as well: by name, in bytes.
    pub buffers: Vec<(String, u64)>,
    /// Ways to send and receive.
    pub methods: Vec<LinkMethod>,
    /// Directions.
    pub directions: Vec<Direction>,
    /// Packets per second, of ways that can lose some; none: as fast as possible.
    pub rate: Option<u64>,
    /// How often each point is measured.
    pub rounds: usize,
    /// How long each point takes.
    pub time: Duration,
}

impl BufferSeries {
    /// The points, with nothing measured yet: those of an MTU one after the other, with packets that fill it.
    pub fn points(&self) -> Vec<SweptPoint> {
        let mut points = Vec::new();
        for &mtu in &self.mtus {
            for (buffer, bytes) in &self.buffers {
                for &method in &self.methods {
                    for &direction in &self.directions {
                        let point = LinkPoint {
                            mtu: Some(mtu),
                            buffer: *bytes,
                            rate: self.rate.filter(|_| method.can_lose()),
                            time: self.time,
                            both_directions: direction == Direction::BothWays,
                            ..LinkPoint::new(method, mtu.saturating_sub(HEADERS) as usize)
                        };
                        points.push(SweptPoint {
                            buffer: buffer.clone(),
                            point,
                            rounds: Vec::new(),
                            failures: Vec::new(),
                        });
                    }
                }
            }
        }
        points
    }

    /// Measures all points, round by round, as [`Sweep::run`](super::Sweep::run) does.
    ///
    /// # Errors
    /// As there.
    pub fn run(
        &self,
        measure: impl FnMut(&LinkPoint) -> Result<MeasuredPoint, MeasureError>,
        told: impl FnMut(usize, usize, &SweptPoint, Result<&MeasuredPoint, &str>),
    ) -> Result<Vec<SweptPoint>, MeasureError> {
        in_rounds(self.points(), self.rounds, measure, told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> BufferSeries {
        BufferSeries {
            mtus: vec![1500, 9000],
            buffers: vec![("128kB".into(), 128_000), ("4MB".into(), 4_000_000)],
            methods: vec![LinkMethod::Batched, LinkMethod::Tcp],
            directions: vec![Direction::OneWay, Direction::BothWays],
            rate: Some(1000),
            rounds: 2,
            time: Duration::from_secs(3),
        }
    }

    fn failure() -> MeasureError {
        MeasureError::Failed { program: "evforge receive".into(), said: "no".into() }
    }

    #[test]
    fn every_point_is_measured_in_every_round_with_its_mtu() {
        let (mut mtus, mut now) = (Vec::new(), 0);
        let points = series()
            .run(
                |point| {
                    mtus.push(point.mtu.expect("an MTU"));
                    now += 1;
                    assert_eq!(Some(point.size as u32 + 28), point.mtu);
                    assert_eq!(point.rate.is_some(), point.method.can_lose());
                    let back = point.both_directions.then(|| Box::new(MeasuredPoint::default()));
                    Ok(MeasuredPoint { sent: now, back, ..MeasuredPoint::default() })
                },
                |_, all, _, outcome| assert!(all == 32 && outcome.is_ok()),
            )
            .expect("figures");
        mtus.dedup();
        assert_eq!(mtus, [1500, 9000, 1500, 9000]);
        assert_eq!((points.len(), now), (16, 32));
        assert!(points.iter().all(|point| point.rounds.len() == 2 && point.failures.is_empty()));
        assert_eq!(points.iter().map(|point| point.directions().len()).sum::<usize>(), 24);
        assert_eq!(points.iter().flat_map(SweptPoint::measured).count(), 48);
    }

    #[test]
    fn a_point_that_fails_keeps_why_and_three_in_a_row_end_the_series() {
        let mut count = 0;
        let points = series()
            .run(
                |_| {
                    count += 1;
                    if count % 3 == 0 { Ok(MeasuredPoint::default()) } else { Err(failure()) }
                },
                |_, _, _, _| {},
            )
            .expect("figures");
        assert_eq!(points.iter().map(|point| point.failures.len()).sum::<usize>(), 22);
        let mut tried = 0;
        let failed = series().run(
            |_| {
                tried += 1;
                Err(failure())
            },
            |_, _, _, _| {},
        );
        assert!(failed.is_err() && tried == 3);
    }
}
