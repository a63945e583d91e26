//! Assignments measured in turns.

use super::Assignment;
use crate::measured_link::{LossFree, LossFreeSearch, MeasureError, highest_loss_free};
use crate::measured_streams::MeasuredStreams;
use evforge_core::quantity::Rate;
use evforge_wire::drop::{IdentifierWidth, Scramble};

/// How much is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OfferedRate {
    /// As fast as the sender can.
    Unpaced,
    /// This, of each stream.
    Of(Rate),
    /// What a search finds: the highest rate of each stream without loss.
    Search(LossFreeSearch),
}

/// One measurement of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementRound {
    /// At the rate that was offered; after a search, at the rate that was found, or the last that was tried if none was.
    pub measured: MeasuredStreams,
    /// What a search has found.
    pub found: Option<LossFree>,
}

/// An assignment with the measurements of all rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredAssignment {
    /// Who was where.
    pub assignment: Assignment,
    /// A round each.
    pub rounds: Vec<PlacementRound>,
}

/// How assignments are measured: in rounds, each in another order, so that nothing else that the host does meets the same ones again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacementPlan {
    /// How often each assignment is measured.
    pub rounds: usize,
    /// What the orders follow from.
    pub seed: u64,
    /// How much is sent.
    pub rate: OfferedRate,
}

impl PlacementPlan {
    /// Measures all assignments. `measure` is told the rate of each stream (none: as fast as possible); `told` hears of each round of
    /// an assignment, with how many are done.
    ///
    /// # Errors
    /// Those of `measure`; what was measured before is lost with it.
    pub fn run(
        &self,
        assignments: &[Assignment],
        mut measure: impl FnMut(&Assignment, Option<Rate>) -> Result<MeasuredStreams, MeasureError>,
        mut told: impl FnMut(usize, &MeasuredAssignment),
    ) -> Result<Vec<MeasuredAssignment>, MeasureError> {
        let of = |assignment: &Assignment| MeasuredAssignment {
            assignment: assignment.clone(),
            rounds: Vec::new(),
        };
        let mut all: Vec<MeasuredAssignment> = assignments.iter().map(of).collect();
        let mut done = 0;
        for round in 0..self.rounds {
            for place in self.order(round, all.len()) {
                let Some(next) = all.get_mut(place) else { continue };
                let found = self.round(|rate| measure(&next.assignment, rate))?;
                next.rounds.push(found);
                done += 1;
                told(done, next);
            }
        }
        Ok(all)
    }

    /// The order of a round: that of the numbers into which a permutation takes the places.
    fn order(&self, round: usize, count: usize) -> Vec<usize> {
        let permutation = Scramble::new(IdentifierWidth::Eight, self.seed.wrapping_add(round as u64));
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|place| permutation.apply(*place as u64));
        order
    }

    fn round(
        &self,
        mut measure: impl FnMut(Option<Rate>) -> Result<MeasuredStreams, MeasureError>,
    ) -> Result<PlacementRound, MeasureError> {
        let search = match self.rate {
            OfferedRate::Unpaced => return Ok(PlacementRound { measured: measure(None)?, found: None }),
            OfferedRate::Of(rate) => {
                return Ok(PlacementRound { measured: measure(Some(rate))?, found: None });
            }
            OfferedRate::Search(search) => search,
        };
        let mut tried: Vec<MeasuredStreams> = Vec::new();
        let found = highest_loss_free(&search, |rate| {
            let measured = measure(rate.map(Rate::Packets))?;
            let point = measured.of_one();
            tried.push(measured);
            Ok(point)
        })?;
        // The last one at or below the rate that was found, and good; without a rate, the last one at all.
        let is_at = |measured: &MeasuredStreams| {
            measured.is_sustained()
                && found.rate.is_some_and(|rate| measured.of_one().sent_per_second <= rate * 1.001)
        };
        let place = tried.iter().rposition(is_at).or_else(|| tried.len().checked_sub(1));
        let measured = place.map(|place| tried.swap_remove(place)).unwrap_or_default();
        Ok(PlacementRound { measured, found: Some(found) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured_link::MeasuredPoint;
    use std::collections::{BTreeMap, BTreeSet};

    fn assignment(worker: usize) -> Assignment {
        Assignment { interrupt: [0].into(), sender: None, receiver: 0, workers: vec![worker] }
    }

    /// A worker that spends this long on each packet, and shares its core with this many others. Its queue drops what is beyond.
    fn worker(
        work: f64,
        others: u32,
    ) -> impl FnMut(&Assignment, Option<Rate>) -> Result<MeasuredStreams, MeasureError> {
        move |_, rate| {
            let fastest = 1e6;
            let sent_per_second = match rate {
                Some(Rate::Packets(rate)) => (rate as f64).min(fastest),
                Some(Rate::Bits(_)) | None => fastest,
            };
            let received_per_second = sent_per_second.min(1.0 / work / f64::from(others + 1));
            let (sent, received) = (sent_per_second as u64, received_per_second as u64);
            let locations = BTreeMap::from([("own queue".to_owned(), sent - received)]);
            let lost = sent - received;
            let stream = MeasuredPoint {
                sent,
                received,
                lost,
                sent_per_second,
                received_per_second,
                locations,
                ..Default::default()
            };
            Ok(MeasuredStreams { streams: vec![stream.clone(), stream], ..MeasuredStreams::default() })
        }
    }

    fn search() -> PlacementPlan {
        PlacementPlan { rounds: 2, seed: 1, rate: OfferedRate::Search(LossFreeSearch::default()) }
    }

    #[test]
    fn the_known_limit_of_a_worker_with_a_core_of_its_own_is_found() {
        for work in [1e-5, 3e-5, 1e-3] {
            let all = search().run(&[assignment(1)], worker(work, 0), |_, _| {}).expect("figures");
            for round in &all[0].rounds {
                let found = round.found.as_ref().expect("a search");
                let rate = found.rate.expect("a rate");
                assert!(rate * work <= 1.0 && rate * work > 0.95, "{rate} of {}", 1.0 / work);
                assert!(!found.is_senders_limit && round.measured.is_sustained());
                assert_eq!(round.measured.sum(|stream| stream.lost), 0);
            }
        }
        // With others on its core, the limit is another, and that is noticed.
        let all = search().run(&[assignment(1)], worker(1e-5, 1), |_, _| {}).expect("figures");
        let rate = all[0].rounds[0].found.as_ref().and_then(|found| found.rate).expect("a rate");
        assert!(rate * 1e-5 < 0.55, "{rate}");
    }

    #[test]
    fn rounds_are_in_other_orders_which_follow_from_the_seed() {
        let assignments: Vec<Assignment> = (0..8).map(assignment).collect();
        let orders = |seed: u64| {
            let plan = PlacementPlan { rounds: 3, seed, rate: OfferedRate::Unpaced };
            let mut order = Vec::new();
            let measure = |assignment: &Assignment, rate: Option<Rate>| {
                assert_eq!(rate, None);
                order.push(assignment.workers[0]);
                Ok(MeasuredStreams::default())
            };
            let mut heard = 0;
            let all = plan.run(&assignments, measure, |done, _| heard = done).expect("figures");
            assert!(all.iter().all(|measured| measured.rounds.len() == 3));
            assert_eq!(heard, 24);
            order
        };
        let order = orders(1);
        let (first, second) = (&order[..8], &order[8..16]);
        assert_ne!(first, second);
        assert_eq!(first.iter().collect::<BTreeSet<_>>(), second.iter().collect());
        assert_eq!(orders(1), order);
        assert_ne!(orders(2), order);
    }
}
