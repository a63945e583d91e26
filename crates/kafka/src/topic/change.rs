//! What happens to a partition besides messages.

use super::ids::TopicId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A change of a partition that is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its topic.
    pub topic: String,
    /// Its number.
    pub partition: i32,
    /// The id of the topic from now on; none of brokers that have none.
    pub id: Option<TopicId>,
    /// What has happened.
    pub what: What,
}

/// What has happened to a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Its topic was deleted and made again. It is read from its oldest message on.
    Anew {
        /// The number of the next message of the topic before.
        was_at: i64,
        /// The oldest message of the new one.
        first: i64,
    },
    /// The brokers have lost the end of its log. It is read on from the end that it has; from where it was if it has grown beyond
    /// that: where it was cut is not known then.
    Cut {
        /// The number of the next message, as it was before.
        was_at: i64,
        /// The number of the next message now.
        end: i64,
    },
    /// The brokers have removed messages that were not read.
    Removed {
        /// How many.
        messages: u64,
        /// The oldest message that is there.
        first: i64,
    },
    /// Its topic, or the partition, is not there any more.
    Gone {
        /// The number of the next message, as it was before.
        was_at: i64,
    },
    /// It was added to the topic. It is read from its oldest message on.
    Added {
        /// That message.
        first: i64,
    },
}

impl What {
    /// The number of the next message that is read.
    pub fn next(self) -> i64 {
        match self {
            Self::Anew { first, .. } | Self::Removed { first, .. } | Self::Added { first } => first,
            Self::Cut { end, .. } => end,
            Self::Gone { was_at } => was_at,
        }
    }

    /// True if messages may be missing.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::Added { .. })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, partition, what, .. } = self;
        match what {
            What::Anew { was_at, .. } => write!(
                f,
                "topic {topic} was deleted and made again: partition {partition}, which had been read up to {was_at}, is read from its \
                 beginning"
            ),
            What::Cut { was_at, end } if end == was_at => write!(
                f,
                "partition {partition} of topic {topic}, which had been read up to {was_at}, was cut below that and has grown again: \
                 messages between may be missing"
            ),
            What::Cut { was_at, end } => write!(
                f,
                "partition {partition} of topic {topic} ends at {end}, and had been read up to {was_at}: the brokers have lost its end"
            ),
            What::Removed { messages, .. } => write!(
                f,
                "the brokers have removed {messages} messages of partition {partition} of topic {topic} before they were read"
            ),
            What::Gone { was_at } => write!(
                f,
                "partition {partition} of topic {topic}, which had been read up to {was_at}, is not there any more"
            ),
            What::Added { .. } => {
                write!(f, "topic {topic} has a further partition, {partition}: it is read from its beginning")
            }
        }
    }
}
