//! Splits the time groups of a plane into clusters.

use crate::cluster::{Cluster, ClusterRule, MatchBy};
use crate::hit::{STRIP_LIMIT, TimeKey};
use crate::linked_clusters::LinkedClusters;

/// Looks at every cluster of a group, large enough or not, and returns which are kept. Clusters are numbered in order
/// of their strips.
pub trait ClusterChoice {
    /// Whether clusters are given in the order of matching, or in order of their strips.
    const IN_MATCHING_ORDER: bool;

    /// A group of this many clusters begins.
    fn begin(&mut self, clusters: usize);

    /// A hit of a cluster.
    fn hit(&mut self, cluster: usize, strip: u16);

    /// Whether a cluster is kept, all hits having been seen.
    fn keeps(&mut self, cluster: usize) -> bool;
}

/// Keeps all clusters.
struct AllClusters;

impl ClusterChoice for AllClusters {
    const IN_MATCHING_ORDER: bool = true;

    #[inline(always)]
    fn begin(&mut self, _clusters: usize) {}

    #[inline(always)]
    fn hit(&mut self, _cluster: usize, _strip: u16) {}

    #[inline(always)]
    fn keeps(&mut self, _cluster: usize) -> bool {
        true
    }
}

/// Strips per word of the strip map.
const WORD: usize = 64;
/// Strips there can be.
const STRIPS: usize = STRIP_LIMIT as usize;

/// Splits time groups into clusters.
///
/// The strips of a group are marked in a bit map; walking over the marks gives each strip the number of its
/// cluster without sorting the hits.
#[derive(Debug, get_size2::GetSize)]
pub struct StripClusterer {
    rule: ClusterRule,
    order: MatchBy,
    /// One bit per strip with a hit, all clear between groups. As long as strips can be numbered: indexing by
    /// a strip needs no check.
    marks: Box<[u64; STRIPS / WORD]>,
    /// Where clusters begin in each word of the marks, and how many begin before it.
    starts: Box<[(u64, u32); STRIPS / WORD]>,
    /// One for each cluster of the group, large enough or not.
    tallies: Vec<Tally>,
    /// The clusters of the group that are large enough.
    clusters: Vec<Cluster>,
    /// Links hits one by one, if the rule says so.
    linked: Option<Box<LinkedClusters>>,
}

/// A cluster before it is known whether it is large enough.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Tally {
    hits: u32,
    /// Its place among the clusters; past their end if it is too small.
    cluster: u32,
    /// Times of its first and its last hit, counted from the base of the keys.
    start: u64,
    end: u64,
    charge: u64,
    first: u16,
    last: u16,
}

impl Tally {
    const EMPTY: Self =
        Self { hits: 0, cluster: u32::MAX, start: u64::MAX, end: 0, charge: 0, first: u16::MAX, last: 0 };
}

impl StripClusterer {
    /// A clusterer for any group, which gives the clusters of a group in the order in which they are matched.
    pub fn new(rule: ClusterRule, order: MatchBy, max_group: usize) -> Self {
        Self {
            linked: rule.linked_within.map(|_| Box::new(LinkedClusters::new(max_group))),
            rule,
            order,
            marks: Box::new([0; STRIPS / WORD]),
            starts: Box::new([(0, 0); STRIPS / WORD]),
            tallies: Vec::with_capacity(STRIPS),
            clusters: Vec::with_capacity(STRIPS),
        }
    }

    /// The rule.
    pub fn rule(&self) -> &ClusterRule {
        &self.rule
    }

    /// The clusters of a time group in the order of matching, and how many hits are in none because their
    /// cluster would be too small. The group is in order of time, counted from `base`; its strips lie from
    /// `first` to `last`.
    #[inline]
    pub fn clusters(&mut self, group: &[TimeKey], base: u64, (first, last): (u16, u16)) -> (&[Cluster], u64) {
        self.clusters.clear();
        let (Some(first_key), Some(last_key)) = (group.first(), group.last()) else { return (&[], 0) };
        let end = last_key.time();
        if (group.len() as u32) < self.rule.min_hits {
            return (&[], group.len() as u64);
        }
        // What is over within a gap is linked wherever its strips are neighbours.
        if self.rule.linked_within.is_some_and(|within| end - first_key.time() > within) {
            return self.linked_clusters(group, base);
        }
        if !self.is_one_cluster(group, first, last) {
            if self.has_only_small_clusters(group) {
                return (&[], group.len() as u64);
            }
            self.number_strips(group, first, last);
            return self.several_clusters(group, base, &mut AllClusters);
        }
        let mut cluster = Cluster {
            time_start: base + first_key.time(),
            time_end: base + end,
            hits: group.len() as u32,
            charge: group.iter().map(|key| u64::from(key.adc())).sum(),
            first,
            last,
            latest_first: u16::MAX,
            ..Cluster::default()
        };
        for key in group.iter().rev().take_while(|key| key.time() == end) {
            cluster.add_latest(key.strip(), key.adc());
        }
        if self.rule.time_bins > 0 {
            for key in group.iter().rev() {
                cluster.add_to_bins(self.rule.time_bins, end - key.time(), key.strip());
            }
        }
        self.clusters.push(cluster);
        (&self.clusters, 0)
    }

    fn linked_clusters(&mut self, group: &[TimeKey], base: u64) -> (&[Cluster], u64) {
        let (Some(within), Some(linked)) = (self.rule.linked_within, &mut self.linked) else {
            return (&[], 0);
        };
        let (clusters, too_small) = linked.clusters(group, base, within, &self.rule);
        clusters.sort_unstable_by_key(|cluster| (self.order.key(cluster), cluster.first, cluster.time_start));
        (clusters, too_small)
    }

    /// The clusters of a time group that `choice` keeps, in order of their strips, and how many hits are in none
    /// of them because theirs would be too small. As [`StripClusterer::clusters`] otherwise.
    pub fn chosen_clusters(
        &mut self,
        group: &[TimeKey],
        base: u64,
        (first, last): (u16, u16),
        choice: &mut impl ClusterChoice,
    ) -> (&[Cluster], u64) {
        self.clusters.clear();
        if group.is_empty() {
            return (&[], 0);
        }
        self.number_strips(group, first, last);
        self.several_clusters(group, base, choice)
    }

    /// As [`StripClusterer::clusters`], for a group whose strips have been numbered.
    #[inline]
    fn several_clusters<C: ClusterChoice>(
        &mut self,
        group: &[TimeKey],
        base: u64,
        choice: &mut C,
    ) -> (&[Cluster], u64) {
        let ClusterRule { min_hits, time_bins, .. } = self.rule;
        choice.begin(self.tallies.len());
        let starts = &self.starts;
        // A strip's cluster is the last one that begins at it or before.
        let number = |key: &TimeKey| {
            let strip = usize::from(key.strip());
            let (starts, before) = starts[strip / WORD];
            let up_to_here = starts & (u64::MAX >> (WORD - 1 - strip % WORD));
            (before + up_to_here.count_ones()) as usize - 1
        };
        for key in group {
            let cluster = number(key);
            choice.hit(cluster, key.strip());
            let tally = &mut self.tallies[cluster];
            tally.hits += 1;
            tally.charge += u64::from(key.adc());
            tally.start = tally.start.min(key.time());
            // Keys come in order of time: the last one of a cluster ends it.
            tally.end = key.time();
            tally.first = tally.first.min(key.strip());
            tally.last = tally.last.max(key.strip());
        }
        let mut too_small = 0;
        for (cluster, tally) in self.tallies.iter_mut().enumerate() {
            if !choice.keeps(cluster) {
                continue;
            }
            if tally.hits < min_hits {
                too_small += u64::from(tally.hits);
                continue;
            }
            tally.cluster = self.clusters.len() as u32;
            self.clusters.push(Cluster {
                time_start: base + tally.start,
                time_end: base + tally.end,
                hits: tally.hits,
                charge: tally.charge,
                first: tally.first,
                last: tally.last,
                latest_first: u16::MAX,
                ..Cluster::default()
            });
        }
        if self.clusters.is_empty() {
            return (&[], too_small);
        }
        // Going back from the end, nothing before the earliest end of a cluster is among anybody's latest.
        let earliest_end = self.clusters.iter().map(|cluster| cluster.time_end - base).min().unwrap_or(0);
        let wanted_from = if time_bins > 0 { 0 } else { earliest_end };
        for key in group.iter().rev().take_while(|key| key.time() >= wanted_from) {
            let tally = &self.tallies[number(key)];
            let Some(cluster) = self.clusters.get_mut(tally.cluster as usize) else { continue };
            if key.time() == tally.end {
                cluster.add_latest(key.strip(), key.adc());
            }
            if time_bins > 0 {
                cluster.add_to_bins(time_bins, tally.end - key.time(), key.strip());
            }
        }
        if C::IN_MATCHING_ORDER && self.clusters.len() > 1 {
            let order = self.order;
            self.clusters.sort_unstable_by_key(|cluster| order.key(cluster));
        }
        (&self.clusters, too_small)
    }

    /// True if a few hits, as noise leaves them, cannot make a cluster. A cluster of three or more has a hit
    /// in its middle with two others within reach; counting them takes no sorting and no branches.
    #[inline]
    fn has_only_small_clusters(&self, group: &[TimeKey]) -> bool {
        const FEW: usize = 16;
        if group.len() > FEW || self.rule.min_hits < 3 {
            return false;
        }
        // Further from any strip than any gap.
        let mut strips = [u16::MAX; FEW];
        for (strip, key) in strips.iter_mut().zip(group) {
            *strip = key.strip();
        }
        let furthest = self.rule.max_strip_gap + 1;
        let mut within_reach = [0_u16; FEW];
        for key in group {
            for (count, strip) in within_reach.iter_mut().zip(&strips) {
                *count += u16::from(strip.abs_diff(key.strip()) <= furthest);
            }
        }
        within_reach.iter().all(|&count| count < 3)
    }

    /// True if no two neighbouring strips are too far apart. May be false for a wide group that is one cluster.
    #[inline]
    fn is_one_cluster(&self, group: &[TimeKey], first: u16, last: u16) -> bool {
        let span = u32::from(last - first);
        if span >= u64::BITS {
            return false;
        }
        let marks = group.iter().fold(0, |marks, key| marks | 1_u64 << (key.strip() - first));
        let reach = u32::from(self.rule.max_strip_gap).min(u64::BITS - 1);
        let reached = (1..=reach).fold(marks, |reached, step| reached | marks << step);
        let all = u64::MAX >> (u64::BITS - 1 - span);
        reached & all == all
    }

    /// Finds where the clusters of the group begin, and makes as many tallies.
    #[inline]
    fn number_strips(&mut self, group: &[TimeKey], first: u16, last: u16) {
        for key in group {
            let strip = key.strip();
            self.marks[usize::from(strip) / WORD] |= 1 << (strip % WORD as u16);
        }
        let furthest = u32::from(self.rule.max_strip_gap) + 1;
        let words = usize::from(first) / WORD..=usize::from(last) / WORD;
        let count = if furthest < u64::BITS {
            self.find_starts(words, furthest)
        } else {
            self.find_starts_far_apart(words, furthest)
        };
        self.tallies.clear();
        self.tallies.resize(count as usize, Tally::EMPTY);
    }

    /// A cluster begins at a mark that has no mark on the `furthest` strips before it: shifting the marks over
    /// one another finds them all at once. Clears the marks and returns how many clusters there are.
    #[inline]
    fn find_starts(&mut self, words: std::ops::RangeInclusive<usize>, furthest: u32) -> u32 {
        let (mut previous, mut count) = (0, 0);
        for index in words {
            let word = std::mem::take(&mut self.marks[index]);
            let reached = (1..=furthest)
                .fold(0, |reached, step| reached | word << step | previous >> (u64::BITS - step));
            let starts = word & !reached;
            self.starts[index] = (starts, count);
            count += starts.count_ones();
            previous = word;
        }
        count
    }

    /// As [`StripClusterer::find_starts`] for gaps of more than a word, mark by mark.
    #[cold]
    fn find_starts_far_apart(&mut self, words: std::ops::RangeInclusive<usize>, furthest: u32) -> u32 {
        let (mut previous, mut count) = (None, 0);
        for index in words {
            let mut word = std::mem::take(&mut self.marks[index]);
            self.starts[index] = (0, count);
            while word != 0 {
                let strip = (index * WORD) as u32 + word.trailing_zeros();
                if previous.is_none_or(|previous| strip - previous > furthest) {
                    self.starts[index].0 |= word & word.wrapping_neg();
                    count += 1;
                }
                previous = Some(strip);
                word &= word - 1;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::Hit;

    /// The clusters of a group and its hits that are in none.
    fn clusters_of<'a>(
        clusterer: &'a mut StripClusterer,
        group: &[TimeKey],
        base: u64,
    ) -> (&'a [Cluster], u64) {
        let first = group.iter().map(|key| key.strip()).min().unwrap();
        let last = group.iter().map(|key| key.strip()).max().unwrap();
        clusterer.clusters(group, base, (first, last))
    }

    fn keys(hits: &[(u64, u16, u16)]) -> Vec<TimeKey> {
        let mut keys: Vec<_> =
            hits.iter().map(|&(time, strip, adc)| TimeKey::new(Hit { time, strip, adc }, 0)).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn strips_further_apart_than_the_gap_are_two_clusters() {
        let rule = ClusterRule { max_strip_gap: 2, min_hits: 2, time_bins: 0, linked_within: None };
        let mut clusterer = StripClusterer::new(rule, MatchBy::End, 100);
        let group = keys(&[(5, 10, 1), (1, 13, 1), (2, 17, 1), (3, 18, 1), (4, 40, 1)]);
        let (clusters, too_small) = clusters_of(&mut clusterer, &group, 100);
        let ends: Vec<_> = clusters.iter().map(|cluster| (cluster.time_end, cluster.hits)).collect();
        assert_eq!((ends, too_small), (vec![(103, 2), (105, 2)], 1));
    }

    /// Against the plain definition: sort by strip, cut where strips are further apart than the gap.
    #[test]
    fn clusters_are_those_of_the_definition() {
        let mut state = 1_u64;
        let mut random = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        for round in 0..3000 {
            let gap = [0, 1, 2, 5, 63, 64, 100][round % 7];
            let rule = ClusterRule {
                max_strip_gap: gap,
                min_hits: 1 + random(4) as u32,
                time_bins: 0,
                linked_within: None,
            };
            let width = [3, 20, 64, 65, 300, 8000][random(6) as usize];
            let hits: Vec<_> = (0..1 + random(30))
                .map(|_| (random(1000), 100 + random(width) as u16, random(1000) as u16))
                .collect();
            let mut by_strip = hits.clone();
            by_strip.sort_unstable_by_key(|hit| hit.1);
            let mut expected = Vec::new();
            let mut small = 0;
            for cluster in by_strip.chunk_by(|one, next| next.1 - one.1 <= gap + 1) {
                if cluster.len() as u32 >= rule.min_hits {
                    let start = cluster.iter().map(|hit| hit.0).min().unwrap();
                    let end = cluster.iter().map(|hit| hit.0).max().unwrap();
                    let strips = (cluster[0].1, cluster[cluster.len() - 1].1);
                    expected.push((end, cluster.len() as u32, start, strips));
                } else {
                    small += cluster.len() as u64;
                }
            }
            let mut clusterer = StripClusterer::new(rule, MatchBy::End, 100);
            let (clusters, too_small) = clusters_of(&mut clusterer, &keys(&hits), 0);
            let summary = |cluster: &Cluster| {
                (cluster.time_end, cluster.hits, cluster.time_start, (cluster.first, cluster.last))
            };
            let mut found: Vec<_> = clusters.iter().map(summary).collect();
            assert!(found.is_sorted_by_key(|cluster| cluster.0));
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!((found, too_small), (expected, small), "{rule:?} {hits:?}");
        }
    }

    #[test]
    fn the_centre_is_that_of_the_latest_hits() {
        let rule = ClusterRule { max_strip_gap: 2, min_hits: 1, time_bins: 2, linked_within: None };
        let mut clusterer = StripClusterer::new(rule, MatchBy::End, 100);
        let group = keys(&[(1, 4, 900), (7, 5, 100), (9, 6, 10), (9, 7, 30), (9, 8, 0)]);
        let (clusters, _) = clusters_of(&mut clusterer, &group, 0);
        let cluster = clusters[0];
        assert_eq!(cluster.centre(true), 7, "(60 + 210) / 40 = 6.75");
        assert_eq!(cluster.centre(false), 7);
        assert_eq!(cluster.lower_uncertainty(), 3);
        assert_eq!(cluster.bins.strip_span(), 4, "times 9 and 7: strips 5 to 8");
        let silent = clusters_of(&mut clusterer, &keys(&[(1, 4, 0), (1, 5, 0)]), 0).0[0];
        assert_eq!(silent.centre(true), 5, "no charge: the plain mean 4.5, rounded half up");
    }

    #[test]
    fn merging_keeps_the_latest_and_adds_what_is_as_late() {
        let rule = ClusterRule { max_strip_gap: 0, min_hits: 1, time_bins: 2, linked_within: None };
        let mut clusterer = StripClusterer::new(rule, MatchBy::End, 100);
        let clusters = clusters_of(&mut clusterer, &keys(&[(9, 1, 4), (8, 10, 4), (9, 20, 4)]), 0).0.to_vec();
        let mut merged = clusters[0];
        merged.merge(&clusters[1], 2);
        merged.merge(&clusters[2], 2);
        assert_eq!((merged.hits, merged.latest_hits, merged.time_end), (3, 2, 9));
        assert_eq!((merged.strip_span(), merged.time_span()), (20, 1));
        assert_eq!((merged.lower_uncertainty(), merged.bins.strip_span()), (20, 20));
        let mut reversed = clusters[2];
        reversed.merge(&clusters[1], 2);
        reversed.merge(&clusters[0], 2);
        assert_eq!(reversed, merged);
    }
}
