//! Where the trains of a node go.
//!
//! | sink | what it does |
//! |---|---|
//! | [`ProcessingSink`] | has steps look at images: rejects some, adds up the others |
//! | [`FileSink`] | writes them into files that EXtra-data opens |
//! | [`BridgeSink`] | shows them to clients of the karabo-bridge |
//! | [`ForwardSink`] | sends them to the next node |
//! | [`NewestSink`] | adds up the images of the newest ones, for a picture |
//! | [`ContentSink`] | checks every byte of images with a known pattern |

mod bridge;
mod constants;
mod content;
mod files;
mod forward;
mod newest;
mod processing;
mod summary;
mod sums;
mod turns;

pub use bridge::BridgeSink;
pub use constants::{ConstantsError, LARGEST_CELLS, read_constants};
pub use content::{ContentCounters, ContentFound, ContentSink, WrongImage};
pub use files::FileSink;
pub use forward::{ForwardCounters, ForwardOptions, ForwardSink, ForwardTarget};
pub use newest::{NewestCounters, NewestSink, NewestTrains};
pub use processing::{Processed, ProcessingPlan, ProcessingSink};
pub use summary::{NotSummed, PulseSum, TrainSummary};
pub use sums::write_sums;
