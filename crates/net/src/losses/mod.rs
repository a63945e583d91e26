//! Where packets were lost: the sequence gaps joined with every counter that saw a packet vanish.
//!
//! The sequence shows how many packets are missing; counters show where. They are joined so that nothing is
//! counted twice:
//!
//! * what our own queue, the rings and the memory of AF_XDP, and our checks of its frames dropped is known exactly;
//! * what the socket dropped is known exactly without UDP_GRO: because its buffer was full, or the checksum wrong.
//!   With UDP_GRO, the kernel counts pieces of many datagrams: the count is a lower bound;
//! * counters of the host and of the interfaces hold other traffic as well. They place no more than is missing, and are
//!   marked *inferred*. If together they say more than is missing, each gets only what the others cannot explain;
//! * a counter of pieces says *where*, and that at least as many packets were lost there. No place ever gets more than its
//!   counter says: how many packets a lost piece had, up to 64 ([`PIECE`]), nobody has counted, and the missing ones may as well
//!   have been lost elsewhere. They are unlocated; how many of them the pieces can have held is reported as well;
//! * what the interface dropped and nothing else explains was lost behind the driver's ring, if packets are still missing;
//! * what the sender's host says it lost explains what no counter of this host does, and no more ([`LossBreakdown::explain`]);
//! * drops beyond the sequence gaps came after the last packet that arrived: a sequence cannot see them,
//!   the socket's count can;
//! * what is left is *unlocated*: lost before it reached this host's counters.
//!
//! | part | what it is |
//! |---|---|
//! | [`LossCounts`] | what the counters say |
//! | [`LossBreakdown`] | the loss breakdown; [`join`] makes it, [`add_to_json`] and [`LossBreakdown::lines`] present it in the same form in every report |

mod counts;
mod join;
mod report;
#[cfg(test)]
mod tests;

pub use counts::LossCounts;
pub use evforge_core::losses::{LocatedLoss, LossBreakdown, LossLine, LossLocation, PIECE};
pub use join::join;
pub use report::{add_to_json, set_in_json};
