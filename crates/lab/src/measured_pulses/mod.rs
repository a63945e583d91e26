//! Up to which peak rate pulses are received whole, against what the receive buffer holds: the programs that users have
//! (`evforge send --pulses`, `evforge receive`) on two hosts.
//!
//! ```text
//!  a socket that nobody reads ──► bytes of the buffer that a packet takes ──┐
//!  a receiver with more than it takes ──► packets per second it serves ─────┴─► relation ──► where to search the peak
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | what to measure | [`PulsePlan`], [`PulsePoint`] |
//! | what a receiver serves, and what buffer, pulses and that make of the peak | [`PulseReceiver`], [`PulseRelation`] |
//! | running it | [`PulseRunner`] |
//! | the highest peak, searched | [`highest_whole_peak`], [`FoundPeak`], [`SearchedPulses`] |

mod plan;
mod receiver;
mod relation;
mod runner;
mod search;

pub use plan::{PulsePlan, PulsePoint};
pub use receiver::PulseReceiver;
pub use relation::PulseRelation;
pub use runner::{PulseRunner, SearchedPulses};
pub use search::{FoundPeak, highest_whole_peak};
