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
}

/// A point of a sweep with the measurements of all rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptPoint {
    /// The name of its buffer.
    pub buffer: String,
    /// What was asked for.
    pub point: LinkPoint,
    /// Measured, a round each.
    pub rounds: Vec<MeasuredPoint>,
}

impl Sweep {
    /// The points, with nothing measured yet.
    pub fn points(&self) -> Vec<SweptPoint> {
        let mut points = Vec::new();
        for &size in &self.sizes {
            for &method in &self.methods {
                for (name, bytes) in &self.buffers {
                    let point = LinkPoint {
                        buffer: *bytes,
                        rate: self.rate,
                        time: self.time,
                        bytes: self.bytes,
                        work: self.work,
                        ..LinkPoint::new(method, size)
                    };
                    points.push(SweptPoint { buffer: name.clone(), point, rounds: Vec::new() });
                }
            }
        }
        points
    }

    /// Measures all points, round by round. `measured` is told of each, with how many there are.
    ///
    /// # Errors
    /// Those of `measure`; what was measured before is lost with it.
    pub fn run(
        &self,
        mut measure: impl FnMut(&LinkPoint) -> Result<MeasuredPoint, MeasureError>,
        mut measured: impl FnMut(usize, usize, &SweptPoint),
    ) -> Result<Vec<SweptPoint>, MeasureError> {
        let mut points = self.points();
        let all = points.len() * self.rounds;
        let mut done = 0;
        for _ in 0..self.rounds {
            for point in &mut points {
                let found = measure(&point.point)?;
                point.rounds.push(found);
                done += 1;
                measured(done, all, point);
            }
        }
        Ok(points)
    }
}

impl SweptPoint {
    /// Lowest, median and highest of a figure over the rounds in which it is known; none if there is none.
    pub fn spread(&self, figure: impl Fn(&MeasuredPoint) -> Option<f64>) -> Option<[f64; 3]> {
        let mut values: Vec<f64> = self.rounds.iter().filter_map(figure).collect();
        values.sort_by(f64::total_cmp);
        Some([*values.first()?, values[values.len() / 2], *values.last()?])
    }

    /// Of all rounds together: packets sent, and lost.
    pub fn sent_and_lost(&self) -> (u64, u64) {
        self.rounds.iter().fold((0, 0), |(sent, lost), round| (sent + round.sent, lost + round.lost))
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
        };
        let mut order = Vec::new();
        let points = sweep
            .run(
                |point| {
                    order.push((point.size, point.method));
                    Ok(MeasuredPoint { sent: order.len() as u64, ..MeasuredPoint::default() })
                },
                |_, all, _| assert_eq!(all, 12),
            )
            .expect("figures");
        assert_eq!(order[..4], order[4..8]);
        assert_eq!(points[0].spread(|point| Some(point.sent as f64)), Some([1.0, 5.0, 9.0]));
        assert_eq!(points[3].sent_and_lost().0, 4 + 8 + 12);
    }
}
