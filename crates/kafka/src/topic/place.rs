//! Where the partitions of a topic are begun.

use super::partition::Place;
use super::state::TopicState;
use crate::client::{Cause, ClientError, Consumer, Deadline, first_since};

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With the oldest message that is kept.
    Oldest,
    /// With the next message that comes.
    Newest,
    /// With the newest N of each partition.
    Last(u64),
    /// With this number, in each partition.
    Offset(i64),
    /// With the first message that Kafka has from this time on, in milliseconds since 1970.
    Since(i64),
}

/// Where reading ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Nowhere.
    Forever,
    /// With the last message that is there when reading begins.
    Present,
}

/// Where the partitions of a topic, which is the one of this place in a list, are begun.
///
/// # Errors
/// If the brokers do not say what they have from a time on, or have nothing at this place.
pub fn places(
    consumer: &Consumer,
    (topic, name): (usize, &str),
    state: &TopicState,
    (begin, until): (Begin, Until),
    deadline: &Deadline,
) -> Result<Vec<Place>, ClientError> {
    // After the ends: a message that comes in between is read.
    let since = match begin {
        Begin::Since(ms) => {
            let all: Vec<_> = state.ends.iter().map(|(number, ..)| (name, *number)).collect();
            first_since(consumer, &all, ms, &deadline.of_an_answer())?
        }
        _ => vec![None; state.ends.len()],
    };
    let place = |(&(number, low, high), since): (&(i32, i64, i64), Option<i64>)| {
        let first = match begin {
            Begin::Oldest => low,
            Begin::Newest => high,
            Begin::Last(count) => high.saturating_sub(i64::try_from(count).unwrap_or(i64::MAX)).max(low),
            Begin::Offset(offset) if offset < low || offset > high => {
                return Err(ClientError::new(
                    Cause::Other,
                    format!(
                        "partition {number} of {name} has no message {offset}: it keeps {low} to {}",
                        high - 1
                    ),
                ));
            }
            Begin::Offset(offset) => offset,
            Begin::Since(_) => since.unwrap_or(high),
        };
        let end = (until == Until::Present).then_some(high);
        Ok(Place { topic, number, low, high, id: state.id, first, end })
    };
    state.ends.iter().zip(since).map(place).collect()
}
