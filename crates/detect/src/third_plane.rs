//! Clusters of three planes, x, y and u, to neutrons.
//!
//! The strips of u lie across those of x and y, so that the strip of a neutron on u follows from its column and row
//! ([`ThirdPlaneRule`]). Clusters of all planes that are close in time are gathered in sets, and each set is assigned:
//!
//! 1. x, y and u whose times are close and whose strips agree: u *confirms* the pair. Those closest in time and in strips
//!    come first; then two of them exchange a cluster where that makes them closer.
//! 2. x and y that are left over are paired as on a detector of two planes ([`pairing`](crate::pairing)).
//! 3. x and u, then y and u that are left over are paired: the coordinate that is missing is computed from u.
//!
//! A cluster that nothing is found for leaves alone. Each cluster leaves once.

use crate::cluster::{Cluster, MatchBy};
use crate::matched_clusters::{MatchedClusters, PLANES};
use crate::memory::touched;
use crate::pairing::{Ambiguous, MARGIN, Pair, PairRule, Pairing, Traits, share};
use crate::plane_matching::MatchRule;
use std::collections::VecDeque;

/// Planes of a detector with a third one.
pub const THREE: usize = 3;
const X: usize = 0;
const Y: usize = 1;
const U: usize = 2;

/// Clusters of a plane that a set can have. One that gets more is assigned before it is complete, and counted.
pub const LARGEST_SET: usize = 32;

/// Thousandths of strips, in which strips of three planes are compared.
pub const MILLISTRIPS: i64 = 1000;
/// Coefficients are in millionths.
pub const MILLIONTHS: i64 = 1_000_000;

/// Where a neutron is on u: `from[0] * x + from[1] * y + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThirdPlaneRule {
    /// Strips of u per strip of x and of y, in millionths. Neither is 0.
    pub from: [i64; PLANES],
    /// Strip of u at the first strips of x and y, in millistrips.
    pub offset: i64,
    /// By how much u may differ from that, in millistrips.
    pub tolerance: u64,
    /// By how much the times of u come after those of x, in ticks. It counts in no difference.
    pub delay: i64,
    /// Weight strips with amplitudes.
    pub weighted: bool,
}

impl ThirdPlaneRule {
    /// The strip of u that belongs to places on x and y, all in millistrips.
    fn expected(&self, [x, y]: [i64; PLANES]) -> i64 {
        let [from_x, from_y] = self.from;
        (from_x.saturating_mul(x)).saturating_add(from_y.saturating_mul(y)) / MILLIONTHS + self.offset
    }

    /// The place on the plane that is missing, from that on the other one and on u, in millistrips.
    fn missing(&self, plane: usize, other: i64, u: i64) -> i64 {
        let (own, others) = (self.from[plane], self.from[1 - plane]);
        let rest = (u - self.offset).saturating_mul(MILLIONTHS) - others.saturating_mul(other);
        rest.checked_div(own).unwrap_or(i64::MAX)
    }
}

/// What of the three planes an event is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeOf {
    /// x and y, with so many hits of u that confirm them.
    Confirmed(u32),
    /// What x and y alone make: an event, or clusters without a partner.
    Unconfirmed,
    /// One of x and y, and u in place of the other: a cluster with the strip that follows.
    WithThird,
    /// u alone, in place of x.
    OnlyThird,
}

/// What has been assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The clusters.
    pub matched: MatchedClusters,
    /// What they are.
    pub made_of: MadeOf,
}

impl Assigned {
    /// Hits of all planes.
    pub fn hits(&self) -> u64 {
        let third = if let MadeOf::Confirmed(hits) = self.made_of { hits } else { 0 };
        self.matched.hits() + u64::from(third)
    }
}

/// One cluster of each plane, by their numbers in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Triple {
    of: [u16; THREE],
    is_ambiguous: bool,
}

/// What is looked at of a cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    traits: Traits,
    /// In millistrips.
    place: i64,
}

/// How alike the clusters of a neutron are.
#[derive(Clone, Copy, Debug)]
struct TripleRule {
    third: ThirdPlaneRule,
    /// Of x and y, of x and u, of y and u.
    pairs: [PairRule; THREE],
}

impl TripleRule {
    /// The distance of three clusters; none if they are not of one neutron.
    fn distance(&self, looks: &[Vec<Look>; THREE], of: [u16; THREE]) -> Option<u64> {
        let [x, y, u] = [X, Y, U].map(|plane| looks[plane].get(usize::from(of[plane])));
        let (x, y, u) = (x?, y?, u?);
        let beside = self.third.expected([x.place, y.place]).abs_diff(u.place);
        if beside > self.third.tolerance {
            return None;
        }
        let [of_xy, of_xu, of_yu] = &self.pairs;
        let times = of_xy.distance(&x.traits, &y.traits)?
            + of_xu.distance(&x.traits, &u.traits)?
            + of_yu.distance(&y.traits, &u.traits)?;
        Some(times + share(beside, self.third.tolerance.max(1)))
    }
}

/// Gathers clusters of three planes and assigns them. See the [module documentation](self).
#[derive(Debug)]
pub struct ThirdPlane {
    rule: TripleRule,
    drops_ambiguous: bool,
    /// Clusters of the set under way, and what is looked at of them. Those that are assigned have no hits any more.
    gathered: [Vec<Cluster>; THREE],
    looks: [Vec<Look>; THREE],
    candidates: Vec<(u64, [u16; THREE])>,
    triples: Vec<Triple>,
    taken: [Vec<bool>; THREE],
    /// Of x and y, of x and u, of y and u.
    pairings: [Pairing; THREE],
    /// Clusters of two planes that are left over, by their numbers, and what pairing looks at of them.
    rest: [Vec<u16>; 2],
    traits: [Vec<Traits>; 2],
    ready: VecDeque<Assigned>,
    held: u64,
    /// The end that the set under way has come to.
    reached: u64,
    max_difference: u64,
    crowded_sets: u64,
}

/// The planes that are paired with one another, in this order, once u has confirmed what it can.
const PAIRED: [[usize; 2]; THREE] = [[X, Y], [X, U], [Y, U]];

impl ThirdPlane {
    /// Pairs of x and y are alike by `rule`; u is like both in its times.
    pub fn new(third: ThirdPlaneRule, rule: &MatchRule) -> Self {
        let delayed = |delay| PairRule {
            delay,
            max_amplitude_permille: None,
            usual_amplitude_permille: None,
            ..rule.pairing
        };
        let of_xy = rule.pairing;
        let pairs = [of_xy, delayed(third.delay), delayed(third.delay.saturating_sub(of_xy.delay))];
        // Clusters that are apart by design are in one set all the same.
        let apart = pairs.iter().map(|rule| rule.delay.unsigned_abs()).max().unwrap_or(0);
        let full = Cluster { hits: 1, ..Cluster::default() };
        let assigned = MatchedClusters { joined: 1, ..MatchedClusters::default() };
        let assigned = Assigned { matched: assigned, made_of: MadeOf::OnlyThird };
        Self {
            rule: TripleRule { third, pairs },
            drops_ambiguous: rule.ambiguous == Ambiguous::Drop,
            gathered: std::array::from_fn(|_| touched(full, LARGEST_SET)),
            looks: std::array::from_fn(|_| Vec::with_capacity(LARGEST_SET)),
            candidates: Vec::with_capacity(LARGEST_SET.pow(3)),
            triples: Vec::with_capacity(LARGEST_SET),
            taken: std::array::from_fn(|_| Vec::with_capacity(LARGEST_SET)),
            pairings: pairs.map(|rule| Pairing::new(rule, LARGEST_SET)),
            rest: std::array::from_fn(|_| Vec::with_capacity(LARGEST_SET)),
            traits: std::array::from_fn(|_| Vec::with_capacity(LARGEST_SET)),
            ready: touched(assigned, THREE * LARGEST_SET).into(),
            held: 0,
            reached: 0,
            max_difference: rule.max_difference.saturating_add(apart),
            crowded_sets: 0,
        }
    }

    /// Upper bound of the memory in bytes.
    pub fn memory_bound() -> usize {
        let cluster = size_of::<Cluster>() + size_of::<Look>() + size_of::<bool>() + size_of::<Assigned>();
        let rest = size_of::<u16>() + size_of::<Traits>();
        size_of::<Self>()
            + LARGEST_SET * (THREE * cluster + size_of::<Triple>() + 2 * rest)
            + LARGEST_SET.pow(3) * size_of::<(u64, [u16; THREE])>()
            + THREE * Pairing::memory_bound(LARGEST_SET)
    }

    /// What has been assigned and not been given out.
    pub fn next_ready(&mut self) -> Option<Assigned> {
        let assigned = self.ready.pop_front()?;
        self.held -= assigned.hits();
        Some(assigned)
    }

    /// True if nothing is gathered.
    pub fn is_empty(&self) -> bool {
        self.gathered.iter().all(Vec::is_empty)
    }

    /// Takes a cluster of a plane. They come in order of their ends, over all planes: it completes the set under way if it
    /// comes too late for it.
    pub fn take(&mut self, plane: usize, cluster: &Cluster) {
        self.complete_before(cluster.time_end);
        if self.gathered[plane].len() >= LARGEST_SET {
            self.crowded_sets += 1;
            self.complete();
        }
        self.held += u64::from(cluster.hits);
        self.gathered[plane].push(*cluster);
        self.reached = cluster.time_end;
    }

    /// Completes the set under way if no cluster that ends at `earliest` or later can join it.
    pub fn complete_before(&mut self, earliest: u64) {
        if !self.is_empty() && earliest.saturating_sub(self.reached) > self.max_difference {
            self.complete();
        }
    }

    /// Hits of all clusters held.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Nothing made of what is held ends before this; none if nothing is held.
    pub fn earliest_end(&self) -> Option<u64> {
        let gathered = self.gathered.iter().flatten().map(|cluster| cluster.time_end);
        gathered.chain(self.ready.iter().map(|assigned| assigned.matched.time_end)).min()
    }

    /// Sets that were assigned before they were complete, because they had too many clusters.
    pub fn crowded_sets(&self) -> u64 {
        self.crowded_sets
    }

    /// Assigns what is gathered.
    pub fn complete(&mut self) {
        let begin = self.ready.len();
        let weighted = self.rule.third.weighted;
        for (looks, clusters) in self.looks.iter_mut().zip(&self.gathered) {
            looks.clear();
            looks.extend(clusters.iter().map(|cluster| look(cluster, weighted)));
        }
        self.find_triples();
        self.exchange_clusters();
        self.find_ambiguous();
        self.confirm();
        for (number, planes) in PAIRED.into_iter().enumerate() {
            self.pair_rest(number, planes);
        }
        for plane in [X, Y, U] {
            let Self { gathered, ready, .. } = self;
            let left_over = gathered[plane].iter().filter(|cluster| cluster.hits > 0);
            ready.extend(left_over.map(|cluster| alone(plane, cluster)));
        }
        self.gathered.iter_mut().for_each(Vec::clear);
        let key = |found: &Assigned| {
            (found.matched.time_end, found.matched.planes.map(|plane| (plane.first, plane.time_start)))
        };
        self.ready.make_contiguous()[begin..].sort_unstable_by_key(key);
    }

    /// The triples that are closest, each cluster in one of them.
    fn find_triples(&mut self) {
        let Self { rule, gathered: [xs, ys, us], looks, candidates, triples, taken, .. } = self;
        candidates.clear();
        triples.clear();
        for (x, _) in (0_u16..).zip(&*xs) {
            for (y, _) in (0_u16..).zip(&*ys) {
                let of_triple = |u: u16| Some((rule.distance(looks, [x, y, u])?, [x, y, u]));
                candidates.extend((0_u16..).zip(&*us).filter_map(|(u, _)| of_triple(u)));
            }
        }
        for (taken, looks) in taken.iter_mut().zip(&*looks) {
            taken.clear();
            taken.resize(looks.len(), false);
        }
        candidates.sort_unstable();
        for (_, of) in candidates {
            if [X, Y, U].iter().all(|&plane| !taken[plane][usize::from(of[plane])]) {
                [X, Y, U].iter().for_each(|&plane| taken[plane][usize::from(of[plane])] = true);
                triples.push(Triple { of: *of, is_ambiguous: false });
            }
        }
    }

    /// Two triples exchange a cluster if that is better. Each exchange makes the sum smaller: it ends.
    fn exchange_clusters(&mut self) {
        let Self { rule, looks, triples, .. } = self;
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for index in 1..triples.len() {
                let (before, rest) = triples.split_at_mut(index);
                let Some(triple) = rest.first_mut() else { continue };
                for other in before {
                    for plane in [X, Y, U] {
                        let now = sum(rule, looks, [triple.of, other.of]);
                        let then = exchanged(triple.of, other.of, plane);
                        if let (Some(now), Some(better)) = (now, sum(rule, looks, then))
                            && better < now
                        {
                            [triple.of, other.of] = then;
                            has_changed = true;
                        }
                    }
                }
            }
        }
    }

    /// Marks triples that something else would be nearly as good as: an exchange, or a cluster that is left over.
    fn find_ambiguous(&mut self) {
        let Self { rule, looks, triples, taken, .. } = self;
        for index in 0..triples.len() {
            let (before, rest) = triples.split_at_mut(index);
            let Some(triple) = rest.first_mut() else { continue };
            for other in before {
                let now = sum(rule, looks, [triple.of, other.of]).unwrap_or(0);
                let is_nearly = |plane| {
                    sum(rule, looks, exchanged(triple.of, other.of, plane))
                        .is_some_and(|then| then <= now + MARGIN)
                };
                if [X, Y, U].into_iter().any(is_nearly) {
                    (triple.is_ambiguous, other.is_ambiguous) = (true, true);
                }
            }
            let own = rule.distance(looks, triple.of).unwrap_or(0);
            for plane in [X, Y, U] {
                for (number, _) in (0_u16..).zip(&taken[plane]).filter(|(_, is_taken)| !**is_taken) {
                    let mut of = triple.of;
                    of[plane] = number;
                    triple.is_ambiguous |=
                        rule.distance(looks, of).is_some_and(|distance| distance <= own + MARGIN);
                }
            }
        }
    }

    fn confirm(&mut self) {
        let Self { gathered: [xs, ys, us], triples, ready, drops_ambiguous, .. } = self;
        for triple in triples {
            let [x, y, u] = triple.of.map(usize::from);
            let (x, y, u) = (&mut xs[x], &mut ys[y], &mut us[u]);
            let matched = MatchedClusters {
                planes: [*x, *y],
                time_end: x.time_end.max(y.time_end),
                is_ambiguous: triple.is_ambiguous,
                is_dropped: triple.is_ambiguous && *drops_ambiguous,
                ..MatchedClusters::default()
            };
            ready.push_back(Assigned { matched, made_of: MadeOf::Confirmed(u.hits) });
            // What is assigned is not left over.
            (x.hits, y.hits, u.hits) = (0, 0, 0);
        }
    }

    /// Pairs what is left over on two planes.
    fn pair_rest(&mut self, number: usize, planes: [usize; 2]) {
        let Self { gathered, looks, pairings, rest, traits, ready, rule, drops_ambiguous, .. } = self;
        for ((&plane, rest), traits) in planes.iter().zip(&mut *rest).zip(&mut *traits) {
            let left_over = (0_u16..).zip(&gathered[plane]).filter(|(_, cluster)| cluster.hits > 0);
            rest.clear();
            rest.extend(left_over.map(|(number, _)| number));
            traits.clear();
            traits.extend(
                rest.iter().filter_map(|&at| looks[plane].get(usize::from(at))).map(|look| look.traits),
            );
        }
        if rest.iter().any(Vec::is_empty) {
            return;
        }
        let [of_first, of_second] = &*traits;
        for &Pair { first, second, is_ambiguous } in pairings[number].pair(of_first, of_second) {
            let [first, second] =
                [rest[0][usize::from(first)], rest[1][usize::from(second)]].map(usize::from);
            let clusters = [gathered[planes[0]][first], gathered[planes[1]][second]];
            let places = [looks[planes[0]][first].place, looks[planes[1]][second].place];
            let time_end = clusters[0].time_end.max(clusters[1].time_end);
            let (clusters, made_of) = match planes {
                [X, Y] => (clusters, MadeOf::Unconfirmed),
                [seen, _] => {
                    let missing = 1 - seen;
                    let place = rule.third.missing(missing, places[0], places[1]);
                    let mut with_third = [clusters[0]; PLANES];
                    with_third[missing] = stand_in(&clusters[1], place);
                    (with_third, MadeOf::WithThird)
                }
            };
            let matched = MatchedClusters {
                planes: clusters,
                time_end,
                is_ambiguous,
                is_dropped: is_ambiguous && *drops_ambiguous,
                ..MatchedClusters::default()
            };
            ready.push_back(Assigned { matched, made_of });
            (gathered[planes[0]][first].hits, gathered[planes[1]][second].hits) = (0, 0);
        }
    }
}

fn exchanged(mut one: [u16; THREE], mut other: [u16; THREE], plane: usize) -> [[u16; THREE]; 2] {
    std::mem::swap(&mut one[plane], &mut other[plane]);
    [one, other]
}

fn sum(rule: &TripleRule, looks: &[Vec<Look>; THREE], [one, other]: [[u16; THREE]; 2]) -> Option<u64> {
    Some(rule.distance(looks, one)? + rule.distance(looks, other)?)
}

fn look(cluster: &Cluster, weighted: bool) -> Look {
    let traits =
        Traits { start: cluster.time_start, time: MatchBy::End.key(cluster), charge: cluster.charge };
    Look { traits, place: place(cluster, weighted) }
}

/// As [`Cluster::centre`], in millistrips.
fn place(cluster: &Cluster, weighted: bool) -> i64 {
    let (sum, weight) = if weighted && cluster.latest_charge > 0 {
        (cluster.latest_charge_strips, cluster.latest_charge)
    } else {
        (cluster.latest_strips, u64::from(cluster.latest_hits))
    };
    let millistrips = (2 * MILLISTRIPS as u64 * sum + weight).checked_div(2 * weight).unwrap_or(0);
    i64::try_from(millistrips).unwrap_or(i64::MAX)
}

/// A cluster that nothing was found for.
fn alone(plane: usize, cluster: &Cluster) -> Assigned {
    let mut planes = [Cluster::default(); PLANES];
    // u has no place of its own: it stands in that of x, and says so.
    planes[plane % U] = *cluster;
    let matched = MatchedClusters { planes, time_end: cluster.time_end, ..MatchedClusters::default() };
    Assigned { matched, made_of: if plane == U { MadeOf::OnlyThird } else { MadeOf::Unconfirmed } }
}

/// A cluster of u as one of the plane that is missing, at a place there in millistrips. It is as wide and as long as on u.
/// A place beyond all strips is the last one there can be, which lies outside of every detector.
fn stand_in(u: &Cluster, place: i64) -> Cluster {
    let strip = (place + MILLISTRIPS / 2).div_euclid(MILLISTRIPS);
    let strip = u16::try_from(strip).unwrap_or(u16::MAX);
    let first = strip.saturating_sub(u.strip_span() / 2).min(u16::MAX - u.strip_span());
    let latest_first = strip.saturating_sub(u.lower_uncertainty() / 2).min(u16::MAX - u.lower_uncertainty());
    Cluster {
        first,
        last: first + (u.strip_span() - 1),
        latest_first,
        latest_last: latest_first + (u.lower_uncertainty() - 1),
        latest_hits: 1,
        latest_strips: u64::from(strip),
        latest_charge: 1,
        latest_charge_strips: u64::from(strip),
        ..*u
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let clusters =
            [(X, 10), (U, 60), (Y, 49), (Y, 51)].map(|(plane, strip)| (plane, cluster(100, strip)));
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
        let matching =
            MatchRule { by: MatchBy::End, max_difference: 20, ambiguous: Ambiguous::Drop, pairing };
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
}
