//! Clusters of both planes that end at about the same time to candidates.
//!
//! EFU formats of 2018, section 4.6.

use super::cluster::Cluster;
use super::hit::PlaneHit;
use super::settings::{PerPlane, Plane, Ticks};

/// Clusters that belong together; an event if it has hits in both planes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The epoch of its clusters.
    pub(crate) epoch: u64,
    /// Time of the last hit of all its clusters in ticks.
    pub(crate) time_end: Ticks,
    /// The hits of all its clusters.
    pub(crate) hits: PerPlane<Vec<PlaneHit>>,
}

impl Candidate {
    /// True before the first cluster.
    fn is_empty(&self) -> bool {
        self.hits.x.is_empty() && self.hits.y.is_empty()
    }

    /// Adds a cluster.
    fn merge(&mut self, cluster: Cluster) {
        self.time_end = if self.is_empty() { cluster.time_end } else { self.time_end.max(cluster.time_end) };
        self.epoch = cluster.epoch;
        self.hits.of(cluster.plane).extend(cluster.hits);
    }
}

/// Rule `complete_matching`: the candidates of all clusters of the run, each whole.
pub(crate) fn match_completely(
    clusters: PerPlane<Vec<Cluster>>,
    maximum_delta_time: Ticks,
) -> Vec<Candidate> {
    let mut ordered = clusters.x;
    ordered.extend(clusters.y);
    ordered.sort_by_key(|cluster| (cluster.epoch, cluster.time_end));
    let same_event = |candidate: &Candidate, cluster: &Cluster| {
        candidate.epoch == cluster.epoch && cluster.time_end - candidate.time_end <= maximum_delta_time
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    for cluster in ordered {
        match candidates.last_mut() {
            Some(candidate) if same_event(candidate, &cluster) => candidate.merge(cluster),
            _ => {
                let mut candidate = Candidate::default();
                candidate.merge(cluster);
                candidates.push(candidate);
            }
        }
    }
    candidates
}

/// The reference's matcher, which is called after each packet.
pub(crate) struct Matcher {
    /// Largest difference of end times in one event, in ticks.
    maximum_delta_time: Ticks,
    /// The clusters that are not yet in a candidate.
    pending: Vec<Cluster>,
    /// Per plane, the latest start time (ticks) of the last cluster of an appended list; at first 0.
    latest_start: PerPlane<Ticks>,
    /// The candidates so far.
    candidates: Vec<Candidate>,
}

impl Matcher {
    /// A matcher without clusters.
    pub(crate) fn new(maximum_delta_time: Ticks) -> Self {
        Self {
            maximum_delta_time,
            pending: Vec::new(),
            latest_start: PerPlane::default(),
            candidates: Vec::new(),
        }
    }

    /// Takes over the clusters of both planes, those of x first.
    pub(crate) fn append(&mut self, clusters: &mut PerPlane<Vec<Cluster>>) {
        for plane in [Plane::X, Plane::Y] {
            if let Some(last) = clusters.get(plane).last() {
                let latest = self.latest_start.of(plane);
                *latest = (*latest).max(last.time_start);
            }
            self.pending.append(clusters.of(plane));
        }
    }

    /// Forms candidates from the pending clusters in the order of their end times, until one is too recent;
    /// with `force`, from all of them.
    ///
    /// The candidate in work is emitted in any case when this stops, even if clusters still pending belong to
    /// it.
    pub(crate) fn form_candidates(&mut self, force: bool) {
        self.pending.sort_by_key(|cluster| cluster.time_end);
        let total = self.pending.len();
        let settled_before = self.latest_start.x.min(self.latest_start.y) - 3 * self.maximum_delta_time;
        let ready = self
            .pending
            .iter()
            .enumerate()
            .take_while(|(taken, cluster)| force || (total - taken > 2 && cluster.time_end < settled_before))
            .count();
        let mut candidate = Candidate::default();
        for cluster in self.pending.drain(..ready) {
            let distance = (candidate.time_end - cluster.time_end).abs();
            if !candidate.is_empty() && distance > self.maximum_delta_time {
                self.candidates.push(std::mem::take(&mut candidate));
            }
            candidate.merge(cluster);
        }
        if !candidate.is_empty() {
            self.candidates.push(candidate);
        }
    }

    /// The candidates in the order in which they were formed; pending clusters are lost.
    pub(crate) fn into_candidates(self) -> Vec<Candidate> {
        self.candidates
    }
}
