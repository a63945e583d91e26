//! Trains sent over UDP as a train builder sends them, one thread for each module.
//!
//! ```text
//!  module 0 ──► trains in turn ──► node (train + 0) modulo N
//!  module 1 ──► trains in turn ──► node (train + 1) modulo N
//! ```
//!
//! [`TrainPayload`] makes the packets of one module and [`send`] sends those of several. What the trains are like, when they come and
//! which faults they have is in `evforge_train::generate`; [`SentReport`] says what was sent and which faults were made.

mod payload;
mod send;
mod sent;

pub use payload::{PayloadSettings, TrainPayload};
pub use send::{SendSettings, send};
pub use sent::{SentModule, SentNode, SentReport};
