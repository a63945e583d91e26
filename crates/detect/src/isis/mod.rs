//! The streaming readout of ISIS: boards that announce how many events each frame has, so that a frame is known to be complete
//! (ISIS streaming readout, versions 1 and 2).
//!
//! ```text
//! packet ─ wire::isis ─► messages ─► board ─► frame, with those of the other boards ─► closed ─► events in order of time of flight
//!                                      │                │
//!                      wiring table (version 1), or     period, vetoes and charge travel with the frame
//!                      what the header says (version 2)
//! ```
//!
//! Every event belongs to the frame of its message: its pulse is the reference time of that frame, and its time of flight is what
//! the board says, whether that is longer than the period or not. With `frames.assembled = false` messages are handed on as
//! they come, each with its own reference time; nobody then knows whether a frame is complete.
//!
//! | file | what is in it |
//! |---|---|
//! | [`settings`], `checks` | everything that can be configured, and what of it is refused |
//! | [`wiring`] | the wiring table of version 1 |
//! | [`layout`] | where the ids of an instrument are in a picture |
//! | [`boards`] | who sends, and what is known of it |
//! | [`board_clock`] | how far a board's time has come; jumps in it |
//! | [`sent_numbers`] | the numbers of a board's frames, each counted once |
//! | [`decode`] | events of a message to times of flight and ids |
//! | [`pieces`] | memory in which events wait |
//! | [`open_frame`] | a frame that is being put together |
//! | [`assembly`] | which frame a message is of, and when a frame is closed |
//! | [`key_sort`], [`outlet`] | a closed frame: events into order, and out |
//! | `timing` | what the times of a message mean |
//! | `amplitudes` | what channels show while somebody looks |
//! | [`counters`], `message_counts` | what is counted, with the laws |
//! | [`frames`] | messages of all boards to events: what of the above is asked when |
//! | [`pipeline`] | [`Isis`]: packets to messages; all of it as a [`Detector`](evforge_core::detector::Detector) |

mod amplitudes;
pub mod assembly;
pub mod board_clock;
pub mod boards;
mod checks;
pub mod counters;
pub mod decode;
pub mod frames;
pub mod key_sort;
pub mod layout;
mod message_counts;
pub mod open_frame;
pub mod outlet;
pub mod pieces;
pub mod pipeline;
pub mod sent_numbers;
pub mod settings;
mod timing;
pub mod wiring;

pub use counters::IsisCounters;
pub use pipeline::Isis;
pub use settings::IsisSettings;
