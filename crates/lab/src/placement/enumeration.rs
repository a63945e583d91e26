//! All the ways to assign some streams, under rules.

use super::{Assignment, Rule, Topology};
use std::collections::BTreeSet;

/// Assignments that are looked at, at most, before rules choose among them.
const MOST: u128 = 200_000;

/// Why assignments cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum EnumerationError {
    /// There are too many.
    #[error(
        "{streams} streams on {cores} logical cores can be assigned in {count} ways: expected {MOST} at most; name fewer --cores"
    )]
    TooMany {
        /// Streams.
        streams: usize,
        /// Positions.
        cores: usize,
        /// Ways.
        count: u128,
    },
}

/// All assignments of some streams.
#[derive(Clone, Debug)]
pub struct Enumeration<'a> {
    /// The positions.
    pub topology: &'a Topology,
    /// Streams, one worker each.
    pub streams: usize,
    /// Where the interrupt may be: each of these.
    pub interrupts: &'a [BTreeSet<usize>],
    /// The sender, if it is on this host.
    pub sender: Option<usize>,
    /// Those that break one of these are left out.
    pub rules: &'a [Rule],
}

impl Enumeration<'_> {
    /// The assignments, in order. Workers of streams are alike, so that their order does not matter: that of a stream is on no lower
    /// position than that of the stream before.
    ///
    /// # Errors
    /// If there are too many.
    pub fn assignments(&self) -> Result<Vec<Assignment>, EnumerationError> {
        let numbers: Vec<usize> = self.topology.numbers().collect();
        let ways = in_order(numbers.len(), self.streams);
        let count = ways.saturating_mul(numbers.len() as u128).saturating_mul(self.interrupts.len() as u128);
        if count > MOST {
            return Err(EnumerationError::TooMany { streams: self.streams, cores: numbers.len(), count });
        }
        let workers = choices(&numbers, self.streams);
        let mut all = Vec::new();
        for interrupt in self.interrupts {
            for &receiver in &numbers {
                for workers in &workers {
                    let assignment = Assignment {
                        interrupt: interrupt.clone(),
                        sender: self.sender,
                        receiver,
                        workers: workers.clone(),
                    };
                    let is_broken = |rule: &Rule| rule.is_followed(&assignment, self.topology) == Some(false);
                    if !self.rules.iter().any(is_broken) {
                        all.push(assignment);
                    }
                }
            }
        }
        Ok(all)
    }
}

/// How many ways there are to choose `count` of `numbers` positions, in order, with repetition.
fn in_order(numbers: usize, count: usize) -> u128 {
    let steps = 1..=count as u128;
    steps.fold(1, |ways: u128, step| ways.saturating_mul(numbers as u128 + step - 1) / step)
}

/// The ways themselves.
fn choices(numbers: &[usize], count: usize) -> Vec<Vec<usize>> {
    let Some(rest) = count.checked_sub(1) else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for (place, first) in numbers.iter().enumerate() {
        for behind in choices(&numbers[place..], rest) {
            all.push(std::iter::once(*first).chain(behind).collect());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::LogicalCore;

    /// The paper's core complex: two cores of two hardware threads each, the interrupt on position 0.
    fn paper() -> Topology {
        let logical = |number| LogicalCore { number, core: number / 2 * 2, cache: Some(0), node: Some(0) };
        Topology { cores: (0..4).map(logical).collect(), interrupts: [0].into(), card_node: None }
    }

    fn all(topology: &Topology, streams: usize, rules: &[Rule]) -> Vec<Assignment> {
        let interrupts = [topology.interrupts.clone()];
        let enumeration = Enumeration { topology, streams, interrupts: &interrupts, sender: None, rules };
        enumeration.assignments().unwrap()
    }

    #[test]
    fn the_paper_has_16_assignments_of_1_stream_and_6_of_2_streams() {
        let topology = paper();
        let one = all(&topology, 1, &[]);
        assert_eq!(one.len(), 16);
        let pairs: BTreeSet<(usize, usize)> =
            one.iter().map(|assignment| (assignment.receiver, assignment.workers[0])).collect();
        assert_eq!(pairs.len(), 16);
        let two = all(&topology, 2, &[Rule::WorkerAlone]);
        let two: Vec<(usize, &[usize])> =
            two.iter().map(|assignment| (assignment.receiver, assignment.workers.as_slice())).collect();
        // As the paper says: three with the receiver on position 0, one for each other position of it.
        let expected: [(usize, &[usize]); 6] =
            [(0, &[1, 2]), (0, &[1, 3]), (0, &[2, 3]), (1, &[2, 3]), (2, &[1, 3]), (3, &[1, 2])];
        assert_eq!(two, expected);
        // Other readings of the rule give other numbers.
        let with_receiver = [Rule::WorkerAlone, Rule::ReceiverOffInterrupt];
        assert_eq!(all(&topology, 2, &with_receiver).len(), 3);
        let among_threads = [Rule::WorkerOffReceiver, Rule::WorkersApart];
        assert_eq!(all(&topology, 2, &among_threads).len(), 12);
        assert_eq!(all(&topology, 3, &[Rule::WorkerAlone]).len(), 1);
        assert_eq!(all(&topology, 4, &[Rule::WorkerAlone]).len(), 0);
    }

    #[test]
    fn every_position_of_the_interrupt_is_tried_and_workers_are_in_order() {
        let topology = paper().only(&[0, 2]).unwrap();
        let interrupts = [[0].into(), [2].into()];
        let enumeration = Enumeration {
            topology: &topology,
            streams: 2,
            interrupts: &interrupts,
            sender: Some(0),
            rules: &[],
        };
        let all = enumeration.assignments().unwrap();
        assert_eq!(all.len(), 2 * 2 * 3);
        assert!(all.iter().all(|assignment| assignment.workers.is_sorted() && assignment.sender == Some(0)));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert_eq!(all[1].to_string(), "interrupt 0, receiver 0, workers 0,2");
        assert_eq!(all[1].options(), "--workers --cores 0 --worker-cores 0,2");
    }

    #[test]
    fn more_than_anybody_can_measure_is_refused_with_a_way_out() {
        let logical = |number| LogicalCore { number, core: number, cache: None, node: None };
        let topology =
            Topology { cores: (0..256).map(logical).collect(), interrupts: [0].into(), card_node: None };
        let interrupts = [topology.interrupts.clone()];
        let enumeration = Enumeration {
            topology: &topology,
            streams: 64,
            interrupts: &interrupts,
            sender: None,
            rules: &[],
        };
        let error = enumeration.assignments().unwrap_err().to_string();
        assert!(error.contains("fewer --cores"), "{error}");
    }
}
