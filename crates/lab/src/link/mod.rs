//! Tests of links and receivers, as in the papers: packets of a payload sent, received, and accounted for.
//!
//! ```text
//!  payload: what is in each packet ──► sender ──► link ──► receiver ──► account: what came, and what is missing
//!  flows, order, faults, when due      sockets or AF_XDP                joined with the sender's report
//! ```
//!
//! | payload | what is found |
//! |---|---|
//! | [`numbered`] packets at a rate or in pulses, of any size | what is lost, reordered, repeated, how late, at what cost |
//! | [`drop`](mod@drop): streams of words in a pattern (XDP paper) | the same for every packet and every 16-bit word |
//! | [`train`]: images of a detector, as a train builder sends them | this only sends them |
//!
//! What the same link carries by TCP is in [`tcp`].
//!
//! Here is what both payloads have in common: sending a [`LinkPayload`], receiving into [`LinkAccount`]s, the [`Schedule`], provoked
//! [`Fault`]s, and what numbers and the sender's report say together ([`loss`]). Payloads and accounts know of no network, and
//! are tested without one.

pub mod drop;
mod error;
mod fault;
pub mod first_second;
pub mod loss;
pub mod numbered;
mod receive;
mod schedule;
mod send;
mod sent;
pub mod tcp;
pub mod train;

pub use error::{LinkReceiveError, LinkSendError};
pub use fault::{Fault, FaultError};
pub use receive::{
    Arrivals, Dropped, LinkAccount, LinkProgress, LinkReceiving, LinkWorkers, ProcessorUse, QueuedAccount,
    ReceivedLink, StreamLosses, work_for,
};
pub use schedule::{Pulses, Schedule, ScheduleError};
pub use send::LinkPayload;
pub use sent::{SentLateness, SentLosses};
