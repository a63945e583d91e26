//! Clusters whose hits are linked one by one: two hits belong together if they are close in time **and** in strips, or if
//! others link them.
//!
//! A time group of a busy plane holds several neutrons, and strips that are neighbours in it need not have been hit at
//! the same time. Here a hit goes on from the latest hits of its own strip and of those within reach; what it links becomes
//! one cluster.

use crate::cluster::{Cluster, ClusterRule};
use crate::hit::{STRIP_LIMIT, TimeKey};
use crate::memory::room_for;
use std::ops::Range;

/// Strips there can be.
const STRIPS: usize = STRIP_LIMIT as usize;

/// The latest hit of a strip.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Latest {
    /// Number of the group that it is of.
    group: u32,
    /// Number of its hit in the group.
    hit: u32,
}

/// Splits time groups into clusters of hits that are linked. See the [module documentation](self).
#[derive(Debug, get_size2::GetSize)]
pub struct LinkedClusters {
    latest: Box<[Latest]>,
    group: u32,
    /// For each hit of the group a hit of the same cluster that came before it, or itself.
    earlier: Vec<u32>,
    /// For each hit that is the first of its cluster, the number of the cluster.
    numbers: Vec<u32>,
    clusters: Vec<Cluster>,
    kept: Vec<Cluster>,
}

impl LinkedClusters {
    /// For groups of at most `max_group` hits.
    pub fn new(max_group: usize) -> Self {
        let full = Cluster { hits: 1, ..Cluster::default() };
        Self {
            latest: vec![Latest { group: 0, hit: 0 }; STRIPS].into(),
            group: 0,
            earlier: room_for(1, max_group),
            numbers: room_for(1, max_group),
            clusters: room_for(full, max_group),
            kept: room_for(full, max_group),
        }
    }

    /// The clusters of a time group that are large enough, in the order of their first hits, and how many hits are in
    /// none. The group is in order of time, counted from `base`. Hits are linked if they are at most `max_time_gap` apart.
    pub fn clusters(
        &mut self,
        group: &[TimeKey],
        base: u64,
        max_time_gap: u64,
        rule: &ClusterRule,
    ) -> (&mut [Cluster], u64) {
        self.link(group, max_time_gap, near_strips(rule));
        self.add_up(group, base);
        self.add_latest(group, base, rule.time_bins);
        self.kept.clear();
        self.kept.extend(self.clusters.iter().filter(|cluster| cluster.hits >= rule.min_hits));
        let small = self.clusters.iter().filter(|cluster| cluster.hits < rule.min_hits);
        let too_small = small.map(|cluster| u64::from(cluster.hits)).sum();
        (&mut self.kept, too_small)
    }

    /// The number of the cluster of each hit of a group, large enough or not.
    pub fn numbers(&mut self, group: &[TimeKey], max_time_gap: u64, rule: &ClusterRule) -> &[u32] {
        self.numbers_by(group, max_time_gap, near_strips(rule))
    }

    /// The same where `near` says which strips are within reach of one, with itself, in ranges below [`STRIP_LIMIT`].
    pub fn numbers_by<R: Iterator<Item = Range<usize>>>(
        &mut self,
        group: &[TimeKey],
        max_time_gap: u64,
        near: impl Fn(usize) -> R,
    ) -> &[u32] {
        self.link(group, max_time_gap, near);
        self.add_up(group, 0);
        &self.numbers
    }

    fn link<R: Iterator<Item = Range<usize>>>(
        &mut self,
        group: &[TimeKey],
        max_time_gap: u64,
        near: impl Fn(usize) -> R,
    ) {
        self.group = self.group.wrapping_add(1);
        if self.group == 0 {
            // What was left of the group with the same number, 2^32 groups ago.
            self.latest.fill(Latest { group: 0, hit: 0 });
            self.group = 1;
        }
        self.earlier.clear();
        for (number, key) in (0_u32..).zip(group) {
            let strip = usize::from(key.strip());
            let mut first = number;
            self.earlier.push(number);
            for latest in near(strip).flat_map(|near| &self.latest[near]) {
                if latest.group != self.group {
                    continue;
                }
                let Some(other) = group.get(latest.hit as usize) else { continue };
                if key.time() - other.time() <= max_time_gap {
                    let found = find(&mut self.earlier, latest.hit);
                    // The earlier of two firsts is the first of both.
                    let (low, high) = (found.min(first), found.max(first));
                    self.earlier[high as usize] = low;
                    first = low;
                }
            }
            self.latest[strip] = Latest { group: self.group, hit: number };
        }
    }

    fn add_up(&mut self, group: &[TimeKey], base: u64) {
        let Self { earlier, numbers, clusters, .. } = self;
        clusters.clear();
        numbers.clear();
        for (number, key) in (0_u32..).zip(group) {
            let first = find(earlier, number);
            if first == number {
                numbers.push(clusters.len() as u32);
                clusters.push(Cluster {
                    time_start: base + key.time(),
                    first: key.strip(),
                    last: key.strip(),
                    latest_first: u16::MAX,
                    ..Cluster::default()
                });
            } else {
                let of_first = numbers[first as usize];
                numbers.push(of_first);
            }
            let cluster = &mut clusters[numbers[number as usize] as usize];
            cluster.time_end = base + key.time();
            cluster.hits += 1;
            cluster.charge += u64::from(key.adc());
            cluster.first = cluster.first.min(key.strip());
            cluster.last = cluster.last.max(key.strip());
        }
    }

    fn add_latest(&mut self, group: &[TimeKey], base: u64, time_bins: usize) {
        for (key, number) in group.iter().zip(&self.numbers).rev() {
            let cluster = &mut self.clusters[*number as usize];
            let before_end = cluster.time_end - base - key.time();
            if before_end == 0 {
                cluster.add_latest(key.strip(), key.adc());
            }
            if time_bins > 0 {
                cluster.add_to_bins(time_bins, before_end, key.strip());
            }
        }
    }
}

/// The strips that are no further from one than the rule says.
fn near_strips(rule: &ClusterRule) -> impl Fn(usize) -> std::iter::Once<Range<usize>> + use<> {
    let reach = usize::from(rule.max_strip_gap.min(STRIP_LIMIT)) + 1;
    move |strip| std::iter::once(strip.saturating_sub(reach)..(strip + reach + 1).min(STRIPS))
}

/// The first hit of the cluster that a hit is in; shortens the ways that it takes.
fn find(earlier: &mut [u32], hit: u32) -> u32 {
    let mut at = hit;
    while earlier[at as usize] != at {
        let next = earlier[at as usize];
        earlier[at as usize] = earlier[next as usize];
        at = next;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::Hit;
    use proptest::prelude::*;

    fn keys(hits: &[(u64, u16, u16)]) -> Vec<TimeKey> {
        let key = |&(time, strip, adc)| TimeKey::new(Hit { time, strip, adc }, 0);
        let mut keys: Vec<_> = hits.iter().map(key).collect();
        keys.sort_unstable();
        keys
    }

    const RULE: ClusterRule =
        ClusterRule { max_strip_gap: 1, min_hits: 2, time_bins: 2, linked_within: Some(10) };

    #[test]
    fn what_came_before_on_the_same_strips_is_another_cluster() {
        let mut linked = LinkedClusters::new(100);
        // On 4 to 6 at 0 to 8, again at 20 to 25, and something far away that keeps the group together.
        let group = keys(&[(0, 4, 10), (8, 6, 10), (20, 5, 20), (25, 4, 20), (12, 90, 5), (16, 91, 5)]);
        let (clusters, too_small) = linked.clusters(&group, 1000, 10, &RULE);
        let found: Vec<_> = clusters
            .iter()
            .map(|cluster| {
                (cluster.time_start, cluster.time_end, cluster.first, cluster.last, cluster.charge)
            })
            .collect();
        assert_eq!(found, [(1000, 1008, 4, 6, 20), (1012, 1016, 90, 91, 10), (1020, 1025, 4, 5, 40)]);
        assert_eq!(too_small, 0);
        assert_eq!(clusters[2].centre(false), 4);
        assert_eq!(clusters[2].bins.strip_span(), 2);
    }

    proptest! {
        /// Against the plain definition: any two hits that are close in time and in strips are of the same cluster.
        #[test]
        fn clusters_are_those_of_the_definition(
            hits in prop::collection::vec((0_u64..120, 0_u16..30, 0_u16..1000), 1..40),
            gap in 1_u64..20,
            max_strip_gap in 0_u16..4,
            min_hits in 1_u32..4,
        ) {
            let group = keys(&hits);
            let mut of: Vec<usize> = (0..group.len()).collect();
            for (number, key) in group.iter().enumerate() {
                for (other, before) in group[..number].iter().enumerate() {
                    let are_close = key.time() - before.time() <= gap
                        && key.strip().abs_diff(before.strip()) <= max_strip_gap + 1;
                    if are_close && of[number] != of[other] {
                        let (from, to) = (of[number].max(of[other]), of[number].min(of[other]));
                        of.iter_mut().filter(|label| **label == from).for_each(|label| *label = to);
                    }
                }
            }
            let mut expected = Vec::new();
            let mut small = 0;
            for label in 0..group.len() {
                let own: Vec<_> = group.iter().zip(&of).filter(|(_, of)| **of == label).map(|(key, _)| key).collect();
                let Some(last) = own.last() else { continue };
                if (own.len() as u32) < min_hits {
                    small += own.len() as u64;
                    continue;
                }
                let latest = own.iter().filter(|key| key.time() == last.time());
                expected.push((
                    own[0].time(),
                    last.time(),
                    own.len() as u32,
                    own.iter().map(|key| u64::from(key.adc())).sum::<u64>(),
                    own.iter().map(|key| key.strip()).min(),
                    own.iter().map(|key| key.strip()).max(),
                    latest.map(|key| u64::from(key.strip())).sum::<u64>(),
                ));
            }
            let rule = ClusterRule { max_strip_gap, min_hits, ..RULE };
            let mut linked = LinkedClusters::new(100);
            for _ in 0..2 {
                let (clusters, too_small) = linked.clusters(&group, 0, gap, &rule);
                let mut found: Vec<_> = clusters
                    .iter()
                    .map(|c| (c.time_start, c.time_end, c.hits, c.charge, Some(c.first), Some(c.last), c.latest_strips))
                    .collect();
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!((&found, too_small), (&expected, small));
            }
        }
    }
}
