//! Cuts the hits of a window into the neutrons that they are.
//!
//! Hits of a plane that are close in time and place, one by one, make a cluster. The clusters of both planes are paired, and
//! the hits of each pair are put together: a *group*. A cluster without a partner is a group of its own.

use crate::ess::ticks;
use crate::pairing::{Ambiguous, PairRule, Pairing, Traits};
use crate::settings::pairing::PairingSettings;

/// Hits that a window has at most.
pub const MOST_HITS: usize = 128;

/// A hit that waits in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct WindowHit {
    /// Ticks.
    pub time: u64,
    /// Wire, strip or grid.
    pub coordinate: u16,
    /// Amplitude.
    pub amplitude: u16,
    /// 0 or 1.
    pub plane: u8,
}

/// What belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct PairedRules {
    /// A hit that comes later than this after the latest one begins a new window. In ticks.
    pub gap: u64,
    /// Hits of a cluster lie at most so far from another one of it. In ticks.
    pub cluster_gap: u64,
    /// How far apart neighbours are on each plane: 1 if none may be missing.
    pub reach: [u16; 2],
    /// Which clusters may be a neutron's.
    pub pairs: PairRule,
    /// What each plane's charge is multiplied with before charges are compared.
    pub charge_factors: [u64; 2],
    /// Whether a pair is dropped where another pairing would be nearly as good.
    pub drops_ambiguous: bool,
}

impl PairedRules {
    /// From the settings; `gap` in ticks of the ESS readout.
    pub fn new(settings: &PairingSettings, gap: u64, reach: [u16; 2]) -> Self {
        Self {
            gap,
            cluster_gap: ticks::in_duration(settings.max_cluster_gap),
            reach,
            pairs: PairRule {
                max_difference: ticks::in_duration(settings.max_difference),
                max_amplitude_permille: settings.max_amplitude_ratio.map(|ratio| u64::from(ratio.0)),
                delay: 0,
                usual_difference: ticks::in_duration(settings.usual_difference()),
                usual_start_difference: None,
                usual_amplitude_permille: settings.usual.amplitude_ratio.map(|ratio| u64::from(ratio.0)),
            },
            charge_factors: [u64::from(settings.typical_amplitude_ratio.0), 1000],
            drops_ambiguous: settings.ambiguous == Ambiguous::Drop,
        }
    }
}

/// Hits of neighbours on one plane that are close in time.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
struct Cluster {
    plane: u8,
    hits: u16,
    start: u64,
    /// Sum of the times since its start.
    times: u64,
    charge: u64,
    group: u16,
}

/// The clusters of a pair, or one that has no partner.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Group {
    hits: u16,
    /// Where the next of its hits goes.
    next: u16,
    fate: Fate,
}

/// What a group of hits is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub enum Fate {
    /// A cluster of each plane.
    Neutron,
    /// The same, but it is not clear enough that they belong together.
    Dropped,
    /// A cluster that has no partner.
    Lone,
}

/// The groups of a window, with the memory for finding them.
#[derive(Debug, get_size2::GetSize)]
pub struct NeutronGroups {
    rules: PairedRules,
    pairing: Pairing,
    /// For each hit an earlier one of its cluster, or itself.
    earlier: Vec<u16>,
    /// The cluster of each hit.
    of_hits: Vec<u16>,
    clusters: Vec<Cluster>,
    /// The clusters of each plane as pairing sees them, and their numbers.
    traits: [Vec<Traits>; 2],
    numbers: [Vec<u16>; 2],
    groups: Vec<Group>,
    /// The hits, group by group.
    grouped: Vec<WindowHit>,
    ambiguous_pairs: u64,
}

/// In no group yet.
const NO_GROUP: u16 = u16::MAX;

impl NeutronGroups {
    /// With the memory for a window.
    pub fn new(rules: PairedRules) -> Self {
        Self {
            pairing: Pairing::new(rules.pairs, MOST_HITS),
            rules,
            earlier: Vec::with_capacity(MOST_HITS),
            of_hits: Vec::with_capacity(MOST_HITS),
            clusters: Vec::with_capacity(MOST_HITS),
            traits: [Vec::with_capacity(MOST_HITS), Vec::with_capacity(MOST_HITS)],
            numbers: [Vec::with_capacity(MOST_HITS), Vec::with_capacity(MOST_HITS)],
            groups: Vec::with_capacity(MOST_HITS),
            grouped: Vec::with_capacity(MOST_HITS),
            ambiguous_pairs: 0,
        }
    }

    /// Cuts the hits of a window, which are in order of time, into groups.
    pub fn form(&mut self, hits: &[WindowHit]) {
        self.find_clusters(hits);
        self.find_groups();
        self.group_hits(hits);
    }

    /// The groups with their hits, each in order of time.
    pub fn groups(&self) -> impl Iterator<Item = (Fate, &[WindowHit])> {
        let mut rest = &self.grouped[..];
        self.groups.iter().map(move |group| {
            let (hits, others) = rest.split_at(usize::from(group.hits));
            rest = others;
            (group.fate, hits)
        })
    }

    /// Pairs that another pairing would be nearly as good as.
    pub fn ambiguous_pairs(&self) -> u64 {
        self.ambiguous_pairs
    }

    /// Clusters in the order of their first hits.
    fn find_clusters(&mut self, hits: &[WindowHit]) {
        let Self { rules, earlier, of_hits, clusters, traits, numbers, .. } = self;
        earlier.clear();
        for (number, hit) in (0_u16..).zip(hits) {
            earlier.push(number);
            let before = hits[..usize::from(number)].iter().enumerate().rev();
            let close = before.take_while(|(_, other)| hit.time - other.time <= rules.cluster_gap);
            let reach = rules.reach[usize::from(hit.plane & 1)];
            for (other, _) in close.filter(|(_, other)| {
                (other.plane == hit.plane) & (other.coordinate.abs_diff(hit.coordinate) <= reach)
            }) {
                let roots = [first_of(earlier, number), first_of(earlier, other as u16)];
                // The root of a cluster is its first hit.
                earlier[usize::from(roots[0].max(roots[1]))] = roots[0].min(roots[1]);
            }
        }
        of_hits.clear();
        clusters.clear();
        for (number, hit) in (0_u16..).zip(hits) {
            let root = first_of(earlier, number);
            if root == number {
                of_hits.push(clusters.len() as u16);
                let plane = hit.plane & 1;
                clusters.push(Cluster { plane, start: hit.time, group: NO_GROUP, ..Cluster::default() });
            } else {
                of_hits.push(of_hits[usize::from(root)]);
            }
            let cluster = &mut clusters[usize::from(of_hits[usize::from(number)])];
            cluster.hits += 1;
            cluster.times += hit.time - cluster.start;
            cluster.charge += u64::from(hit.amplitude);
        }
        for plane in 0..2 {
            traits[plane].clear();
            numbers[plane].clear();
            let factor = rules.charge_factors[plane];
            for (number, cluster) in
                (0..).zip(clusters.iter()).filter(|(_, of)| usize::from(of.plane) == plane)
            {
                numbers[plane].push(number);
                traits[plane].push(Traits {
                    start: cluster.start,
                    time: cluster.start + cluster.times / u64::from(cluster.hits),
                    charge: cluster.charge * factor,
                });
            }
        }
    }

    /// Pairs clusters and makes a group of each pair, and of each cluster without a partner.
    fn find_groups(&mut self) {
        let Self { rules, pairing, clusters, traits, numbers, groups, ambiguous_pairs, .. } = self;
        groups.clear();
        *ambiguous_pairs = 0;
        for pair in pairing.pair(&traits[0], &traits[1]) {
            let of_pair = [numbers[0][usize::from(pair.first)], numbers[1][usize::from(pair.second)]];
            let mut hits = 0;
            for cluster in of_pair.map(usize::from) {
                clusters[cluster].group = groups.len() as u16;
                hits += clusters[cluster].hits;
            }
            *ambiguous_pairs += u64::from(pair.is_ambiguous);
            let is_dropped = pair.is_ambiguous & rules.drops_ambiguous;
            groups.push(Group {
                hits,
                next: 0,
                fate: if is_dropped { Fate::Dropped } else { Fate::Neutron },
            });
        }
        for cluster in clusters.iter_mut().filter(|cluster| cluster.group == NO_GROUP) {
            cluster.group = groups.len() as u16;
            groups.push(Group { hits: cluster.hits, next: 0, fate: Fate::Lone });
        }
    }

    /// Puts the hits of each group together, in order of time.
    fn group_hits(&mut self, hits: &[WindowHit]) {
        let Self { of_hits, clusters, groups, grouped, .. } = self;
        let mut first = 0;
        for group in groups.iter_mut() {
            group.next = first;
            first += group.hits;
        }
        grouped.clear();
        grouped.resize(hits.len(), WindowHit::default());
        for (hit, cluster) in hits.iter().zip(of_hits) {
            let group = &mut groups[usize::from(clusters[usize::from(*cluster)].group)];
            grouped[usize::from(group.next)] = *hit;
            group.next += 1;
        }
    }
}

/// The first hit of the cluster that a hit belongs to.
#[inline]
fn first_of(earlier: &mut [u16], hit: u16) -> u16 {
    let mut at = hit;
    loop {
        let before = earlier[usize::from(at)];
        if before == at {
            return at;
        }
        // Halves the way for those who come later.
        let next = earlier[usize::from(before)];
        earlier[usize::from(at)] = next;
        at = next;
    }
}
