//! Measurements of links and receivers, as in the papers.
//!
//! | measurement | module |
//! |---|---|
//! | numbered packets at a rate or in pulses: what is lost, reordered, repeated, how late, at what cost | [`numbered`] |
//! | streams whose every packet and every 16-bit word is accounted for (DROP) | [`drop`](mod@drop) |

#![forbid(unsafe_code)]

pub mod drop;
mod fault;
pub mod loss;
pub mod numbered;
mod receive_error;

pub use fault::{Fault, FaultError};
pub use receive_error::ReceiveRunError;
