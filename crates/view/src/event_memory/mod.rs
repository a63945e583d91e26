//! The newest events of a stream, kept for questions that nobody has asked yet: a region, a slice of time of flight, the last
//! ten seconds.
//!
//! ```text
//! sink ──► ChunkWriter ──► chunk (up to 0.1 s or 65 536 events) ──► EventMemory ──► selections
//! ```
//!
//! Memory is bounded by bytes. Where there is no more room the oldest chunk goes; what had not been looked at by then is counted
//! by whoever wanted it.

mod chunk;
mod memory;
mod open_frame;
mod writer;

pub(crate) use chunk::Chunk;
pub(crate) use chunk::FrameKind;
pub(crate) use memory::{EventMemory, Position};
pub(crate) use writer::{ChunkWriter, LONGEST_CHUNK};
