//! Graphite: every reading as a line of text, once an interval, over one TCP connection to carbon.
//!
//! ```text
//! state of the run (once a second) ─► lines ─► buffer (bounded) ─► sender (thread) ─► carbon
//! ```
//!
//! The output [`GraphiteOutput`] makes a block of lines at every interval and puts it into the buffer; a thread of its own
//! connects, sends and connects again. So a Graphite that is slow, away or gone never holds up anything.
//!
//! | you look for | it is in |
//! |---|---|
//! | the table `[outputs.graphite]` | [`GraphiteSettings`] |
//! | lines, with the names of the reference | `lines.rs`, `reference.rs` |
//! | what is kept while nobody takes it, and what is sent twice | `buffer.rs` |
//! | the connection | `sender.rs` |

mod buffer;
mod lines;
mod output;
mod reference;
mod sender;
mod settings;

pub use buffer::GraphiteCounters;
pub use lines::lines;
pub use output::{GraphiteOutput, Target};
pub use reference::{REFERENCE, Same};
pub use settings::GraphiteSettings;
