//! Clusters of pads: hits that are close in time, in columns and in rows.
//!
//! A pad has a number, in place of that of a strip: its row times the columns of the panel, plus its column. Two hits belong
//! together if they are close in all three, or if others link them ([`LinkedClusters`]).

use crate::cluster::Cluster;
use crate::hit::{STRIP_LIMIT, TimeKey};
use crate::linked_clusters::LinkedClusters;
use crate::matched_clusters::MatchedClusters;
use crate::memory::room_for;
use crate::plane_matching::PLANES;
use crate::plane_set::{Found, GroupClusterer};
use crate::strip_rules::StripRules;
use crate::track_monitor::Watch;
use std::ops::Range;

/// What makes a cluster of pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
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
#[derive(Debug, get_size2::GetSize)]
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
            clusters: room_for(MatchedClusters { joined: 1, ..MatchedClusters::default() }, max_group),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hit::Hit;
    use proptest::prelude::*;

    const RULE: PadRule =
        PadRule { columns: 9, rows: 7, max_time_gap: 10, max_gaps: [0, 0], min_hits: 2, time_bins: 2 };

    fn keys(rule: &PadRule, hits: &[(u64, [u16; 2], u16)]) -> Vec<TimeKey> {
        let strip = |[column, row]: [u16; 2]| row * rule.columns + column;
        let key = |&(time, place, adc)| TimeKey::new(Hit { time, strip: strip(place), adc }, 0);
        let mut keys: Vec<_> = hits.iter().map(key).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn the_end_of_a_row_is_no_neighbour_of_the_beginning_of_the_next() {
        let mut clusters = PadClusters::new(RULE, 100);
        let group = keys(
            &RULE,
            &[
                (0, [8, 2], 30),
                (4, [8, 3], 10),
                (5, [0, 3], 10),
                (9, [0, 4], 10),
                (9, [1, 4], 20),
                (20, [5, 0], 9),
            ],
        );
        let (found, too_small) = clusters.clusters(&group, 1000, (0, 0));
        let found: Vec<_> = found
            .iter()
            .map(|found| {
                let [columns, rows] = &found.planes;
                (
                    found.time_end,
                    found.hits(),
                    columns.first,
                    columns.last,
                    rows.first,
                    rows.last,
                    columns.charge,
                )
            })
            .collect();
        assert_eq!(found, [(1004, 2, 8, 8, 2, 3, 40), (1009, 3, 0, 1, 3, 4, 40)]);
        assert_eq!(too_small, 1);
        let (found, _) = clusters.clusters(&group, 1000, (0, 0));
        // All hits count: (3 * 10 + 4 * 10 + 4 * 20) / 40 = 3.75, plain 3.67; columns (20 / 40), plain 0.33.
        let [columns, rows] = found[1].planes;
        assert_eq!((columns.centre(true), rows.centre(true)), (1, 4));
        assert_eq!((columns.centre(false), rows.centre(false)), (0, 4));
        assert_eq!((columns.bins.strip_span(), rows.bins.strip_span()), (2, 2));
    }

    proptest! {
        /// Against the plain definition: any two hits that are close in columns, rows and time are of the same cluster.
        #[test]
        fn clusters_are_those_of_the_definition(
            hits in prop::collection::vec((0_u64..60, (0_u16..9, 0_u16..7), 1_u16..1000), 1..40),
            gaps in (0_u16..3, 0_u16..3),
            max_time_gap in 1_u64..20,
            min_hits in 1_u32..4,
        ) {
            let rule = PadRule { max_gaps: [gaps.0, gaps.1], max_time_gap, min_hits, ..RULE };
            let hits: Vec<_> = hits.into_iter().map(|(time, (column, row), adc)| (time, [column, row], adc)).collect();
            let group = keys(&rule, &hits);
            let mut of: Vec<usize> = (0..group.len()).collect();
            for (number, key) in group.iter().enumerate() {
                for (other, before) in group[..number].iter().enumerate() {
                    let (one, two) = (rule.place(key.strip()), rule.place(before.strip()));
                    let are_close = key.time() - before.time() <= max_time_gap
                        && (0..2).all(|axis| one[axis].abs_diff(two[axis]) <= rule.max_gaps[axis] + 1);
                    if are_close && of[number] != of[other] {
                        let (from, to) = (of[number].max(of[other]), of[number].min(of[other]));
                        of.iter_mut().filter(|label| **label == from).for_each(|label| *label = to);
                    }
                }
            }
            let (mut expected, mut small) = (Vec::new(), 0);
            for label in 0..group.len() {
                let own: Vec<_> = group.iter().zip(&of).filter(|(_, of)| **of == label).map(|(key, _)| *key).collect();
                let Some(last) = own.last() else { continue };
                if (own.len() as u32) < min_hits {
                    small += own.len() as u64;
                    continue;
                }
                let weighted = |axis: usize| own.iter().map(|key| u64::from(rule.place(key.strip())[axis]) * u64::from(key.adc())).sum::<u64>();
                let charge: u64 = own.iter().map(|key| u64::from(key.adc())).sum();
                expected.push((last.time(), own.len() as u64, own[0].time(), charge, weighted(0), weighted(1)));
            }
            let mut clusters = PadClusters::new(rule, 100);
            for _ in 0..2 {
                let (found, too_small) = clusters.clusters(&group, 0, (0, 0));
                prop_assert!(found.is_sorted_by_key(|found| found.time_end));
                let mut found: Vec<_> = found
                    .iter()
                    .map(|found| {
                        let [columns, rows] = &found.planes;
                        (found.time_end, found.hits(), columns.time_start, columns.charge, columns.latest_charge_strips, rows.latest_charge_strips)
                    })
                    .collect();
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!((&found, too_small), (&expected, small));
            }
        }
    }
}
