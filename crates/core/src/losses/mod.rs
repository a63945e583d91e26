//! Where packets were lost. How the counters of a host are joined to find out is in `evforge_net::losses`.
//!
//! | part | what it is |
//! |---|---|
//! | [`LossLocation`] | the places, and their names |
//! | [`LossBreakdown`] | the loss breakdown, with what is unlocated; in words by [`LossBreakdown::lines`] |

mod breakdown;
mod lines;
mod location;

pub use breakdown::{LocatedLoss, LossBreakdown};
pub use lines::LossLine;
pub use location::LossLocation;

/// Most packets that the kernel joins into one piece for UDP_GRO (`UDP_GRO_CNT_MAX`).
pub const PIECE: u64 = 64;
