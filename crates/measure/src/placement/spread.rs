//! The figure that assignments are compared by, with its interval over the rounds.

use crate::table::Cell;
use evforge_lab::placement::MeasuredAssignment;

/// What assignments are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The share that was lost, or by which the receiver was too slow, at one rate for all: the lower, the better.
    Shortfall,
    /// The highest rate of each stream without loss, in packets per second: the higher, the better. A round that found none has 0.
    Rate,
}

/// A figure with the interval that the true one is in, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Spread {
    /// Of an assignment; none if it was measured fewer than two times, as nobody knows then by how much figures vary.
    ///
    /// Shortfalls differ by powers of ten, and so do their rounds: the interval is that of their logarithms (Student's). Of rounds that all lost
    /// nothing it ends at 3/N; where some did and others did not, it begins at 0.
    pub fn of(measured: &MeasuredAssignment, figure: Figure) -> Option<Self> {
        match figure {
            Figure::Shortfall => Self::of_shortfalls(measured),
            Figure::Rate => {
                let rate = |found: &evforge_lab::measured_link::LossFree| found.rate.unwrap_or(0.0);
                let rates: Vec<f64> =
                    measured.rounds.iter().filter_map(|round| round.found.as_ref().map(rate)).collect();
                let (value, low, high) = interval(&rates)?;
                Some(Self { value, low: low.max(0.0), high })
            }
        }
    }

    fn of_shortfalls(measured: &MeasuredAssignment) -> Option<Self> {
        let rounds = || measured.rounds.iter().map(|round| &round.measured);
        let values: Vec<f64> =
            rounds().filter_map(evforge_lab::measured_streams::MeasuredStreams::shortfall).collect();
        let sum = |count: fn(&evforge_lab::measured_link::MeasuredPoint) -> u64| {
            rounds().map(|round| round.sum(count)).fold(0, u64::saturating_add)
        };
        let counted = Cell::counted_share(sum(|stream| stream.lost), sum(|stream| stream.sent));
        let (counted_low, counted_high) = counted.interval()?;
        let (mean, _, highest) = interval(&values)?;
        let lossy = values.iter().filter(|value| **value > 0.0).count();
        if lossy == 0 {
            return Some(Self { value: 0.0, low: 0.0, high: counted_high });
        }
        if lossy < values.len() {
            let most = values.iter().copied().fold(counted_high, f64::max);
            return Some(Self { value: mean, low: 0.0, high: highest.max(most).min(1.0) });
        }
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let (value, low, high) =
            interval(&logarithms).map(|(value, low, high)| (value.exp(), low.exp(), high.exp()))?;
        // Where packets were lost, what was counted is not known better than counts are.
        let is_counted = rounds().all(|round| round.loss().is_some_and(|loss| loss > 0.0));
        let (counted_low, counted_high) = if is_counted { (counted_low, counted_high) } else { (low, high) };
        Some(Self {
            value,
            low: low.min(counted_low).min(value),
            high: high.max(counted_high).max(value).min(1.0),
        })
    }

    /// True if it is better, and the intervals do not overlap.
    pub fn is_clearly_better(&self, other: &Self, figure: Figure) -> bool {
        match figure {
            Figure::Shortfall => self.high < other.low,
            Figure::Rate => self.low > other.high,
        }
    }

    /// The better one first.
    pub fn order(&self, other: &Self, figure: Figure) -> std::cmp::Ordering {
        match figure {
            Figure::Shortfall => self.value.total_cmp(&other.value).then(self.high.total_cmp(&other.high)),
            Figure::Rate => other.value.total_cmp(&self.value).then(other.low.total_cmp(&self.low)),
        }
    }

    /// As a cell of a table; rates in thousands per second.
    pub fn cell(&self, figure: Figure) -> Cell {
        let unit = match figure {
            Figure::Shortfall => 1.0,
            Figure::Rate => 1e-3,
        };
        Cell::Measured { value: self.value * unit, low: self.low * unit, high: self.high * unit }
    }

    /// In a sentence.
    pub fn text(&self, figure: Figure) -> String {
        match figure {
            Figure::Shortfall if self.value <= 0.0 => format!("nothing (< {:.1e})", self.high),
            Figure::Shortfall => {
                format!("{} ({} to {})", share(self.value), share(self.low), share(self.high))
            }
            Figure::Rate => {
                format!("{:.1} kpps ({:.1} to {:.1})", self.value / 1e3, self.low / 1e3, self.high / 1e3)
            }
        }
    }
}

/// In percent from a thousandth on.
fn share(value: f64) -> String {
    if value >= 1e-3 { format!("{:.1} %", 100.0 * value) } else { format!("{value:.1e}") }
}

/// The mean and Student's interval; none of fewer than two values.
fn interval(values: &[f64]) -> Option<(f64, f64, f64)> {
    let cell = Cell::measured(values);
    let (low, high) = cell.interval()?;
    Some((cell.value()?, low, high))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use evforge_lab::measured_link::{LossFree, MeasuredPoint};
    use evforge_lab::measured_streams::MeasuredStreams;
    use evforge_lab::placement::{Assignment, PlacementRound};
    use std::collections::BTreeMap;

    /// Packets of a made round.
    pub(crate) const SENT: u64 = 1_000_000;

    /// Who is on which core: interrupt, receiver, workers.
    pub(crate) fn assignment(interrupt: usize, receiver: usize, workers: &[usize]) -> Assignment {
        Assignment { interrupt: [interrupt].into(), sender: None, receiver, workers: workers.to_vec() }
    }

    /// An assignment that lost these shares, a round each.
    pub(crate) fn lossy(assignment: Assignment, shares: &[f64]) -> MeasuredAssignment {
        let round = |share: &f64| {
            let lost = (SENT as f64 * share).round() as u64;
            let stream = MeasuredPoint {
                sent: SENT,
                received: SENT - lost,
                lost,
                sent_per_second: 1e5,
                received_per_second: 1e5 * (1.0 - share),
                locations: BTreeMap::from([("own queue".to_owned(), lost)]),
                ..MeasuredPoint::default()
            };
            let measured =
                MeasuredStreams { streams: vec![stream; assignment.streams()], ..MeasuredStreams::default() };
            PlacementRound { measured, found: None }
        };
        MeasuredAssignment { rounds: shares.iter().map(round).collect(), assignment }
    }

    /// An assignment of which these rates were found.
    pub(crate) fn found(assignment: Assignment, rates: &[Option<f64>]) -> MeasuredAssignment {
        let MeasuredAssignment { assignment, rounds } = lossy(assignment, &vec![0.0; rates.len()]);
        let searched = |(round, rate): (PlacementRound, &Option<f64>)| {
            let found = LossFree { rate: *rate, is_senders_limit: false, tried: Vec::new() };
            PlacementRound { found: Some(found), ..round }
        };
        MeasuredAssignment { assignment, rounds: rounds.into_iter().zip(rates).map(searched).collect() }
    }

    fn of_losses(shares: &[f64]) -> Spread {
        Spread::of(&lossy(assignment(0, 0, &[1]), shares), Figure::Shortfall).unwrap()
    }

    #[test]
    fn losses_that_vary_much_are_still_apart_from_none() {
        let (none, much) = (of_losses(&[0.0; 3]), of_losses(&[0.3, 0.9, 0.6]));
        assert!(none.value == 0.0 && none.high < 2e-6, "{none:?}");
        assert!(much.low > 0.01 && much.high <= 1.0 && much.low < 0.3, "{much:?}");
        assert!(
            none.is_clearly_better(&much, Figure::Shortfall)
                && !much.is_clearly_better(&none, Figure::Shortfall)
        );
        // One good round, and nobody can say.
        let mixed = of_losses(&[0.0, 0.9, 0.6]);
        assert!(!none.is_clearly_better(&mixed, Figure::Shortfall), "{mixed:?}");
        assert_eq!(mixed.low, 0.0);
        // A few packets in one round are what chance does.
        let few = of_losses(&[1e-6, 2e-6, 1e-6]);
        assert!(!none.is_clearly_better(&few, Figure::Shortfall), "{few:?}");
    }

    #[test]
    fn what_was_measured_once_has_no_interval() {
        assert_eq!(Spread::of(&lossy(assignment(0, 0, &[1]), &[0.5]), Figure::Shortfall), None);
        assert_eq!(Spread::of(&found(assignment(0, 0, &[1]), &[Some(1e5)]), Figure::Rate), None);
    }

    #[test]
    fn higher_rates_are_better_and_none_found_is_none() {
        let of =
            |rates: &[Option<f64>]| Spread::of(&found(assignment(0, 0, &[1]), rates), Figure::Rate).unwrap();
        let (fast, slow) =
            (of(&[Some(1e5), Some(1.02e5), Some(0.98e5)]), of(&[Some(5e4), Some(4.9e4), None]));
        assert!((fast.value - 1e5).abs() < 1.0 && fast.low < 1e5 && fast.high > 1e5);
        assert!(slow.value < 3.4e4 && slow.low == 0.0, "{slow:?}");
        assert!(fast.order(&slow, Figure::Rate).is_lt());
        let slow = of(&[Some(5e4), Some(4.9e4), Some(5.1e4)]);
        assert!(fast.is_clearly_better(&slow, Figure::Rate) && !slow.is_clearly_better(&fast, Figure::Rate));
    }
}
