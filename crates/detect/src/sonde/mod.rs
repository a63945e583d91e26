//! SoNDe: modules of 8 x 8 scintillator pixels on multi-anode photomultipliers, read out by IDEAS ROSMAP
//! boards.
//!
//! Every trigger of a channel is a neutron: a readout becomes an event without further ado (EFU formats of
//! 2018, section 1). A detector is built of many modules; boards send for a *group* of them.
//!
//! ```text
//! packet ─ address or port ─► group ─ system number ─► module
//!        ─ wire::sonde ─► readouts ─ table of the module ─► pixels ─ times ─► events
//! ```
//!
//! Events leave as they come ([`EventSequence::Arrival`](settings::EventSequence)) or in the order of their
//! times.
//!
//! | file | what is in it |
//! |---|---|
//! | [`settings`] | everything that can be configured, and its checks |
//! | [`digital_geometry`] | (ASIC, channel) to a pixel of the module and of the detector |
//! | [`module_finder`] | address or port and system number to a module |
//! | [`board_time`] | times of 32 bits to nanoseconds |
//! | [`counters`] | what is counted, with the laws |
//! | [`module`] | one module: its table, its clock |
//! | [`pipeline`] | [`Sonde`]: all of it as a [`Detector`](evforge_core::detector::Detector) |

pub mod board_time;
pub mod counters;
pub mod digital_geometry;
pub mod module;
pub mod module_finder;
pub mod pipeline;
mod section;
pub mod settings;

pub use counters::SondeCounters;
pub use pipeline::Sonde;
pub use settings::SondeSettings;
