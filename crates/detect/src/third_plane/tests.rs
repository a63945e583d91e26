//! Each cluster leaves once; who belongs together is found.

use super::*;
use crate::cluster::MatchBy;
use proptest::prelude::*;

const RULE: ThirdPlaneRule =
    ThirdPlaneRule { from: [MILLIONTHS; 2], offset: 0, tolerance: 2000, delay: 0, weighted: true };

fn third(ambiguous: Ambiguous) -> ThirdPlane {
    let pairing = PairRule { max_difference: 20, usual_difference: 10, ..PairRule::default() };
    ThirdPlane::new(RULE, &MatchRule { by: MatchBy::End, max_difference: 20, ambiguous, pairing })
}

fn cluster(time_end: u64, strip: u16) -> Cluster {
    Cluster {
        time_start: time_end,
        time_end,
        hits: 3,
        charge: 100,
        first: strip,
        last: strip,
        latest_hits: 1,
        latest_strips: strip.into(),
        latest_charge: 1,
        latest_charge_strips: strip.into(),
        latest_first: strip,
        latest_last: strip,
        ..Cluster::default()
    }
}

fn assigned(third: &mut ThirdPlane, clusters: &[(usize, Cluster)]) -> Vec<Assigned> {
    let mut found = Vec::new();
    let all: u64 = clusters.iter().map(|(_, cluster)| u64::from(cluster.hits)).sum();
    let mut taken = 0;
    for (plane, cluster) in clusters {
        third.take(*plane, cluster);
        taken += u64::from(cluster.hits);
        assert!(third.earliest_end().is_some_and(|end| end <= cluster.time_end));
        found.extend(std::iter::from_fn(|| third.next_ready()));
        assert_eq!(found.iter().map(Assigned::hits).sum::<u64>() + third.held(), taken);
    }
    third.complete();
    found.extend(std::iter::from_fn(|| third.next_ready()));
    assert_eq!((taken, third.held(), third.earliest_end()), (all, 0, None));
    found
}

fn places(found: &[Assigned]) -> Vec<(u64, [u64; 2], MadeOf)> {
    let place = |found: &Assigned| found.matched.planes.map(|plane| plane.centre(true));
    found.iter().map(|found| (found.matched.time_end, place(found), found.made_of)).collect()
}

#[test]
fn u_says_which_x_belongs_to_which_y() {
    // At (10, 50) and (30, 20); by their times alone, x and y would be paired the other way round.
    let clusters = [(X, 100, 10), (Y, 101, 20), (U, 102, 60), (U, 103, 51), (X, 104, 30), (Y, 105, 50)]
        .map(|(plane, end, strip)| (plane, cluster(end, strip)));
    let confirmed = MadeOf::Confirmed(3);
    let found = assigned(&mut third(Ambiguous::Drop), &clusters);
    assert_eq!(places(&found), [(104, [30, 20], confirmed), (105, [10, 50], confirmed)]);
    assert!(found.iter().all(|found| !found.matched.is_ambiguous));
}

#[test]
fn two_planes_suffice() {
    let mut third = third(Ambiguous::Nearest);
    let of = |clusters: &[(usize, u64, u16)]| -> Vec<_> {
        clusters.iter().map(|&(plane, end, strip)| (plane, cluster(end, strip))).collect()
    };
    // x and u; y and u; x and y, beside a u of something else; u alone. Each in a set of its own.
    let clusters = of(&[
        (X, 100, 10),
        (U, 101, 60),
        (Y, 200, 7),
        (U, 201, 20),
        (X, 300, 1),
        (Y, 301, 2),
        (U, 302, 40),
        (U, 400, 9),
        (X, 500, 9),
        (U, 501, 3),
    ]);
    assert_eq!(
        places(&assigned(&mut third, &clusters)),
        [
            (101, [10, 50], MadeOf::WithThird),
            (201, [13, 7], MadeOf::WithThird),
            (301, [1, 2], MadeOf::Unconfirmed),
            (302, [40, 0], MadeOf::OnlyThird),
            (400, [9, 0], MadeOf::OnlyThird),
            // Below strip 0: no strip of any detector.
            (501, [9, u64::from(u16::MAX)], MadeOf::WithThird),
        ]
    );
}

#[test]
fn what_cannot_be_told_apart_is_marked() {
    // Two y at the same distance from what u says.
    let clusters = [(X, 10), (U, 60), (Y, 49), (Y, 51)].map(|(plane, strip)| (plane, cluster(100, strip)));
    let found = assigned(&mut third(Ambiguous::Drop), &clusters);
    let confirmed = found.iter().find(|found| found.made_of == MadeOf::Confirmed(3)).unwrap();
    assert!(confirmed.matched.is_ambiguous && confirmed.matched.is_dropped);
}

#[test]
fn coefficients_offset_and_delay_are_taken_into_account() {
    let rule = ThirdPlaneRule { from: [707_107, -707_107], offset: 90_500, ..RULE };
    assert_eq!(rule.expected([100_000, 100_000]), 90_500);
    let u = rule.expected([120_000, 20_000]);
    assert!(rule.missing(Y, 120_000, u).abs_diff(20_000) <= 2);
    assert!(rule.missing(X, 20_000, u).abs_diff(120_000) <= 2);
    let pairing = PairRule { max_difference: 20, usual_difference: 10, ..PairRule::default() };
    let matching = MatchRule { by: MatchBy::End, max_difference: 20, ambiguous: Ambiguous::Drop, pairing };
    let mut delayed = ThirdPlane::new(ThirdPlaneRule { delay: 50, ..RULE }, &matching);
    let clusters = [(X, 100, 10), (Y, 101, 50), (U, 150, 60)];
    let clusters = clusters.map(|(plane, end, strip)| (plane, cluster(end, strip)));
    assert_eq!(places(&assigned(&mut delayed, &clusters)), [(101, [10, 50], MadeOf::Confirmed(3))]);
}

#[test]
fn a_crowded_set_is_assigned_in_parts_and_counted() {
    let clusters: Vec<_> = (0..100)
        .flat_map(|number| [X, Y, U].map(|plane| (plane, cluster(100 + 15 * number, plane as u16))))
        .collect();
    let mut third = third(Ambiguous::Nearest);
    let found = assigned(&mut third, &clusters);
    assert_eq!((found.len(), third.crowded_sets()), (100, 100_u64.div_ceil(LARGEST_SET as u64) - 1));
}

#[test]
fn what_electronics_never_send_does_not_overflow() {
    let extreme = Cluster {
        time_end: u64::MAX,
        charge: u64::MAX,
        hits: u32::MAX,
        latest_charge: 1 << 30,
        latest_charge_strips: 1 << 43,
        last: 8191,
        latest_last: 8191,
        ..Cluster::default()
    };
    for clusters in [vec![(X, extreme), (U, extreme)], vec![(X, extreme), (Y, extreme), (U, extreme)]] {
        assert_eq!(assigned(&mut third(Ambiguous::Drop), &clusters).len(), clusters.len() - 1);
    }
}

proptest! {
    /// Every cluster leaves once, in order of the ends; what is said to be confirmed agrees with u.
    #[test]
    fn every_cluster_leaves_once_and_in_order(
        clusters in prop::collection::vec((0_usize..THREE, 0_u64..1500, 0_u16..60), 0..120),
        drops: bool,
    ) {
        let mut clusters: Vec<_> =
            clusters.into_iter().map(|(plane, end, strip)| (plane, cluster(end, strip))).collect();
        clusters.sort_by_key(|(plane, cluster)| (cluster.time_end, *plane));
        let found = assigned(&mut third(if drops { Ambiguous::Drop } else { Ambiguous::Nearest }), &clusters);
        prop_assert!(found.is_sorted_by_key(|found| found.matched.time_end));
        let on = |plane: usize| clusters.iter().filter(move |(of, _)| *of == plane).count();
        let mut given = [0; THREE];
        for found in &found {
            let [x, y] = &found.matched.planes;
            match found.made_of {
                MadeOf::Confirmed(hits) => {
                    prop_assert_eq!((hits, x.hits, y.hits), (3, 3, 3));
                    prop_assert!(x.time_end.abs_diff(y.time_end) <= 20);
                    given.iter_mut().for_each(|given| *given += 1);
                }
                MadeOf::Unconfirmed => {
                    given[X] += usize::from(x.hits > 0);
                    given[Y] += usize::from(y.hits > 0);
                }
                MadeOf::WithThird => {
                    prop_assert_eq!((x.hits, y.hits), (3, 3));
                    // What was seen keeps the strip it had; which of the two it is, the other's place tells.
                    given[U] += 1;
                }
                MadeOf::OnlyThird => given[U] += 1,
            }
        }
        let with_third = found.iter().filter(|found| found.made_of == MadeOf::WithThird).count();
        prop_assert_eq!(given[U], on(U));
        prop_assert_eq!(given[X] + given[Y] + with_third, on(X) + on(Y));
    }

    /// Neutrons that are apart on all planes find their own clusters, in whatever order these come.
    #[test]
    fn neutrons_that_come_together_are_told_apart(
        neutrons in prop::collection::vec((0_u16..60, 0_u16..60), 1..6),
        shifts in prop::collection::vec(0_u64..10, 18),
    ) {
        // No cluster of one fits two others: the sums of all pairs differ by more than the tolerance.
        for (number, (x, _)) in neutrons.iter().enumerate() {
            for (_, (_, y)) in neutrons.iter().enumerate().filter(|(other, _)| *other != number) {
                prop_assume!(neutrons.iter().all(|(a, b)| (x + y).abs_diff(a + b) > 2));
            }
        }
        let mut clusters = Vec::new();
        for ((x, y), shifts) in neutrons.iter().zip(shifts.chunks(THREE)) {
            for ((plane, strip), shift) in [(X, *x), (Y, *y), (U, x + y)].into_iter().zip(shifts) {
                clusters.push((plane, cluster(100 + shift, strip)));
            }
        }
        clusters.sort_by_key(|(plane, cluster)| (cluster.time_end, *plane));
        let found = assigned(&mut third(Ambiguous::Nearest), &clusters);
        let mut places: Vec<_> =
            found.iter().map(|found| found.matched.planes.map(|plane| plane.first)).collect();
        let mut expected: Vec<_> = neutrons.iter().map(|&(x, y)| [x, y]).collect();
        places.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(places, expected);
        prop_assert!(found.iter().all(|found| matches!(found.made_of, MadeOf::Confirmed(_))));
    }
}
