//! The earliest of many points in time, of which one changes at a time.
//!
//! A tournament: each point competes with its neighbour, the earlier one with that of the next pair, and so on. When
//! one point changes, only its own matches are played again, so that it costs as many steps as the number of points
//! has bits, not as many as there are points.

use crate::hit::DataTime;

/// Later than everything: what is not in the competition.
pub const NEVER: DataTime = (u32::MAX, u64::MAX);

/// Points in time, numbered from 0, and the earliest of them.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct Earliest {
    /// The winner of all at 1, those of the two halves at 2 and 3, and so on; the points themselves from `points` on.
    winners: Vec<Point>,
    points: usize,
}

/// A point in time as one number, which is compared without a branch.
type Point = u128;

#[inline]
fn point((epoch, time): DataTime) -> Point {
    (u128::from(epoch) << u64::BITS) | u128::from(time)
}

#[inline]
fn data_time(point: Point) -> DataTime {
    ((point >> u64::BITS) as u32, point as u64)
}

impl Earliest {
    /// This many points, all of them at [`NEVER`].
    pub fn new(count: usize) -> Self {
        let points = count.max(1).next_power_of_two();
        Self { winners: vec![point(NEVER); 2 * points], points }
    }

    /// Moves a point.
    #[inline]
    pub fn set(&mut self, number: usize, to: DataTime) {
        let mut place = self.points + number;
        let Some(old) = self.winners.get_mut(place) else { return };
        let to = point(to);
        if *old == to {
            return;
        }
        *old = to;
        while place > 1 {
            let winner = self.winners[place & !1].min(self.winners[place | 1]);
            place /= 2;
            if self.winners[place] == winner {
                return;
            }
            self.winners[place] = winner;
        }
    }

    /// The earliest point; [`NEVER`] if there is none.
    #[inline]
    pub fn earliest(&self) -> DataTime {
        data_time(self.winners[1])
    }

    /// The number of the earliest point; the lowest if several are equal.
    pub fn place(&self) -> usize {
        let mut place = 1;
        while place < self.points {
            place *= 2;
            if self.winners[place] > self.winners[place + 1] {
                place += 1;
            }
        }
        place - self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_points_nothing_is_early() {
        let mut none = Earliest::new(0);
        none.set(7, (0, 0));
        assert_eq!(none.earliest(), NEVER);
    }

    proptest! {
        #[test]
        fn the_earliest_of_a_plain_list(
            count in 1..70_usize,
            moves in prop::collection::vec((0..70_usize, 0..3_u32, 0..20_u64), 1..200),
        ) {
            let mut tournament = Earliest::new(count);
            let mut list = vec![NEVER; count];
            for (point, epoch, time) in moves {
                let to = if time == 0 { NEVER } else { (epoch, time) };
                list[point % count] = to;
                tournament.set(point % count, to);
                let least = list.iter().copied().min().unwrap();
                prop_assert_eq!(tournament.earliest(), least);
                prop_assert_eq!(Some(tournament.place()), list.iter().position(|&at| at == least));
            }
        }
    }
}
