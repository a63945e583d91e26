//! What a train builder sends: trains with known content, in packets, on their times, with the faults that are asked for.
//!
//! | you look for | it is in |
//! |---|---|
//! | what the trains are like, also those of the load test | [`TrainStructure`] |
//! | their datagrams | [`TrainSource`], [`TrainPackets`] |
//! | images of which every byte is known, and their check | [`CounterPattern`] |
//! | images with pedestals and noise | [`NoiseImages`] |
//! | when trains come, and which node gets them | [`TimingSystem`], [`RoundRobin`] |
//! | when packets are due | [`SendProfile`] |
//! | faults, each counted as what it is | [`FaultPlan`], [`SentCounters`] |
//! | the datagrams in the order in which they are sent | [`TrainSequence`] |
//!
//! Nothing here has a clock or a socket. Times are nanoseconds after a start that the caller chooses.

mod fault;
mod fault_counts;
mod fault_plan;
mod fault_rates;
mod lane;
mod noise;
mod pattern;
mod profile;
mod sequence;
mod source;
mod structure;
#[cfg(test)]
mod tests;
mod timing;

pub use fault::{Fault, FaultTextError, PacketFault, TrainFault};
pub use fault_counts::SentCounters;
pub use fault_plan::{FaultPlan, FaultPlanError};
pub use fault_rates::{FaultRates, FaultRatesError};
pub use noise::{NOISE_IMAGES, NoiseError, NoiseImages, NoiseSettings};
pub use pattern::{CounterPattern, PatternFault};
pub use profile::{ProfileError, SLIDES_PAUSE_NS, SendProfile, TrainBegin};
pub use sequence::{SentPacket, TrainSequence, Turn};
pub use source::{ImageContent, SourceError, TrainPackets, TrainSource};
pub use structure::{LARGEST_DATA_BYTES, LARGEST_TRAIN, STRESS_PACKETS, StructureError, TrainStructure};
pub use timing::{RoundRobin, TRAIN_FREQUENCY, TimingSettings, TimingSignal, TimingSystem};
