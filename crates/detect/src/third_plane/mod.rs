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

mod rule;

use crate::cluster::Cluster;
use crate::matched_clusters::{MatchedClusters, PLANES};
use crate::memory::room_for;
use crate::pairing::{Ambiguous, MARGIN, Pair, PairRule, Pairing, Traits};
use crate::plane_matching::MatchRule;
use rule::{Look, TripleRule, U, X, Y, look};
pub use rule::{MILLIONTHS, MILLISTRIPS, THREE, ThirdPlaneRule};
use std::collections::VecDeque;

/// Clusters of a plane that a set can have. One that gets more is assigned before it is complete, and counted.
pub const LARGEST_SET: usize = 32;

/// What of the three planes an event is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
struct Triple {
    of: [u16; THREE],
    is_ambiguous: bool,
}

/// Gathers clusters of three planes and assigns them. See the [module documentation](self).
#[derive(Debug, get_size2::GetSize)]
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
            gathered: std::array::from_fn(|_| room_for(full, LARGEST_SET)),
            looks: std::array::from_fn(|_| Vec::with_capacity(LARGEST_SET)),
            candidates: Vec::with_capacity(LARGEST_SET.pow(3)),
            triples: Vec::with_capacity(LARGEST_SET),
            taken: std::array::from_fn(|_| Vec::with_capacity(LARGEST_SET)),
            pairings: pairs.map(|rule| Pairing::new(rule, LARGEST_SET)),
            rest: std::array::from_fn(|_| Vec::with_capacity(LARGEST_SET)),
            traits: std::array::from_fn(|_| Vec::with_capacity(LARGEST_SET)),
            ready: room_for(assigned, THREE * LARGEST_SET).into(),
            held: 0,
            reached: 0,
            max_difference: rule.max_difference.saturating_add(apart),
            crowded_sets: 0,
        }
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
mod tests;
