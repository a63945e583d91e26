//! Forms events of a detector with two planes of strips: hits in, matched clusters out.
//!
//! Hits wait in a [`PlaneSorter`] per plane until all sources are past their time. [`StripFormer::advance`]
//! sets how far time is closed; [`StripFormer::next_match`] then hands out, one by one, the clusters that
//! belong together. It can be left off at any point, so that a full event batch never loses anything.

use crate::cluster::Cluster;
use crate::hit::Hit;
use crate::partition::{OneByOne, Partition, RegionExecutor};
use crate::plane_matching::{MatchedClusters, PLANES, PlaneMatcher};
use crate::plane_sorter::{NextGroup, PlaneSorter};
use crate::source_clock::AcceptedHits;
use crate::strip_clusterer::StripClusterer;
pub use crate::strip_rules::StripRules;
use crate::track_monitor::{Unwatched, Watch};
use crate::watermark::{Closing, DataTime};
use std::sync::Arc;

/// Counts of what has been left out on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct FormerCounts {
    /// Clusters formed per plane.
    pub clusters: [u64; PLANES],
    /// Hits of time groups above the largest size.
    pub group_too_large: u64,
    /// Hits of clusters below the smallest size.
    pub cluster_too_small: u64,
    /// Hits of clusters that found no room to wait for the other plane.
    pub matching_full: u64,
    /// Clusters that went beyond what their region of a partition sees.
    pub wider_than_overlap: u64,
    /// Sets of clusters that were paired before they were complete, because they had too many.
    pub crowded_sets: u64,
}

impl std::ops::Add for FormerCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let [x, y] = self.clusters;
        Self {
            clusters: [x + other.clusters[0], y + other.clusters[1]],
            group_too_large: self.group_too_large + other.group_too_large,
            cluster_too_small: self.cluster_too_small + other.cluster_too_small,
            matching_full: self.matching_full + other.matching_full,
            wider_than_overlap: self.wider_than_overlap + other.wider_than_overlap,
            crowded_sets: self.crowded_sets + other.crowded_sets,
        }
    }
}

/// Sorting, clustering and matching for two planes.
#[derive(Debug, get_size2::GetSize)]
pub struct StripFormer {
    sorters: [PlaneSorter; PLANES],
    clusterers: [StripClusterer; PLANES],
    matcher: PlaneMatcher,
    closing: Closing,
    counts: FormerCounts,
    /// Clusters the time groups of a step in regions, if the planes are cut.
    partition: Option<Box<Partition>>,
}

impl AcceptedHits for StripFormer {
    #[inline]
    fn accept(&mut self, plane: usize, epoch: u32, hit: Hit) {
        self.sorters[plane].push(epoch, hit);
    }
}

impl StripFormer {
    /// A former with the given rules. Regions, if there are any, take turns on the thread that asks.
    pub fn new(rules: &StripRules) -> Self {
        Self::with_executor(rules, &(Arc::new(OneByOne) as Arc<dyn RegionExecutor>))
    }

    /// As [`StripFormer::new`], with regions that `executor` runs.
    pub fn with_executor(rules: &StripRules, executor: &Arc<dyn RegionExecutor>) -> Self {
        let sorter = |plane| {
            PlaneSorter::new(rules.max_time_gap[plane], rules.max_group, rules.max_held_hits)
                .with_decimation(rules.decimation)
        };
        Self {
            sorters: std::array::from_fn(sorter),
            clusterers: std::array::from_fn(|plane| {
                StripClusterer::new(rules.cluster[plane], rules.matching.by, rules.max_group)
            }),
            matcher: PlaneMatcher::new(
                rules.matching,
                rules.cluster[0].time_bins.max(rules.cluster[1].time_bins),
                rules.max_group,
            ),
            closing: Closing::in_steps_of(rules.smallest_step()),
            counts: FormerCounts::default(),
            partition: rules
                .partition
                .map(|rule| Box::new(Partition::new(&rule, rules, Arc::clone(executor)))),
        }
    }

    /// How many more hits fit on the fuller plane.
    pub fn room(&self) -> usize {
        self.sorters.iter().map(PlaneSorter::room).min().unwrap_or(0)
    }

    /// Hits that are not closed.
    #[inline]
    pub fn pending(&self) -> usize {
        self.sorters.iter().map(PlaneSorter::pending).sum()
    }

    /// True once enough hits wait to make closing worth while.
    #[inline]
    pub fn is_closing_worthwhile(&self) -> bool {
        self.closing.is_worthwhile(self.pending())
    }

    /// Says that no source will send hits before `target` any more. Going back has no effect.
    pub fn advance(&mut self, target: DataTime) {
        self.closing.advance(target);
    }

    /// Everything before this is closed or about to be: hits before it are late.
    #[inline]
    pub fn closed_before(&self) -> DataTime {
        self.closing.target()
    }

    /// The latest hit that waits.
    pub fn latest_pending(&self) -> Option<DataTime> {
        self.sorters.iter().filter_map(PlaneSorter::latest_pending).max()
    }

    /// Hits held anywhere in here.
    pub fn held(&self) -> u64 {
        let read_off = self.partition.as_ref().map_or(0, |partition| partition.held());
        self.sorters.iter().map(PlaneSorter::held).sum::<u64>() + read_off + self.matcher.held()
    }

    /// The counts so far.
    pub fn counts(&self) -> FormerCounts {
        FormerCounts { crowded_sets: self.matcher.crowded_sets(), ..self.counts }
    }

    /// The next matched clusters of the time that is closed, or none until more is closed.
    pub fn next_match(&mut self) -> Option<MatchedClusters> {
        self.next_match_watched(&mut Unwatched)
    }

    /// As [`StripFormer::next_match`], with somebody who looks on.
    #[inline]
    pub fn next_match_watched(&mut self, watch: &mut impl Watch) -> Option<MatchedClusters> {
        loop {
            let earliest = self.earliest_future_hit();
            if let Some(matched) = self.matcher.next_match(earliest) {
                return Some(matched);
            }
            if self.form_next_group(watch) {
                continue;
            }
            if self.closing.ends_epoch() {
                // Nothing of this epoch is left but what is under way.
                if let Some(matched) = self.matcher.finish() {
                    return Some(matched);
                }
                self.closing.begin_epoch();
            }
            if !self.closing.step(&mut self.sorters) {
                return None;
            }
            if let Some(partition) = &mut self.partition {
                partition.take_closed(&mut self.sorters, self.closing.closed());
            }
        }
    }

    /// Epoch of what [`StripFormer::next_match`] gave last.
    pub fn epoch(&self) -> u32 {
        self.closing.epoch()
    }

    /// No match given out from here on ends earlier than this.
    pub fn future_from(&self) -> DataTime {
        let held = self.matcher.earliest_end().unwrap_or(u64::MAX);
        (self.epoch(), self.earliest_future_hit().min(held))
    }

    fn earliest_future_hit(&self) -> u64 {
        let [x, y] = self.earliest_future_hits();
        x.min(y)
    }

    /// Of each plane.
    #[inline]
    fn earliest_future_hits(&self) -> [u64; PLANES] {
        let closed = self.closing.closed();
        let [x, y] = &self.sorters;
        let of_sorters = [x.earliest_future_hit(closed), y.earliest_future_hit(closed)];
        match &self.partition {
            None => of_sorters,
            Some(partition) => partition.earliest_hits(of_sorters),
        }
    }

    /// Clusters the next complete time group of the plane that is behind. False if there is none.
    #[inline]
    fn form_next_group(&mut self, watch: &mut impl Watch) -> bool {
        let [x, y] = self.earliest_future_hits();
        let x_first = x <= y;
        let order = if x_first { [0, 1] } else { [1, 0] };
        order.into_iter().any(|plane| self.form_group_of(plane, watch))
    }

    #[inline]
    fn form_group_of(&mut self, plane: usize, watch: &mut impl Watch) -> bool {
        if self.partition.is_some() {
            return self.hand_out_group_of(plane, watch);
        }
        let sorter = &mut self.sorters[plane];
        match sorter.next_group(self.closing.closed()) {
            NextGroup::None => false,
            NextGroup::TooLarge(hits) => {
                self.counts.group_too_large += hits as u64;
                true
            }
            NextGroup::Complete(range) => {
                let (group, base) = sorter.group(range);
                let strips = sorter.strips();
                watch.group(plane, group, base, self.clusterers[plane].rule());
                let (clusters, too_small) = self.clusterers[plane].clusters(group, base, strips);
                self.counts.take(plane, clusters, too_small, &mut self.matcher);
                true
            }
        }
    }

    /// As [`StripFormer::form_group_of`], of what the regions of a partition have clustered.
    fn hand_out_group_of(&mut self, plane: usize, watch: &mut impl Watch) -> bool {
        let Self { sorters, clusterers, matcher, counts, partition: Some(partition), .. } = self else {
            return false;
        };
        let Some(group) = partition.next_group(plane) else { return false };
        if group.is_too_large {
            counts.group_too_large += group.hits as u64;
            return true;
        }
        let (keys, _) = sorters[plane].group(group.keys());
        watch.group(plane, keys, group.base, clusterers[plane].rule());
        match partition.clusters() {
            Ok((clusters, too_small)) => counts.take(plane, clusters, too_small, matcher),
            Err(wide) => {
                counts.wider_than_overlap += wide;
                let (clusters, too_small) = clusterers[plane].clusters(keys, group.base, group.strips);
                counts.take(plane, clusters, too_small, matcher);
            }
        }
        true
    }
}

impl FormerCounts {
    /// Counts the clusters of a time group and hands them on to the matcher.
    #[inline]
    fn take(&mut self, plane: usize, clusters: &[Cluster], too_small: u64, matcher: &mut PlaneMatcher) {
        self.cluster_too_small += too_small;
        self.clusters[plane] += clusters.len() as u64;
        for cluster in clusters {
            if matcher.room(plane) > 0 {
                matcher.push(plane, cluster);
            } else {
                self.matching_full += u64::from(cluster.hits);
            }
        }
    }
}
