//! What the matching of planes gives: the clusters of a neutron.

use crate::cluster::Cluster;

/// Number of planes.
pub const PLANES: usize = 2;

/// The clusters of both planes that belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct MatchedClusters {
    /// What was collected on each plane; a plane without hits took no part.
    pub planes: [Cluster; PLANES],
    /// The latest end of all clusters.
    pub time_end: u64,
    /// Clusters that were joined with another one of their plane.
    pub joined: u32,
    /// Whether other clusters would be nearly as good a match.
    pub is_ambiguous: bool,
    /// Whether it is not to become an event for that reason.
    pub is_dropped: bool,
}

impl MatchedClusters {
    /// Hits of both planes.
    pub fn hits(&self) -> u64 {
        self.planes.iter().map(|plane| u64::from(plane.hits)).sum()
    }

    /// True if the amplitudes of both planes are within `permille` thousandths of one another: neither is more
    /// than this many times the other.
    pub fn amplitudes_agree(&self, permille: u64) -> bool {
        let [x, y] = self.planes.map(|plane| u128::from(plane.charge));
        let within = |large: u128, small: u128| 1000 * large <= u128::from(permille) * small;
        within(x, y) && within(y, x)
    }

    /// Takes a cluster in: joins it with what has been collected on its plane.
    pub(crate) fn add(&mut self, plane: usize, cluster: &Cluster, time_bins: usize) {
        if self.planes[plane].hits == 0 {
            self.planes[plane] = *cluster;
        } else {
            self.planes[plane].merge(cluster, time_bins);
            self.joined += 1;
        }
        self.time_end = self.time_end.max(cluster.time_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amplitudes_agree_within_a_ratio_of_either_plane() {
        let set = |x: u64, y: u64| MatchedClusters {
            planes: [x, y].map(|charge| Cluster { charge, ..Cluster::default() }),
            ..MatchedClusters::default()
        };
        let agree = [(100, 300), (300, 100), (100, 301), (0, 5), (0, 0)]
            .map(|(x, y)| set(x, y).amplitudes_agree(3000));
        assert_eq!(agree, [true, true, false, false, true]);
    }
}
