//! MTU × buffers × methods × directions, in rounds: the series that the slides *10GE network tests with UDP* made with netperf.

use super::{LinkMethod, LinkPoint, MeasureError, MeasuredPoint};
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

/// A point of a series with the measurements of all rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesPoint {
    /// MTU of the link, in bytes.
    pub mtu: u32,
    /// The name of its buffer.
    pub buffer: String,
    /// What was asked for.
    pub point: LinkPoint,
    /// Measured, a round each.
    pub rounds: Vec<MeasuredPoint>,
    /// Why rounds that are not there could not be measured.
    pub failures: Vec<String>,
}

/// So many failures in a row end a series: what is wrong then does not pass.
const FAILURES_IN_A_ROW: usize = 3;

impl BufferSeries {
    /// The points, with nothing measured yet: those of an MTU one after the other, with packets that fill it.
    pub fn points(&self) -> Vec<SeriesPoint> {
        let mut points = Vec::new();
        for &mtu in &self.mtus {
            for (buffer, bytes) in &self.buffers {
                for &method in &self.methods {
                    for &direction in &self.directions {
                        let point = LinkPoint {
                            buffer: *bytes,
                            rate: self.rate.filter(|_| method.can_lose()),
                            time: self.time,
                            both_directions: direction == Direction::BothWays,
                            ..LinkPoint::new(method, mtu.saturating_sub(HEADERS) as usize)
                        };
                        points.push(SeriesPoint {
                            mtu,
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

    /// Measures all points, round by round. `set_mtu` is called before the first point of each MTU in each round, `told` hears of every
    /// measurement: its number, how many there are, the point, and what was measured or why not.
    ///
    /// # Errors
    /// Of `set_mtu`; that of `measure` if the end was asked for, a program cannot be started, or three measurements in a row have failed.
    pub fn run<E: From<MeasureError>>(
        &self,
        mut set_mtu: impl FnMut(u32) -> Result<(), E>,
        mut measure: impl FnMut(&LinkPoint) -> Result<MeasuredPoint, MeasureError>,
        mut told: impl FnMut(usize, usize, &SeriesPoint, Result<&MeasuredPoint, &str>),
    ) -> Result<Vec<SeriesPoint>, E> {
        let mut points = self.points();
        let all = points.len() * self.rounds;
        let (mut done, mut failed, mut mtu) = (0, 0, None);
        for _ in 0..self.rounds {
            for point in &mut points {
                if mtu.replace(point.mtu) != Some(point.mtu) {
                    set_mtu(point.mtu)?;
                }
                done += 1;
                match measure(&point.point) {
                    Ok(found) => {
                        failed = 0;
                        point.rounds.push(found);
                        told(done, all, point, point.rounds.last().ok_or(""));
                    }
                    Err(error @ (MeasureError::Stopped | MeasureError::Start { .. })) => {
                        return Err(error.into());
                    }
                    Err(error) => {
                        failed += 1;
                        if failed >= FAILURES_IN_A_ROW {
                            return Err(error.into());
                        }
                        let problem = error.to_string();
                        told(done, all, point, Err(&problem));
                        point.failures.push(problem);
                    }
                }
            }
        }
        Ok(points)
    }
}

impl SeriesPoint {
    /// What was measured, by direction: in both, that back is a row of its own.
    pub fn directions(&self) -> Vec<(&'static str, Vec<&MeasuredPoint>)> {
        let there = self.rounds.iter().collect();
        if !self.point.both_directions {
            return vec![("one way", there)];
        }
        let back = self.rounds.iter().filter_map(|round| round.back.as_deref()).collect();
        vec![("both ways: there", there), ("both ways: back", back)]
    }

    /// Everything that was measured, in both directions.
    pub fn measured(&self) -> impl Iterator<Item = &MeasuredPoint> {
        self.rounds.iter().flat_map(|round| std::iter::once(round).chain(round.back.as_deref()))
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
        let seen = std::cell::Cell::new(0);
        let points = series()
            .run::<MeasureError>(
                |mtu| {
                    mtus.push(mtu);
                    seen.set(mtu);
                    Ok(())
                },
                |point| {
                    now += 1;
                    assert_eq!(point.size as u32 + 28, seen.get());
                    assert_eq!(point.rate.is_some(), point.method.can_lose());
                    let back = point.both_directions.then(|| Box::new(MeasuredPoint::default()));
                    Ok(MeasuredPoint { sent: now, back, ..MeasuredPoint::default() })
                },
                |_, all, _, outcome| assert!(all == 32 && outcome.is_ok()),
            )
            .expect("figures");
        assert_eq!(mtus, [1500, 9000, 1500, 9000]);
        assert_eq!((points.len(), now), (16, 32));
        assert!(points.iter().all(|point| point.rounds.len() == 2 && point.failures.is_empty()));
        assert_eq!(points.iter().map(|point| point.directions().len()).sum::<usize>(), 24);
        assert_eq!(points.iter().flat_map(SeriesPoint::measured).count(), 48);
    }

    #[test]
    fn a_point_that_fails_keeps_why_and_three_in_a_row_end_the_series() {
        let mut count = 0;
        let points = series()
            .run::<MeasureError>(
                |_| Ok(()),
                |_| {
                    count += 1;
                    if count % 3 == 0 { Ok(MeasuredPoint::default()) } else { Err(failure()) }
                },
                |_, _, _, _| {},
            )
            .expect("figures");
        assert_eq!(points.iter().map(|point| point.failures.len()).sum::<usize>(), 22);
        let mut tried = 0;
        let failed = series().run::<MeasureError>(
            |_| Ok(()),
            |_| {
                tried += 1;
                Err(failure())
            },
            |_, _, _, _| {},
        );
        assert!(failed.is_err() && tried == 3);
    }
}
