//! The tracks of neutrons: hits of strips to events, whatever electronics read them out.
//!
//! Hits go into [`Tracks::former`], which sorts, clusters and matches them; what it hands out becomes events here.

use super::counters::TrackCounters;
use super::position::Locator;
use super::third_plane_settings::ThirdPlaneSettings;
use super::track_settings::{MatchingSettings, TimeGapOf, TrackSettings};
use crate::cluster::ClusterRule;
use crate::event_order::TimedEvent;
use crate::other_panel::OtherRules;
use crate::pairing::PairRule;
use crate::panel_former::PanelFormer;
use crate::partition::{PartitionRule, RegionExecutor};
use crate::plane_matching::MatchRule;
use crate::settings::Picoseconds;
use crate::strip_former::StripRules;
use crate::third_plane::ThirdPlaneRule;
use crate::tick::TickLength;
use crate::track_monitor::{TrackMonitor, Unwatched, Watch};
use evforge_core::monitor::{MonitorData, MonitorPlan};
use std::sync::Arc;

/// Forms events of tracks, and watches them. See the [module documentation](self).
#[derive(Debug, get_size2::GetSize)]
pub struct Tracks {
    /// Sorts, clusters and matches hits. Planes are numbered as [`PlaneNumbers`](crate::panel_kind::PlaneNumbers) says.
    pub former: PanelFormer,
    locator: Locator,
    counters: TrackCounters,
    tick: TickLength,
    max_group: usize,
    #[get_size(ignore)]
    monitor: Option<Box<TrackMonitor>>,
}

impl Tracks {
    /// For settings that have been checked. Times are in ticks of length `tick`; `ticks` converts durations. Regions
    /// of a partition, if there are any, are run by `executor`.
    pub fn new(
        settings: &TrackSettings,
        tick: TickLength,
        ticks: impl Fn(Picoseconds) -> u64,
        executor: &Arc<dyn RegionExecutor>,
    ) -> Self {
        let rules = strip_rules(settings, &ticks);
        let others = other_rules(settings, &ticks);
        let former = PanelFormer::new(settings.panel_kinds(), &rules, &others, executor);
        Self::of_former(former, settings, tick, ticks)
    }

    /// As [`Tracks::new`], for some of the panels, which all have two planes: those of these numbers, whose planes are numbered
    /// through here.
    pub fn of_some(
        panels: Vec<u32>,
        settings: &TrackSettings,
        tick: TickLength,
        ticks: impl Fn(Picoseconds) -> u64,
        executor: &Arc<dyn RegionExecutor>,
    ) -> Self {
        let former = PanelFormer::of_some(panels, &strip_rules(settings, &ticks), executor);
        Self::of_former(former, settings, tick, ticks)
    }

    fn of_former(
        former: PanelFormer,
        settings: &TrackSettings,
        tick: TickLength,
        ticks: impl Fn(Picoseconds) -> u64,
    ) -> Self {
        Self {
            former,
            locator: Locator::new(settings, ticks),
            counters: TrackCounters::default(),
            tick,
            max_group: settings.sorting.max_group_hits,
            monitor: None,
        }
    }

    /// Hands the events of the time that is closed to `take`, with their epoch and panel, in order. `take` returns whether there
    /// is room for another; false if there was none before the end.
    #[inline]
    pub fn drain(&mut self, take: impl FnMut(u32, u32, TimedEvent) -> bool) -> bool {
        match self.monitor.take() {
            None => self.drain_watched(&mut Unwatched, take),
            Some(mut monitor) => {
                let drained = self.drain_watched(&mut *monitor, take);
                self.monitor = Some(monitor);
                drained
            }
        }
    }

    /// As [`Tracks::drain`], with a watcher of the caller's.
    #[inline]
    pub fn drain_watched(
        &mut self,
        watch: &mut impl Watch,
        mut take: impl FnMut(u32, u32, TimedEvent) -> bool,
    ) -> bool {
        while let Some(found) = self.former.next_match(watch) {
            let has_both_planes = found.of.is_of_two_planes();
            if has_both_planes {
                watch.matched(&found.matched);
            }
            if let Some(pixel_id) = self.locator.locate(&found, &mut self.counters) {
                let event = TimedEvent { time: found.matched.time_end, pixel_id };
                if has_both_planes {
                    watch.event(&event, &found.matched);
                }
                if !take(found.epoch, found.panel, event) {
                    return false;
                }
            }
        }
        true
    }

    /// Events formed so far.
    pub fn events_formed(&self) -> u64 {
        self.counters.events
    }

    /// The counters at this moment.
    pub fn counters(&self) -> TrackCounters {
        let former = self.former.counts();
        let [clusters_x, clusters_y] = former.clusters;
        let [clusters_u, clusters_of_pads] = self.former.other_clusters();
        TrackCounters {
            group_too_large: former.group_too_large,
            cluster_too_small: former.cluster_too_small,
            matching_full: former.matching_full,
            clusters_wider_than_overlap: former.wider_than_overlap,
            crowded_sets: former.crowded_sets,
            clusters_x,
            clusters_y,
            clusters_u,
            clusters_of_pads,
            held: self.former.held(),
            ..self.counters
        }
    }

    /// Begins to collect monitor data by this plan, or stops.
    pub fn set_monitoring(&mut self, plan: Option<MonitorPlan>) {
        self.monitor = plan.map(|plan| Box::new(self.watcher(plan)));
    }

    /// A watcher with this plan, for [`Tracks::drain_watched`].
    pub fn watcher(&self, plan: MonitorPlan) -> TrackMonitor {
        TrackMonitor::new(plan, self.max_group, self.tick)
    }

    /// Gives it a watcher, or takes it away. What it had is returned.
    pub fn exchange_watcher(&mut self, watcher: Option<Box<TrackMonitor>>) -> Option<Box<TrackMonitor>> {
        std::mem::replace(&mut self.monitor, watcher)
    }

    /// What has been collected.
    pub fn monitor(&self) -> Option<&MonitorData> {
        self.monitor.as_deref().map(|monitor| &monitor.data)
    }

    /// For who watches the readouts.
    #[inline]
    pub fn monitor_mut(&mut self) -> Option<&mut MonitorData> {
        self.monitor.as_deref_mut().map(|monitor| &mut monitor.data)
    }
}

/// The settings in ticks.
fn strip_rules(settings: &TrackSettings, ticks: &impl Fn(Picoseconds) -> u64) -> StripRules {
    let position = &settings.position;
    let time_bins = if position.upper_uncertainty_limit.is_some() { position.time_bins } else { 0 };
    StripRules {
        max_time_gap: settings.clustering.map(|plane| ticks(plane.max_time_gap)),
        cluster: settings.clustering.map(|plane| ClusterRule {
            max_strip_gap: plane.max_strip_gap,
            min_hits: plane.min_hits,
            time_bins,
            linked_within: (plane.time_gap_of == TimeGapOf::Neighbours).then(|| ticks(plane.max_time_gap)),
        }),
        matching: MatchRule {
            by: settings.matching.by,
            max_difference: ticks(settings.matching.max_difference),
            ambiguous: settings.matching.ambiguous,
            pairing: pair_rule(&settings.matching, ticks),
        },
        max_group: settings.sorting.max_group_hits,
        max_held_hits: settings.sorting.max_held_hits,
        partition: settings.partition.map(|partition| PartitionRule {
            regions: partition.regions,
            overlap: partition.overlap,
            strips: [settings.geometry.nx(), settings.geometry.ny()]
                .map(|strips| u16::try_from(strips).unwrap_or(u16::MAX)),
        }),
        decimation: settings.sorting.decimation,
    }
}

/// What panels without two planes go by as well.
fn other_rules(settings: &TrackSettings, ticks: &impl Fn(Picoseconds) -> u64) -> OtherRules {
    let strips = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    let third = |third: &ThirdPlaneSettings| ThirdPlaneRule {
        from: third.from,
        offset: third.offset,
        tolerance: third.tolerance.unsigned_abs(),
        delay: signed_ticks(third.delay, ticks),
        weighted: settings.position.weighted,
    };
    OtherRules {
        pads: [settings.geometry.nx(), settings.geometry.ny()].map(strips),
        third: settings.third_plane.as_ref().map(third),
    }
}

fn signed_ticks(picoseconds: i64, ticks: &impl Fn(Picoseconds) -> u64) -> i64 {
    i64::try_from(ticks(picoseconds.unsigned_abs())).unwrap_or(i64::MAX) * picoseconds.signum()
}

fn pair_rule(matching: &MatchingSettings, ticks: &impl Fn(Picoseconds) -> u64) -> PairRule {
    let usual = matching.usual;
    PairRule {
        max_difference: ticks(matching.max_difference),
        max_amplitude_permille: matching.max_amplitude_permille,
        delay: signed_ticks(matching.y_delay, ticks),
        usual_difference: ticks(usual.difference.unwrap_or(matching.max_difference)),
        usual_start_difference: usual.start_difference.map(ticks),
        usual_amplitude_permille: usual.amplitude_permille,
    }
}
