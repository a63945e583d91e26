//! Clusters: hits of one plane, close in time and in strips.
//!
//! Hits are first split where the time gap to the previous hit exceeds the limit (that is done by the
//! [`plane_sorter`](crate::plane_sorter)), then, within a time group, where strips are too far apart (EFU
//! formats of 2018, section 4.6, "Cluster"). Of a cluster only what later steps need is kept: how many hits,
//! when it ends, and a summary of its *latest* hits, which in a micro-TPC mark where the neutron's track
//! began.

use crate::hit::{StripKey, TimeKey};

/// Distinct times that [`Bins`] can keep.
pub const LARGEST_TIME_BINS: usize = 8;

/// Strip span of each of the latest distinct times of a cluster, latest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bins {
    bins: [(u64, u16, u16); LARGEST_TIME_BINS],
    length: u8,
}

impl Bins {
    /// Adds a hit, keeping the `limit` latest distinct times.
    fn add(&mut self, limit: usize, time: u64, first: u16, last: u16) {
        let known = &mut self.bins[..usize::from(self.length)];
        let at = known.iter().position(|bin| bin.0 <= time).unwrap_or(known.len());
        if let Some(bin) = known.get_mut(at)
            && bin.0 == time
        {
            bin.1 = bin.1.min(first);
            bin.2 = bin.2.max(last);
        } else if at < limit.min(LARGEST_TIME_BINS) {
            let length = (usize::from(self.length) + 1).min(limit);
            self.bins[..length].copy_within(at..length - 1, at + 1);
            self.bins[at] = (time, first, last);
            self.length = length as u8;
        }
    }

    /// Strips from the lowest to the highest of all bins, both counted; 0 without bins.
    pub fn strip_span(&self) -> u16 {
        if self.length == 0 {
            return 0;
        }
        let bins = &self.bins[..usize::from(self.length)];
        let first = bins.iter().map(|bin| bin.1).min().unwrap_or(0);
        let last = bins.iter().map(|bin| bin.2).max().unwrap_or(0);
        last - first + 1
    }
}

/// A cluster, or the clusters of one plane that an event has collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Time of its last hit in ticks.
    pub time_end: u64,
    /// Number of hits.
    pub hits: u32,
    /// Number of latest hits: those at `time_end`.
    pub latest_hits: u32,
    /// Sum of the strips of the latest hits.
    pub latest_strips: u64,
    /// Sum of the amplitudes of the latest hits.
    pub latest_charge: u64,
    /// Sum of strip times amplitude of the latest hits.
    pub latest_charge_strips: u64,
    /// Lowest strip of the latest hits.
    pub latest_first: u16,
    /// Highest strip of the latest hits.
    pub latest_last: u16,
    /// The latest distinct times; empty unless the upper uncertainty is in use.
    pub bins: Bins,
}

impl Cluster {
    /// The cluster of hits sorted by strip. `time_bins` distinct times are kept (0: none). The times of the
    /// keys count from `base`.
    fn of(hits: &[StripKey], base: u64, time_bins: usize) -> Self {
        let end = hits.iter().map(|key| key.time()).max().unwrap_or(0);
        let mut cluster = Cluster {
            time_end: base + end,
            hits: hits.len() as u32,
            latest_first: u16::MAX,
            ..Cluster::default()
        };
        for key in hits.iter().filter(|key| key.time() == end) {
            let (strip, adc) = (key.strip(), key.adc());
            cluster.latest_hits += 1;
            cluster.latest_strips += u64::from(strip);
            cluster.latest_charge += u64::from(adc);
            cluster.latest_charge_strips += u64::from(strip) * u64::from(adc);
            cluster.latest_first = cluster.latest_first.min(strip);
            cluster.latest_last = cluster.latest_last.max(strip);
        }
        if time_bins > 0 {
            for key in hits {
                cluster.bins.add(time_bins, base + key.time(), key.strip(), key.strip());
            }
        }
        cluster
    }

    /// Adds another cluster of the same plane.
    pub fn merge(&mut self, other: &Cluster, time_bins: usize) {
        let hits = self.hits + other.hits;
        let mut bins = self.bins;
        for bin in &other.bins.bins[..usize::from(other.bins.length)] {
            bins.add(time_bins, bin.0, bin.1, bin.2);
        }
        if other.time_end > self.time_end {
            *self = *other;
        } else if other.time_end == self.time_end {
            self.latest_hits += other.latest_hits;
            self.latest_strips += other.latest_strips;
            self.latest_charge += other.latest_charge;
            self.latest_charge_strips += other.latest_charge_strips;
            self.latest_first = self.latest_first.min(other.latest_first);
            self.latest_last = self.latest_last.max(other.latest_last);
        }
        self.hits = hits;
        self.bins = bins;
    }

    /// Strip where the track began: the mean over the latest hits, rounded half up, weighted with the
    /// amplitudes if asked for and if there is any amplitude.
    pub fn centre(&self, weighted: bool) -> u64 {
        let (sum, weight) = if weighted && self.latest_charge > 0 {
            (self.latest_charge_strips, self.latest_charge)
        } else {
            (self.latest_strips, u64::from(self.latest_hits))
        };
        if weight == 0 { 0 } else { (2 * sum + weight) / (2 * weight) }
    }

    /// Strips that the latest hits span, first and last counted: the lower uncertainty of the position.
    pub fn lower_uncertainty(&self) -> u16 {
        self.latest_last - self.latest_first + 1
    }
}

/// What makes a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterRule {
    /// Strips that may be missing between two neighbours in a cluster.
    pub max_strip_gap: u16,
    /// Hits that a cluster must have.
    pub min_hits: u32,
    /// Distinct times to keep for the upper uncertainty; 0 if it is not in use.
    pub time_bins: usize,
}

/// Splits time groups into clusters.
#[derive(Debug)]
pub struct StripClusterer {
    rule: ClusterRule,
    by_strip: Vec<StripKey>,
    clusters: Vec<Cluster>,
}

impl StripClusterer {
    /// A clusterer for groups of at most `max_group` hits.
    pub fn new(rule: ClusterRule, max_group: usize) -> Self {
        Self { rule, by_strip: Vec::with_capacity(max_group), clusters: Vec::with_capacity(max_group) }
    }

    /// Upper bound of the memory in bytes.
    pub fn memory_bound(max_group: usize) -> usize {
        max_group * (size_of::<StripKey>() + size_of::<Cluster>())
    }

    /// The clusters of a time group in order of their end, and how many hits are in none because their
    /// cluster would be too small.
    #[inline]
    pub fn clusters(&mut self, group: &[TimeKey], base: u64) -> (&[Cluster], u64) {
        let rule = self.rule;
        self.clusters.clear();
        if (group.len() as u32) < rule.min_hits {
            return (&[], group.len() as u64);
        }
        self.by_strip.clear();
        self.by_strip.extend(group.iter().map(|key| key.by_strip()));
        self.by_strip.sort_unstable();
        let mut too_small = 0;
        let furthest = rule.max_strip_gap + 1;
        for hits in self.by_strip.chunk_by(|one, next| next.strip() - one.strip() <= furthest) {
            if (hits.len() as u32) < rule.min_hits {
                too_small += hits.len() as u64;
            } else {
                self.clusters.push(Cluster::of(hits, base, rule.time_bins));
            }
        }
        self.clusters.sort_unstable_by_key(|cluster| cluster.time_end);
        (&self.clusters, too_small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::Hit;

    fn keys(hits: &[(u64, u16, u16)]) -> Vec<TimeKey> {
        let mut keys: Vec<_> =
            hits.iter().map(|&(time, strip, adc)| TimeKey::new(Hit { time, strip, adc }, 0)).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn strips_further_apart_than_the_gap_are_two_clusters() {
        let rule = ClusterRule { max_strip_gap: 2, min_hits: 2, time_bins: 0 };
        let mut clusterer = StripClusterer::new(rule, 100);
        let group = keys(&[(5, 10, 1), (1, 13, 1), (2, 17, 1), (3, 18, 1), (4, 40, 1)]);
        let (clusters, too_small) = clusterer.clusters(&group, 100);
        let ends: Vec<_> = clusters.iter().map(|cluster| (cluster.time_end, cluster.hits)).collect();
        assert_eq!((ends, too_small), (vec![(103, 2), (105, 2)], 1));
    }

    #[test]
    fn the_centre_is_that_of_the_latest_hits() {
        let rule = ClusterRule { max_strip_gap: 2, min_hits: 1, time_bins: 2 };
        let mut clusterer = StripClusterer::new(rule, 100);
        let group = keys(&[(1, 4, 900), (7, 5, 100), (9, 6, 10), (9, 7, 30), (9, 8, 0)]);
        let (clusters, _) = clusterer.clusters(&group, 0);
        let cluster = clusters[0];
        assert_eq!(cluster.centre(true), 7, "(60 + 210) / 40 = 6.75");
        assert_eq!(cluster.centre(false), 7);
        assert_eq!(cluster.lower_uncertainty(), 3);
        assert_eq!(cluster.bins.strip_span(), 4, "times 9 and 7: strips 5 to 8");
        let silent = clusterer.clusters(&keys(&[(1, 4, 0), (1, 5, 0)]), 0).0[0];
        assert_eq!(silent.centre(true), 5, "no charge: the plain mean 4.5, rounded half up");
    }

    #[test]
    fn merging_keeps_the_latest_and_adds_what_is_as_late() {
        let rule = ClusterRule { max_strip_gap: 0, min_hits: 1, time_bins: 2 };
        let mut clusterer = StripClusterer::new(rule, 100);
        let clusters = clusterer.clusters(&keys(&[(9, 1, 4), (8, 10, 4), (9, 20, 4)]), 0).0.to_vec();
        let mut merged = clusters[0];
        merged.merge(&clusters[1], 2);
        merged.merge(&clusters[2], 2);
        assert_eq!((merged.hits, merged.latest_hits, merged.time_end), (3, 2, 9));
        assert_eq!((merged.lower_uncertainty(), merged.bins.strip_span()), (20, 20));
        let mut reversed = clusters[2];
        reversed.merge(&clusters[1], 2);
        reversed.merge(&clusters[0], 2);
        assert_eq!(reversed, merged);
    }
}
