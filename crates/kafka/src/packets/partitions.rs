//! The partitions of a topic at brokers.

use super::headers::{self, BadHeader};
use super::merge::{Lanes, Next};
use super::message::Delivered;
use crate::client::with_headers;
use crate::topic::{Change, Step, TopicPartitions};
use evforge_core::packet_source::SourceError;
use rdkafka::message::Message as _;
use std::time::Duration;

/// All partitions.
pub(super) struct TopicLanes {
    pub(super) partitions: TopicPartitions,
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
        let step = self.partitions.next(lane, wait, |message| {
            let time_ms = message.timestamp().to_millis();
            let origin = with_headers(message, |all| headers::read(all, time_ms)).unwrap_or(Err(BadHeader));
            read(&Delivered { payload: message.payload(), origin, time_ms });
        })?;
        Ok(match step {
            Step::Message(()) => Next::Message,
            Step::Nothing => Next::Nothing,
            Step::AtEnd => Next::AtEnd,
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
