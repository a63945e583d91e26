//! Trains to the next node.

mod counters;
mod pace;
mod sink;
mod target;
mod tcp;
mod udp;

pub use counters::ForwardCounters;
pub use sink::{ForwardOptions, ForwardSink};
pub use target::ForwardTarget;
