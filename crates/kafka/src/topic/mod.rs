//! Topics, read by one rule: whoever reads messages does it by what is here.
//!
//! | you look for | it is in |
//! |---|---|
//! | the messages of a topic in their order, from anywhere on | [`TopicReader`] |
//! | partitions of topics, each in its order | [`TopicPartitions`] |
//! | where reading begins and ends | [`Begin`], [`Until`], [`At`] |
//! | what happens to a topic that is read: made again, cut, removed, added | [`Change`] |
//! | what brokers say of topics, again and again | [`TopicWatch`] |

mod change;
mod ids;
mod partition;
mod partitions;
mod place;
mod queues;
mod reader;
mod record;
mod state;

pub use change::{Change, What};
pub use ids::TopicId;
pub use partition::{PartitionReader, Place, Step};
pub use partitions::{Complains, IsRead, TopicPartitions};
pub(crate) use place::described;
pub use place::{At, Begin, Until, places};
pub use reader::{Next, TopicReader};
pub use record::Record;
pub use state::{Snapshot, TopicState, TopicWatch};
