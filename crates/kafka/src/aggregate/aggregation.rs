//! Frames of a topic into another: reads, puts together, sends, commits.

use super::messages::FrameMessages;
use super::transactions::{GiveUp, NotSent, Transactions};
use super::{AggregateCounters, AggregateRules, Aggregator, PartitionPosition, RawMessage, start};
use crate::client::{ClientError, ClientSettings, Complaint, Deadline, check};
use crate::topic::{Begin, Next, TopicReader, Until, What};
use evforge_messages::RefusedCounters;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Messages that are put together before it is looked what can be sent.
const MOST_AT_ONCE: usize = 1000;
/// How often it is committed what was read if no frame is sent.
const IDLE_COMMIT: Duration = Duration::from_secs(1);
/// How often frames are sent at most: each time costs the brokers a transaction.
const SEND_EVERY: Duration = Duration::from_millis(20);

/// What is put together from where to where.
#[derive(Clone, Debug)]
pub struct AggregationSettings {
    /// The topic of raw messages.
    pub from: String,
    /// The topic of frames.
    pub to: String,
    /// Under this name the brokers keep what has been dealt with. One instance at a time has it.
    pub group: String,
    /// Name of the source in the messages of frames.
    pub source: String,
    /// Where the raw messages are begun if the group has dealt with none.
    pub begin: Begin,
    /// Where they end.
    pub until: Until,
    /// Events of a message at most.
    pub most_events: usize,
    /// How frames are put together.
    pub rules: AggregateRules,
}

/// How it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There may be more.
    On,
    /// All is read that was there at the beginning.
    ToTheEnd,
}

/// Frames of a topic into another.
pub struct Aggregation {
    reader: TopicReader,
    aggregator: Aggregator,
    transactions: Transactions,
    messages: FrameMessages,
    from: String,
    /// What was committed last.
    committed: Vec<PartitionPosition>,
    committed_at: Instant,
    begin: Instant,
    notes: Vec<String>,
}

impl Aggregation {
    /// Opens both topics, where the last instance of the group has ended or was killed, unless `stop` is set before.
    ///
    /// # Errors
    /// If the brokers cannot be reached, a topic is not there, or they take no transactions.
    pub fn open(
        client: &ClientSettings,
        settings: &AggregationSettings,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, ClientError> {
        let AggregationSettings { from, to, group, source, .. } = settings;
        // What an instance before had not committed is given up before it is looked at what there is.
        let transactions = Transactions::open(client, to, &format!("{group}-{to}"), stop)?;
        let deadline = Deadline::of_opening().or_when(stop);
        let (reader, starts) =
            start::open(client, (from, group), (settings.begin, settings.until), &deadline)?;
        let tail = match Self::exists(client, to, &deadline)? {
            true => start::tail(client, to, Aggregator::earliest_of(&starts), &deadline)?,
            false => start::Tail::default(),
        };
        let mut aggregator = Aggregator::new(settings.rules, &starts);
        start::tell(&mut aggregator, &tail);
        let most_events = settings.most_events.min(transactions.room());
        Ok(Self {
            reader,
            aggregator,
            transactions,
            messages: FrameMessages::new(source, most_events, tail.last_id),
            from: from.clone(),
            committed: Vec::new(),
            committed_at: Instant::now(),
            begin: Instant::now(),
            notes: Vec::new(),
        })
    }

    /// False if the brokers make the topic with its first message.
    fn exists(client: &ClientSettings, topic: &str, deadline: &Deadline) -> Result<bool, ClientError> {
        let checked = check(client, &[topic], deadline.of_an_answer())?;
        Ok(checked.topics.first().is_some_and(|topic| !topic.partitions.is_empty()))
    }

    /// Reads what has come, and sends the frames that are done; waits for a message for so long at most. While brokers are away it
    /// goes on trying until `stop` says to give up; then nothing is lost: it will be read again.
    ///
    /// # Errors
    /// If a topic cannot be read or written and will not be.
    pub fn step(&mut self, wait: Duration, stop: &mut GiveUp<'_>) -> Result<Step, ClientError> {
        let mut wait = wait;
        for _ in 0..MOST_AT_ONCE {
            if self.aggregator.has_much_ready() {
                break;
            }
            match self.reader.next(wait)? {
                Next::Message(record) => {
                    let message = RawMessage {
                        partition: record.partition,
                        offset: record.offset,
                        time_ms: record.time_ms,
                        payload: &record.payload,
                    };
                    self.aggregator.take(&message, self.begin.elapsed(), now_ns());
                    wait = Duration::ZERO;
                }
                Next::Changed(change) => {
                    match change.what {
                        What::Removed { messages, .. } => {
                            self.aggregator.counters_mut().messages_deleted += messages
                        }
                        What::Gone { .. } => {}
                        what => self.aggregator.begin_again(change.partition, what.next()),
                    }
                    self.notes.push(change.to_string());
                }
                Next::Idle => break,
                Next::End => {
                    self.finish(stop)?;
                    return Ok(Step::ToTheEnd);
                }
            }
        }
        for (partition, is_at_end) in self.reader.at_end() {
            self.aggregator.set_at_end(partition, is_at_end);
        }
        self.aggregator.look(self.begin.elapsed());
        self.transactions.poll();
        let is_time = self.committed_at.elapsed() >= SEND_EVERY || self.aggregator.has_much_ready();
        let is_idle = self.committed_at.elapsed() >= IDLE_COMMIT;
        if self.aggregator.has_ready() && is_time || is_idle {
            self.commit(stop)?;
        }
        Ok(Step::On)
    }

    /// Sends all frames that there are: nothing is read any more. True if they were acknowledged before `stop` said to give up.
    ///
    /// # Errors
    /// As [`Aggregation::step`].
    pub fn finish(&mut self, stop: &mut GiveUp<'_>) -> Result<bool, ClientError> {
        self.aggregator.close();
        self.commit(stop)
    }

    fn commit(&mut self, stop: &mut GiveUp<'_>) -> Result<bool, ClientError> {
        self.committed_at = Instant::now();
        let frames = self.aggregator.take_ready();
        let positions = self.aggregator.positions();
        if frames.is_empty() && positions == self.committed {
            return Ok(true);
        }
        let read = (self.reader.consumer(), self.from.as_str(), positions.as_slice());
        match self.transactions.commit(&frames, &mut self.messages, read, stop) {
            Ok(sent) => {
                self.aggregator.sent(&frames, sent.messages, sent.bytes);
                let counters = self.aggregator.counters_mut();
                counters.transactions += 1;
                counters.transactions_aborted += sent.aborted;
                self.committed = positions;
                Ok(true)
            }
            Err(NotSent::Stopped) => Ok(false),
            Err(NotSent::Failed(error)) => Err(error),
        }
    }

    /// Messages that have not been read, as the brokers have said last.
    pub fn behind(&self) -> Option<u64> {
        self.reader.behind(None)
    }

    /// What was counted.
    pub fn counters(&self) -> AggregateCounters {
        self.aggregator.counters()
    }

    /// Messages that were refused, by reason.
    pub fn refused(&self) -> &RefusedCounters {
        self.aggregator.refused()
    }

    /// What was wrong with the first one that was refused.
    pub fn first_refused(&self) -> Option<&str> {
        self.aggregator.first_refused()
    }

    /// The number of the last message of a frame.
    pub fn last_id(&self) -> i64 {
        self.messages.last_id()
    }

    /// What people should know, the oldest first.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What the clients have complained about: why nothing comes, or nothing is acknowledged.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.reader.complaints().into_iter().chain(self.transactions.complaints()).collect()
    }
}

/// Nanoseconds since 1970.
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
