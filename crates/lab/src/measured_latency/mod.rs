//! How long it takes from the arrival of a packet to its events, from there to an output, and to the picture in a browser, at one
//! rate: runs of [`measured_formation`](crate::measured_formation), with the kernel's stamps of arrival.
//!
//! ```text
//!  packet ──► interface ──► socket ──► event handed on ──► taken by the output ──► picture in a browser
//!                 │            │              │                     │                       │
//!                 │            └─ stamp of the kernel: the report of the run says both      │
//!                 └─ counted here, each millisecond ─────────────────────────── clock of this process
//! ```
//!
//! The first two are the run's own figures ([`LatencySpread`]). The last one is measured from the other side of the network, without
//! a word of the run about time: by a client that acknowledges what a page acknowledges, and by when packets arrived.
//!
//! | you look for | it is in |
//! |---|---|
//! | a point, and what was measured at it | [`LatencyPoint`], [`LatencySpread`] |
//! | running it | [`LatencyRunner`] |
//! | when packets arrived, by the counter of an interface | [`Arrivals`] |

mod arrivals;
mod runner;
mod seen;
mod spread;

pub use arrivals::Arrivals;
pub use runner::{LatencyPoint, LatencyRunner};
pub use spread::LatencySpread;
