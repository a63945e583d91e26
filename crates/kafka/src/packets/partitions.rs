//! The partitions of a topic at brokers.

use super::headers::{self, BadHeader};
use super::merge::{Lanes, Next};
use super::message::Delivered;
use crate::client::with_headers;
use crate::topic::{Change, Step, TopicPartitions};
use evforge_core::packet_source::SourceError;
use jiff::Timestamp;
use rdkafka::message::Message as _;
use std::time::Duration;

/// How long messages may be under way to a topic: so long after its last time it is over.
const UNDER_WAY_MS: i64 = 5000;

/// All partitions.
pub(super) struct TopicLanes {
    pub(super) partitions: TopicPartitions,
    /// Where topics are followed: the time of the first message that is not read any more.
    pub(super) until_ms: Option<i64>,
}

impl Lanes for TopicLanes {
    fn count(&mut self) -> Result<usize, SourceError> {
        self.partitions.look_after()?;
        Ok(self.partitions.all().len())
    }

    fn next(
        &mut self,
        lane: usize,
        wait: Duration,
        read: &mut dyn FnMut(&Delivered<'_>),
    ) -> Result<Next, SourceError> {
        let until_ms = self.until_ms;
        let step = self.partitions.next(lane, wait, |message| {
            let time_ms = message.timestamp().to_millis();
            let is_late = until_ms.zip(time_ms).is_some_and(|(until, time)| time >= until);
            if !is_late {
                let origin =
                    with_headers(message, |all| headers::read(all, time_ms)).unwrap_or(Err(BadHeader));
                read(&Delivered { payload: message.payload(), origin, time_ms });
            }
            is_late
        })?;
        let is_past = |until: i64| Timestamp::now().as_millisecond() >= until.saturating_add(UNDER_WAY_MS);
        Ok(match step {
            Step::Message(false) => Next::Message,
            Step::Nothing => Next::Nothing,
            Step::AtEnd if !until_ms.is_some_and(is_past) => Next::AtEnd,
            Step::Message(true) | Step::AtEnd => {
                self.partitions.end_here(lane);
                Next::AtEnd
            }
        })
    }

    fn is_over(&self, lane: usize) -> bool {
        self.partitions.all().get(lane).is_none_or(|partition| partition.is_over())
    }

    fn change(&mut self) -> Option<Change> {
        self.partitions.change()
    }

    fn trouble(&self) -> Option<String> {
        self.partitions.complains().complaints().last().map(|complaint| complaint.sentence())
    }
}
