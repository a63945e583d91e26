//! Matches the clusters of two planes by the time they end (EFU formats of 2018, section 4.6, "Match").
//!
//! Clusters of both planes are taken in order of their end. An event collects clusters as long as the next
//! one ends no more than the limit after the latest so far; then it is complete.

use crate::cluster::Cluster;
use crate::memory::touched;
use std::collections::VecDeque;

/// Number of planes.
pub const PLANES: usize = 2;

/// The clusters of both planes that belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchedClusters {
    /// What was collected on each plane; a plane without hits took no part.
    pub planes: [Cluster; PLANES],
    /// The latest end of all clusters.
    pub time_end: u64,
}

impl MatchedClusters {
    /// Hits of both planes.
    pub fn hits(&self) -> u64 {
        self.planes.iter().map(|plane| u64::from(plane.hits)).sum()
    }

    fn add(&mut self, plane: usize, cluster: &Cluster, time_bins: usize) {
        if self.planes[plane].hits == 0 {
            self.planes[plane] = *cluster;
        } else {
            self.planes[plane].merge(cluster, time_bins);
        }
        self.time_end = self.time_end.max(cluster.time_end);
    }
}

/// Collects clusters and gives back what belongs together.
#[derive(Debug)]
pub struct PlaneMatcher {
    waiting: [VecDeque<Cluster>; PLANES],
    current: MatchedClusters,
    max_difference: u64,
    time_bins: usize,
    capacity: usize,
}

impl PlaneMatcher {
    /// A matcher that joins clusters whose ends follow one another within `max_difference` ticks and that
    /// lets at most `capacity` clusters of a plane wait for the other.
    pub fn new(max_difference: u64, time_bins: usize, capacity: usize) -> Self {
        Self {
            waiting: std::array::from_fn(|_| {
                touched(Cluster { hits: 1, ..Cluster::default() }, capacity).into()
            }),
            current: MatchedClusters::default(),
            max_difference,
            time_bins,
            capacity,
        }
    }

    /// Upper bound of the memory in bytes.
    pub fn memory_bound(capacity: usize) -> usize {
        PLANES * capacity * size_of::<Cluster>()
    }

    /// How many more clusters of `plane` can wait.
    pub fn room(&self, plane: usize) -> usize {
        self.capacity - self.waiting[plane].len()
    }

    /// Takes a cluster. Per plane they come in order of their end; the caller has made sure of room.
    pub fn push(&mut self, plane: usize, cluster: &Cluster) {
        self.waiting[plane].push_back(*cluster);
    }

    /// The next complete set, given that all clusters to come end at `earliest_future_end` or later.
    #[inline]
    pub fn next_match(&mut self, earliest_future_end: u64) -> Option<MatchedClusters> {
        loop {
            let next = self.first_waiting().filter(|(_, end)| *end <= earliest_future_end);
            let end = next.map_or(earliest_future_end, |(_, end)| end);
            if self.current.hits() > 0 && end.saturating_sub(self.current.time_end) > self.max_difference {
                return Some(std::mem::take(&mut self.current));
            }
            let (plane, _) = next?;
            if let Some(cluster) = self.waiting[plane].pop_front() {
                self.current.add(plane, &cluster, self.time_bins);
            }
        }
    }

    /// Gives back the set under way, whatever might still join it. Only for the end of an epoch.
    pub fn finish(&mut self) -> Option<MatchedClusters> {
        (self.current.hits() > 0).then(|| std::mem::take(&mut self.current))
    }

    /// Hits of all clusters held.
    pub fn held(&self) -> u64 {
        let waiting: u64 = self.waiting.iter().flatten().map(|cluster| u64::from(cluster.hits)).sum();
        waiting + self.current.hits()
    }

    /// Plane and end of the cluster that ends first.
    fn first_waiting(&self) -> Option<(usize, u64)> {
        let end = |plane: usize| self.waiting[plane].front().map(|cluster| (plane, cluster.time_end));
        match (end(0), end(1)) {
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
        let mut matcher = PlaneMatcher::new(10, 0, 10);
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
        let mut matcher = PlaneMatcher::new(10, 0, 10);
        matcher.push(1, &cluster(u64::MAX));
        assert_eq!(matcher.next_match(u64::MAX), None);
        assert_eq!(matcher.finish().unwrap().planes[1].hits, 3);
        assert_eq!(matcher.held(), 0);
    }
}
