//! How the hits of two planes of strips become events: what the former, and the regions of a partition, go by.

use crate::cluster::ClusterRule;
use crate::plane_matching::{MatchRule, PLANES};
use crate::watermark::SMALLEST_STEP;

/// How the planes of a panel are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionRule {
    /// Regions of each plane, at least 1.
    pub regions: usize,
    /// Strips beyond its own that a region sees on the side of the higher strips.
    pub overlap: u16,
    /// Strips of each plane. The last region owns what lies above.
    pub strips: [u16; PLANES],
}

/// How hits become clusters and clusters become events. Times in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripRules {
    /// Per plane: largest time between two hits that follow one another in a cluster.
    pub max_time_gap: [u64; PLANES],
    /// Per plane: what makes a cluster.
    pub cluster: [ClusterRule; PLANES],
    /// When clusters belong to one event.
    pub matching: MatchRule,
    /// Hits that a time group may have; larger groups are discarded.
    pub max_group: usize,
    /// Hits per plane that may wait for their time to close.
    pub max_held_hits: usize,
    /// Regions that the planes are clustered in, if they are cut.
    pub partition: Option<PartitionRule>,
    /// Low bits of times that are left out.
    pub decimation: u32,
}

impl StripRules {
    /// Hits that must have come in before more is closed: enough to be worth handing out to regions.
    pub(crate) fn smallest_step(&self) -> usize {
        match self.partition {
            None => SMALLEST_STEP,
            Some(_) => (self.max_held_hits / 8).clamp(SMALLEST_STEP, LARGEST_STEP),
        }
    }
}

/// No more hits are collected for the regions of a partition than a cache holds.
const LARGEST_STEP: usize = 1 << 16;
