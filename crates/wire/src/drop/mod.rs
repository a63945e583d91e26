//! DROP, the "Data ReadOut Protocol" of Wuppertal: packets with an identifier of their stream.
//!
//! Source: the paper "FPGA-to-server ethernet connections and XDP" (arXiv 2208.07118), which calls it the XDP
//! paper here. A stream is all packets to one UDP port. Each has an identifier that grows by one from packet to
//! packet *of its stream* (chapter on UDP); nothing is sent twice.
//!
//! The paper does not publish the header. [`DropLayout`] therefore says where the identifier lies, how wide it
//! is, in which byte order, and where the payload begins; the true header can be entered if it becomes known.
//! Two layouts have names:
//!
//! | name | header |
//! |---|---|
//! | `P1` | 16 bytes, a choice of this project: see [`DropHeader`] |
//! | `raw64be` | 8 bytes: the identifier, big-endian |
//!
//! [`JumpTracker`] applies the paper's rules to successive identifiers. With an [`Order`]
//! other than counting (its footnote 1), a [`Scramble`] finds the counter again.

mod jumps;
mod layout;
mod order;
mod packet;

pub use jumps::{Jump, JumpCounts, JumpTracker};
pub use layout::{ByteOrder, DropLayout, IdentifierWidth, LARGEST_HEADER, LayoutError};
pub use order::{Order, OrderError, Scramble};
pub use packet::{DropHeader, DropPacket, Rejection};
