//! The vocabulary of evforge: what every other crate speaks.
//!
//! Data flows in one direction, and each stage has a name that is used everywhere:
//!
//! ```text
//! packets ──► readouts ──► hits ──► clusters ──► events ──► messages · files · pictures
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | one UDP payload with its origin; many of them in one slab | [`packet`] |
//! | what packets are read from, whatever the kind of file | [`packet_source`] |
//! | events in columns, the unit that leaves a detector pipeline | [`event`] |
//! | events from files and messages into batches | [`batch_filler`] |
//! | all events of a run with their pulses, to compare runs | [`event_log`] |
//! | pixel ids from coordinates and back | [`geometry`] |
//! | where pixels, panels, source and beam monitors are | [`placement`] |
//! | pulses and time of flight | [`pulse`] |
//! | times, sizes and rates with their units, as people write them | [`quantity`] |
//! | lost, reordered and duplicated packets told apart | [`sequence`] |
//! | which share of a source's packets arrived, over time | [`live_time`] |
//! | clocks that wrap, extended to 64 bits | [`clock`] |
//! | counters, each declared once, and the laws that bind them | [`counter`] |
//! | what beam monitors have counted over time of flight | [`beam_monitor`] |
//! | what was sent, received and lost, per source and per stream | [`ledger`] |
//! | where packets were lost | [`losses`] |
//! | what a detector pipeline must offer | [`detector`] |
//! | parameters that are changed while a run goes on | [`change`] |
//! | events as outputs get them: with pulse, time of flight, date and vetoes | [`pulsed`] |
//! | pixel ids that a facility has given | [`pixel_ids`] |
//! | pulses of which period, vetoes and proton charge are known | [`frame`] |
//! | what an output must offer | [`output`] |
//! | the state of a run, for reports, pages and outputs | [`run_state`] |
//! | whether data come in: waiting, live, stalled, rejecting, ended | [`feed`] |
//! | host names and ports as people write them | [`endpoint`] |
//! | who may be connected to a listener, and who gives way | [`seats`] |
//! | what is wrong with a setting | [`settings`] |
//! | how keys of a configuration are declared | [`schema`] |
//! | what was meant by a name that nobody knows | [`suggestion`] |
//! | texts of others, as people see them | [`printable`] |
//! | the clock of a run | [`time`] |
//! | locks and flags between threads, which models can look into | [`sync`] |
//! | files that are read whole, with a limit | [`whole_file`] |
//!
//! Nothing here does I/O (but for the resolver of [`endpoint`] and [`whole_file`]), starts a thread or reads a clock; nothing here depends on another evforge crate.
//!
//! Start with [`detector::Detector`]: it ties all of the above together.

#![forbid(unsafe_code)]

pub mod alarm;
pub mod batch_filler;
pub mod beam_monitor;
pub mod change;
pub mod clock;
pub mod counter;
pub mod detector;
pub mod endpoint;
pub mod event;
pub mod event_log;
pub mod feed;
pub mod frame;
pub mod geometry;
pub mod ledger;
pub mod live_time;
pub mod losses;
pub mod monitor;
pub mod output;
mod output_state;
pub mod packet;
pub mod packet_source;
pub mod pixel_ids;
pub mod placement;
pub mod printable;
pub mod pulse;
pub mod pulsed;
pub mod quantity;
pub mod run_identity;
pub mod run_state;
pub mod schema;
pub mod seats;
pub mod sequence;
pub mod settings;
pub mod suggestion;
pub mod sync;
pub mod time;
pub mod whole_file;

/// For `counters!`, and for crates that ask for sizes and derive none.
pub use get_size2;
