//! Monitor data: what a detector shows of its inside while it is being set up or looked after.
//!
//! Readouts per channel and their amplitudes, sizes of clusters, amplitudes of both planes against each other,
//! clusters without a partner, and a few whole tracks. None of it is needed to form events: it is off unless
//! somebody looks ([`Detector::set_monitoring`](crate::detector::Detector::set_monitoring)), and a detector
//! that is not watched pays one branch per packet.
//!
//! All memory is taken when monitoring begins; collecting never allocates.

/// Bins of an amplitude spectrum.
pub const SPECTRUM_BINS: usize = 64;
/// Bins of a multiplicity: clusters of 0, 1, … hits; the last bin also takes all larger ones.
pub const MULTIPLICITY_BINS: usize = 33;
/// Bins per axis of the correlation of both planes' amplitudes.
pub const CORRELATION_BINS: usize = 64;
/// Tracks that are kept; a new one replaces the oldest.
pub const TRACKS: usize = 16;
/// Hits that are kept of a track.
pub const TRACK_HITS: usize = 128;
/// Planes of a detector at most.
pub const PLANES: usize = 2;

/// Channels that belong together: a chip, a digitizer, a bus.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct ChannelGroup {
    /// What people call it: "digitizer 143".
    pub name: String,
    /// Its channels, numbered from 0.
    pub channels: usize,
    /// How entries of masks in a configuration name the channels, in their order; empty if they cannot be masked.
    pub masks: Vec<MaskKeys>,
    /// Channels to which nothing is wired, in their order: silent, and not to be masked.
    pub unwired: Vec<usize>,
    /// The least amplitude of a readout that counts, of each channel, as the readouts have it; 0 for one without a threshold.
    /// Empty if no channel has one.
    pub thresholds: Vec<u16>,
    /// The plane of each channel, an index of [`MonitorPlan::planes`]; [`NO_PLANE`] for one on none. Empty if no channel is
    /// on a plane.
    pub planes: Vec<u8>,
}

/// The plane of a channel that is on none.
pub const NO_PLANE: u8 = u8::MAX;

/// How an entry of a mask names channels that follow one another.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct MaskKeys {
    /// Keys and values as they stand in the configuration, without `channels` and `reason`.
    pub keys: Vec<(&'static str, u32)>,
    /// How many channels it is about; in the entry they count from 0.
    pub channels: usize,
}

impl ChannelGroup {
    /// A group that cannot be masked.
    pub fn new(name: impl Into<String>, channels: usize) -> Self {
        Self {
            name: name.into(),
            channels,
            masks: Vec::new(),
            unwired: Vec::new(),
            thresholds: Vec::new(),
            planes: Vec::new(),
        }
    }

    /// The group, whose next `channels` channels a mask names with these keys.
    pub fn masked_by(mut self, channels: usize, keys: &[(&'static str, u32)]) -> Self {
        self.masks.push(MaskKeys { keys: keys.to_vec(), channels });
        self
    }

    /// The group, with these channels unwired.
    pub fn without(mut self, unwired: impl IntoIterator<Item = usize>) -> Self {
        self.unwired = unwired.into_iter().collect();
        self.unwired.shrink_to_fit();
        self
    }

    /// The group, with these thresholds of its channels.
    pub fn with_thresholds(mut self, thresholds: impl IntoIterator<Item = u16>) -> Self {
        self.thresholds = thresholds.into_iter().take(self.channels).collect();
        self
    }

    /// The group, with its channels on these planes.
    pub fn on_planes(mut self, planes: impl IntoIterator<Item = u8>) -> Self {
        self.planes = planes.into_iter().take(self.channels).collect();
        self
    }

    /// True if something is wired to a channel.
    pub fn is_wired(&self, channel: usize) -> bool {
        self.unwired.binary_search(&channel).is_err()
    }

    /// How a mask names a channel: the keys, and the number in `channels`.
    pub fn mask_of(&self, channel: usize) -> Option<(&MaskKeys, usize)> {
        let mut first = 0;
        for mask in &self.masks {
            if let Some(number) = channel.checked_sub(first).filter(|&number| number < mask.channels) {
                return Some((mask, number));
            }
            first += mask.channels;
        }
        None
    }
}

/// What is to be collected.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct MonitorPlan {
    /// The channels. A channel's *index* counts through all groups in their order.
    pub groups: Vec<ChannelGroup>,
    /// Names of the planes, at most [`PLANES`].
    pub planes: Vec<&'static str>,
    /// Bits of an amplitude: spectra cover `0..2^amplitude_bits`.
    pub amplitude_bits: u32,
    /// Bits of the amplitude of a whole cluster: its spectra cover `0..2^cluster_amplitude_bits`.
    pub cluster_amplitude_bits: u32,
}

impl MonitorPlan {
    /// Channels in all groups.
    pub fn channel_count(&self) -> usize {
        self.groups.iter().map(|group| group.channels).sum()
    }

    /// The threshold of each channel, 0 for one without.
    pub fn thresholds(&self) -> impl Iterator<Item = u16> + '_ {
        self.groups.iter().flat_map(|group| {
            (0..group.channels).map(|channel| group.thresholds.get(channel).copied().unwrap_or(0))
        })
    }

    /// The plane of the channel at `index`, if it is on one of [`MonitorPlan::planes`].
    pub fn plane_of(&self, index: usize) -> Option<usize> {
        let mut first = 0;
        for group in &self.groups {
            if index - first < group.channels {
                let plane = group.planes.get(index - first).map(|&plane| usize::from(plane));
                return plane.filter(|&plane| plane < self.planes.len());
            }
            first += group.channels;
        }
        None
    }

    /// What people call the channel at `index`: "digitizer 143, channel 47".
    pub fn channel_name(&self, index: usize) -> Option<String> {
        let mut first = 0;
        for group in &self.groups {
            if index - first < group.channels {
                return Some(format!("{}, channel {}", group.name, index - first));
            }
            first += group.channels;
        }
        None
    }
}

/// A hit of a sampled track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct TrackHit {
    /// Its plane.
    pub plane: u8,
    /// Its strip.
    pub strip: u16,
    /// Its amplitude.
    pub amplitude: u16,
    /// Nanoseconds since the first hit of the track.
    pub time_ns: u32,
}

/// The hits of one event, sampled for display.
#[derive(Clone, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Track {
    /// Time of the event, as in the event itself.
    pub time_ns: u64,
    /// Its pixel.
    pub pixel_id: u32,
    /// Its hits, at most [`TRACK_HITS`].
    pub hits: Vec<TrackHit>,
}

/// Clusters of one plane.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct PlaneMonitor {
    /// Clusters by their number of hits.
    pub multiplicity: [u64; MULTIPLICITY_BINS],
    /// Clusters without a partner on the other plane, by their number of hits.
    pub lone_multiplicity: [u64; MULTIPLICITY_BINS],
    /// Clusters without a partner by amplitude.
    pub lone_spectrum: [u64; SPECTRUM_BINS],
}

impl Default for PlaneMonitor {
    fn default() -> Self {
        Self {
            multiplicity: [0; MULTIPLICITY_BINS],
            lone_multiplicity: [0; MULTIPLICITY_BINS],
            lone_spectrum: [0; SPECTRUM_BINS],
        }
    }
}

/// What has been collected.
#[derive(Clone, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct MonitorData {
    plan: MonitorPlan,
    readouts: Vec<u64>,
    spectra: Vec<[u32; SPECTRUM_BINS]>,
    thresholds: Vec<u16>,
    below: Vec<u64>,
    planes: [PlaneMonitor; PLANES],
    correlation: Vec<u64>,
    tracks: Vec<Track>,
    next_track: usize,
}

impl MonitorData {
    /// Nothing collected yet. Allocates all that will be needed.
    pub fn new(plan: MonitorPlan) -> Self {
        let channels = plan.channel_count();
        let track = || Track { hits: Vec::with_capacity(TRACK_HITS), ..Track::default() };
        Self {
            thresholds: plan.thresholds().collect(),
            below: vec![0; channels],
            plan,
            readouts: vec![0; channels],
            spectra: vec![[0; SPECTRUM_BINS]; channels],
            planes: Default::default(),
            correlation: vec![0; CORRELATION_BINS * CORRELATION_BINS],
            tracks: (0..TRACKS).map(|_| track()).collect(),
            next_track: 0,
        }
    }

    /// Memory in bytes that its JSON takes while it is written, if every channel has counted something: a tree of values, and a text of
    /// as much again.
    pub fn json_bound(&self) -> usize {
        // Of a value in a tree, or a key of it.
        const VALUE: usize = 48;
        let channel = (SPECTRUM_BINS + 12) * VALUE + 128;
        let tracks = TRACKS * (TRACK_HITS * 5 + 4) * 2 * VALUE;
        2 * (self.readouts.len() * channel + self.correlation.len() * VALUE + tracks)
    }

    /// A readout of the channel at `index`. An index beyond the plan is ignored.
    #[inline]
    pub fn readout(&mut self, index: usize, amplitude: u16) {
        if let (Some(count), Some(spectrum)) = (self.readouts.get_mut(index), self.spectra.get_mut(index)) {
            *count += 1;
            let bin = &mut spectrum[bin(u64::from(amplitude), self.plan.amplitude_bits, SPECTRUM_BINS)];
            *bin = bin.saturating_add(1);
            if let (Some(threshold), Some(below)) = (self.thresholds.get(index), self.below.get_mut(index)) {
                *below += u64::from(amplitude < *threshold);
            }
        }
    }

    /// A readout of the channel at `index` that has no amplitude.
    #[inline]
    pub fn count(&mut self, index: usize) {
        if let Some(count) = self.readouts.get_mut(index) {
            *count += 1;
        }
    }

    /// A cluster of `plane` with this many hits.
    #[inline]
    pub fn cluster(&mut self, plane: usize, hits: usize) {
        self.planes[plane % PLANES].multiplicity[hits.min(MULTIPLICITY_BINS - 1)] += 1;
    }

    /// A cluster of `plane` that found no partner on the other plane.
    pub fn lone_cluster(&mut self, plane: usize, hits: usize, amplitude: u64) {
        let plane = &mut self.planes[plane % PLANES];
        plane.lone_multiplicity[hits.min(MULTIPLICITY_BINS - 1)] += 1;
        plane.lone_spectrum[bin(amplitude, self.plan.cluster_amplitude_bits, SPECTRUM_BINS)] += 1;
    }

    /// Amplitudes of the clusters of both planes that made an event.
    #[inline]
    pub fn pair(&mut self, first: u64, second: u64) {
        let bits = self.plan.cluster_amplitude_bits;
        let (x, y) = (bin(first, bits, CORRELATION_BINS), bin(second, bits, CORRELATION_BINS));
        self.correlation[y * CORRELATION_BINS + x] += 1;
    }

    /// Keeps the hits of an event, in place of the oldest track. Hits beyond [`TRACK_HITS`] are left out.
    pub fn track(&mut self, time_ns: u64, pixel_id: u32, hits: impl Iterator<Item = TrackHit>) {
        let place = self.next_track % TRACKS;
        self.next_track = self.next_track.wrapping_add(1);
        let track = &mut self.tracks[place];
        (track.time_ns, track.pixel_id) = (time_ns, pixel_id);
        track.hits.clear();
        track.hits.extend(hits.take(TRACK_HITS));
    }

    /// What is collected.
    pub fn plan(&self) -> &MonitorPlan {
        &self.plan
    }

    /// Readouts per channel.
    pub fn readouts(&self) -> &[u64] {
        &self.readouts
    }

    /// Amplitude spectrum of each channel; bin `i` begins at `i * 2^amplitude_bits / 64`.
    pub fn spectra(&self) -> &[[u32; SPECTRUM_BINS]] {
        &self.spectra
    }

    /// The threshold of each channel when collecting began; 0 for one without.
    pub fn thresholds(&self) -> &[u16] {
        &self.thresholds
    }

    /// Readouts per channel with an amplitude below its threshold.
    pub fn below(&self) -> &[u64] {
        &self.below
    }

    /// Clusters of each plane of the plan.
    pub fn planes(&self) -> &[PlaneMonitor] {
        &self.planes[..self.plan.planes.len().min(PLANES)]
    }

    /// Events by the amplitudes of both clusters: rows of the second plane, columns of the first.
    pub fn correlation(&self) -> &[u64] {
        &self.correlation
    }

    /// The sampled tracks, oldest first.
    pub fn tracks(&self) -> impl Iterator<Item = &Track> {
        let kept = self.next_track.min(TRACKS);
        (self.next_track - kept..self.next_track).map(|number| &self.tracks[number % TRACKS])
    }
}

/// The threshold of a channel as its readouts have it: the least amplitude up to `largest` whose corrected value reaches
/// `threshold`, one more if none does. What corrects amplitudes must not make a larger one smaller.
pub fn threshold_of_readouts(threshold: u16, largest: u16, corrected: impl Fn(u16) -> u16) -> u16 {
    let (mut from, mut to) = (0, u32::from(largest) + 1);
    while from < to {
        let middle = (from + to) / 2;
        // Not above `largest`, which has 16 bits.
        if corrected(middle as u16) < threshold { from = middle + 1 } else { to = middle }
    }
    u16::try_from(from).unwrap_or(u16::MAX)
}

/// Bin of `value` among `bins` equal ones over `0..2^bits`; the last one also takes what is above.
#[inline]
fn bin(value: u64, bits: u32, bins: usize) -> usize {
    let last = bins as u64 - 1;
    ((value * bins as u64) >> bits.min(48)).min(last) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn monitor() -> MonitorData {
        let group = |name: &str, channels| ChannelGroup::new(name, channels);
        MonitorData::new(MonitorPlan {
            groups: vec![group("digitizer 137", 64), group("digitizer 143", 64)],
            planes: vec!["wires", "strips"],
            amplitude_bits: 12,
            cluster_amplitude_bits: 14,
        })
    }

    #[test]
    fn channels_are_named_through_their_groups() {
        let monitor = monitor();
        assert_eq!(monitor.plan().channel_name(64 + 47).as_deref(), Some("digitizer 143, channel 47"));
        assert_eq!(monitor.plan().channel_name(128), None);
    }

    #[test]
    fn amplitudes_fall_into_their_bins_and_the_largest_into_the_last() {
        let mut monitor = monitor();
        for amplitude in [0, 63, 64, 4095, u16::MAX] {
            monitor.readout(3, amplitude);
        }
        monitor.readout(10_000, 1);
        assert_eq!(monitor.readouts()[3], 5);
        assert_eq!((monitor.spectra()[3][0], monitor.spectra()[3][1], monitor.spectra()[3][63]), (2, 1, 2));
        monitor.pair(0, u64::from(u32::MAX));
        assert_eq!(monitor.correlation()[63 * CORRELATION_BINS], 1);
        monitor.lone_cluster(1, 1000, 256);
        let strips = &monitor.planes()[1];
        assert_eq!((strips.lone_multiplicity[MULTIPLICITY_BINS - 1], strips.lone_spectrum[1]), (1, 1));
    }

    #[test]
    fn readouts_below_the_threshold_of_their_channel_are_counted() {
        let mut plan = monitor().plan().clone();
        let [first, second] = &mut plan.groups[..] else { panic!("two groups") };
        first.thresholds = vec![0; 64];
        first.thresholds[3] = 100;
        first.planes = vec![1, 0, NO_PLANE];
        second.planes = vec![0, 7];
        let mut monitor = MonitorData::new(plan);
        for amplitude in [99, 100, 101, 0] {
            monitor.readout(3, amplitude);
            monitor.readout(70, amplitude);
        }
        assert_eq!((monitor.below()[3], monitor.below()[70], monitor.thresholds()[3]), (2, 0, 100));
        let planes = [0, 1, 2, 3, 64, 65, 128].map(|index| monitor.plan().plane_of(index));
        assert_eq!(planes, [Some(1), Some(0), None, None, Some(0), None, None]);
    }

    #[test]
    fn thresholds_of_corrected_amplitudes_are_found_in_those_of_readouts() {
        let half = |amplitude: u16| amplitude / 2;
        let found = [0, 1, 50, 511, 512].map(|threshold| threshold_of_readouts(threshold, 1023, half));
        assert_eq!(found, [0, 2, 100, 1022, 1024]);
        assert_eq!(threshold_of_readouts(7, u16::MAX, |amplitude| amplitude), 7);
        assert_eq!(threshold_of_readouts(1, u16::MAX, |_| 0), u16::MAX);
    }

    #[test]
    fn the_newest_tracks_are_kept() {
        let mut monitor = monitor();
        for time in 0..20 {
            let hits = (0..200).map(|strip| TrackHit { strip, ..TrackHit::default() });
            monitor.track(time, 1, hits);
        }
        let times: Vec<u64> = monitor.tracks().map(|track| track.time_ns).collect();
        assert_eq!(times, (4..20).collect::<Vec<_>>());
        assert!(monitor.tracks().all(|track| track.hits.len() == TRACK_HITS));
    }
}
