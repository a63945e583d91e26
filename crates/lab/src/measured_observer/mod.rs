//! What looking at a run costs it: runs of [`measured_formation`](crate::measured_formation) at one rate that nobody looks at, and the
//! same with counters read, metrics asked for, and the live view with and without browsers.
//!
//! ```text
//!  a round: nothing, then each way to look, begun at another one each time
//!             │                    │
//!             └── processor time ──┴──► ratio of the pair, in the same round
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | ways to look at a run | [`Observer`] |
//! | running them, round by round | [`ObserverRunner`], [`order_of_round`] |
//! | what was measured | [`ObservedPoint`] |

mod observer;
mod polling;
mod runner;

pub use observer::Observer;
pub use runner::{ObservedPoint, ObserverRunner, order_of_round};
