//! Sizes × methods × buffers, in rounds.

use super::{LinkMethod, LinkPoint, MeasureError, MeasuredPoint};
use std::time::Duration;

/// Bytes of user data of Table 3 of *Reliable UDP at 10 Gb/s*.
pub const PAPER_SIZES: [usize; 16] =
    [64, 128, 256, 472, 772, 1000, 1472, 1700, 1800, 1900, 2000, 2200, 2972, 4472, 5972, 8972];

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Bytes of UDP payload.
    pub sizes: Vec<usize>,
    /// Ways to send and receive.
    pub methods: Vec<LinkMethod>,
    /// Receive buffers, by name, in bytes.
    pub buffers: Vec<(String, u64)>,
    /// How often each point is measured.
    pub rounds: usize,
    /// How long each point takes.
    pub time: Duration,
    /// UDP payload of each point at most, in bytes; none: no limit.
    pub bytes: Option<u64>,
    /// Packets per second; none: as fast as possible.
    pub rate: Option<u64>,
    /// Time that the receiver spends on each packet.
    pub work: Duration,
    /// The same back at the same time.
    pub both_directions: bool,
}

/// So many failures in a row end a sweep: what is wrong then does not pass.
const FAILURES_IN_A_ROW: usize = 3;
/// The buffer of a connection: the kernel makes it as large as it needs.
pub const GROWING: &str = "growing";

/// A point of a sweep with the measurements of all rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptPoint {
    /// The name of its buffer.
    pub buffer: String,
    /// What was asked for.
    pub point: LinkPoint,
    /// Measured, a round each.
    pub rounds: Vec<MeasuredPoint>,
    /// Why rounds that are not there could not be measured.
    pub failures: Vec<String>,
}

impl Sweep {
    /// The points, with nothing measured yet.
    pub fn points(&self) -> Vec<SweptPoint> {
        let mut points = Vec::new();
        for &size in &self.sizes {
            for &method in &self.methods {
                let growing = [(GROWING.to_owned(), 0)];
                let buffers = if method.can_lose() { self.buffers.as_slice() } else { &growing };
                for (name, bytes) in buffers {
                    let point = LinkPoint {
                        buffer: *bytes,
                        rate: self.rate,
                        time: self.time,
                        bytes: self.bytes,
                        work: self.work,
                        both_directions: self.both_directions,
                        ..LinkPoint::new(method, size)
                    };
                    points.push(SweptPoint {
                        buffer: name.clone(),
                        point,
                        rounds: Vec::new(),
                        failures: Vec::new(),
                    });
                }
            }
        }
        points
    }

    /// Measures all points, round by round. `told` hears of each: its number,
    /// how many there are, the point, and what was measured or why not. A point that cannot be measured
    /// in a round keeps why, and the others go on.
    ///
    /// # Errors
    /// That of `measure` if the end was asked for, a program cannot be started, or three measurements in a row, or all, have failed.
    pub fn run(
        &self,
        measure: impl FnMut(&LinkPoint) -> Result<MeasuredPoint, MeasureError>,
        told: impl FnMut(usize, usize, &SweptPoint, Result<&MeasuredPoint, &str>),
    ) -> Result<Vec<SweptPoint>, MeasureError> {
        in_rounds(self.points(), self.rounds, measure, told)
    }
}

/// Measures points round by round, as [`Sweep::run`] says.
pub(super) fn in_rounds(
    mut points: Vec<SweptPoint>,
    rounds: usize,
    mut measure: impl FnMut(&LinkPoint) -> Result<MeasuredPoint, MeasureError>,
    mut told: impl FnMut(usize, usize, &SweptPoint, Result<&MeasuredPoint, &str>),
) -> Result<Vec<SweptPoint>, MeasureError> {
    let all = points.len() * rounds;
    let (mut done, mut failed) = (0, Vec::new());
    for _ in 0..rounds {
        for point in &mut points {
            match measure(&point.point) {
                Ok(found) => {
                    point.rounds.push(found);
                    failed.clear();
                }
                Err(error @ (MeasureError::Stopped | MeasureError::Start { .. })) => return Err(error),
                Err(error) => {
                    point.failures.push(error.to_string());
                    failed.push(error);
                }
            }
            // The first of them says most.
            if failed.len() >= FAILURES_IN_A_ROW {
                return Err(failed.swap_remove(0));
            }
            done += 1;
            let outcome = match (failed.is_empty(), point.rounds.last()) {
                (true, Some(measured)) => Ok(measured),
                _ => Err(point.failures.last().map_or("", String::as_str)),
            };
            told(done, all, point, outcome);
        }
    }
    match failed.is_empty() || points.iter().any(|point| !point.rounds.is_empty()) {
        true => Ok(points),
        false => Err(failed.swap_remove(0)),
    }
}

impl SweptPoint {
    /// Lowest, median and highest of a figure over the rounds in which it is known; none if there is none.
    pub fn spread(&self, figure: impl Fn(&MeasuredPoint) -> Option<f64>) -> Option<[f64; 3]> {
        let mut values: Vec<f64> = self.rounds.iter().filter_map(figure).collect();
        values.sort_by(f64::total_cmp);
        Some([*values.first()?, values[values.len() / 2], *values.last()?])
    }

    /// What was measured, by direction.
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

    #[test]
    fn rounds_are_in_turns_and_each_point_has_all_of_them() {
        let sweep = Sweep {
            sizes: vec![64, 1472],
            methods: vec![LinkMethod::Paper, LinkMethod::Batched],
            buffers: vec![("default".into(), 212_992)],
            rounds: 3,
            time: Duration::from_secs(1),
            bytes: None,
            rate: None,
            work: Duration::ZERO,
            both_directions: false,
        };
        let mut order = Vec::new();
        let points = sweep
            .run(
                |point| {
                    order.push((point.size, point.method));
                    Ok(MeasuredPoint { sent: order.len() as u64, ..MeasuredPoint::default() })
                },
                |_, all, _, _| assert_eq!(all, 12),
            )
            .expect("figures");
        assert_eq!(order[..4], order[4..8]);
        assert_eq!(points[0].spread(|point| Some(point.sent as f64)), Some([1.0, 5.0, 9.0]));
        assert_eq!(points[3].measured().map(|point| point.sent).sum::<u64>(), 4 + 8 + 12);
    }

    fn batched(rounds: usize) -> Sweep {
        Sweep {
            sizes: vec![64, 1472],
            methods: vec![LinkMethod::Batched, LinkMethod::Tcp],
            buffers: vec![("default".into(), 212_992), ("12MB".into(), 12_000_000)],
            rounds,
            time: Duration::from_secs(1),
            bytes: None,
            rate: None,
            work: Duration::ZERO,
            both_directions: true,
        }
    }

    fn failure() -> MeasureError {
        MeasureError::Failed { program: "evforge send".into(), said: "no".into() }
    }

    #[test]
    fn a_connection_has_a_buffer_that_grows_and_both_directions_are_told_apart() {
        let points = batched(1)
            .run(
                |point| {
                    let back = Some(Box::new(MeasuredPoint { sent: 2, ..MeasuredPoint::default() }));
                    Ok(MeasuredPoint { sent: point.size as u64, back, ..MeasuredPoint::default() })
                },
                |_, _, _, _| {},
            )
            .expect("figures");
        let buffers: Vec<&str> = points.iter().map(|point| point.buffer.as_str()).collect();
        assert_eq!(buffers, ["default", "12MB", GROWING, "default", "12MB", GROWING]);
        let directions = points[3].directions();
        assert_eq!(directions.iter().map(|(_, rounds)| rounds[0].sent).collect::<Vec<_>>(), [1472, 2]);
        assert_eq!(points[3].measured().map(|point| point.sent).sum::<u64>(), 1474);
    }

    #[test]
    fn a_point_that_fails_keeps_why_and_the_others_go_on() {
        let mut count = 0;
        let points = batched(2)
            .run(
                |point| {
                    count += 1;
                    // The first two points of the first round.
                    if count <= 2 {
                        Err(failure())
                    } else {
                        Ok(MeasuredPoint { sent: point.size as u64, ..MeasuredPoint::default() })
                    }
                },
                |_, _, _, _| {},
            )
            .expect("figures");
        assert_eq!((points[0].rounds.len(), points[0].failures.len()), (1, 1));
        assert_eq!((points[2].rounds.len(), points[2].failures.len()), (2, 0));
    }

    #[test]
    fn what_does_not_pass_ends_a_sweep_with_its_first_failure() {
        let mut count = 0;
        let outcome = batched(9).run(
            |_| {
                count += 1;
                Err(MeasureError::Failed { program: "evforge send".into(), said: format!("failure {count}") })
            },
            |_, _, _, _| {},
        );
        assert!(outcome.expect_err("it ends").to_string().contains("failure 1"));
        assert_eq!(count, 3);
        assert!(matches!(
            batched(1).run(|_| Err(MeasureError::Stopped), |_, _, _, _| {}),
            Err(MeasureError::Stopped)
        ));
    }
}
