//! Where a neutron is on the third plane, and how alike its clusters are.

use crate::cluster::{Cluster, MatchBy};
use crate::matched_clusters::PLANES;
use crate::pairing::{PairRule, Traits, share};

/// Planes of a detector with a third one.
pub const THREE: usize = 3;
pub(super) const X: usize = 0;
pub(super) const Y: usize = 1;
pub(super) const U: usize = 2;

/// Thousandths of strips, in which strips of three planes are compared.
pub const MILLISTRIPS: i64 = 1000;
/// Coefficients are in millionths.
pub const MILLIONTHS: i64 = 1_000_000;

/// Where a neutron is on u: `from[0] * x + from[1] * y + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
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
    pub(super) fn expected(&self, [x, y]: [i64; PLANES]) -> i64 {
        let [from_x, from_y] = self.from;
        (from_x.saturating_mul(x)).saturating_add(from_y.saturating_mul(y)) / MILLIONTHS + self.offset
    }

    /// The place on the plane that is missing, from that on the other one and on u, in millistrips.
    pub(super) fn missing(&self, plane: usize, other: i64, u: i64) -> i64 {
        let (own, others) = (self.from[plane], self.from[1 - plane]);
        let rest = (u - self.offset).saturating_mul(MILLIONTHS) - others.saturating_mul(other);
        rest.checked_div(own).unwrap_or(i64::MAX)
    }
}

/// What is looked at of a cluster.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
pub(super) struct Look {
    pub(super) traits: Traits,
    /// In millistrips.
    pub(super) place: i64,
}

/// How alike the clusters of a neutron are.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub(super) struct TripleRule {
    pub(super) third: ThirdPlaneRule,
    /// Of x and y, of x and u, of y and u.
    pub(super) pairs: [PairRule; THREE],
}

impl TripleRule {
    /// The distance of three clusters; none if they are not of one neutron.
    pub(super) fn distance(&self, looks: &[Vec<Look>; THREE], of: [u16; THREE]) -> Option<u64> {
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

/// What is looked at of a cluster, with strips weighted with amplitudes or not.
pub(super) fn look(cluster: &Cluster, weighted: bool) -> Look {
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
