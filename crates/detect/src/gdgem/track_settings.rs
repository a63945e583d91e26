//! Settings of tracks, whatever electronics read them out: hits to clusters to events.

use super::third_plane_settings::ThirdPlaneSettings;
use crate::cluster::LARGEST_TIME_BINS;
use crate::hit::{ADC_LIMIT, KEY_TIME_LIMIT, STRIP_LIMIT};
use crate::pairing::Ambiguous;
use crate::panel_kind::{MOST_PANELS, PanelKind};
use crate::plane_matching::MatchBy;
use crate::settings::table::{AsItIs, Form, Inner, Over, Signed, Table, Time, table};
use crate::settings::{Picoseconds, SettingsError, SortingSettings};
use evforge_core::geometry::LogicalGeometry;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::MapAccess;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeGapOf {
    /// Any hits of the plane: it must be silent.
    #[default]
    Plane,
    /// Hits on strips that are neighbours.
    Neighbours,
}

table! { ClusteringSettings {
    /// Least amplitude. It applies to readouts that did not cross the chip's own threshold; those that did always pass.
    "adc_threshold" => (.adc_threshold) AsItIs { "maximum": ADC_LIMIT - 1, "x-unit": "ADC counts" },
    /// Largest time between two hits that follow one another in a cluster.
    "max_time_gap" => (.max_time_gap) Time { "x-range": "see below" },
    /// Which hits follow one another: `"plane"`: any of the plane, so that a cluster ends when the whole plane is silent; `"neighbours"`:
    /// those on strips within `max_strip_gap`, so that hits elsewhere on the plane bridge no gap. At high rates neutrons run into one another
    /// with `"plane"`. `"neighbours"` cannot be combined with `gdgem.partition`.
    "time_gap_of" => (.time_gap_of) AsItIs,
    /// Strips that may be missing between two neighbours in a cluster.
    "max_strip_gap" => (.max_strip_gap) AsItIs { "maximum": STRIP_LIMIT - 1, "x-unit": "strips" },
    /// Least number of hits of a cluster. Hits of smaller ones are discarded (`cluster_too_small`).
    "min_hits" => (.min_hits) AsItIs { "minimum": 1, "x-unit": "hits" },
} }
table! { [ClusteringSettings; 2] {
    /// Clusters of x.
    "x" => ([0]) Inner,
    /// Clusters of y.
    "y" => ([1]) Inner,
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
    /// Difference of the times that are compared; `max_difference` if it is left out.
    "difference" => (.difference) Time,
    /// Difference of the times of the first hits; not compared if it is left out.
    "start_difference" => (.start_difference) Time,
    /// The larger amplitude for the smaller one; not compared if it is left out.
    "amplitude_ratio" => (.amplitude_permille) Ratio { "x-range": "at least 1" },
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
    /// Which times of the clusters are compared: their ends (latest hits), their starts, their middles; `overlap`: they must share some time;
    /// `gap`: the time between the end of one and the start of the next.
    "by" => (.by) AsItIs,
    /// Largest difference of those times between clusters that follow one another in an event.
    "max_difference" | "max_end_difference" => (.max_difference) Time { "x-range": "at least 1 ns" },
    /// Events are discarded (`amplitude_mismatch`) if the amplitude of one plane is more than this many times that of the other. Clusters
    /// that are paired are no candidates then.
    "max_amplitude_ratio" => (.max_amplitude_permille) Ratio { "x-range": "at least 1", "x-default": "off" },
    /// What happens to several clusters of a plane that are close in time. `"join"`: they are one event, as in 2018, and counted
    /// (`joined_clusters`). `"nearest"`: the clusters of both planes are paired one to one. `"drop"`: the same, without pairs for which
    /// another pairing would be nearly as good; their hits are discarded (`ambiguous`). Such pairs are counted either way
    /// (`ambiguous_pairs`).
    "ambiguous" => (.ambiguous) AsItIs,
    /// By how much y comes after x: cables and calibration. Pairing takes it off before it compares times.
    "y_delay" => (.y_delay) Signed { "x-range": "may be below zero" },
    /// How alike the two clusters of a neutron are, for pairing: `{ difference = "60ns", start_difference = "85ns", amplitude_ratio = 1.15 }`
    /// are what 99 of 100 neutrons do not exceed in the time that is compared, in the time of the first hits, and in the ratio of amplitudes.
    /// What is left out is not compared; `difference` is `max_difference` then.
    "usual" => (.usual) Inner { "x-default": "off" },
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
enum Ratio {}

impl Form<Option<u64>> for Ratio {
    fn read<'de, A: MapAccess<'de>>(_: &Option<u64>, values: &mut A) -> Result<Option<u64>, A::Error> {
        Ok(Some((values.next_value::<f64>()? * 1000.0).round() as u64))
    }

    fn schema(_: &Option<u64>, _: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }

    fn written(current: &Option<u64>) -> Value {
        json!(current.map(|thousandths| thousandths as f64 / 1000.0))
    }
}

/// How a position is found and which are good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
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
    /// Weight strips with their amplitudes, or not. Without any amplitude the plain mean is taken.
    "weighting" => (.weighted) Weighting,
    /// Distinct times that `upper_uncertainty_limit` looks at. Without that limit it has no effect.
    "time_bins" => (.time_bins) AsItIs { "minimum": 1, "maximum": LARGEST_TIME_BINS, "x-unit": "times" },
    /// Keep only events whose latest hits span fewer strips than this, on both planes.
    "lower_uncertainty_limit" => (.lower_uncertainty_limit) AsItIs { "x-unit": "strips", "x-default": "off" },
    /// The same for the strips of the latest `time_bins` distinct times.
    "upper_uncertainty_limit" => (.upper_uncertainty_limit) AsItIs { "x-unit": "strips", "x-default": "off" },
    /// Keep only events with at least this many hits on each plane.
    "minimum_hits" => (.minimum_hits) AsItIs { "x-unit": "hits", "x-default": "off" },
    /// `{ max_x = 10, min_x = 1, max_y = 10, min_y = 1, max_time = "500ns" }`: keep only events of this many strips from the lowest to the
    /// highest on each plane, both counted, and of at most that time from the first hit of a plane to its last. What is left out is not
    /// limited.
    "spans" => (.spans) Limits,
} }

/// How strips are weighted.
#[derive(Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Weighting {
    /// With their charge.
    Charge,
    /// All alike.
    Plain,
}

impl Form<bool> for Weighting {
    fn read<'de, A: MapAccess<'de>>(_: &bool, values: &mut A) -> Result<bool, A::Error> {
        Ok(values.next_value::<Self>()? == Self::Charge)
    }

    fn schema(_: &bool, generator: &mut SchemaGenerator) -> Schema {
        Self::json_schema(generator)
    }

    fn written(&weighted: &bool) -> Value {
        json!(if weighted { Self::Charge } else { Self::Plain })
    }
}

/// Limits over those that hold anyway, or over none.
enum Limits {}

impl Form<Option<SpanSettings>> for Limits {
    fn read<'de, A: MapAccess<'de>>(
        current: &Option<SpanSettings>,
        values: &mut A,
    ) -> Result<Option<SpanSettings>, A::Error> {
        values.next_value_seed(Over(current.unwrap_or(SpanSettings::UNLIMITED))).map(Some)
    }

    fn schema(current: &Option<SpanSettings>, generator: &mut SchemaGenerator) -> Schema {
        current.unwrap_or(SpanSettings::UNLIMITED).schema(generator)
    }

    fn written(_: &Option<SpanSettings>) -> Value {
        Value::Null
    }
}

/// How far an event may reach on each of its planes, x and y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct SpanSettings {
    /// Most strips from the lowest to the highest, both counted.
    pub max_strips: [u16; 2],
    /// Least strips from the lowest to the highest, both counted.
    pub min_strips: [u16; 2],
    /// Longest time from the first hit to the last.
    pub max_time: Picoseconds,
}

table! { SpanSettings {
    /// Most strips on x from the lowest to the highest, both counted.
    "max_x" => (.max_strips[0]) AsItIs,
    /// Least strips on x.
    "min_x" => (.min_strips[0]) AsItIs,
    /// Most strips on y.
    "max_y" => (.max_strips[1]) AsItIs,
    /// Least strips on y.
    "min_y" => (.min_strips[1]) AsItIs,
    /// Longest time from the first hit of a plane to its last.
    "max_time" => (.max_time) Time,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartitionSettings {
    /// Regions of each plane: 2 cuts a panel into 2 × 2.
    #[schemars(range(min = 1, max = LARGEST_REGION_COUNT))]
    pub regions: usize,
    /// Strips beyond its own that a region sees. Clusters that may continue beyond them are counted (`clusters_wider_than_overlap`), and
    /// their time groups are done again as a whole: correct, but slower.
    #[serde(default = "PartitionSettings::usual_overlap")]
    #[schemars(range(min = 1, max = STRIP_LIMIT - 1), extend("x-unit" = "strips"))]
    pub overlap: u16,
    /// Threads that cluster regions, the one that forms events included. More than twice `regions` are of no use.
    #[serde(default = "PartitionSettings::one_thread")]
    #[schemars(range(min = 1, max = LARGEST_THREAD_COUNT))]
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
