//! Numbered packets: a load of any rate, size and shape, and what became of it.
//!
//! ```text
//!  sizes, schedule ──► traffic ──► flows ──► receiver ──► account: numbers, latency
//!  even or in pulses   numbers     one port each          work for each packet, if asked for
//! ```
//!
//! [`Traffic`] makes the packets and [`send`] sends them; [`Account`] takes them and [`receive`] receives them.
//! Several threads may receive, each with sockets of its own: [`ReceivedNumbers`] is what came to all of them.
//! [`ReceiveReport`] joins what was received with what the sender says it has sent. Neither the traffic nor the account knows
//! of a network, and both are tested without one.

mod account;
mod receive;
mod received;
mod report;
mod send;
mod sent;
mod sizes;
mod traffic;

pub use account::{Account, Flow, MOST_FLOWS, NumberedCounters};
pub use receive::receive;
pub use received::{ReceivedNumbers, ReceivingThreadUse};
pub use report::{FlowReport, ReceiveReport};
pub use send::{SendSettings, send};
pub use sent::{SentFlow, SentPulses, SentReport};
pub use sizes::{Sizes, SizesError};
pub use traffic::{Traffic, TrafficError, TrafficSettings};
