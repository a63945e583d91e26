//! The tables that all sections of a Gd-GEM have, whatever its electronics: what becomes of hits.

use evforge_core::geometry::LogicalGeometry;
use evforge_core::quantity::Duration;
use evforge_detect::gdgem::settings::{
    ClusteringSettings, MatchingSettings, PartitionSettings, Plane, PositionSettings, SpanSettings,
};
use evforge_detect::plane_matching::MatchBy;
use evforge_detect::settings::SettingsError;
use serde::Deserialize;

/// A plane.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PlaneName {
    X,
    Y,
}

impl PlaneName {
    pub(super) fn plane(self) -> Plane {
        match self {
            Self::X => Plane::X,
            Self::Y => Plane::Y,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Weighting {
    Charge,
    Plain,
}

/// `clustering.x` and `clustering.y`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PlaneClustering {
    adc_threshold: Option<u16>,
    max_time_gap: Option<Duration>,
    max_strip_gap: Option<u16>,
    min_hits: Option<u32>,
}

/// `clustering`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Clustering {
    x: PlaneClustering,
    y: PlaneClustering,
}

impl Clustering {
    pub(super) fn settings(&self, defaults: &ClusteringSettings) -> [ClusteringSettings; 2] {
        [&self.x, &self.y].map(|plane| ClusteringSettings {
            adc_threshold: plane.adc_threshold.unwrap_or(defaults.adc_threshold),
            max_time_gap: plane.max_time_gap.map_or(defaults.max_time_gap, |gap| gap.picoseconds),
            max_strip_gap: plane.max_strip_gap.unwrap_or(defaults.max_strip_gap),
            min_hits: plane.min_hits.unwrap_or(defaults.min_hits),
        })
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Match {
    End,
    Start,
    Centre,
    Overlap,
    Gap,
}

/// `matching`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Matching {
    by: Option<Match>,
    #[serde(alias = "max_end_difference")]
    max_difference: Option<Duration>,
    max_amplitude_ratio: Option<f64>,
}

impl Matching {
    pub(super) fn settings(&self, defaults: &MatchingSettings) -> MatchingSettings {
        // Thousandths are as fine as anybody can tell amplitudes; a cast of a float saturates.
        let permille = |ratio: f64| (ratio * 1000.0).round() as u64;
        MatchingSettings {
            by: match self.by {
                None => defaults.by,
                Some(Match::End) => MatchBy::End,
                Some(Match::Start) => MatchBy::Start,
                Some(Match::Centre) => MatchBy::Centre,
                Some(Match::Overlap) => MatchBy::Overlap,
                Some(Match::Gap) => MatchBy::Gap,
            },
            max_difference: self.max_difference.map_or(defaults.max_difference, |found| found.picoseconds),
            max_amplitude_permille: self.max_amplitude_ratio.map(permille),
        }
    }
}

/// `position.spans`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Spans {
    max_x: Option<u16>,
    min_x: Option<u16>,
    max_y: Option<u16>,
    min_y: Option<u16>,
    max_time: Option<Duration>,
}

/// Any track: no time group is as long as a thousand seconds.
const UNLIMITED: SpanSettings =
    SpanSettings { max_strips: [u16::MAX; 2], min_strips: [1; 2], max_time: 1_000_000_000_000_000 };

impl Spans {
    fn settings(&self, defaults: &SpanSettings) -> SpanSettings {
        let [max_x, max_y] = defaults.max_strips;
        let [min_x, min_y] = defaults.min_strips;
        SpanSettings {
            max_strips: [self.max_x.unwrap_or(max_x), self.max_y.unwrap_or(max_y)],
            min_strips: [self.min_x.unwrap_or(min_x), self.min_y.unwrap_or(min_y)],
            max_time: self.max_time.map_or(defaults.max_time, |time| time.picoseconds),
        }
    }
}

/// `position`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Position {
    weighting: Option<Weighting>,
    time_bins: Option<usize>,
    lower_uncertainty_limit: Option<u16>,
    upper_uncertainty_limit: Option<u16>,
    minimum_hits: Option<u32>,
    spans: Option<Spans>,
}

impl Position {
    pub(super) fn settings(&self, defaults: &PositionSettings) -> PositionSettings {
        PositionSettings {
            weighted: self
                .weighting
                .map_or(defaults.weighted, |weighting| matches!(weighting, Weighting::Charge)),
            time_bins: self.time_bins.unwrap_or(defaults.time_bins),
            lower_uncertainty_limit: self.lower_uncertainty_limit.or(defaults.lower_uncertainty_limit),
            upper_uncertainty_limit: self.upper_uncertainty_limit.or(defaults.upper_uncertainty_limit),
            minimum_hits: self.minimum_hits.or(defaults.minimum_hits),
            spans: match self.spans {
                None => defaults.spans,
                Some(spans) => Some(spans.settings(&defaults.spans.unwrap_or(UNLIMITED))),
            },
        }
    }
}

/// `geometry`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Geometry {
    nx: u32,
    ny: u32,
    #[serde(default = "Geometry::one_panel")]
    panels: u32,
}

impl Geometry {
    fn one_panel() -> u32 {
        1
    }

    pub(super) fn settings(&self) -> Result<LogicalGeometry, SettingsError> {
        LogicalGeometry::new(self.nx, self.ny, 1, self.panels)
            .map_err(|error| SettingsError { key: "geometry".into(), problem: error.to_string() })
    }
}

/// `partition`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Partition {
    regions: usize,
    #[serde(default = "Partition::overlap")]
    overlap: u16,
    #[serde(default = "Partition::threads")]
    threads: usize,
}

impl Partition {
    fn overlap() -> u16 {
        16
    }

    fn threads() -> usize {
        1
    }

    pub(super) fn settings(self) -> PartitionSettings {
        let Self { regions, overlap, threads } = self;
        PartitionSettings { regions, overlap, threads }
    }
}
