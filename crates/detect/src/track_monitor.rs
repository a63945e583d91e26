//! Monitor data of a detector with planes of strips: whole clusters, which event formation itself does not keep.
//!
//! Off the hot path: [`StripFormer`](crate::strip_former::StripFormer) and its pipeline are generic over a
//! [`Watch`], and a detector that is not watched uses [`Unwatched`], which does nothing.

use crate::cluster::ClusterRule;
use crate::event_order::TimedEvent;
use crate::hit::{Hit, TimeKey};
use crate::linked_clusters::LinkedClusters;
use crate::plane_matching::{MatchedClusters, PLANES};
use crate::tick::TickLength;
use evforge_core::monitor::{MonitorData, MonitorPlan, TRACK_HITS, TrackHit};
use std::borrow::Borrow;

/// Looks on while clusters and events are formed. Does nothing unless it says otherwise.
pub trait Watch {
    /// A time group of a plane, in order of time, and the rule by which it is split.
    #[inline(always)]
    fn group(&mut self, _plane: usize, _group: &[TimeKey], _base: u64, _rule: &ClusterRule) {}

    /// A cluster of a plane whose groups are not shown, by the number of its hits.
    #[inline(always)]
    fn cluster(&mut self, _plane: usize, _hits: usize) {}

    /// Clusters that belong together.
    #[inline(always)]
    fn matched(&mut self, _matched: &MatchedClusters) {}

    /// The event that they make.
    #[inline(always)]
    fn event(&mut self, _event: &TimedEvent, _matched: &MatchedClusters) {}
}

/// Nobody looks on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// Clusters of a plane that are remembered until their match comes.
const REMEMBERED: usize = 128;

/// One track is kept of this many events.
const EVENTS_PER_TRACK: u64 = 16;

/// A cluster with its hits.
#[derive(Clone, Debug)]
struct WholeCluster {
    time_end: u64,
    count: u32,
    /// At most [`TRACK_HITS`].
    hits: Vec<Hit>,
}

/// The latest clusters of a plane, in a ring.
#[derive(Debug)]
struct LatestClusters {
    clusters: Vec<WholeCluster>,
    next: usize,
}

impl LatestClusters {
    fn new() -> Self {
        let empty = || WholeCluster { time_end: 0, count: 0, hits: Vec::with_capacity(TRACK_HITS) };
        Self { clusters: (0..REMEMBERED).map(|_| empty()).collect(), next: 0 }
    }

    fn remember(&mut self, hits: &[Hit]) {
        let Some(cluster) = self.clusters.get_mut(self.next) else { return };
        self.next = (self.next + 1) % REMEMBERED;
        cluster.time_end = hits.iter().map(|hit| hit.time).max().unwrap_or(0);
        cluster.count = hits.len() as u32;
        cluster.hits.clear();
        cluster.hits.extend(hits.iter().take(TRACK_HITS));
    }

    /// The cluster with this end and this many hits; none if several were joined.
    fn find(&self, time_end: u64, count: u32) -> Option<&WholeCluster> {
        self.clusters.iter().find(|cluster| (cluster.time_end, cluster.count) == (time_end, count))
    }
}

/// Collects clusters, pairs, lone clusters and tracks.
///
/// Of every sixteenth event the track is kept, unless the match joined several clusters of a plane.
#[derive(Debug)]
pub struct TrackMonitor {
    /// What is collected.
    pub data: MonitorData,
    tick: TickLength,
    latest: [LatestClusters; PLANES],
    /// The hits of a group, cluster by cluster.
    by_cluster: Vec<(u32, Hit)>,
    hits: Vec<Hit>,
    linked: LinkedClusters,
    events: u64,
}

impl Borrow<MonitorData> for TrackMonitor {
    fn borrow(&self) -> &MonitorData {
        &self.data
    }
}

impl TrackMonitor {
    /// Nothing collected yet. Groups have at most `max_group` hits; times are in ticks of this length.
    pub fn new(plan: MonitorPlan, max_group: usize, tick: TickLength) -> Self {
        Self {
            data: MonitorData::new(plan),
            tick,
            latest: std::array::from_fn(|_| LatestClusters::new()),
            by_cluster: Vec::with_capacity(max_group),
            hits: Vec::with_capacity(max_group),
            linked: LinkedClusters::new(max_group),
            events: 0,
        }
    }
}

impl Watch for TrackMonitor {
    fn group(&mut self, plane: usize, group: &[TimeKey], base: u64, rule: &ClusterRule) {
        let Self { by_cluster, hits, linked, latest, data, .. } = self;
        by_cluster.clear();
        let group = group.get(..by_cluster.capacity()).unwrap_or(group);
        // Without a gap of time of their own, hits are linked whenever they come in the group.
        let within = rule.linked_within.unwrap_or(u64::MAX);
        let numbers = linked.numbers(group, within, rule);
        by_cluster.extend(numbers.iter().copied().zip(group.iter().map(|key| key.unpack::<Hit>(base))));
        by_cluster.sort_unstable_by_key(|(cluster, hit)| (*cluster, hit.strip, hit.time));
        for cluster in by_cluster.chunk_by(|(one, _), (next, _)| one == next) {
            if cluster.len() >= rule.min_hits as usize {
                hits.clear();
                hits.extend(cluster.iter().map(|(_, hit)| *hit));
                data.cluster(plane, cluster.len());
                latest[plane].remember(hits);
            }
        }
    }

    fn cluster(&mut self, plane: usize, hits: usize) {
        self.data.cluster(plane, hits);
    }

    fn matched(&mut self, matched: &MatchedClusters) {
        let [x, y] = &matched.planes;
        if x.hits > 0 && y.hits > 0 {
            return self.data.pair(x.charge, y.charge);
        }
        let (plane, lone) = if x.hits > 0 { (0, x) } else { (1, y) };
        self.data.lone_cluster(plane, lone.hits as usize, lone.charge);
    }

    fn event(&mut self, event: &TimedEvent, matched: &MatchedClusters) {
        self.events += 1;
        if self.events % EVENTS_PER_TRACK != 1 {
            return;
        }
        let Self { data, latest, .. } = self;
        let tick = self.tick;
        let find = |plane: usize| {
            let summary = &matched.planes[plane];
            latest[plane].find(summary.time_end, summary.hits)
        };
        let (Some(x), Some(y)) = (find(0), find(1)) else { return };
        let first = x.hits.iter().chain(&y.hits).map(|hit| hit.time).min().unwrap_or(0);
        let shown = |plane: u8| {
            move |hit: &Hit| TrackHit {
                plane,
                strip: hit.strip,
                amplitude: hit.adc,
                time_ns: u32::try_from(tick.nanoseconds(hit.time - first)).unwrap_or(u32::MAX),
            }
        };
        let half = TRACK_HITS / 2;
        let hits = x.hits.iter().take(half).map(shown(0)).chain(y.hits.iter().take(half).map(shown(1)));
        data.track(tick.nanoseconds(event.time), event.pixel_id, hits);
    }
}
