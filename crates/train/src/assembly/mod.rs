//! Datagrams to trains.
//!
//! Data of a packet go straight to their place in the memory of their train, packet number × bytes per packet, in whatever order packets
//! come. All memory is there from the first moment on, and nothing is allocated per packet.
//!
//! ```text
//!  datagram ──► checked ──► source ──► open train of its frame ──► copied into place ──► whole? checked ──► handed on
//!              rejected    too many     late, repeated,                                   rejected
//!              by reason                no buffer                 time-out, superseded, end of run: incomplete
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | the assembly | [`Assembly`], [`AssemblySettings`], [`TrainSource`] |
//! | what happened to a datagram | [`PacketFate`], [`PacketFault`] |
//! | a train that was closed | [`AssembledTrain`], [`TrainReport`], [`TrainOutcome`] |
//! | its memory | [`TrainBuffer`] |
//! | what happened | [`AssemblyCounters`] |
//!
//! ```
//! use evforge_train::assembly::{Assembly, AssemblySettings, PacketFate, PacketFault, TrainOutcome, TrainSource};
//! use evforge_wire::train::TrainDetector;
//!
//! // LPD, trains of up to four images, from 16 modules.
//! let settings = AssemblySettings::new(TrainDetector::Lpd, 4).with_sources(16);
//! let mut assembly = Assembly::new(settings)?;
//! let mut good = 0;
//! let mut deliver = |train: evforge_train::assembly::AssembledTrain| {
//!     good += u64::from(train.report().outcome == TrainOutcome::Good);
//!     // Done with it: its memory is free again.
//!     train.into_buffer()
//! };
//! let fate = assembly.take(TrainSource::Module(3), 1_000, b"a runt", &mut deliver);
//! assert_eq!(fate, PacketFate::Rejected(PacketFault::TooShort));
//! assembly.finish(2_000, &mut deliver);
//! assert_eq!((good, assembly.counters().packets_too_short), (0, 1));
//! # Ok::<(), evforge_core::settings::SettingsError>(())
//! ```
//!
//! # Trains and frames
//! A *frame* is a train on the wire. Its number tells trains of one source apart and nothing else; the number of the *train* is in its
//! header. A train closes when its last packet and all before it are there, in whatever order trains become whole; then its magic
//! numbers, its size and its number are checked. Frames that were closed are remembered for a while, so that their packets are late.
//!
//! # Faults
//! A fault harms no train but its own. A packet that contradicts its train is rejected, and the train goes on; a packet that is rejected
//! by itself opens none. A source that opens more trains than it may closes its own. The number of a train that is wrong is no measure
//! for those after it.
//!
//! # What is not there
//! An incomplete train says which packets are missing, and how many images that touches, as soon as its header or its last packet came.
//! A train that is handed on with holes has zeros in them, never what the memory held before. Nothing is written into a train's images or
//! descriptors to mark them.

mod assembled;
mod buffer;
mod closing;
mod counters;
mod extent;
mod fate;
mod open_train;
mod presence;
mod settings;
mod sources;
mod stream_sources;
mod streamed;
mod tally;
mod train_numbers;
mod trains;

pub use assembled::{AssembledTrain, IncompleteCause, TrainOutcome, TrainReport};
pub use buffer::TrainBuffer;
pub use counters::AssemblyCounters;
pub use fate::{PacketFate, PacketFault};
pub use settings::{AssemblySettings, ImageContent, IncompletePolicy, TRAIN_PERIOD, TrainContent};
pub use sources::TrainSource;
pub use streamed::{StreamAssembly, StreamTally, StreamedTrain};
pub use train_numbers::NumberFault;
pub use trains::Assembly;
