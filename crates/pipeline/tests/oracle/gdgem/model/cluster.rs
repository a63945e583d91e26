//! Neighbouring hits of one plane to clusters.
//!
//! EFU formats of 2018, section 4.6.

use super::counters::Counters;
use super::hit::PlaneHit;
use super::settings::{Clusterer, Plane, Ticks};

/// Hits of one plane that are neighbours in time and in space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cluster {
    /// The plane of its hits.
    pub(crate) plane: Plane,
    /// The epoch of its hits.
    pub(crate) epoch: u64,
    /// Time of its first hit in ticks.
    pub(crate) time_start: Ticks,
    /// Time of its last hit in ticks.
    pub(crate) time_end: Ticks,
    /// Its hits in order of their strips.
    pub(crate) hits: Vec<PlaneHit>,
}

/// The clusters of hits in order of (epoch, time).
///
/// The hits are split at gaps in time and at changes of epoch, then each group at gaps between strips.
/// Clusters below the minimum size are dropped and their hits counted.
pub(crate) fn clusters(
    plane: Plane,
    hits: &[PlaneHit],
    clusterer: &Clusterer,
    counters: &mut Counters,
) -> Vec<Cluster> {
    let same_time = |before: &PlaneHit, after: &PlaneHit| {
        before.epoch == after.epoch && after.time - before.time <= clusterer.maximum_time_gap
    };
    let same_place =
        |before: &PlaneHit, after: &PlaneHit| after.strip - before.strip <= clusterer.maximum_strip_gap + 1;
    let mut found = Vec::new();
    for time_group in hits.chunk_by(same_time) {
        let mut by_strip = time_group.to_vec();
        by_strip.sort_by_key(|hit| hit.strip);
        for neighbours in by_strip.chunk_by(same_place) {
            if neighbours.len() < clusterer.minimum_cluster_size {
                counters.cluster_too_small += neighbours.len() as u64;
            } else {
                found.extend(cluster_of(plane, neighbours));
            }
        }
    }
    found
}

/// The cluster of the given hits, which are in order of their strips; none without hits.
fn cluster_of(plane: Plane, hits: &[PlaneHit]) -> Option<Cluster> {
    let time_start = hits.iter().map(|hit| hit.time).min()?;
    let time_end = hits.iter().map(|hit| hit.time).max()?;
    let epoch = hits.first()?.epoch;
    Some(Cluster { plane, epoch, time_start, time_end, hits: hits.to_vec() })
}
