//! Messages into topics, each accounted for until it is acknowledged or has failed: whoever sends does it by what is here.
//!
//! | you look for | it is in |
//! |---|---|
//! | messages to topics that nobody waits for, counted by what became of them | [`MessageOutlet`] |
//! | what stands between this program and a broker, or a test | `record`, `transport` |
//! | where producers are made, and what they are set to | `producer` |

mod outlet;
mod producer;
pub(crate) mod record;
#[cfg(test)]
pub(crate) mod test_support;
mod transport;

pub use outlet::{MessageOutlet, MessageOutletCounters, Offered, Outgoing};
pub(crate) use producer::{config, producer};
pub(crate) use transport::KafkaTransport;
