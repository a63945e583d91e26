//! Clusters: hits of one plane, close in time and in strips.
//!
//! Hits are first split where the time gap to the previous hit exceeds the limit (that is done by the
//! [`plane_sorter`](crate::plane_sorter)), then, within a time group, where strips are too far apart (EFU
//! formats of 2018, section 4.6, "Cluster"). Of a cluster only what later steps need is kept: how many hits,
//! when it ends, and a summary of its *latest* hits, which in a micro-TPC mark where the neutron's track
//! began.

/// Distinct times that [`Bins`] can keep.
pub const LARGEST_TIME_BINS: usize = 4;

/// The strips of one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
struct Bin {
    /// Ticks before the end of the cluster; what lies further back than 32 bits counts as that far.
    before_end: u32,
    first: u16,
    last: u16,
}

/// Strip span of each of the latest distinct times of a cluster, latest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Bins {
    bins: [Bin; LARGEST_TIME_BINS],
    length: u8,
}

impl Bins {
    /// Adds strips at a time, keeping the `limit` latest distinct times.
    fn add(&mut self, limit: usize, bin: Bin) {
        let known = &mut self.bins[..usize::from(self.length)];
        let at = known.iter().position(|old| old.before_end >= bin.before_end).unwrap_or(known.len());
        if let Some(old) = known.get_mut(at)
            && old.before_end == bin.before_end
        {
            old.first = old.first.min(bin.first);
            old.last = old.last.max(bin.last);
        } else if at < limit.min(LARGEST_TIME_BINS) {
            let length = (usize::from(self.length) + 1).min(limit);
            self.bins[..length].copy_within(at..length - 1, at + 1);
            self.bins[at] = bin;
            self.length = length as u8;
        }
    }

    /// The same bins of a cluster that ends so much later.
    fn postponed(mut self, later: u64) -> Self {
        let later = u32::try_from(later).unwrap_or(u32::MAX);
        for bin in &mut self.bins[..usize::from(self.length)] {
            bin.before_end = bin.before_end.saturating_add(later);
        }
        self
    }

    /// Strips from the lowest to the highest of all bins, both counted; 0 without bins.
    pub fn strip_span(&self) -> u16 {
        let bins = &self.bins[..usize::from(self.length)];
        let first = bins.iter().map(|bin| bin.first).min();
        let last = bins.iter().map(|bin| bin.last).max();
        first.zip(last).map_or(0, |(first, last)| last - first + 1)
    }
}

/// A cluster, or the clusters of one plane that an event has collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Cluster {
    /// Time of its first hit in ticks.
    pub time_start: u64,
    /// Time of its last hit in ticks.
    pub time_end: u64,
    /// Number of hits.
    pub hits: u32,
    /// Sum of the amplitudes of all hits.
    pub charge: u64,
    /// Lowest strip.
    pub first: u16,
    /// Highest strip.
    pub last: u16,
    /// Number of latest hits: those at `time_end`.
    pub latest_hits: u32,
    /// Sum of the strips of the latest hits.
    pub latest_strips: u64,
    /// Sum of the amplitudes of the latest hits.
    pub latest_charge: u64,
    /// Sum of strip times amplitude of the latest hits.
    pub latest_charge_strips: u64,
    /// Lowest strip of the latest hits.
    pub latest_first: u16,
    /// Highest strip of the latest hits.
    pub latest_last: u16,
    /// The latest distinct times; empty unless the upper uncertainty is in use.
    pub bins: Bins,
}

impl Cluster {
    /// Adds one hit to the summary of the latest hits.
    #[inline]
    pub(crate) fn add_latest(&mut self, strip: u16, adc: u16) {
        self.latest_hits += 1;
        self.latest_strips += u64::from(strip);
        self.latest_charge += u64::from(adc);
        self.latest_charge_strips += u64::from(strip) * u64::from(adc);
        self.latest_first = self.latest_first.min(strip);
        self.latest_last = self.latest_last.max(strip);
    }

    /// Adds one hit to the bins.
    pub(crate) fn add_to_bins(&mut self, time_bins: usize, before_end: u64, strip: u16) {
        let before_end = u32::try_from(before_end).unwrap_or(u32::MAX);
        self.bins.add(time_bins, Bin { before_end, first: strip, last: strip });
    }

    /// Adds another cluster of the same plane.
    pub fn merge(&mut self, other: &Cluster, time_bins: usize) {
        let (hits, charge) = (self.hits + other.hits, self.charge + other.charge);
        let start = self.time_start.min(other.time_start);
        let end = self.time_end.max(other.time_end);
        let (first, last) = (self.first.min(other.first), self.last.max(other.last));
        let mut bins = self.bins;
        if time_bins > 0 {
            bins = self.bins.postponed(end - self.time_end);
            let others = other.bins.postponed(end - other.time_end);
            for bin in &others.bins[..usize::from(others.length)] {
                bins.add(time_bins, *bin);
            }
        }
        if other.time_end > self.time_end {
            *self = *other;
        } else if other.time_end == self.time_end {
            self.latest_hits += other.latest_hits;
            self.latest_strips += other.latest_strips;
            self.latest_charge += other.latest_charge;
            self.latest_charge_strips += other.latest_charge_strips;
            self.latest_first = self.latest_first.min(other.latest_first);
            self.latest_last = self.latest_last.max(other.latest_last);
        }
        (self.hits, self.charge, self.time_start) = (hits, charge, start);
        (self.first, self.last, self.bins) = (first, last, bins);
    }

    /// Strip where the track began: the mean over the latest hits, rounded half up, weighted with the
    /// amplitudes if asked for and if there is any amplitude.
    pub fn centre(&self, weighted: bool) -> u64 {
        let (sum, weight) = if weighted && self.latest_charge > 0 {
            (self.latest_charge_strips, self.latest_charge)
        } else {
            (self.latest_strips, u64::from(self.latest_hits))
        };
        if weight == 0 { 0 } else { (2 * sum + weight) / (2 * weight) }
    }

    /// Strips from the lowest to the highest, both counted.
    pub fn strip_span(&self) -> u16 {
        self.last - self.first + 1
    }

    /// Time from the first hit to the last, in ticks.
    pub fn time_span(&self) -> u64 {
        self.time_end - self.time_start
    }

    /// Strips that the latest hits span, first and last counted: the lower uncertainty of the position.
    pub fn lower_uncertainty(&self) -> u16 {
        self.latest_last - self.latest_first + 1
    }
}

/// What makes a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct ClusterRule {
    /// Strips that may be missing between two neighbours in a cluster.
    pub max_strip_gap: u16,
    /// Hits that a cluster must have.
    pub min_hits: u32,
    /// Distinct times to keep for the upper uncertainty; 0 if it is not in use.
    pub time_bins: usize,
    /// Largest time in ticks between hits on strips that are neighbours, if hits are linked one by one; otherwise any hits
    /// of the plane link those before and after them.
    pub linked_within: Option<u64>,
}

/// Which times of clusters are compared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum MatchBy {
    /// The last hits: where the tracks begin in a micro-TPC, closest to the neutron.
    #[default]
    End,
    /// The first hits.
    Start,
    /// The middles.
    Centre,
    /// Both must share some time.
    Overlap,
    /// The time between the end of one and the start of the next.
    Gap,
}

impl get_size2::GetSize for MatchBy {}

impl MatchBy {
    /// All ways.
    pub const ALL: [Self; 5] = [Self::End, Self::Start, Self::Centre, Self::Overlap, Self::Gap];

    /// The time that clusters are ordered by, in ticks: never before the first hit of the cluster.
    #[inline]
    pub fn key(self, cluster: &Cluster) -> u64 {
        match self {
            Self::End => cluster.time_end,
            Self::Centre => cluster.time_start + (cluster.time_end - cluster.time_start) / 2,
            Self::Start | Self::Overlap | Self::Gap => cluster.time_start,
        }
    }
}
