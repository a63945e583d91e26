//! What an assembly has to know.

use evforge_core::settings::SettingsError;
use evforge_wire::train::{DATA_BYTES, PacketTrailer, TrainDetector, TrainLayout};
use std::time::Duration;

/// Time from one train to the next: the accelerator's 10 Hz.
pub const TRAIN_PERIOD: Duration = Duration::from_millis(100);

/// Largest content of a UDP datagram over IPv4.
const LARGEST_DATAGRAM: usize = 65_507;

/// What happens to a train that is incomplete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncompletePolicy {
    /// It is reported, and its bytes are not handed on.
    #[default]
    Drop,
    /// It is handed on, and images touched by a hole are left out: [`AssembledTrain::image`](super::AssembledTrain::image) has none for
    /// them.
    Mark,
    /// It is handed on with all its images; what is missing of them is 0.
    Zero,
}

/// What trains contain, and when one is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainContent {
    /// Images. A train is whole once its last packet has been seen and all before it; then it is checked.
    Images(ImageContent),
    /// Anything: trains of a load test that are cut off. A train is whole after this many packets (at least 1), and its content is not
    /// looked at.
    Packets(u32),
}

impl TrainContent {
    /// Packets of a train, where all have as many.
    pub(crate) const fn end(self) -> Option<u32> {
        match self {
            Self::Packets(count) => Some(count),
            Self::Images(_) => None,
        }
    }
}

/// Trains of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageContent {
    /// Bytes of an image (at least 1).
    pub image_bytes: usize,
    /// Bytes of the detector's own block: only where a train's header is missing. The header says else.
    pub specific_bytes: u32,
    /// By how much the number of a train is above that of the source's train before: 1, or the number of receivers that trains are dealt
    /// to. None: numbers are not checked.
    pub stride: Option<u64>,
    /// Largest step ahead that a gap may be, in strides; the number of a train beyond it is wrong.
    pub largest_gap: u64,
}

impl ImageContent {
    /// Images of a detector, all trains to this receiver, gaps of up to an hour.
    pub const fn of(detector: TrainDetector) -> Self {
        let specific_bytes = detector.specific_bytes() as u32;
        Self { image_bytes: detector.image_bytes(), specific_bytes, stride: Some(1), largest_gap: 36_000 }
    }
}

/// What an assembly has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssemblySettings {
    /// Bytes of a train in each packet but the last: 1 to 65 499; 8184 unless said otherwise.
    pub data_bytes: usize,
    /// Bytes of the largest train (at least 1).
    pub largest_train: usize,
    /// Trains open at a time, of all sources together (at least 1). One more, and the oldest is closed.
    pub open_trains: usize,
    /// Trains open at a time of one source: 1 to `open_trains`. One more, and the source's oldest is closed. No source can close a train
    /// of another as long as `sources` times this is not above `open_trains`.
    pub open_trains_of_source: usize,
    /// Buffers of `largest_train` bytes (at least `open_trains`); those beyond `open_trains` are for trains that others work on.
    pub buffers: usize,
    /// Sources known at a time (at least 1). Packets of further ones are rejected.
    pub sources: usize,
    /// Closed trains that are remembered of each source (at least 1), so that their packets are late, and no new train.
    pub remembered_trains: usize,
    /// How long they are remembered: a sender that starts over may use their numbers again.
    pub remembered_for: Duration,
    /// A train of which nothing new has come for so long is incomplete: two periods.
    pub time_out: Duration,
    /// What trains contain.
    pub content: TrainContent,
    /// What happens to incomplete trains.
    pub incomplete: IncompletePolicy,
}

impl AssemblySettings {
    /// For one module of a detector, with trains of at most this many images: two trains open, and buffers for two more.
    pub fn new(detector: TrainDetector, images: u32) -> Self {
        Self {
            data_bytes: DATA_BYTES,
            largest_train: TrainLayout::of(detector, images).total(),
            open_trains: 2,
            open_trains_of_source: 2,
            buffers: 4,
            sources: 1,
            remembered_trains: 64,
            remembered_for: 10 * TRAIN_PERIOD,
            time_out: 2 * TRAIN_PERIOD,
            content: TrainContent::Images(ImageContent::of(detector)),
            incomplete: IncompletePolicy::Drop,
        }
    }

    /// For N modules: as many buffers for each of them as for one.
    #[must_use]
    pub fn with_sources(self, sources: usize) -> Self {
        Self {
            sources,
            open_trains: self.open_trains_of_source.saturating_mul(sources),
            buffers: (2 * self.open_trains_of_source).saturating_mul(sources),
            ..self
        }
    }

    /// Packets of the largest train.
    pub fn largest_packets(&self) -> usize {
        self.largest_train.div_ceil(self.data_bytes.max(1))
    }

    /// Bytes that the buffers take, from the first moment on.
    pub fn memory(&self) -> usize {
        let bits = self.largest_packets().div_ceil(64).saturating_mul(8);
        self.largest_train.saturating_add(bits).saturating_mul(self.buffers)
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The key whose value is impossible, and why.
    pub fn check(&self) -> Result<(), SettingsError> {
        let most_data = LARGEST_DATAGRAM - PacketTrailer::BYTES;
        if !(1..=most_data).contains(&self.data_bytes) {
            let problem =
                format!("{} bytes, expected 1 to {most_data}: a datagram has no more", self.data_bytes);
            return SettingsError::refuse("data_bytes", problem);
        }
        let counts = [
            ("largest_train", self.largest_train),
            ("open_trains", self.open_trains),
            ("open_trains_of_source", self.open_trains_of_source),
            ("sources", self.sources),
            ("remembered_trains", self.remembered_trains),
        ];
        if let Some((key, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return SettingsError::refuse(key, "0, expected at least 1");
        }
        let most_packets = PacketTrailer::LARGEST_PACKET as usize + 1;
        let packets = self.largest_packets();
        if packets > most_packets {
            let problem = format!(
                "{} bytes are {packets} packets of {} bytes, and packets are numbered up to {most_packets}: raise \
                 data_bytes, or lower this",
                self.largest_train, self.data_bytes
            );
            return SettingsError::refuse("largest_train", problem);
        }
        if self.open_trains_of_source > self.open_trains {
            let problem =
                format!("{}, expected at most open_trains: {}", self.open_trains_of_source, self.open_trains);
            return SettingsError::refuse("open_trains_of_source", problem);
        }
        if self.buffers < self.open_trains {
            let problem = format!(
                "{}, expected at least one for each open train: open_trains is {}",
                self.buffers, self.open_trains
            );
            return SettingsError::refuse("buffers", problem);
        }
        if self.time_out.is_zero() {
            return SettingsError::refuse("time_out", "0, expected a time above it: two periods are usual");
        }
        self.check_content(packets)
    }

    fn check_content(&self, packets: usize) -> Result<(), SettingsError> {
        match self.content {
            TrainContent::Images(ImageContent { image_bytes: 0, .. }) => {
                SettingsError::refuse("image_bytes", "0, expected the bytes of an image")
            }
            TrainContent::Images(ImageContent { stride: Some(0), .. }) => {
                let problem = "0, expected at least 1: the number of receivers that trains are dealt to";
                SettingsError::refuse("stride", problem)
            }
            TrainContent::Packets(count) if !(1..=packets).contains(&(count as usize)) => {
                let problem = format!("{count}, expected 1 to {packets}, which largest_train has room for");
                SettingsError::refuse("packets_per_train", problem)
            }
            _ => Ok(()),
        }
    }
}
