//! Clusters of pads: hits that are close in time, in columns and in rows.
//!
//! A pad has a number, in place of that of a strip: its row times the columns of the panel, plus its column. Two hits belong
//! together if they are close in all three, or if others link them ([`LinkedClusters`]).

use crate::cluster::Cluster;
use crate::hit::{STRIP_LIMIT, TimeKey};
use crate::linked_clusters::LinkedClusters;
use crate::matched_clusters::MatchedClusters;
use crate::memory::touched;
use crate::plane_matching::PLANES;
use crate::plane_set::{Found, GroupClusterer};
use crate::strip_rules::StripRules;
use crate::track_monitor::Watch;
use std::ops::Range;

/// What makes a cluster of pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PadRule {
    /// Columns of the panel, at least 1.
    pub columns: u16,
    /// Rows of the panel. All pads have numbers below [`STRIP_LIMIT`].
    pub rows: u16,
    /// Largest time in ticks between hits of neighbours.
    pub max_time_gap: u64,
    /// Columns and rows that may be missing between neighbours.
    pub max_gaps: [u16; PLANES],
    /// Hits that a cluster must have.
    pub min_hits: u32,
    /// Distinct times to keep for the upper uncertainty; 0 if it is not in use.
    pub time_bins: usize,
}

impl PadRule {
    /// For a panel of so many columns and rows: the rules of x, with the gap of y between rows.
    pub fn new([columns, rows]: [u16; PLANES], rules: &StripRules) -> Self {
        let [x, y] = rules.cluster;
        Self {
            columns: columns.max(1),
            rows,
            max_time_gap: rules.max_time_gap[0],
            max_gaps: [x.max_strip_gap, y.max_strip_gap],
            min_hits: x.min_hits,
            time_bins: x.time_bins,
        }
    }

    /// Column and row of a pad.
    #[inline]
    pub fn place(&self, pad: u16) -> [u16; PLANES] {
        [pad % self.columns, pad / self.columns]
    }

    /// The pads within reach of one, row by row.
    fn near(&self, pad: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let columns = usize::from(self.columns);
        let limits = [columns, usize::from(STRIP_LIMIT).div_ceil(columns).min(usize::from(self.rows))];
        let around = |at: usize, axis: usize| {
            let reach = usize::from(self.max_gaps[axis]) + 1;
            at.saturating_sub(reach)..(at + reach + 1).min(limits[axis])
        };
        let (near, rows) = (around(pad % columns, 0), around(pad / columns, 1));
        rows.map(move |row| {
            let end = (row * columns + near.end).min(usize::from(STRIP_LIMIT));
            (row * columns + near.start).min(end)..end
        })
    }
}

/// A cluster of pads: its columns in place of x, its rows in place of y. Its hits are counted on x alone. The sums of the
/// latest hits, which a position is made of, are those of all its hits: the latest pad of a neutron does not tell where its
/// track began.
impl Found for MatchedClusters {
    fn time_end(&self) -> u64 {
        self.time_end
    }

    fn hits(&self) -> u64 {
        self.hits()
    }
}

/// Splits time groups into clusters of pads. See the [module documentation](self).
#[derive(Debug)]
pub struct PadClusters {
    rule: PadRule,
    linked: LinkedClusters,
    clusters: Vec<MatchedClusters>,
}

impl PadClusters {
    /// For groups of at most `max_group` hits.
    pub fn new(rule: PadRule, max_group: usize) -> Self {
        Self {
            rule,
            linked: LinkedClusters::new(max_group),
            clusters: touched(MatchedClusters { joined: 1, ..MatchedClusters::default() }, max_group),
        }
    }

    /// Upper bound of the memory in bytes.
    pub fn memory_bound(max_group: usize) -> usize {
        LinkedClusters::memory_bound(max_group) + max_group * size_of::<MatchedClusters>()
    }
}

impl GroupClusterer for PadClusters {
    type Found = MatchedClusters;

    fn clusters(&mut self, group: &[TimeKey], base: u64, _: (u16, u16)) -> (&[MatchedClusters], u64) {
        let Self { rule, linked, clusters } = self;
        let numbers = linked.numbers_by(group, rule.max_time_gap, |pad| rule.near(pad));
        clusters.clear();
        for (key, &number) in group.iter().zip(numbers) {
            let time = base + key.time();
            // Clusters are numbered in the order of their first hits.
            if number as usize == clusters.len() {
                clusters.push(beginning_at(time));
            }
            let Some(found) = clusters.get_mut(number as usize) else { continue };
            found.planes[0].hits += 1;
            found.time_end = time;
            for (axis, at) in found.planes.iter_mut().zip(rule.place(key.strip())) {
                axis.time_end = time;
                axis.charge += u64::from(key.adc());
                axis.first = axis.first.min(at);
                axis.last = axis.last.max(at);
                axis.add_latest(at, key.adc());
            }
        }
        if rule.time_bins > 0 {
            for (key, &number) in group.iter().zip(numbers).rev() {
                let Some(found) = clusters.get_mut(number as usize) else { continue };
                let before_end = found.time_end - (base + key.time());
                for (axis, at) in found.planes.iter_mut().zip(rule.place(key.strip())) {
                    axis.add_to_bins(rule.time_bins, before_end, at);
                }
            }
        }
        let is_large = |found: &MatchedClusters| found.planes[0].hits >= rule.min_hits;
        let too_small = clusters.iter().filter(|found| !is_large(found)).map(Found::hits).sum();
        clusters.retain(is_large);
        clusters.sort_unstable_by_key(|found| {
            let [columns, rows] = &found.planes;
            (found.time_end, rows.first, columns.first, columns.time_start)
        });
        (clusters, too_small)
    }

    fn show_found(plane: usize, found: &[MatchedClusters], watch: &mut impl Watch) {
        found.iter().for_each(|found| watch.cluster(plane, found.planes[0].hits as usize));
    }
}

fn beginning_at(time_start: u64) -> MatchedClusters {
    let axis = Cluster { time_start, first: u16::MAX, latest_first: u16::MAX, ..Cluster::default() };
    MatchedClusters { planes: [axis; PLANES], ..MatchedClusters::default() }
}
