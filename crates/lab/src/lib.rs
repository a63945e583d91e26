//! Simulations of configured detectors, how right and how fast their events are, and measurements of links and receivers.
//!
//! | you look for | it is in |
//! |---|---|
//! | the simulation of the configured detector, and its events | [`simulation`] |
//! | a simulation as a source of packets | [`simulated_source`] |
//! | how right events are, against the truth of a simulation | [`accuracy`] |
//! | how fast events are formed, against the reference | [`benchmark`] |
//! | numbered packets at a rate or in pulses: what is lost, reordered, repeated, how late, at what cost | [`numbered`] |
//! | streams whose every packet and every 16-bit word is accounted for (DROP) | [`drop`](mod@drop) |

#![forbid(unsafe_code)]

pub mod accuracy;
pub mod benchmark;
pub mod drop;
mod fault;
pub mod loss;
pub mod numbered;
mod receive_error;
pub mod simulated_source;
pub mod simulation;

pub use fault::{Fault, FaultError};
pub use receive_error::ReceiveRunError;
