//! What people look at topics with, and fill them with: `evforge kafka …`. Nothing here prints, and nothing reads a command line.
//!
//! | you look for | it is in |
//! |---|---|
//! | messages into a topic, each accounted for | [`Sender`] |
//! | what is in a topic, from a sample of the newest messages | [`survey`](survey::survey) |
//! | a message as one line | [`mod@line`] |
//! | a topic or a file into another topic, with its timing | [`replay`] |
//! | values of logs from lines | [`forward`] |
//! | events that everybody knows, to see if a chain is alive | [`test_image`] |

pub mod forward;
pub mod line;
mod pacer;
mod renewal;
pub mod replay;
mod sender;
pub mod survey;
pub mod test_image;

pub use crate::sending::Outgoing;
pub use sender::{Delivery, Sender};
