//! Matches the clusters of two planes by time (EFU formats of 2018, section 4.6, "Match").
//!
//! Clusters of both planes are taken in order of a time of theirs. An event collects clusters as long as that
//! time of the next one lies no more than the limit after what the event has come to; then it is complete.
//!
//! | matched by | order of the clusters | a cluster joins if so far after … |
//! |---|---|---|
//! | [`End`](MatchBy::End) | their ends | the latest end |
//! | [`Start`](MatchBy::Start) | their starts | the latest start |
//! | [`Centre`](MatchBy::Centre) | midway between start and end | the latest of these |
//! | [`Overlap`](MatchBy::Overlap) | their starts | the latest end, with a limit of 0: they overlap or touch |
//! | [`Gap`](MatchBy::Gap) | their starts | the latest end |

use crate::cluster::Cluster;
pub use crate::cluster::MatchBy;
pub use crate::matched_clusters::{MatchedClusters, PLANES};
use crate::memory::room_for;
use crate::pairing::{Ambiguous, PairRule};
use crate::plane_pairs::PlanePairs;
use std::collections::VecDeque;

/// When clusters belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchRule {
    /// Which times are compared.
    pub by: MatchBy,
    /// How far apart they may be, in ticks. Without meaning for [`MatchBy::Overlap`].
    pub max_difference: u64,
    /// What becomes of several clusters of a plane that are close in time.
    pub ambiguous: Ambiguous,
    /// How they are paired, if they are.
    pub pairing: PairRule,
}

/// Collects clusters and gives back what belongs together.
#[derive(Debug, get_size2::GetSize)]
pub struct PlaneMatcher {
    waiting: [VecDeque<Cluster>; PLANES],
    current: MatchedClusters,
    /// Time that the set under way has come to: what joins lies at most `max_difference` after it.
    reached: u64,
    by: MatchBy,
    max_difference: u64,
    time_bins: usize,
    capacity: usize,
    /// Gathers the set under way, if clusters are paired instead of joined.
    pairs: Option<Box<PlanePairs>>,
}

impl PlaneMatcher {
    /// A matcher that lets at most `capacity` clusters of a plane wait for the other.
    pub fn new(rule: MatchRule, time_bins: usize, capacity: usize) -> Self {
        Self {
            waiting: std::array::from_fn(|_| {
                room_for(Cluster { hits: 1, ..Cluster::default() }, capacity).into()
            }),
            current: MatchedClusters::default(),
            reached: 0,
            by: rule.by,
            max_difference: if rule.by == MatchBy::Overlap { 0 } else { rule.max_difference },
            time_bins,
            capacity,
            pairs: (rule.ambiguous != Ambiguous::Join)
                .then(|| Box::new(PlanePairs::new(rule.by, rule.pairing, rule.ambiguous))),
        }
    }

    /// Sets that were paired before they were complete, because they had too many clusters.
    pub fn crowded_sets(&self) -> u64 {
        self.pairs.as_ref().map_or(0, |pairs| pairs.crowded_sets())
    }

    /// How many more clusters of `plane` can wait.
    pub fn room(&self, plane: usize) -> usize {
        self.capacity - self.waiting[plane].len()
    }

    /// Takes a cluster. Per plane they come in order of [`MatchBy::key`]; the caller has made sure of room.
    pub fn push(&mut self, plane: usize, cluster: &Cluster) {
        self.waiting[plane].push_back(*cluster);
    }

    /// The next complete set, given that all clusters to come have hits at `earliest_future_hit` or later only.
    #[inline]
    pub fn next_match(&mut self, earliest_future_hit: u64) -> Option<MatchedClusters> {
        if self.pairs.is_some() {
            return self.next_pair(earliest_future_hit);
        }
        loop {
            let next = self.first_waiting().filter(|(_, key)| *key <= earliest_future_hit);
            let key = next.map_or(earliest_future_hit, |(_, key)| key);
            if self.current.hits() > 0 && key.saturating_sub(self.reached) > self.max_difference {
                return Some(std::mem::take(&mut self.current));
            }
            let (plane, key) = next?;
            if let Some(cluster) = self.waiting[plane].pop_front() {
                self.current.add(plane, &cluster, self.time_bins);
                self.reached = match self.by {
                    MatchBy::End | MatchBy::Start | MatchBy::Centre => key,
                    MatchBy::Overlap | MatchBy::Gap => self.current.time_end,
                };
            }
        }
    }

    /// As [`PlaneMatcher::next_match`], of sets that are gathered and paired.
    fn next_pair(&mut self, earliest_future_hit: u64) -> Option<MatchedClusters> {
        loop {
            let next = self.first_waiting().filter(|(_, key)| *key <= earliest_future_hit);
            let pairs = self.pairs.as_mut()?;
            if let Some(matched) = pairs.next_ready() {
                return Some(matched);
            }
            let key = next.map_or(earliest_future_hit, |(_, key)| key);
            if !pairs.is_empty() && key.saturating_sub(self.reached) > self.max_difference {
                pairs.complete();
                continue;
            }
            let (plane, key) = next?;
            if pairs.is_full(plane) {
                pairs.complete_early();
                continue;
            }
            if let Some(cluster) = self.waiting[plane].pop_front() {
                pairs.gather(plane, &cluster);
                self.reached = key;
            }
        }
    }

    /// Gives back the set under way, whatever might still join it. Only for the end of an epoch.
    pub fn finish(&mut self) -> Option<MatchedClusters> {
        if let Some(pairs) = &mut self.pairs {
            if !pairs.is_empty() {
                pairs.complete();
            }
            return pairs.next_ready();
        }
        (self.current.hits() > 0).then(|| std::mem::take(&mut self.current))
    }

    /// No match made of what is held ends before this; none if nothing is held.
    pub fn earliest_end(&self) -> Option<u64> {
        let current = (self.current.hits() > 0).then_some(self.current.time_end);
        let paired = self.pairs.as_ref().and_then(|pairs| pairs.earliest_end());
        // The key of a cluster is never after its end.
        current.into_iter().chain(paired).chain(self.first_waiting().map(|(_, key)| key)).min()
    }

    /// Hits of all clusters held.
    pub fn held(&self) -> u64 {
        let waiting: u64 = self.waiting.iter().flatten().map(|cluster| u64::from(cluster.hits)).sum();
        waiting + self.current.hits() + self.pairs.as_ref().map_or(0, |pairs| pairs.held())
    }

    /// Plane and key of the cluster that comes first.
    fn first_waiting(&self) -> Option<(usize, u64)> {
        let by = self.by;
        let key = |plane: usize| self.waiting[plane].front().map(|cluster| (plane, by.key(cluster)));
        match (key(0), key(1)) {
            (Some(x), Some(y)) => Some(if x.1 <= y.1 { x } else { y }),
            (x, y) => x.or(y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(time_end: u64) -> Cluster {
        Cluster { time_end, hits: 3, latest_hits: 1, ..Cluster::default() }
    }

    #[test]
    fn clusters_chain_while_their_ends_are_close() {
        let mut matcher = PlaneMatcher::new(
            MatchRule { by: MatchBy::End, max_difference: 10, ..MatchRule::default() },
            0,
            10,
        );
        for end in [100, 118, 200] {
            matcher.push(0, &cluster(end));
        }
        matcher.push(1, &cluster(109));
        let first = matcher.next_match(150).unwrap();
        assert_eq!((first.time_end, first.planes[0].hits, first.planes[1].hits), (118, 6, 3));
        assert_eq!(matcher.next_match(150), None);
        assert_eq!(matcher.held(), 3);
        assert_eq!(matcher.next_match(210), None, "a cluster ending at 210 could still join");
        assert_eq!(matcher.next_match(211).unwrap().time_end, 200);
        assert_eq!(matcher.finish(), None);
    }

    #[test]
    fn the_end_of_an_epoch_completes_what_is_under_way() {
        let mut matcher = PlaneMatcher::new(
            MatchRule { by: MatchBy::End, max_difference: 10, ..MatchRule::default() },
            0,
            10,
        );
        matcher.push(1, &cluster(u64::MAX));
        assert_eq!(matcher.next_match(u64::MAX), None);
        assert_eq!(matcher.finish().unwrap().planes[1].hits, 3);
        assert_eq!(matcher.held(), 0);
    }

    /// Against the plain definition, on clusters of both planes with random starts and lengths. Per plane
    /// clusters do not overlap, as those of different time groups.
    #[test]
    fn every_way_of_matching_is_that_of_its_definition() {
        let mut state = 1_u64;
        let mut random = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        for round in 0..1000 {
            let by = MatchBy::ALL[round % 5];
            let rule = MatchRule { by, max_difference: random(40), ..MatchRule::default() };
            let mut clusters = Vec::new();
            for plane in 0..PLANES {
                let mut time = 0;
                for _ in 0..random(12) {
                    let time_start = time + 1 + random(60);
                    time = time_start + random(30);
                    clusters.push((plane, Cluster { time_start, hits: 1, ..cluster(time) }));
                }
            }
            clusters.sort_by_key(|(plane, cluster)| (by.key(cluster), *plane));
            let mut expected: Vec<(u64, [u32; PLANES])> = Vec::new();
            let mut latest: Option<Cluster> = None;
            for (plane, cluster) in &clusters {
                let joins = latest.is_some_and(|latest| match by {
                    MatchBy::End => cluster.time_end <= latest.time_end + rule.max_difference,
                    MatchBy::Start => cluster.time_start <= latest.time_start + rule.max_difference,
                    MatchBy::Centre => by.key(cluster) <= by.key(&latest) + rule.max_difference,
                    MatchBy::Overlap => cluster.time_start <= expected.last().map_or(0, |set| set.0),
                    MatchBy::Gap => {
                        cluster.time_start <= expected.last().map_or(0, |set| set.0) + rule.max_difference
                    }
                });
                if !joins {
                    expected.push((0, [0; PLANES]));
                }
                let set = expected.last_mut().unwrap();
                set.0 = set.0.max(cluster.time_end);
                set.1[*plane] += 1;
                latest = Some(*cluster);
            }
            let mut matcher = PlaneMatcher::new(rule, 0, 20);
            let mut found = Vec::new();
            let mut keep =
                |set: MatchedClusters| found.push((set.time_end, set.planes.map(|plane| plane.hits)));
            for (plane, cluster) in &clusters {
                while let Some(set) = matcher.next_match(cluster.time_start) {
                    keep(set);
                }
                matcher.push(*plane, cluster);
            }
            while let Some(set) = matcher.next_match(u64::MAX) {
                keep(set);
            }
            assert_eq!((found, matcher.held()), (expected, 0), "{rule:?} {clusters:?}");
        }
    }
}
