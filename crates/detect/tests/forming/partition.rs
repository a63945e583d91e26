//! Regions of a panel: the same matched clusters and the same counts as without them, whatever the number of
//! regions, the overlap and the order in which the regions are run.

use evforge_detect::cluster::ClusterRule;
use evforge_detect::hit::Hit;
use evforge_detect::partition::{OneByOne, PartitionRule, Region, RegionExecutor};
use evforge_detect::plane_matching::{MatchBy, MatchRule, MatchedClusters};
use evforge_detect::source_clock::AcceptedHits;
use evforge_detect::strip_former::{FormerCounts, StripFormer, StripRules};
use evforge_testkit::properties::cases;
use proptest::prelude::*;
use std::sync::Arc;

/// Strips of each plane.
const STRIPS: u16 = 200;

/// Runs the regions on threads of their own, in no particular order.
#[derive(Debug)]
struct AThreadForEach;

impl RegionExecutor for AThreadForEach {
    fn run(&self, regions: &mut [Region], work: &(dyn Fn(&mut Region) + Sync)) {
        std::thread::scope(|scope| {
            for region in regions.iter_mut().rev() {
                scope.spawn(|| work(region));
            }
        });
    }
}

/// Hits of planes x and y, in any order.
type Hits = Vec<(usize, Hit)>;

/// What comes out, and how much waited, was counted and was held at the end.
#[derive(Debug, PartialEq)]
struct Outcome {
    matched: Vec<MatchedClusters>,
    counts: FormerCounts,
    held: u64,
}

/// Forms clusters of hits whose time is closed in steps of `step`; the last step is left open.
fn form(rules: &StripRules, hits: &Hits, step: usize, executor: &Arc<dyn RegionExecutor>) -> Outcome {
    let mut former = StripFormer::with_executor(rules, executor);
    let mut matched: Vec<MatchedClusters> = Vec::new();
    let mut taken = 0;
    let hits_of = |matched: &[MatchedClusters]| matched.iter().map(MatchedClusters::hits).sum::<u64>();
    for part in hits.chunks(step) {
        former.advance((0, part.iter().map(|(_, hit)| hit.time).min().unwrap_or(0).saturating_sub(500)));
        for (plane, hit) in part {
            former.accept(*plane, 0, *hit);
            taken += 1;
        }
        while let Some(set) = former.next_match() {
            matched.push(set);
            // Every hit is somewhere, however far a step has been read.
            let counts = former.counts();
            let left_out = counts.cluster_too_small + counts.group_too_large + counts.matching_full;
            assert_eq!(taken, former.held() + hits_of(&matched) + left_out);
        }
    }
    let held = former.held();
    former.advance((1, 0));
    while let Some(set) = former.next_match() {
        matched.push(set);
    }
    assert_eq!(former.held(), 0);
    Outcome { matched, counts: former.counts(), held }
}

fn rules(max_strip_gap: u16, min_hits: u32, by: MatchBy, time_bins: usize) -> StripRules {
    StripRules {
        max_time_gap: [20, 25],
        cluster: [ClusterRule { max_strip_gap, min_hits, time_bins, linked_within: None }; 2],
        matching: MatchRule { by, max_difference: 20, ..MatchRule::default() },
        max_group: 300,
        max_held_hits: 8192,
        decimation: 0,
        partition: None,
    }
}

fn cut(rules: &StripRules, partition: PartitionRule) -> StripRules {
    StripRules { partition: Some(partition), ..*rules }
}

/// Compares the partition with the whole panel, and says how many clusters went beyond what a region sees.
fn compare(rules: &StripRules, hits: &Hits, step: usize) -> [u64; 3] {
    let one_by_one: Arc<dyn RegionExecutor> = Arc::new(OneByOne);
    let threads: Arc<dyn RegionExecutor> = Arc::new(AThreadForEach);
    let expected = form(rules, hits, step, &one_by_one);
    assert_eq!(expected.counts.wider_than_overlap, 0);
    [1, 8, 64].map(|overlap| {
        let mut wider = 0;
        for regions in [1, 2, 3, 7, 16] {
            let cut = cut(rules, PartitionRule { regions, overlap, strips: [STRIPS, STRIPS - 50] });
            for executor in [&one_by_one, &threads] {
                let mut outcome = form(&cut, hits, step, executor);
                let wide = std::mem::take(&mut outcome.counts.wider_than_overlap);
                assert!(regions > 1 || wide == 0, "a single region sees everything");
                assert!(outcome == expected, "{regions} regions, overlap {overlap}");
                wider += wide;
            }
        }
        wider
    })
}

/// Several tracks at once over the whole panel: (time, first strip, strips, time per strip).
fn tracks() -> impl Strategy<Value = Hits> {
    let track = (0..2_usize, 0..1500_u64, 0..STRIPS, 1..60_u16, 0..9_u64, 1..4_u16);
    proptest::collection::vec(track, 1..120).prop_map(|tracks| {
        let mut hits = Hits::new();
        for (plane, start, first, strips, slope, distance) in tracks {
            for step in 0..strips {
                let strip = (first + step * distance).min(STRIPS - 1);
                let time = 10_000 + start * 8 + u64::from(step) * slope;
                hits.push((plane, Hit { time, strip, adc: (strip * 7 + step) % 1000 }));
            }
        }
        hits.sort_by_key(|(_, hit)| hit.time);
        hits
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn pile_up_gives_the_same_clusters_in_any_regions(
        hits in tracks(),
        gap in 0..5_u16,
        min_hits in 1..5_u32,
        by in 0..MatchBy::ALL.len(),
        time_bins in 0..4_usize,
        step in 50..4000_usize,
    ) {
        compare(&rules(gap, min_hits, MatchBy::ALL[by], time_bins), &hits, step);
    }

    /// Gaps larger than a region, than the overlap and than a word of the strip map.
    #[test]
    fn gaps_wider_than_regions_give_the_same_clusters(hits in tracks(), gap in 5..150_u16) {
        compare(&rules(gap, 2, MatchBy::End, 0), &hits, 1000);
    }
}

/// Thousands of hits per step, so that the executor is asked, with many clusters of equal times in a group: their
/// order must be the same, too.
#[test]
fn large_steps_and_clusters_of_equal_times_give_the_same_clusters() {
    let mut hits = Hits::new();
    for round in 0..40_u64 {
        for strip in (0..STRIPS).filter(|strip| strip % 5 < 3) {
            for plane in 0..2 {
                let time = 10_000 + round * 1000 + u64::from(strip % 5);
                hits.push((plane, Hit { time, strip, adc: strip }));
            }
        }
    }
    hits.sort_by_key(|(_, hit)| hit.time);
    compare(&rules(0, 3, MatchBy::End, 2), &hits, 8000);
    compare(&rules(1, 3, MatchBy::Start, 0), &hits, 8000);
}

/// A track of 50 strips over a border: beyond an overlap of 1 and of 8 strips, but not of 64.
#[test]
fn clusters_wider_than_the_overlap_are_counted_and_clustered_whole() {
    let hits: Hits =
        (75..125).map(|strip| (0, Hit { time: 1000 + u64::from(strip), strip, adc: 1 })).collect();
    let whole = rules(2, 3, MatchBy::End, 0);
    let executor: Arc<dyn RegionExecutor> = Arc::new(OneByOne);
    let wider = [1, 8, 64].map(|overlap| {
        let rules = cut(&whole, PartitionRule { regions: 2, overlap, strips: [STRIPS; 2] });
        let outcome = form(&rules, &hits, 1000, &executor);
        assert_eq!((outcome.matched.len(), outcome.counts.clusters), (1, [1, 0]));
        assert_eq!(outcome.matched[0].planes[0].hits, 50);
        outcome.counts.wider_than_overlap
    });
    assert_eq!(wider, [1, 1, 0]);
    let [tiny, small, wide] = compare(&whole, &hits, 1000);
    assert!(tiny >= small && small > wide, "{tiny} {small} {wide}");
}
