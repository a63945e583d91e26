//! Pairs clusters of two planes one to one.
//!
//! Where several neutrons come at nearly the same time, each plane has a cluster of each of them. The two clusters of a
//! neutron are alike: their charge drifted together, so that they begin and end together, and both planes see the same
//! charge. Two clusters are *candidates* if they differ by no more than the limits of a [`PairRule`], and the *distance*
//! of candidates is the sum of the squares of their differences, each in units of its limit.
//!
//! Candidates are paired in order of their distance, closest first. Then two pairs exchange their partners where that
//! makes the sum of their distances smaller. A pair is *ambiguous* if something else would be nearly as good: an exchange with
//! another pair, or a cluster that is left over in place of a partner, at a distance that is larger by no more than
//! [`MARGIN`].
//!
//! All is computed in whole numbers, and ties go by the order of the clusters: the same clusters give the same pairs.

/// Which pairs become events where more than one pairing is possible.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Ambiguous {
    /// All clusters that are close in time are joined into one.
    #[default]
    Join,
    /// The pairs with the smallest distances.
    Nearest,
    /// Only pairs that nothing else is nearly as good as.
    Drop,
}

/// What pairing looks at of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Traits {
    /// Time of its first hit in ticks.
    pub start: u64,
    /// The time that is compared first, in ticks: of its last hit, unless told otherwise.
    pub time: u64,
    /// Sum of its amplitudes.
    pub charge: u64,
}

/// How alike the two clusters of a neutron are. Times in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct PairRule {
    /// Clusters whose times differ by more are no candidates.
    pub max_difference: u64,
    /// Clusters of which the larger charge has more than this many thousandths of the smaller one are no candidates either.
    pub max_amplitude_permille: Option<u64>,
    /// By how much the times of the second plane come after those of the first. It counts in no difference.
    pub delay: i64,
    /// What the times of the two clusters of a neutron usually differ by at most.
    pub usual_difference: u64,
    /// The same of their first hits, if they are compared.
    pub usual_start_difference: Option<u64>,
    /// The ratio of their charges that is usually not exceeded, in thousandths, if they are compared.
    pub usual_amplitude_permille: Option<u64>,
}

/// The distance of clusters that differ in one thing, as much as is usual.
const ONE: u64 = 1 << 20;

/// No single difference counts more than this: beyond, it is not the usual thing, and says nothing.
const MOST: u64 = 4 * ONE;

/// A pairing is nearly as good as another if the sum of its distances is larger by no more than this. With differences that
/// 99 % of the pairs do not exceed, the closer one is then right in five of six cases.
pub const MARGIN: u64 = ONE / 2;

/// Further apart than any candidates.
const FAR: u64 = u64::MAX / 8;

impl PairRule {
    /// The distance of a cluster of the first plane and one of the second; none if they are no candidates.
    #[inline]
    pub fn distance(&self, first: &Traits, second: &Traits) -> Option<u64> {
        if !self.are_candidates(first, second) {
            return None;
        }
        let difference = self.difference(first.time, second.time);
        let mut distance = share(difference, self.usual_difference);
        if let Some(usual) = self.usual_start_difference {
            distance += share(self.difference(first.start, second.start), usual);
        }
        if let Some(permille) = self.usual_amplitude_permille {
            distance += share_of_charges(first.charge, second.charge, permille);
        }
        Some(distance)
    }

    /// Whether a cluster of the first plane and one of the second can be a neutron's.
    #[inline]
    pub fn are_candidates(&self, first: &Traits, second: &Traits) -> bool {
        self.difference(first.time, second.time) <= self.max_difference && self.charges_agree(first, second)
    }

    fn difference(&self, first: u64, second: u64) -> u64 {
        second.abs_diff(first.saturating_add_signed(self.delay))
    }

    fn charges_agree(&self, first: &Traits, second: &Traits) -> bool {
        let (small, large) = (first.charge.min(second.charge), first.charge.max(second.charge));
        self.max_amplitude_permille
            .is_none_or(|permille| 1000 * u128::from(large) <= u128::from(permille) * u128::from(small))
    }
}

/// The square of a difference, in units of what is usual.
#[inline]
pub(crate) fn share(difference: u64, usual: u64) -> u64 {
    squared_part(u128::from(difference), u128::from(usual))
}

/// The same of two charges, that is of their difference over their sum: of a ratio r that is (r - 1) / (r + 1).
#[inline]
fn share_of_charges(first: u64, second: u64, usual_permille: u64) -> u64 {
    let difference = u128::from(first.abs_diff(second)) * u128::from(usual_permille + 1000);
    let usual = u128::from(first.saturating_add(second)) * u128::from(usual_permille.saturating_sub(1000));
    squared_part(difference, usual)
}

/// The square of `difference / usual`, in units of 2^-20; at most [`MOST`].
#[inline]
fn squared_part(difference: u128, usual: u128) -> u64 {
    let part = match (u64::try_from(difference), u64::try_from(usual)) {
        // As good as always, and several times as fast.
        (Ok(difference), Ok(usual)) if difference < 1 << 54 => (difference << 10).checked_div(usual),
        _ => (difference << 10).checked_div(usual).map(|part| part.min(u128::from(MOST)) as u64),
    };
    let part = part.unwrap_or(MOST).min(MOST);
    (part * part).min(MOST)
}

/// Two clusters that belong together, by their numbers on each plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct Pair {
    /// Of the first plane.
    pub first: u16,
    /// Of the second plane.
    pub second: u16,
    /// Whether another pairing would be nearly as good.
    pub is_ambiguous: bool,
}

#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Candidates {
    distance: u64,
    first: u16,
    second: u16,
}

/// The distances of all clusters of the first plane and all of the second, [`FAR`] where they are no candidates.
#[derive(Debug, get_size2::GetSize)]
struct Distances {
    of_pairs: Vec<u64>,
    second: usize,
}

impl Distances {
    #[inline]
    fn of(&self, first: u16, second: u16) -> u64 {
        self.of_pairs.get(usize::from(first) * self.second + usize::from(second)).copied().unwrap_or(FAR)
    }
}

/// Nobody's partner.
const NONE: u16 = u16::MAX;

/// Pairs clusters, with room for so many on each plane. See the [module documentation](self).
#[derive(Debug, get_size2::GetSize)]
pub struct Pairing {
    rule: PairRule,
    candidates: Vec<Candidates>,
    distances: Distances,
    /// The partner of each cluster of the first and of the second plane.
    partners: [Vec<u16>; 2],
    pairs: Vec<Pair>,
}

impl Pairing {
    /// For at most `most` clusters on each plane.
    pub fn new(rule: PairRule, most: usize) -> Self {
        Self {
            rule,
            candidates: Vec::with_capacity(most * most),
            distances: Distances { of_pairs: Vec::with_capacity(most * most), second: 0 },
            partners: [Vec::with_capacity(most), Vec::with_capacity(most)],
            pairs: Vec::with_capacity(most),
        }
    }

    /// The rule.
    pub fn rule(&self) -> &PairRule {
        &self.rule
    }

    /// Pairs the clusters of two planes, in the order of the first plane. What is in no pair has no partner.
    pub fn pair(&mut self, first: &[Traits], second: &[Traits]) -> &[Pair] {
        if let ([one], [other]) = (first, second) {
            // There is nothing to choose.
            self.pairs.clear();
            if self.rule.are_candidates(one, other) {
                self.pairs.push(Pair { first: 0, second: 0, is_ambiguous: false });
            }
            return &self.pairs;
        }
        self.find_candidates(first, second);
        self.take_closest(first.len(), second.len());
        let pairs = self.partners[0].iter().enumerate().filter(|(_, partner)| **partner != NONE);
        self.pairs.clear();
        self.pairs.extend(pairs.map(|(number, &partner)| Pair {
            first: number as u16,
            second: partner,
            is_ambiguous: false,
        }));
        // With a single candidate there is nothing else.
        if self.candidates.len() > self.pairs.len() {
            self.exchange_partners();
            self.find_ambiguous();
        }
        &self.pairs
    }

    fn find_candidates(&mut self, first: &[Traits], second: &[Traits]) {
        self.candidates.clear();
        self.distances.of_pairs.clear();
        self.distances.second = second.len();
        for (number, one) in (0_u16..).zip(first) {
            for (other_number, other) in (0_u16..).zip(second) {
                let distance = self.rule.distance(one, other);
                self.distances.of_pairs.push(distance.unwrap_or(FAR));
                if let Some(distance) = distance {
                    self.candidates.push(Candidates { distance, first: number, second: other_number });
                }
            }
        }
    }

    fn take_closest(&mut self, first: usize, second: usize) {
        let Self { candidates, partners: [of_first, of_second], .. } = self;
        of_first.clear();
        of_first.resize(first, NONE);
        of_second.clear();
        of_second.resize(second, NONE);
        candidates.sort_unstable_by_key(|pair| (pair.distance, pair.first, pair.second));
        for candidates in candidates {
            let (one, other) = (usize::from(candidates.first), usize::from(candidates.second));
            if of_first[one] == NONE && of_second[other] == NONE {
                (of_first[one], of_second[other]) = (candidates.second, candidates.first);
            }
        }
    }

    /// Two pairs exchange their partners if that is better. Each exchange makes the sum smaller: it ends.
    fn exchange_partners(&mut self) {
        let Self { distances, pairs, .. } = self;
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for index in 1..pairs.len() {
                let (before, rest) = pairs.split_at_mut(index);
                let Some(pair) = rest.first_mut() else { continue };
                for other in before {
                    let now = distances.of(pair.first, pair.second) + distances.of(other.first, other.second);
                    let then =
                        distances.of(pair.first, other.second) + distances.of(other.first, pair.second);
                    if then < now {
                        std::mem::swap(&mut pair.second, &mut other.second);
                        has_changed = true;
                    }
                }
            }
        }
    }

    fn find_ambiguous(&mut self) {
        let Self { distances, pairs, partners: [of_first, of_second], .. } = self;
        for index in 0..pairs.len() {
            let (before, rest) = pairs.split_at_mut(index);
            let Some(pair) = rest.first_mut() else { continue };
            let own = distances.of(pair.first, pair.second);
            for other in before {
                let now = own + distances.of(other.first, other.second);
                let then = distances.of(pair.first, other.second) + distances.of(other.first, pair.second);
                if then <= now + MARGIN {
                    (pair.is_ambiguous, other.is_ambiguous) = (true, true);
                }
            }
            // Exchanges leave over what was left over before.
            let nearly = |distance: u64| distance <= own + MARGIN;
            for (number, _) in (0_u16..).zip(&*of_second).filter(|(_, partner)| **partner == NONE) {
                pair.is_ambiguous |= nearly(distances.of(pair.first, number));
            }
            for (number, _) in (0_u16..).zip(&*of_first).filter(|(_, partner)| **partner == NONE) {
                pair.is_ambiguous |= nearly(distances.of(number, pair.second));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULE: PairRule = PairRule {
        max_difference: 100,
        max_amplitude_permille: None,
        delay: 0,
        usual_difference: 50,
        usual_start_difference: Some(80),
        usual_amplitude_permille: Some(1200),
    };

    fn traits(start: u64, time: u64, charge: u64) -> Traits {
        Traits { start, time, charge }
    }

    fn pairs(rule: PairRule, first: &[Traits], second: &[Traits]) -> Vec<(u16, u16, bool)> {
        let mut pairing = Pairing::new(rule, 16);
        pairing.pair(first, second).iter().map(|pair| (pair.first, pair.second, pair.is_ambiguous)).collect()
    }

    #[test]
    fn two_neutrons_at_once_are_told_apart_by_their_charge_and_their_length() {
        let [long, short] = [traits(1000, 1200, 500), traits(1150, 1210, 900)];
        let seen =
            |traits: Traits| Traits { time: traits.time + 15, charge: traits.charge * 21 / 20, ..traits };
        assert_eq!(pairs(RULE, &[long, short], &[seen(short), seen(long)]), [(0, 1, false), (1, 0, false)]);
        // By their times alone they are not.
        let times = PairRule { usual_start_difference: None, usual_amplitude_permille: None, ..RULE };
        assert!(pairs(times, &[long, short], &[seen(short), seen(long)]).iter().all(|pair| pair.2));
    }

    #[test]
    fn a_cluster_left_over_makes_a_pair_ambiguous_if_it_would_do_as_well() {
        let neutron = traits(1000, 1200, 500);
        let other = |charge| traits(1002, 1210, charge);
        assert_eq!(pairs(RULE, &[neutron], &[other(500), other(510)]), [(0, 0, true)]);
        assert_eq!(pairs(RULE, &[neutron], &[other(500), other(1000)]), [(0, 0, false)]);
        assert_eq!(pairs(RULE, &[other(1000), neutron], &[other(500)]), [(1, 0, false)]);
    }

    #[test]
    fn limits_exclude_and_a_delay_counts_in_no_difference() {
        let neutron = traits(1000, 1200, 500);
        assert_eq!(RULE.distance(&neutron, &traits(1000, 1301, 500)), None);
        assert_eq!(RULE.distance(&neutron, &traits(1000, 1099, 500)), None);
        let delayed = PairRule { delay: 101, ..RULE };
        assert_eq!(delayed.distance(&neutron, &traits(1101, 1301, 500)), Some(0));
        let earlier = PairRule { delay: -101, ..RULE };
        assert_eq!(earlier.distance(&neutron, &traits(899, 1099, 500)), Some(0));
        let strict = PairRule { max_amplitude_permille: Some(2000), ..RULE };
        assert_eq!(strict.distance(&neutron, &traits(1000, 1200, 1001)), None);
        assert!(strict.distance(&neutron, &traits(1000, 1200, 1000)).is_some());
        // As much as is usual of one thing; what is far from usual counts no more than twice that.
        assert_eq!(RULE.distance(&neutron, &traits(1000, 1250, 500)), Some(ONE));
        assert_eq!(RULE.distance(&neutron, &traits(1080, 1200, 500)), Some(ONE));
        assert_eq!(RULE.distance(&neutron, &traits(1000, 1200, 600)), Some(ONE));
        assert_eq!(RULE.distance(&neutron, &traits(1900, 1200, 50_000)), Some(2 * MOST));
    }

    #[test]
    fn what_electronics_never_send_does_not_overflow() {
        let extreme = [traits(0, 0, 0), traits(u64::MAX, u64::MAX, u64::MAX)];
        let rule = PairRule {
            max_difference: u64::MAX,
            usual_difference: 0,
            usual_amplitude_permille: Some(0),
            ..RULE
        };
        for one in &extreme {
            for other in &extreme {
                assert!(rule.distance(one, other).is_some());
            }
        }
    }

    fn clusters() -> impl Strategy<Value = Vec<Traits>> {
        let cluster = (0..200_u64, 0..100_u64, 1..1000_u64);
        prop::collection::vec(
            cluster.prop_map(|(start, length, charge)| traits(start, start + length, charge)),
            0..8,
        )
    }

    proptest! {
        /// Each cluster is in one pair at most, each pair is one of candidates, no two clusters without a partner are
        /// candidates, and no two pairs are closer the other way round.
        #[test]
        fn pairs_are_one_to_one_and_as_close_as_exchanges_make_them(first in clusters(), second in clusters()) {
            let found = pairs(RULE, &first, &second);
            let distance = |one: u16, other: u16| RULE.distance(&first[usize::from(one)], &second[usize::from(other)]);
            for (number, pair) in found.iter().enumerate() {
                prop_assert!(distance(pair.0, pair.1).is_some());
                for other in &found[..number] {
                    prop_assert!(pair.0 != other.0 && pair.1 != other.1);
                    let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
                    let now = sum(distance(pair.0, pair.1), distance(other.0, other.1));
                    let then = sum(distance(pair.0, other.1), distance(other.0, pair.1));
                    prop_assert!(then.is_none() || now <= then);
                    prop_assert!(then.is_none_or(|then| then > now.unwrap() + MARGIN) || pair.2 && other.2);
                }
            }
            for one in (0..first.len() as u16).filter(|one| found.iter().all(|pair| pair.0 != *one)) {
                for other in (0..second.len() as u16).filter(|other| found.iter().all(|pair| pair.1 != *other)) {
                    prop_assert_eq!(distance(one, other), None);
                }
            }
        }

        /// Clusters that are alike, in whatever order they come, find one another.
        #[test]
        fn the_order_of_the_clusters_does_not_matter(
            (seen, order) in clusters().prop_flat_map(|seen| {
                let order: Vec<_> = (0..seen.len()).collect();
                (Just(seen), Just(order).prop_shuffle())
            })
        ) {
            let distances: std::collections::HashSet<_> = seen.iter().flat_map(|one| seen.iter().map(|other| RULE.distance(one, other))).collect();
            let shuffled: Vec<_> = order.iter().map(|&number| seen[number]).collect();
            let found = pairs(RULE, &seen, &shuffled);
            let is_unique = seen.iter().enumerate().all(|(number, one)| seen[..number].iter().all(|other| RULE.distance(one, other) != Some(0)));
            prop_assume!(is_unique && !distances.is_empty());
            for (first, second, _) in found {
                prop_assert_eq!(order[usize::from(second)], usize::from(first));
            }
        }
    }
}
