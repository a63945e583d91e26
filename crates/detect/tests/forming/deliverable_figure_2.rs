//! The example of the event formation deliverable, its Figure 2: a detector with wires and strips. Valid clusters
//! at 2 ns, a readout without coincidence at 10 ns, and at 16 ns a potentially valid cluster with a doubtful
//! readout on strip 5.

use evforge_detect::cluster::ClusterRule;
use evforge_detect::hit::Hit;
use evforge_detect::plane_matching::{MatchBy, MatchRule, MatchedClusters};
use evforge_detect::source_clock::AcceptedHits;
use evforge_detect::strip_former::{StripFormer, StripRules};

const WIRES: usize = 0;
const STRIPS: usize = 1;

/// (time in ns, wire or strip) of every readout.
const ON_WIRES: [(u64, u16); 6] = [(2, 3), (2, 4), (2, 5), (10, 8), (16, 6), (16, 7)];
const ON_STRIPS: [(u64, u16); 5] = [(2, 7), (2, 8), (16, 10), (16, 11), (16, 5)];

/// The clusters that belong together, with one tick per nanosecond, and the hits in clusters that are too small.
fn matches(max_strip_gap: u16, min_hits: u32) -> (Vec<MatchedClusters>, u64) {
    let rule = ClusterRule { max_strip_gap, min_hits, time_bins: 0, linked_within: None };
    let mut former = StripFormer::new(&StripRules {
        max_time_gap: [1; 2],
        cluster: [rule; 2],
        matching: MatchRule { by: MatchBy::End, max_difference: 1, ..MatchRule::default() },
        max_group: 100,
        max_held_hits: 100,
        partition: None,
        decimation: 0,
    });
    for (plane, hits) in [(WIRES, &ON_WIRES[..]), (STRIPS, &ON_STRIPS[..])] {
        // Readouts of a plane come in any order.
        for &(time, strip) in hits.iter().rev() {
            former.accept(plane, 0, Hit { time, strip, adc: 100 });
        }
    }
    former.advance((0, u64::MAX));
    let matches: Vec<_> = std::iter::from_fn(|| former.next_match()).collect();
    assert_eq!(former.held(), 0);
    (matches, former.counts().cluster_too_small)
}

fn summary(matches: &[MatchedClusters]) -> Vec<(u64, u32, u32)> {
    matches
        .iter()
        .map(|found| (found.time_end, found.planes[WIRES].hits, found.planes[STRIPS].hits))
        .collect()
}

#[test]
fn figure_2_the_readout_at_10_ns_has_no_coincidence_and_strip_5_is_no_part_of_the_cluster() {
    let (found, too_small) = matches(1, 2);
    assert_eq!(summary(&found), [(2, 3, 2), (16, 2, 2)]);
    assert_eq!(too_small, 2, "the readouts at 10 ns and on strip 5");
    assert_eq!((found[0].planes[WIRES].centre(false), found[0].planes[STRIPS].centre(false)), (4, 8));
    assert_eq!(found[1].planes[STRIPS].latest_first, 10, "strip 5 does not move the position");
}

#[test]
fn figure_2_with_clusters_of_one_hit_the_doubtful_readouts_are_seen_as_what_they_are() {
    let (found, too_small) = matches(1, 1);
    // At 10 ns there is no coincidence; at 16 ns strip 5 joins because it ends at the same time.
    assert_eq!(summary(&found), [(2, 3, 2), (10, 1, 0), (16, 2, 3)]);
    assert_eq!(too_small, 0);
    assert_eq!(found[2].planes[STRIPS].lower_uncertainty(), 7, "strips 5 to 11: which the filter can refuse");
}

#[test]
fn figure_2_a_wide_gap_takes_strip_5_into_the_cluster() {
    assert_eq!(summary(&matches(4, 2).0), [(2, 3, 2), (16, 2, 3)]);
}
