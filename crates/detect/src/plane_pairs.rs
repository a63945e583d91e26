//! A set of clusters that are close in time, gathered and then paired one to one.
//!
//! [`PlaneMatcher`](crate::plane_matching) finds the sets; what becomes of one with several clusters on a plane is decided
//! here, by [`pairing`](crate::pairing). A set leaves as pairs, and as single clusters that found no partner, in the order
//! of their ends.

use crate::cluster::{Cluster, MatchBy};
use crate::matched_clusters::{MatchedClusters, PLANES};
use crate::memory::room_for;
use crate::pairing::{Ambiguous, PairRule, Pairing, Traits};
use std::collections::VecDeque;

/// Clusters of a plane that a set can have. One that gets more is paired before it is complete, and counted.
pub const LARGEST_SET: usize = 64;

/// Pairs the clusters of a set. See the [module documentation](self).
#[derive(Debug, get_size2::GetSize)]
pub struct PlanePairs {
    by: MatchBy,
    drops_ambiguous: bool,
    gathered: [Vec<Cluster>; PLANES],
    traits: [Vec<Traits>; PLANES],
    pairing: Pairing,
    ready: VecDeque<MatchedClusters>,
    held: u64,
    crowded_sets: u64,
}

impl PlanePairs {
    /// Pairs that are alike by `rule`, whose times are those of `by`.
    pub fn new(by: MatchBy, rule: PairRule, ambiguous: Ambiguous) -> Self {
        let full = Cluster { hits: 1, ..Cluster::default() };
        Self {
            by,
            drops_ambiguous: ambiguous == Ambiguous::Drop,
            gathered: std::array::from_fn(|_| room_for(full, LARGEST_SET)),
            traits: std::array::from_fn(|_| Vec::with_capacity(LARGEST_SET)),
            pairing: Pairing::new(rule, LARGEST_SET),
            ready: VecDeque::with_capacity(PLANES * LARGEST_SET),
            held: 0,
            crowded_sets: 0,
        }
    }

    /// What has been paired and not been given out.
    #[inline]
    pub fn next_ready(&mut self) -> Option<MatchedClusters> {
        let matched = self.ready.pop_front()?;
        self.held -= matched.hits();
        Some(matched)
    }

    /// True if nothing is gathered.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.gathered.iter().all(Vec::is_empty)
    }

    /// Whether the set has as many clusters of `plane` as it can have.
    #[inline]
    pub fn is_full(&self, plane: usize) -> bool {
        self.gathered[plane].len() >= LARGEST_SET
    }

    /// Gathers a cluster, for which there is room.
    #[inline]
    pub fn gather(&mut self, plane: usize, cluster: &Cluster) {
        self.held += u64::from(cluster.hits);
        self.gathered[plane].push(*cluster);
    }

    /// Hits of clusters gathered, and of pairs not given out.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// No pair made of what is held ends before this; none if nothing is held.
    pub fn earliest_end(&self) -> Option<u64> {
        let gathered = self.gathered.iter().flatten().map(|cluster| cluster.time_end);
        gathered.chain(self.ready.iter().map(|matched| matched.time_end)).min()
    }

    /// Sets that were paired before they were complete, because they had too many clusters.
    pub fn crowded_sets(&self) -> u64 {
        self.crowded_sets
    }

    /// Pairs a set that is too large to be gathered whole.
    #[cold]
    pub fn complete_early(&mut self) {
        self.crowded_sets += 1;
        self.complete();
    }

    /// Pairs what is gathered.
    pub fn complete(&mut self) {
        let [first, second] = &self.gathered;
        if let ([x], [y]) = (first.as_slice(), second.as_slice())
            && self.pairing.rule().are_candidates(&traits(self.by, x), &traits(self.by, y))
        {
            self.ready.push_back(matched(Some(x), Some(y), false));
        } else {
            self.pair_several();
        }
        self.gathered.iter_mut().for_each(Vec::clear);
    }

    fn pair_several(&mut self) {
        let Self { gathered: [first, second], traits: of_planes, .. } = self;
        for (of_plane, clusters) in of_planes.iter_mut().zip([&*first, &*second]) {
            of_plane.clear();
            of_plane.extend(clusters.iter().map(|cluster| traits(self.by, cluster)));
        }
        let [of_first, of_second] = of_planes;
        let pairs = self.pairing.pair(of_first, of_second);
        let begin = self.ready.len();
        for pair in pairs {
            let (x, y) = (&mut first[usize::from(pair.first)], &mut second[usize::from(pair.second)]);
            let mut found = matched(Some(x), Some(y), pair.is_ambiguous);
            found.is_dropped = pair.is_ambiguous && self.drops_ambiguous;
            self.ready.push_back(found);
            // What has a partner is not left over.
            (x.hits, y.hits) = (0, 0);
        }
        self.ready.extend(first.iter().filter(|x| x.hits > 0).map(|x| matched(Some(x), None, false)));
        self.ready.extend(second.iter().filter(|y| y.hits > 0).map(|y| matched(None, Some(y), false)));
        let key = |found: &MatchedClusters| (found.time_end, found.planes.map(|plane| plane.first));
        self.ready.make_contiguous()[begin..].sort_unstable_by_key(key);
    }
}

fn traits(by: MatchBy, cluster: &Cluster) -> Traits {
    Traits { start: cluster.time_start, time: by.key(cluster), charge: cluster.charge }
}

fn matched(x: Option<&Cluster>, y: Option<&Cluster>, is_ambiguous: bool) -> MatchedClusters {
    let time_end = x.into_iter().chain(y).map(|cluster| cluster.time_end).max().unwrap_or(0);
    MatchedClusters {
        planes: [x, y].map(|plane| plane.copied().unwrap_or_default()),
        time_end,
        is_ambiguous,
        ..MatchedClusters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane_matching::{MatchRule, PlaneMatcher};
    use proptest::prelude::*;

    fn rule(ambiguous: Ambiguous) -> MatchRule {
        let pairing = PairRule { max_difference: 20, usual_difference: 10, ..PairRule::default() };
        MatchRule { by: MatchBy::End, max_difference: 20, ambiguous, pairing }
    }

    fn cluster(time_end: u64, first: u16) -> Cluster {
        Cluster {
            time_start: time_end,
            time_end,
            hits: 3,
            latest_hits: 1,
            first,
            last: first,
            ..Cluster::default()
        }
    }

    fn matches(rule: MatchRule, planes: &[Vec<Cluster>; PLANES]) -> (Vec<MatchedClusters>, u64) {
        let mut matcher = PlaneMatcher::new(rule, 0, 1000);
        let all: u64 = planes.iter().flatten().map(|cluster| u64::from(cluster.hits)).sum();
        let mut found = Vec::new();
        let mut keep = |matcher: &PlaneMatcher, next: MatchedClusters| {
            found.push(next);
            let given: u64 = found.iter().map(MatchedClusters::hits).sum();
            assert!(given + matcher.held() <= all);
        };
        let mut times: Vec<u64> = planes.iter().flatten().map(|cluster| cluster.time_end).collect();
        times.sort_unstable();
        times.dedup();
        for time in times {
            while let Some(next) = matcher.next_match(time) {
                keep(&matcher, next);
            }
            for (plane, clusters) in planes.iter().enumerate() {
                for cluster in clusters.iter().filter(|cluster| cluster.time_end == time) {
                    matcher.push(plane, cluster);
                }
            }
        }
        while let Some(next) = matcher.next_match(u64::MAX).or_else(|| matcher.finish()) {
            keep(&matcher, next);
        }
        assert_eq!((matcher.held(), matcher.earliest_end()), (0, None));
        (found, matcher.crowded_sets())
    }

    #[test]
    fn neutrons_that_are_joined_otherwise_are_events_of_their_own() {
        let planes = [vec![cluster(100, 1), cluster(115, 9)], vec![cluster(101, 40), cluster(114, 50)]];
        let places = |ambiguous| -> Vec<_> {
            let (found, crowded) = matches(rule(ambiguous), &planes);
            assert_eq!(crowded, 0);
            found
                .iter()
                .map(|found| (found.time_end, found.planes.map(|plane| plane.first), found.joined))
                .collect()
        };
        assert_eq!(places(Ambiguous::Nearest), [(101, [1, 40], 0), (115, [9, 50], 0)]);
        assert_eq!(places(Ambiguous::Join), [(115, [1, 40], 2)]);
    }

    #[test]
    fn what_cannot_be_told_apart_is_marked() {
        let planes = [vec![cluster(100, 1), cluster(102, 9)], vec![cluster(101, 40), cluster(101, 50)]];
        let (nearest, _) = matches(rule(Ambiguous::Nearest), &planes);
        assert!(nearest.len() == 2 && nearest.iter().all(|found| found.is_ambiguous && !found.is_dropped));
        let (dropped, _) = matches(rule(Ambiguous::Drop), &planes);
        assert!(dropped.len() == 2 && dropped.iter().all(|found| found.is_ambiguous && found.is_dropped));
    }

    #[test]
    fn a_crowded_set_is_paired_in_parts_and_counted() {
        let plane: Vec<_> = (0..200).map(|number| cluster(100 + 15 * number, 1)).collect();
        let (found, crowded) = matches(rule(Ambiguous::Nearest), &[plane.clone(), plane]);
        assert_eq!(found.len(), 200);
        assert_eq!(crowded, 200_u64.div_ceil(LARGEST_SET as u64) - 1);
        assert!(found.iter().all(|found| found.planes[0].time_end == found.planes[1].time_end));
    }

    proptest! {
        /// No hit is lost, clusters are in one match each, and matches come in the order of their ends.
        #[test]
        fn every_cluster_leaves_once_and_in_order(
            ends in prop::collection::vec((any::<bool>(), 0_u64..2000), 0..60),
            drops: bool,
        ) {
            let mut planes: [Vec<Cluster>; PLANES] = Default::default();
            for (number, (is_y, end)) in (0_u16..).zip(ends) {
                planes[usize::from(is_y)].push(cluster(end, number));
            }
            planes.iter_mut().for_each(|plane| plane.sort_unstable_by_key(|cluster| cluster.time_end));
            let (found, _) = matches(rule(if drops { Ambiguous::Drop } else { Ambiguous::Nearest }), &planes);
            prop_assert!(found.is_sorted_by_key(|found| found.time_end));
            for (plane, clusters) in planes.iter().enumerate() {
                let mut given: Vec<_> = found.iter().map(|found| found.planes[plane]).filter(|found| found.hits > 0).collect();
                let mut pushed = clusters.clone();
                given.sort_unstable_by_key(|cluster| cluster.first);
                pushed.sort_unstable_by_key(|cluster| cluster.first);
                prop_assert_eq!(given, pushed);
            }
            for pair in &found {
                let [x, y] = &pair.planes;
                prop_assert!(x.hits == 0 || y.hits == 0 || x.time_end.abs_diff(y.time_end) <= 20);
            }
        }
    }
}
