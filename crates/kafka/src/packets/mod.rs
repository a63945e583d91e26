//! Raw packets in topics: sampled from a run into ar51 messages, and read back, so that their events can be formed again.
//!
//! | you look for | it is in |
//! |---|---|
//! | packets of a run as messages | [`PacketMessages`] |
//! | where a packet came from, went to, and when: the headers of its message | [`HEADERS`] |
//! | a topic as an input of a run | [`TopicInput`], [`TopicPackets`] |
//!
//! An ar51 message has the name of its source, its number and the payload of one UDP datagram. That is what the event formation
//! unit of ESS writes. What is needed beyond that to form events again travels in headers, which others ignore.

mod counters;
mod headers;
mod merge;
mod message;
mod messages;
mod partitions;
mod source;
mod sources;
#[cfg(test)]
mod tests;
mod topic;

pub use counters::TopicCounters;
pub use headers::HEADERS;
pub use messages::{PacketMessage, PacketMessages};
pub use source::TopicPackets;
pub use topic::TopicInput;
