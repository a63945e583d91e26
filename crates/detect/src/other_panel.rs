//! A panel that has no two planes of strips: one, three, or pads.

use crate::cluster::Cluster;
use crate::matched_clusters::{MatchedClusters, PLANES};
use crate::pad_clusters::{PadClusters, PadRule};
use crate::panel_kind::PanelKind;
use crate::plane_set::{Next, PlaneSet, Planes};
use crate::strip_clusterer::StripClusterer;
use crate::strip_rules::StripRules;
use crate::third_plane::{Assigned, MadeOf, THREE, ThirdPlane, ThirdPlaneRule};
use crate::track_monitor::Watch;

/// What such panels go by, beside the rules of strips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherRules {
    /// Columns and rows of a panel of pads.
    pub pads: [u16; PLANES],
    /// The third plane, if there is one.
    pub third: Option<ThirdPlaneRule>,
}

/// What a match is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub enum MatchOf {
    /// Strips of x and y.
    #[default]
    TwoPlanes,
    /// A cluster of a panel with strips of this plane only.
    OnePlane(u8),
    /// A cluster of pads: columns in place of x, rows in place of y, hits counted on x.
    Pads,
    /// Strips of three planes.
    ThreePlanes(MadeOf),
}

impl MatchOf {
    /// True if what there is of x and y was seen on x and y, as everywhere on panels of two planes.
    #[inline]
    pub fn is_of_two_planes(self) -> bool {
        matches!(
            self,
            Self::TwoPlanes
                | Self::ThreePlanes(MadeOf::Confirmed(_))
                | Self::ThreePlanes(MadeOf::Unconfirmed)
        )
    }
}

/// What an [`OtherPanel`] has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherCounts {
    /// Clusters of x and of y.
    pub clusters: [u64; PLANES],
    /// Clusters of u.
    pub clusters_u: u64,
    /// Clusters of pads.
    pub clusters_of_pads: u64,
    /// Hits of time groups above the largest size.
    pub group_too_large: u64,
    /// Hits of clusters below the smallest size.
    pub cluster_too_small: u64,
    /// Hits of clusters that found no room to wait for those of the other planes.
    pub matching_full: u64,
    /// Sets of clusters that were assigned before they were complete, because they had too many.
    pub crowded_sets: u64,
}

#[derive(Debug, get_size2::GetSize)]
enum Form {
    OnePlane { planes: PlaneSet<StripClusterer, 1>, plane: u8 },
    Pads(PlaneSet<PadClusters, 1>),
    ThreePlanes { planes: Box<PlaneSet<StripClusterer, THREE>>, third: Box<ThirdPlane> },
}

/// Forms what becomes an event on such a panel. See the [module documentation](self).
#[derive(Debug, get_size2::GetSize)]
pub struct OtherPanel {
    form: Form,
}

impl OtherPanel {
    /// For a panel of this kind, which is none of two planes; none for one of two planes, or of three without a rule for the third.
    pub fn new(kind: PanelKind, rules: &StripRules, others: &OtherRules) -> Option<Self> {
        let form = match kind {
            PanelKind::TwoPlanes => return None,
            PanelKind::OnlyX => Form::OnePlane { planes: PlaneSet::of_strips(rules, [0]), plane: 0 },
            PanelKind::OnlyY => Form::OnePlane { planes: PlaneSet::of_strips(rules, [1]), plane: 1 },
            PanelKind::Pads => {
                let rule = PadRule::new(others.pads, rules);
                let full = MatchedClusters { joined: 1, ..MatchedClusters::default() };
                let clusterer = |_| PadClusters::new(rule, rules.max_group);
                Form::Pads(PlaneSet::new(rules, [0], clusterer, full))
            }
            PanelKind::ThreePlanes => Form::ThreePlanes {
                planes: Box::new(PlaneSet::of_strips(rules, [0, 1, 2])),
                third: Box::new(ThirdPlane::new(others.third?, &rules.matching)),
            },
        };
        Some(Self { form })
    }

    /// Its planes.
    pub fn planes(&self) -> &dyn Planes {
        match &self.form {
            Form::OnePlane { planes, .. } => planes,
            Form::Pads(planes) => planes,
            Form::ThreePlanes { planes, .. } => &**planes,
        }
    }

    /// Its planes.
    pub fn planes_mut(&mut self) -> &mut dyn Planes {
        match &mut self.form {
            Form::OnePlane { planes, .. } => planes,
            Form::Pads(planes) => planes,
            Form::ThreePlanes { planes, .. } => &mut **planes,
        }
    }

    /// The next match of the time that is closed, or none until more is closed. They come in order of their ends.
    pub fn next_match(&mut self, watch: &mut impl Watch) -> Option<(MatchedClusters, MatchOf)> {
        match &mut self.form {
            Form::OnePlane { planes, plane } => {
                let cluster = next_of(planes, watch)?;
                Some((of_one_plane(*plane, &cluster), MatchOf::OnePlane(*plane)))
            }
            Form::Pads(planes) => Some((next_of(planes, watch)?, MatchOf::Pads)),
            Form::ThreePlanes { planes, third } => next_of_three(planes, third, watch)
                .map(|Assigned { matched, made_of }| (matched, MatchOf::ThreePlanes(made_of))),
        }
    }

    /// No match given out from here on ends earlier than this.
    pub fn future_from(&self) -> u64 {
        let held = match &self.form {
            Form::ThreePlanes { third, .. } => third.earliest_end(),
            _ => None,
        };
        self.planes().future_from().min(held.unwrap_or(u64::MAX))
    }

    /// Hits held anywhere in here.
    pub fn held(&self) -> u64 {
        let held = match &self.form {
            Form::ThreePlanes { third, .. } => third.held(),
            _ => 0,
        };
        self.planes().held() + held
    }

    /// The counts so far.
    pub fn counts(&self) -> OtherCounts {
        match &self.form {
            Form::OnePlane { planes, plane } => {
                let mut counts = of_planes(planes.counts());
                counts.clusters[usize::from(*plane)] = planes.counts().clusters[0];
                counts
            }
            Form::Pads(planes) => {
                let [clusters_of_pads] = planes.counts().clusters;
                OtherCounts { clusters_of_pads, ..of_planes(planes.counts()) }
            }
            Form::ThreePlanes { planes, third } => {
                let [x, y, clusters_u] = planes.counts().clusters;
                let crowded_sets = third.crowded_sets();
                OtherCounts { clusters: [x, y], clusters_u, crowded_sets, ..of_planes(planes.counts()) }
            }
        }
    }
}

fn of_planes<const N: usize>(counts: &crate::plane_set::PlaneSetCounts<N>) -> OtherCounts {
    OtherCounts {
        group_too_large: counts.group_too_large,
        cluster_too_small: counts.cluster_too_small,
        matching_full: counts.matching_full,
        ..OtherCounts::default()
    }
}

fn of_one_plane(plane: u8, cluster: &Cluster) -> MatchedClusters {
    let mut planes = [Cluster::default(); PLANES];
    planes[usize::from(plane) % PLANES] = *cluster;
    MatchedClusters { planes, time_end: cluster.time_end, ..MatchedClusters::default() }
}

/// The next cluster of a single plane.
fn next_of<C: crate::plane_set::GroupClusterer>(
    planes: &mut PlaneSet<C, 1>,
    watch: &mut impl Watch,
) -> Option<C::Found> {
    loop {
        match planes.next(watch) {
            Next::Cluster(_, found) => return Some(found),
            Next::EpochEnds => planes.begin_epoch(),
            Next::Nothing => return None,
        }
    }
}

fn next_of_three(
    planes: &mut PlaneSet<StripClusterer, THREE>,
    third: &mut ThirdPlane,
    watch: &mut impl Watch,
) -> Option<Assigned> {
    loop {
        if let Some(assigned) = third.next_ready() {
            return Some(assigned);
        }
        match planes.next(watch) {
            Next::Cluster(plane, cluster) => third.take(plane, &cluster),
            Next::EpochEnds if !third.is_empty() => third.complete(),
            Next::EpochEnds => planes.begin_epoch(),
            Next::Nothing => {
                third.complete_before(planes.future_from());
                return third.next_ready();
            }
        }
    }
}
