//! A way to look at a run, with its rounds and its pairs.

use crate::table::Cell;
use evforge_lab::measured_observer::{ObservedPoint, Observer};

/// A way to look at a run, with its rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// How.
    pub observer: Observer,
    /// What was measured, a round each: those of the same number are pairs.
    pub rounds: Vec<ObservedPoint>,
}

/// What a ratio of pairs says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It has no interval: of one pair nobody can say.
    NoInterval,
    /// 1 is in its interval.
    None,
    /// All of its interval is above 1.
    More,
    /// All of its interval is below 1.
    Less,
}

impl Difference {
    /// Of a ratio.
    pub fn of(ratio: &Cell) -> Self {
        match ratio.interval() {
            None => Self::NoInterval,
            Some((low, _)) if low > 1.0 => Self::More,
            Some((_, high)) if high < 1.0 => Self::Less,
            Some(_) => Self::None,
        }
    }

    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoInterval => "no interval",
            Self::None => "no difference",
            Self::More => "more",
            Self::Less => "less",
        }
    }
}

impl Observed {
    /// Packets lost in all rounds.
    pub fn lost(&self) -> u64 {
        self.rounds.iter().map(|round| round.packets.lost).sum()
    }

    /// The thread that used most in most rounds: without anybody who looks, the one that receives and forms events.
    pub(super) fn busiest_thread(&self) -> Option<String> {
        let names = || self.rounds.iter().filter_map(|round| Some(round.threads.busiest()?.0));
        names().max_by_key(|name| names().filter(|other| other == name).count()).map(str::to_owned)
    }

    /// A figure of each round without loss.
    pub(super) fn values(&self, figure: impl Fn(&ObservedPoint) -> Option<f64>) -> Vec<f64> {
        self.rounds.iter().filter(|round| round.packets.is_whole()).filter_map(figure).collect()
    }

    /// Processor time of all threads for each packet over that of `nothing`, in pairs of the same round that lost nothing.
    pub fn ratio(&self, nothing: &Self) -> Cell {
        self.pairs(nothing, ObservedPoint::ns_per_packet)
    }

    /// The same of the threads of a name.
    pub fn thread_ratio(&self, nothing: &Self, thread: &str) -> Cell {
        self.pairs(nothing, |point| point.thread_ns_per_packet(thread))
    }

    fn pairs(&self, nothing: &Self, figure: impl Fn(&ObservedPoint) -> Option<f64>) -> Cell {
        let pairs = self.rounds.iter().zip(&nothing.rounds);
        let whole = pairs.filter(|(one, other)| one.packets.is_whole() && other.packets.is_whole());
        let ratio = |(one, other): (&ObservedPoint, &ObservedPoint)| {
            let (one, other) = (figure(one)?, figure(other)?);
            (other > 0.0).then(|| one / other)
        };
        Cell::ratio(&whole.filter_map(ratio).collect::<Vec<f64>>())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use evforge_lab::measured_link::MeasuredPoint;
    use std::time::Duration;

    /// A round for each processor time in milliseconds.
    pub(in crate::observer) fn observed(observer: Observer, milliseconds: &[u64], lost: u64) -> Observed {
        let round = |ms: &u64| ObservedPoint {
            packets: MeasuredPoint { sent: 1000, received: 1000 - lost, lost, ..MeasuredPoint::default() },
            processor: Duration::from_millis(*ms),
            ..ObservedPoint::default()
        };
        Observed { observer, rounds: milliseconds.iter().map(round).collect() }
    }

    #[test]
    fn a_difference_is_one_if_the_interval_does_not_have_one_in_it() {
        let cell = |low, high| Cell::Measured { value: 1.0, low, high };
        assert_eq!(Difference::of(&cell(0.99, 1.01)), Difference::None);
        assert_eq!(Difference::of(&cell(1.001, 1.01)), Difference::More);
        assert_eq!(Difference::of(&cell(0.9, 0.999)), Difference::Less);
        assert_eq!(Difference::of(&Cell::Number(5.0)), Difference::NoInterval);
    }

    #[test]
    fn pairs_are_of_the_same_round() {
        let (one, other) =
            (observed(Observer::View, &[20, 200], 0), observed(Observer::Nothing, &[10, 100], 0));
        assert_eq!(one.ratio(&other).value().map(|ratio| (1e6 * ratio).round()), Some(2e6));
        assert_eq!(observed(Observer::View, &[20], 1).ratio(&other), Cell::Missing);
    }
}
