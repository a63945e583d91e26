//! Trains over TCP, from one node to the next.
//!
//! ```text
//!  node 1                                               node 2
//!  TrainStream, one per module ── header, train, … ──►  thread per connection ──► StreamAssembly ──► trains
//!   connects, and again after ever longer pauses         reads into the memory of a train; checks, counts
//! ```
//!
//! The bytes are in [`evforge_wire::train::StreamHeader`]. Nothing is sent back; TCP itself holds a sender back whose receiver is behind.
//!
//! | you look for | it is in |
//! |---|---|
//! | sending the trains of a module | [`TrainStream`], [`Sending`] |
//! | where connections come to | [`TrainListener`], [`ListenError`] |
//! | what happened to connections | [`StreamCounters`] |

mod connection;
mod connections;
mod counters;
mod listener;
mod sender;

pub(crate) use connections::Connections;
pub use counters::StreamCounters;
pub use listener::{ListenError, TrainListener};
pub use sender::{Sending, TrainStream};
