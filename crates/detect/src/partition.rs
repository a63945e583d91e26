//! Cuts the planes of a panel into regions, whose hits are clustered each for itself, on threads of their own if
//! there are any.
//!
//! A region *owns* a range of strips and *sees* somewhat more: to its left as many strips as decide where a
//! cluster begins, to its right the overlap. Of the clusters that it finds it keeps those whose lowest strip it
//! owns; the neighbour to the left keeps the others: no cluster is kept twice. A cluster that may go on where its
//! region does not look is not guessed at: its time group is clustered whole, as without regions. So events do not
//! depend on the partition or on the overlap; the overlap decides how often a group is done twice.
//!
//! Time groups are found before, and clusters are matched after, by one thread, in the same order as always.

use crate::cluster::Cluster;
use crate::hit::{Hit, STRIP_LIMIT, TimeKey};
use crate::plane_matching::{MatchBy, PLANES};
use crate::plane_sorter::{NextGroup, PlaneSorter};
use crate::strip_clusterer::{ClusterChoice, StripClusterer};
pub use crate::strip_rules::PartitionRule;
use crate::strip_rules::StripRules;
use std::ops::Range;
use std::sync::Arc;

/// Runs the regions of a step.
pub trait RegionExecutor: Send + Sync + std::fmt::Debug {
    /// Does `work` on each of the regions once, in any order, and returns when all is done.
    fn run(&self, regions: &mut [Region], work: &(dyn Fn(&mut Region) + Sync));
}

/// Runs one region after the other on the thread that asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneByOne;

impl RegionExecutor for OneByOne {
    fn run(&self, regions: &mut [Region], work: &(dyn Fn(&mut Region) + Sync)) {
        regions.iter_mut().for_each(work);
    }
}

/// With fewer hits than this in a step, waking up other threads takes longer than the work.
const WORTH_WAKING: usize = 2048;

/// A time group that has been read off its sorter.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub(crate) struct ClosedGroup {
    /// Time of its first hit.
    first_time: u64,
    /// Time that its keys count from. The sorter's may move on.
    pub(crate) base: u64,
    start: usize,
    /// How many.
    pub(crate) hits: usize,
    /// Lowest and highest strip.
    pub(crate) strips: (u16, u16),
    /// Its hits are discarded.
    pub(crate) is_too_large: bool,
}

impl ClosedGroup {
    /// Where its keys are in the sorter.
    pub(crate) fn keys(&self) -> Range<usize> {
        self.start..self.start + self.hits
    }
}

/// What a region has found in a time group.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Share {
    /// Number of the group in its step.
    group: u32,
    clusters: u32,
    /// Hits of clusters that are too small.
    too_small: u32,
    /// Clusters that may go on outside: none of the clusters counts.
    wide: u32,
    /// The whole group lies in the region, and its clusters are in the order of matching.
    is_whole: bool,
}

/// A range of strips of a plane.
#[derive(Debug, get_size2::GetSize)]
pub struct Region {
    plane: usize,
    owned: Range<u32>,
    seen: Range<u32>,
    /// Strips from one to the next of a cluster, at most.
    reach: u32,
    clusterer: StripClusterer,
    /// Room for the keys of a group that the region sees.
    keys: Vec<TimeKey>,
    /// Lowest and highest strip of each cluster of a group.
    ends: Vec<(u16, u16)>,
    /// What was found in a step, group by group; read up to `next_share` and `next_cluster`.
    shares: Vec<Share>,
    clusters: Vec<Cluster>,
    next_share: usize,
    next_cluster: usize,
}

/// Keeps the clusters that begin in a region.
struct BeginsInRegion<'a> {
    owned: Range<u32>,
    /// Where hits of the group may be that the region does not see, if there are any.
    unseen_from: Option<u32>,
    reach: u32,
    ends: &'a mut Vec<(u16, u16)>,
    /// Clusters that may go on there.
    wide: u32,
}

impl ClusterChoice for BeginsInRegion<'_> {
    const IN_MATCHING_ORDER: bool = false;

    fn begin(&mut self, clusters: usize) {
        self.ends.clear();
        self.ends.resize(clusters, (u16::MAX, 0));
    }

    #[inline(always)]
    fn hit(&mut self, cluster: usize, strip: u16) {
        let (lowest, highest) = &mut self.ends[cluster];
        *lowest = strip.min(*lowest);
        *highest = strip.max(*highest);
    }

    #[inline]
    fn keeps(&mut self, cluster: usize) -> bool {
        let (lowest, highest) = self.ends[cluster];
        if !self.owned.contains(&u32::from(lowest)) {
            return false;
        }
        let goes_on = |&unseen: &u32| u32::from(highest) + self.reach >= unseen;
        self.wide += u32::from(self.unseen_from.as_ref().is_some_and(goes_on));
        true
    }
}

/// Hits of a plane that a step can have.
fn most_hits(rules: &StripRules) -> usize {
    rules.max_held_hits + rules.max_group + 1
}

impl Region {
    /// Region `number` of a plane.
    fn new(plane: usize, number: usize, rule: &PartitionRule, rules: &StripRules) -> Self {
        let width = u32::from(rule.strips[plane]).div_ceil(rule.regions as u32).max(1);
        let limit = u32::from(STRIP_LIMIT);
        let border = |number: usize| (number as u32 * width).min(limit);
        let is_last = number + 1 == rule.regions;
        let owned = border(number)..if is_last { limit } else { border(number + 1) };
        let reach = u32::from(rules.cluster[plane].max_strip_gap) + 1;
        let seen = owned.start.saturating_sub(reach)..(owned.end + u32::from(rule.overlap)).min(limit);
        // A hit is in one group, and at most in one cluster that is kept.
        let (hits, least) = (most_hits(rules), rules.cluster[plane].min_hits);
        Self {
            plane,
            owned,
            seen,
            reach,
            clusterer: StripClusterer::new(rules.cluster[plane], rules.matching.by, rules.max_group),
            keys: vec![TimeKey::new(Hit::default(), 0); rules.max_group],
            ends: Vec::with_capacity(usize::from(STRIP_LIMIT)),
            shares: Vec::with_capacity(hits),
            clusters: Vec::with_capacity(hits.div_ceil(least.max(1) as usize)),
            next_share: 0,
            next_cluster: 0,
        }
    }

    /// Clusters the groups of a step.
    fn form(&mut self, groups: &[ClosedGroup], sorter: &PlaneSorter) {
        self.shares.clear();
        self.clusters.clear();
        (self.next_share, self.next_cluster) = (0, 0);
        for (number, group) in groups.iter().enumerate() {
            let (first, last) = (u32::from(group.strips.0), u32::from(group.strips.1));
            if group.is_too_large || first >= self.owned.end || last < self.owned.start {
                continue;
            }
            let (keys, _) = sorter.group(group.keys());
            let is_whole = first >= self.owned.start && last < self.owned.end;
            let found = self.clusters.len();
            let (too_small, wide) = if is_whole {
                let (clusters, too_small) = self.clusterer.clusters(keys, group.base, group.strips);
                self.clusters.extend_from_slice(clusters);
                (too_small, 0)
            } else {
                self.form_part(keys, group)
            };
            let clusters = (self.clusters.len() - found) as u32;
            let share = Share { group: number as u32, clusters, too_small: too_small as u32, wide, is_whole };
            if clusters > 0 || too_small > 0 || wide > 0 {
                self.shares.push(share);
            }
        }
    }

    /// Clusters what the region sees of a group: hits of too small clusters, and clusters that may go on outside.
    fn form_part(&mut self, keys: &[TimeKey], group: &ClosedGroup) -> (u64, u32) {
        let Self { owned, seen, reach, clusterer, keys: part, ends, clusters: all, .. } = self;
        let (first, last) = (u32::from(group.strips.0), u32::from(group.strips.1));
        let (mut keys, mut strips) = (keys, group.strips);
        if first < seen.start || last >= seen.end {
            let mut count = 0;
            // Written whether it is seen or not: which of them are is beyond what a processor can foresee.
            for key in keys {
                part[count] = *key;
                count += usize::from(seen.contains(&u32::from(key.strip())));
            }
            keys = &part[..count];
            strips = (strips.0.max(seen.start as u16), strips.1.min((seen.end - 1) as u16));
        }
        let mut choice = BeginsInRegion {
            owned: owned.clone(),
            unseen_from: (last >= seen.end).then_some(seen.end),
            reach: *reach,
            ends,
            wide: 0,
        };
        let (clusters, too_small) = clusterer.chosen_clusters(keys, group.base, strips, &mut choice);
        if choice.wide > 0 {
            return (0, choice.wide);
        }
        all.extend_from_slice(clusters);
        (too_small, 0)
    }

    /// What the region has found in a group, and the clusters; each group is asked for once, in their order.
    fn next_share(&mut self, group: u32) -> Option<(Share, &[Cluster])> {
        let share = *self.shares.get(self.next_share).filter(|share| share.group == group)?;
        let start = self.next_cluster;
        self.next_share += 1;
        self.next_cluster += share.clusters as usize;
        Some((share, &self.clusters[start..self.next_cluster]))
    }
}

/// The regions of both planes, and the time groups of a step between them and the matcher.
#[derive(Debug, get_size2::GetSize)]
pub(crate) struct Partition {
    #[get_size(ignore)]
    executor: Arc<dyn RegionExecutor>,
    /// Those of x, then as many of y.
    regions: Vec<Region>,
    by: MatchBy,
    /// The groups of each plane in this step, and how many of them have been handed out.
    groups: [Vec<ClosedGroup>; PLANES],
    next: [usize; PLANES],
    /// Hits of the groups that have not been handed out.
    held: u64,
    /// Plane and number of the group that was handed out last.
    latest: (usize, u32),
    /// Its clusters.
    merged: Vec<Cluster>,
}

impl Partition {
    pub(crate) fn new(rule: &PartitionRule, rules: &StripRules, executor: Arc<dyn RegionExecutor>) -> Self {
        let of_plane = |plane| (0..rule.regions).map(move |number| Region::new(plane, number, rule, rules));
        Self {
            executor,
            regions: (0..PLANES).flat_map(of_plane).collect(),
            by: rules.matching.by,
            groups: std::array::from_fn(|_| Vec::with_capacity(most_hits(rules))),
            next: [0; PLANES],
            held: 0,
            latest: (0, 0),
            merged: Vec::with_capacity(usize::from(STRIP_LIMIT)),
        }
    }

    /// Hits of groups that have not been handed out.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Earliest hit to come on each plane, given what the sorters say.
    #[inline]
    pub(crate) fn earliest_hits(&self, of_sorters: [u64; PLANES]) -> [u64; PLANES] {
        std::array::from_fn(|plane| {
            self.groups[plane].get(self.next[plane]).map_or(of_sorters[plane], |group| group.first_time)
        })
    }

    /// Reads all complete groups off the sorters and clusters them. Those of the step before have been handed out.
    pub(crate) fn take_closed(&mut self, sorters: &mut [PlaneSorter; PLANES], closed: u64) {
        let Self { executor, regions, groups, .. } = self;
        for (groups, sorter) in groups.iter_mut().zip(sorters.iter_mut()) {
            groups.clear();
            loop {
                let first_time = sorter.earliest_future_hit(closed);
                let (start, hits, is_too_large) = match sorter.next_group(closed) {
                    NextGroup::None => break,
                    NextGroup::TooLarge(hits) => (0, hits, true),
                    NextGroup::Complete(range) => (range.start, range.len(), false),
                };
                let base = sorter.group(0..0).1;
                let strips = sorter.strips();
                groups.push(ClosedGroup { first_time, base, start, hits, strips, is_too_large });
            }
        }
        self.next = [0; PLANES];
        let hits: usize = groups.iter().flatten().map(|group| group.hits).sum();
        self.held = hits as u64;
        let (groups, sorters) = (&*groups, &*sorters);
        let work = |region: &mut Region| region.form(&groups[region.plane], &sorters[region.plane]);
        if hits < WORTH_WAKING {
            OneByOne.run(regions, &work);
        } else {
            executor.run(regions, &work);
        }
    }

    /// The next group of a plane, or none until there is another step.
    pub(crate) fn next_group(&mut self, plane: usize) -> Option<ClosedGroup> {
        let number = self.next[plane];
        let group = *self.groups[plane].get(number)?;
        self.next[plane] += 1;
        self.held -= group.hits as u64;
        self.latest = (plane, number as u32);
        Some(group)
    }

    /// The clusters of the group that [`Partition::next_group`] gave last, in the order of matching, and the hits
    /// of those too small; or how many clusters went beyond what their region sees.
    pub(crate) fn clusters(&mut self) -> Result<(&[Cluster], u64), u64> {
        let (plane, number) = self.latest;
        let (mut too_small, mut wide, mut is_whole) = (0, 0, false);
        self.merged.clear();
        let regions = self.regions.len() / PLANES;
        for region in &mut self.regions[plane * regions..][..regions] {
            if let Some((share, clusters)) = region.next_share(number) {
                self.merged.extend_from_slice(clusters);
                too_small += u64::from(share.too_small);
                wide += u64::from(share.wide);
                is_whole |= share.is_whole;
            }
        }
        if wide > 0 {
            return Err(wide);
        }
        // In order of strips before, as without regions: then clusters of equal times come in the same order, too.
        if !is_whole && self.merged.len() > 1 {
            let by = self.by;
            self.merged.sort_unstable_by_key(|cluster| by.key(cluster));
        }
        Ok((&self.merged, too_small))
    }
}
