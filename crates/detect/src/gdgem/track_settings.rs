//! Settings of tracks, whatever electronics read them out: hits to clusters to events.

use super::third_plane_settings::ThirdPlaneSettings;
use crate::cluster::LARGEST_TIME_BINS;
use crate::hit::{ADC_LIMIT, KEY_TIME_LIMIT, STRIP_LIMIT};
use crate::pairing::Ambiguous;
use crate::panel_kind::{MOST_PANELS, PanelKind};
use crate::plane_matching::MatchBy;
use crate::settings::table::{Over, over, picoseconds, signed_picoseconds, some_picoseconds, table, value};
use crate::settings::{Picoseconds, SettingsError, SortingSettings};
use evforge_core::geometry::LogicalGeometry;
use serde::Deserialize;
use serde::de::MapAccess;

/// What becomes of hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackSettings {
    /// Time order.
    pub sorting: SortingSettings,
    /// Clusters of x and of y.
    pub clustering: [ClusteringSettings; 2],
    /// When clusters of both planes make an event.
    pub matching: MatchingSettings,
    /// Positions.
    pub position: PositionSettings,
    /// The logical geometry: flat, of one or several panels.
    pub geometry: LogicalGeometry,
    /// Parts of a detector of one panel that never share a neutron: each is clustered by itself, and all have the
    /// pixels of the one panel. 1 where there are none.
    pub sectors: u16,
    /// Regions that each panel is clustered in, if it is cut.
    pub partition: Option<PartitionSettings>,
    /// What the panels, or sectors, are.
    pub panels: [PanelKind; MOST_PANELS],
    /// Where a neutron is on a third plane, if there is one.
    pub third_plane: Option<ThirdPlaneSettings>,
}

/// What makes a cluster on one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusteringSettings {
    /// Least amplitude of a readout that did not cross the chip's own threshold.
    pub adc_threshold: u16,
    /// Largest time between two hits that follow one another.
    pub max_time_gap: Picoseconds,
    /// Which hits follow one another.
    pub time_gap_of: TimeGapOf,
    /// Strips that may be missing between neighbours.
    pub max_strip_gap: u16,
    /// Least number of hits.
    pub min_hits: u32,
}

/// Between which hits a gap in time ends a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeGapOf {
    /// Any hits of the plane: it must be silent.
    #[default]
    Plane,
    /// Hits on strips that are neighbours.
    Neighbours,
}

table! { ClusteringSettings {
    "adc_threshold" => (.adc_threshold) value,
    "max_time_gap" => (.max_time_gap) picoseconds,
    "time_gap_of" => (.time_gap_of) value,
    "max_strip_gap" => (.max_strip_gap) value,
    "min_hits" => (.min_hits) value,
} }
table! { [ClusteringSettings; 2] {
    "x" => ([0]) over,
    "y" => ([1]) over,
} }

/// When clusters of both planes make an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchingSettings {
    /// Which times of the clusters are compared.
    pub by: MatchBy,
    /// How far apart the times may be.
    pub max_difference: Picoseconds,
    /// How many thousandths of the other plane's amplitude a plane's amplitude may have, if it matters.
    pub max_amplitude_permille: Option<u64>,
    /// What becomes of several clusters of a plane that are close in time.
    pub ambiguous: Ambiguous,
    /// By how much y comes after x, in picoseconds. It counts in no difference of times where clusters are paired.
    pub y_delay: i64,
    /// How alike the clusters of a neutron usually are, where clusters are paired.
    pub usual: UsualDifferences,
}

/// What clusters of a neutron on x and y usually differ by at most: 99 % of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsualDifferences {
    /// Difference of the times that are compared; [`MatchingSettings::max_difference`] unless told otherwise.
    pub difference: Option<Picoseconds>,
    /// Difference of their first hits, if they are compared.
    pub start_difference: Option<Picoseconds>,
    /// Thousandths that the larger amplitude has of the smaller one, if they are compared.
    pub amplitude_permille: Option<u64>,
}

table! { UsualDifferences {
    "difference" => (.difference) some_picoseconds,
    "start_difference" => (.start_difference) some_picoseconds,
    "amplitude_ratio" => (.amplitude_permille) permille,
} }

impl MatchingSettings {
    /// All that is close in time is joined: clusters are compared by one time only.
    pub const fn joining(by: MatchBy, max_difference: Picoseconds) -> Self {
        Self {
            by,
            max_difference,
            max_amplitude_permille: None,
            ambiguous: Ambiguous::Join,
            y_delay: 0,
            usual: UsualDifferences { difference: None, start_difference: None, amplitude_permille: None },
        }
    }
}

table! { MatchingSettings {
    "by" => (.by) value,
    "max_difference" | "max_end_difference" => (.max_difference) picoseconds,
    "max_amplitude_ratio" => (.max_amplitude_permille) permille,
    "ambiguous" => (.ambiguous) value,
    "y_delay" => (.y_delay) signed_picoseconds,
    "usual" => (.usual) over,
} }

impl MatchingSettings {
    fn check_pairing(&self) -> Result<(), SettingsError> {
        let joins = self.ambiguous == Ambiguous::Join;
        if joins && (self.usual != UsualDifferences::default() || self.y_delay != 0) {
            let key = if self.y_delay == 0 { "matching.usual" } else { "matching.y_delay" };
            let problem = "is for clusters that are paired: needs ambiguous = \"nearest\" or \"drop\"";
            return SettingsError::refuse(key, problem);
        }
        if !joins && matches!(self.by, MatchBy::Overlap | MatchBy::Gap) {
            let problem = "clusters are paired by a time of theirs: needs by = \"end\", or \"start\" or \"centre\" with [gdgem]";
            return SettingsError::refuse("matching.ambiguous", problem);
        }
        Ok(())
    }
}

/// A ratio in thousandths, which are as fine as anybody can tell amplitudes; a cast of a float saturates.
fn permille<'de, A: MapAccess<'de>>(_: &Option<u64>, values: &mut A) -> Result<Option<u64>, A::Error> {
    Ok(Some((values.next_value::<f64>()? * 1000.0).round() as u64))
}

/// How a position is found and which are good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionSettings {
    /// Weight strips with amplitudes.
    pub weighted: bool,
    /// Distinct times that the upper uncertainty looks at (1 to [`LARGEST_TIME_BINS`]).
    pub time_bins: usize,
    /// Both planes' lower uncertainty must stay below this, if set.
    pub lower_uncertainty_limit: Option<u16>,
    /// Both planes' upper uncertainty must stay below this, if set.
    pub upper_uncertainty_limit: Option<u16>,
    /// Both planes must have at least this many hits, if set.
    pub minimum_hits: Option<u32>,
    /// How far an event may reach, if that matters.
    pub spans: Option<SpanSettings>,
}

table! { PositionSettings {
    "weighting" => (.weighted) charge,
    "time_bins" => (.time_bins) value,
    "lower_uncertainty_limit" => (.lower_uncertainty_limit) value,
    "upper_uncertainty_limit" => (.upper_uncertainty_limit) value,
    "minimum_hits" => (.minimum_hits) value,
    "spans" => (.spans) spans,
} }

/// Whether strips are weighted with their charge.
fn charge<'de, A: MapAccess<'de>>(_: &bool, values: &mut A) -> Result<bool, A::Error> {
    #[derive(Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Weighting {
        Charge,
        Plain,
    }
    Ok(values.next_value::<Weighting>()? == Weighting::Charge)
}

/// Limits over those that hold anyway, or over none.
fn spans<'de, A: MapAccess<'de>>(
    current: &Option<SpanSettings>,
    values: &mut A,
) -> Result<Option<SpanSettings>, A::Error> {
    values.next_value_seed(Over(current.unwrap_or(SpanSettings::UNLIMITED))).map(Some)
}

/// How far an event may reach on each of its planes, x and y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanSettings {
    /// Most strips from the lowest to the highest, both counted.
    pub max_strips: [u16; 2],
    /// Least strips from the lowest to the highest, both counted.
    pub min_strips: [u16; 2],
    /// Longest time from the first hit to the last.
    pub max_time: Picoseconds,
}

table! { SpanSettings {
    "max_x" => (.max_strips[0]) value,
    "min_x" => (.min_strips[0]) value,
    "max_y" => (.max_strips[1]) value,
    "min_y" => (.min_strips[1]) value,
    "max_time" => (.max_time) picoseconds,
} }

impl SpanSettings {
    /// Any track: no time group is as long as a thousand seconds.
    pub const UNLIMITED: Self =
        Self { max_strips: [u16::MAX; 2], min_strips: [1; 2], max_time: 1_000_000_000_000_000 };

    fn check(&self) -> Result<(), SettingsError> {
        for (name, (least, most)) in ["x", "y"].iter().zip(self.min_strips.iter().zip(&self.max_strips)) {
            if least > most {
                let problem = format!("{least} strips at least and {most} at most: no event can be so");
                return SettingsError::refuse(format!("position.spans.min_{name}"), problem);
            }
        }
        Ok(())
    }
}

/// How panels are cut into regions, each clustered for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionSettings {
    /// Regions of each plane (1 to [`LARGEST_REGION_COUNT`]).
    pub regions: usize,
    /// Strips beyond its own that a region sees, at least 1.
    #[serde(default = "PartitionSettings::usual_overlap")]
    pub overlap: u16,
    /// Threads that cluster regions (1 to [`LARGEST_THREAD_COUNT`]).
    #[serde(default = "PartitionSettings::one_thread")]
    pub threads: usize,
}

/// Most regions of a plane.
pub const LARGEST_REGION_COUNT: usize = 16;

/// Most threads that cluster regions.
pub const LARGEST_THREAD_COUNT: usize = 64;

impl PartitionSettings {
    fn usual_overlap() -> u16 {
        16
    }

    fn one_thread() -> usize {
        1
    }

    fn check(&self) -> Result<(), SettingsError> {
        if !(1..=LARGEST_REGION_COUNT).contains(&self.regions) {
            let problem = format!("{} is not in 1..={LARGEST_REGION_COUNT}", self.regions);
            return SettingsError::refuse("partition.regions", problem);
        }
        if !(1..STRIP_LIMIT).contains(&self.overlap) {
            let problem = format!("{} is not in 1..={}", self.overlap, STRIP_LIMIT - 1);
            return SettingsError::refuse("partition.overlap", problem);
        }
        if !(1..=LARGEST_THREAD_COUNT).contains(&self.threads) {
            let problem = format!("{} is not in 1..={LARGEST_THREAD_COUNT}", self.threads);
            return SettingsError::refuse("partition.threads", problem);
        }
        Ok(())
    }
}

/// Most panels.
pub const LARGEST_PANEL_COUNT: u32 = MOST_PANELS as u32;

impl TrackSettings {
    /// Parts that are clustered by themselves: the panels, or the sectors.
    pub fn units(&self) -> usize {
        (self.geometry.panels() as usize).max(usize::from(self.sectors))
    }

    /// What each of these is.
    pub fn panel_kinds(&self) -> &[PanelKind] {
        &self.panels[..self.units().min(MOST_PANELS)]
    }

    /// Checks everything but the order of time and [`TrackSettings::check_group_span`].
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (name, plane) in ["x", "y"].iter().zip(&self.clustering) {
            let key = |key| format!("clustering.{name}.{key}");
            if plane.adc_threshold >= ADC_LIMIT {
                let problem =
                    format!("{} is above the largest amplitude {}", plane.adc_threshold, ADC_LIMIT - 1);
                return SettingsError::refuse(key("adc_threshold"), problem);
            }
            if plane.max_strip_gap >= STRIP_LIMIT {
                return SettingsError::refuse(key("max_strip_gap"), format!("at most {}", STRIP_LIMIT - 1));
            }
            if plane.min_hits == 0 {
                return SettingsError::refuse(key("min_hits"), "a cluster has at least 1 hit");
            }
        }
        if self.matching.max_difference < 1000 {
            return SettingsError::refuse("matching.max_difference", "must be at least 1ns");
        }
        self.matching.check_pairing()?;
        if self.matching.max_amplitude_permille.is_some_and(|permille| permille < 1000) {
            return SettingsError::refuse("matching.max_amplitude_ratio", "must be at least 1");
        }
        if !(1..=LARGEST_TIME_BINS).contains(&self.position.time_bins) {
            let problem = format!("{} is not in 1..={LARGEST_TIME_BINS}", self.position.time_bins);
            return SettingsError::refuse("position.time_bins", problem);
        }
        if let Some(spans) = &self.position.spans {
            spans.check()?;
        }
        if let Some(partition) = &self.partition {
            partition.check()?;
            if self.clustering.iter().any(|plane| plane.time_gap_of == TimeGapOf::Neighbours) {
                let problem = "regions cluster by gaps of the plane: needs time_gap_of = \"plane\"";
                return SettingsError::refuse("partition", problem);
            }
        }
        if self.geometry.panels() > LARGEST_PANEL_COUNT {
            let problem = format!("at most {LARGEST_PANEL_COUNT} panels");
            return SettingsError::refuse("geometry", problem);
        }
        if !(1..=LARGEST_PANEL_COUNT).contains(&u32::from(self.sectors)) {
            let problem = format!("{} is not in 1..={LARGEST_PANEL_COUNT}", self.sectors);
            return SettingsError::refuse("sectors", problem);
        }
        if self.sectors > 1 && self.geometry.panels() > 1 {
            let problem = "a detector has panels, each with pixels of its own, or sectors, which share theirs: not both";
            return SettingsError::refuse("sectors", problem);
        }
        Ok(())
    }

    /// A group must fit the span of the sort keys, whatever its hits. `ticks` converts durations.
    ///
    /// # Errors
    /// The first plane whose groups do not.
    pub fn check_group_span(&self, ticks: impl Fn(Picoseconds) -> u64) -> Result<(), SettingsError> {
        for (name, plane) in ["x", "y"].iter().zip(&self.clustering) {
            let gap = u128::from(ticks(plane.max_time_gap)) + 1;
            let hits = self.sorting.max_group_hits as u128 + 1;
            if gap * hits >= u128::from(KEY_TIME_LIMIT / 2) {
                let problem = format!(
                    "a group of sorting.max_group_hits = {} hits that far apart spans more time than can be \
                     sorted at once: lower one of the two",
                    self.sorting.max_group_hits
                );
                return SettingsError::refuse(format!("clustering.{name}.max_time_gap"), problem);
            }
        }
        Ok(())
    }
}
