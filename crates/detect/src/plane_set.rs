//! Planes whose hits are clustered, each for itself, without being matched: hits in, clusters in the order of their ends
//! out.
//!
//! The steps are those of a [`StripFormer`](crate::strip_former), but for the matching. What the clusters of a detector
//! mean is up to who takes them: on a detector of one plane each is an event.

use crate::cluster::Cluster;
use crate::hit::{Hit, TimeKey};
use crate::memory::room_for;
use crate::plane_matching::PLANES;
use crate::plane_sorter::{NextGroup, PlaneSorter};
use crate::strip_clusterer::StripClusterer;
use crate::strip_rules::StripRules;
use crate::track_monitor::Watch;
use crate::watermark::{Closing, DataTime};
use std::collections::VecDeque;

/// A cluster, of whatever its hits are.
pub trait Found: Copy + std::fmt::Debug + get_size2::GetSize {
    /// Time of its last hit, in ticks.
    fn time_end(&self) -> u64;
    /// Its hits.
    fn hits(&self) -> u64;
}

impl Found for Cluster {
    fn time_end(&self) -> u64 {
        self.time_end
    }

    fn hits(&self) -> u64 {
        u64::from(self.hits)
    }
}

/// Splits time groups into clusters.
pub trait GroupClusterer: std::fmt::Debug {
    /// What it finds.
    type Found: Found;

    /// The clusters of a time group in the order of their ends, and how many hits are in none because their cluster would
    /// be too small. The group is in order of time, counted from `base`; its strips lie within `strips`.
    fn clusters(&mut self, group: &[TimeKey], base: u64, strips: (u16, u16)) -> (&[Self::Found], u64);

    /// Shows a group of a plane to who looks on.
    fn show_group(&self, _plane: usize, _group: &[TimeKey], _base: u64, _watch: &mut impl Watch) {}

    /// Shows what was found in it.
    fn show_found(_plane: usize, _found: &[Self::Found], _watch: &mut impl Watch) {}
}

impl GroupClusterer for StripClusterer {
    type Found = Cluster;

    fn clusters(&mut self, group: &[TimeKey], base: u64, strips: (u16, u16)) -> (&[Cluster], u64) {
        self.clusters(group, base, strips)
    }

    fn show_group(&self, plane: usize, group: &[TimeKey], base: u64, watch: &mut impl Watch) {
        watch.group(plane, group, base, self.rule());
    }
}

/// What [`PlaneSet::next`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<F> {
    /// A cluster, and the number of its plane.
    Cluster(usize, F),
    /// There are no more clusters of this epoch: [`PlaneSet::begin_epoch`] goes on to the next.
    EpochEnds,
    /// There is none until more is closed.
    Nothing,
}

/// Counts of what has been found and left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct PlaneSetCounts<const N: usize> {
    /// Clusters formed per plane.
    pub clusters: [u64; N],
    /// Hits of time groups above the largest size.
    pub group_too_large: u64,
    /// Hits of clusters below the smallest size.
    pub cluster_too_small: u64,
    /// Hits of clusters that found no room to wait for those of the other planes.
    pub matching_full: u64,
}

/// `N` planes. See the [module documentation](self).
#[derive(Debug, get_size2::GetSize)]
pub struct PlaneSet<C: GroupClusterer, const N: usize> {
    sorters: [PlaneSorter; N],
    clusterers: [C; N],
    /// Clusters that wait until no plane can have an earlier one.
    found: [VecDeque<C::Found>; N],
    capacity: usize,
    /// What the planes are called by who looks on: 0 is x, 1 is y; others are not shown.
    names: [usize; N],
    closing: Closing,
    counts: PlaneSetCounts<N>,
}

impl<C: GroupClusterer, const N: usize> PlaneSet<C, N> {
    /// Planes with the rules of x, but for those named y (1), each with its clusterer. `full` is any cluster.
    pub fn new(
        rules: &StripRules,
        names: [usize; N],
        clusterer: impl Fn(usize) -> C,
        full: C::Found,
    ) -> Self {
        let sorter = |plane: usize| {
            let gap = rules.max_time_gap[rule_of(names[plane])];
            PlaneSorter::new(gap, rules.max_group, rules.max_held_hits).with_decimation(rules.decimation)
        };
        Self {
            sorters: std::array::from_fn(sorter),
            clusterers: std::array::from_fn(|plane| clusterer(names[plane])),
            found: std::array::from_fn(|_| room_for(full, rules.max_group).into()),
            capacity: rules.max_group,
            names,
            closing: Closing::default(),
            counts: PlaneSetCounts {
                clusters: [0; N],
                group_too_large: 0,
                cluster_too_small: 0,
                matching_full: 0,
            },
        }
    }

    /// The next cluster of the time that is closed. Over all planes they come in order of their ends.
    pub fn next(&mut self, watch: &mut impl Watch) -> Next<C::Found> {
        loop {
            let earliest = self.earliest_future_hit();
            if let Some((end, plane)) = self.first_found()
                && end < earliest
            {
                return self.give_first_of(plane);
            }
            if self.form_next_group(watch) {
                continue;
            }
            if self.closing.ends_epoch() {
                // Nothing is left but what ends at the end of time.
                return self.first_found().map_or(Next::EpochEnds, |(_, plane)| self.give_first_of(plane));
            }
            if !self.closing.step(&mut self.sorters) {
                return Next::Nothing;
            }
        }
    }

    /// Goes on to the next epoch.
    pub fn begin_epoch(&mut self) {
        self.closing.begin_epoch();
    }

    fn give_first_of(&mut self, plane: usize) -> Next<C::Found> {
        self.found[plane].pop_front().map_or(Next::Nothing, |found| Next::Cluster(plane, found))
    }

    /// End and plane of the cluster that comes first.
    fn first_found(&self) -> Option<(u64, usize)> {
        let ends = self.found.iter().enumerate();
        ends.filter_map(|(plane, found)| Some((found.front()?.time_end(), plane))).min()
    }

    fn earliest_future_hit(&self) -> u64 {
        let closed = self.closing.closed();
        self.sorters.iter().map(|sorter| sorter.earliest_future_hit(closed)).min().unwrap_or(closed)
    }

    /// Clusters the next complete time group, of the plane that is behind if it has one. False if there is none.
    fn form_next_group(&mut self, watch: &mut impl Watch) -> bool {
        let closed = self.closing.closed();
        let mut order: [usize; N] = std::array::from_fn(|plane| plane);
        order.sort_by_key(|&plane| self.sorters[plane].earliest_future_hit(closed));
        order.into_iter().any(|plane| self.form_group_of(plane, watch))
    }

    fn form_group_of(&mut self, plane: usize, watch: &mut impl Watch) -> bool {
        let sorter = &mut self.sorters[plane];
        match sorter.next_group(self.closing.closed()) {
            NextGroup::None => return false,
            NextGroup::TooLarge(hits) => self.counts.group_too_large += hits as u64,
            NextGroup::Complete(range) => {
                let (group, base) = sorter.group(range);
                let clusterer = &mut self.clusterers[plane];
                let name = self.names[plane];
                if name < PLANES {
                    clusterer.show_group(name, group, base, watch);
                }
                let (clusters, too_small) = clusterer.clusters(group, base, sorter.strips());
                if name < PLANES {
                    C::show_found(name, clusters, watch);
                }
                self.counts.cluster_too_small += too_small;
                self.counts.clusters[plane] += clusters.len() as u64;
                let found = &mut self.found[plane];
                let (fitting, beyond) = clusters.split_at(clusters.len().min(self.capacity - found.len()));
                found.extend(fitting);
                self.counts.matching_full += beyond.iter().map(Found::hits).sum::<u64>();
            }
        }
        true
    }
}

/// Which of the rules of x and y a plane has: all but y have those of x.
fn rule_of(name: usize) -> usize {
    usize::from(name == 1)
}

impl<const N: usize> PlaneSet<StripClusterer, N> {
    /// Planes of strips, whose clusters are in the order of their ends.
    pub fn of_strips(rules: &StripRules, names: [usize; N]) -> Self {
        let clusterer = |name| {
            StripClusterer::new(rules.cluster[rule_of(name)], crate::cluster::MatchBy::End, rules.max_group)
        };
        Self::new(rules, names, clusterer, Cluster { hits: 1, ..Cluster::default() })
    }
}

/// What all planes do alike, whatever their clusters are.
pub trait Planes {
    /// Takes a hit of a plane, for which there is room.
    fn accept(&mut self, plane: usize, epoch: u32, hit: Hit);
    /// How many more hits fit on the fullest plane.
    fn room(&self) -> usize;
    /// True once enough hits wait to make closing worth while.
    fn is_closing_worthwhile(&self) -> bool;
    /// Hits that are not closed.
    fn pending(&self) -> usize;
    /// Says that no source will send hits before `target` any more. Going back has no effect.
    fn advance(&mut self, target: DataTime);
    /// Everything before this is closed or about to be: hits before it are late.
    fn closed_before(&self) -> DataTime;
    /// The latest hit that waits.
    fn latest_pending(&self) -> Option<DataTime>;
    /// Hits that wait, alone or in clusters.
    fn held(&self) -> u64;
    /// Epoch of what was given out last.
    fn epoch(&self) -> u32;
    /// No cluster given out from here on ends earlier than this.
    fn future_from(&self) -> u64;
}

impl<C: GroupClusterer, const N: usize> Planes for PlaneSet<C, N> {
    fn accept(&mut self, plane: usize, epoch: u32, hit: Hit) {
        self.sorters[plane].push(epoch, hit);
    }

    fn room(&self) -> usize {
        self.sorters.iter().map(PlaneSorter::room).min().unwrap_or(0)
    }

    fn is_closing_worthwhile(&self) -> bool {
        self.closing.is_worthwhile(self.pending())
    }

    fn pending(&self) -> usize {
        self.sorters.iter().map(PlaneSorter::pending).sum()
    }

    fn advance(&mut self, target: DataTime) {
        self.closing.advance(target);
    }

    fn closed_before(&self) -> DataTime {
        self.closing.target()
    }

    fn latest_pending(&self) -> Option<DataTime> {
        self.sorters.iter().filter_map(PlaneSorter::latest_pending).max()
    }

    fn held(&self) -> u64 {
        let found: u64 = self.found.iter().flatten().map(Found::hits).sum();
        self.sorters.iter().map(PlaneSorter::held).sum::<u64>() + found
    }

    fn epoch(&self) -> u32 {
        self.closing.epoch()
    }

    fn future_from(&self) -> u64 {
        let found = self.first_found().map_or(u64::MAX, |(end, _)| end);
        self.earliest_future_hit().min(found)
    }
}

impl<C: GroupClusterer, const N: usize> PlaneSet<C, N> {
    /// The counts so far.
    pub fn counts(&self) -> &PlaneSetCounts<N> {
        &self.counts
    }
}
