//! A partition, read in its order: where it is, where it ends, and what becomes of its place.

use super::change::What;
use super::ids::TopicId;
use super::state::TopicState;
use crate::client::{ClientError, Witness, cause_of_failure, failed};
use jiff::Timestamp;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Message as _};
use rdkafka::types::RDKafkaErrorCode as Code;
use std::time::{Duration, Instant};

/// How long messages may be under way to a topic: so long after the time to which it is read it is over.
const UNDER_WAY_MS: i64 = 5000;

/// Where a partition is begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its topic, by its place in the list of all.
    pub topic: usize,
    /// Its number.
    pub number: i32,
    /// The oldest message.
    pub low: i64,
    /// The number of the next message.
    pub high: i64,
    /// The id of the topic that it is a place of; none if that is not known.
    pub id: Option<TopicId>,
    /// The first message that is read.
    pub first: i64,
    /// The first one that is not read any more; none to read on for ever.
    pub end: Option<i64>,
    /// Where that is not known yet: the first one from this time on, in milliseconds since 1970, is not read any more.
    pub until_ms: Option<i64>,
}

/// What a partition has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// A message, as it was read.
    Message(T),
    /// None so far.
    Nothing,
    /// None further, at the moment or at all.
    AtEnd,
}

/// A partition.
pub struct PartitionReader {
    /// Where it was begun.
    pub place: Place,
    /// The number of the next message.
    pub position: i64,
    /// Nothing is there that has not been read, as far as the brokers have said.
    pub is_at_end: bool,
    /// All has been read that was there when reading began.
    pub has_caught_up: bool,
    /// Its queue; none while it is not read.
    pub(super) queue: Option<PartitionQueue<Witness>>,
    /// When a message came last.
    last: Instant,
    /// When its place, or its topic, turned out not to be there.
    lost: Option<Instant>,
    /// The brokers have refused its place: not its topic.
    is_refused: bool,
    /// That it is not there any more has been said.
    is_gone: bool,
}

impl PartitionReader {
    pub(super) fn new(place: Place) -> Self {
        let is_at_end = place.first >= place.high;
        Self {
            place,
            position: place.first,
            is_at_end,
            has_caught_up: is_at_end,
            queue: None,
            last: Instant::now(),
            // A place of an earlier reading.
            lost: (place.first < place.low || place.first > place.high).then(Instant::now),
            is_refused: false,
            is_gone: false,
        }
    }

    /// True if nothing more is read.
    pub fn is_over(&self) -> bool {
        self.place.end.is_some_and(|end| self.position >= end)
    }

    /// Nothing more is read from now on.
    pub fn end_here(&mut self) {
        self.place.end = Some(self.position);
        self.has_caught_up = true;
    }

    /// Ends at the end of its log once the time is over to which it is read.
    fn end_if_over(&mut self) {
        let is_past = |until: i64| Timestamp::now().as_millisecond() >= until.saturating_add(UNDER_WAY_MS);
        if self.place.until_ms.is_some_and(is_past) {
            self.end_here();
        }
    }

    /// Since when its place is lost.
    pub(super) fn lost(&self) -> Option<Instant> {
        self.lost
    }

    /// The next message, as `read` makes it of what librdkafka has, if there is one within `wait`.
    ///
    /// # Errors
    /// If it cannot be read and will not be.
    pub(super) fn next<T>(
        &mut self,
        wait: Duration,
        witness: &Witness,
        read: impl FnOnce(&BorrowedMessage<'_>) -> T,
    ) -> Result<Step<T>, ClientError> {
        let Some(queue) = self.queue.as_ref().filter(|_| !self.is_over()) else { return Ok(Step::AtEnd) };
        let code = match queue.poll(wait) {
            None if self.is_at_end => {
                self.end_if_over();
                return Ok(Step::AtEnd);
            }
            None => return Ok(Step::Nothing),
            Some(Ok(message)) => {
                let offset = message.offset();
                self.last = Instant::now();
                let is_past = |until| message.timestamp().to_millis().is_some_and(|time| time >= until);
                if self.place.until_ms.is_some_and(is_past) {
                    self.place.end = Some(offset);
                }
                if let Some(end) = self.place.end.filter(|end| offset >= *end) {
                    // Marks of transactions, which nobody gets to see, were the last.
                    self.position = end;
                    (self.is_at_end, self.has_caught_up) = (true, true);
                    return Ok(Step::AtEnd);
                }
                self.position = offset + 1;
                self.is_at_end = false;
                self.has_caught_up |= self.position >= self.place.high;
                return Ok(Step::Message(read(&message)));
            }
            Some(Err(KafkaError::PartitionEOF(_))) => {
                (self.is_at_end, self.has_caught_up) = (true, true);
                if let Some(end) = self.place.end.filter(|end| *end <= self.place.high) {
                    self.position = end;
                }
                self.end_if_over();
                return Ok(Step::AtEnd);
            }
            Some(Err(error)) => (error.rdkafka_error_code().unwrap_or(Code::Fail), error),
        };
        let (code, error) = code;
        match code {
            Code::AutoOffsetReset
            | Code::OffsetOutOfRange
            | Code::UnknownTopic
            | Code::UnknownTopicOrPartition
            | Code::UnknownPartition => {
                self.lost.get_or_insert_with(Instant::now);
                self.is_refused |= matches!(code, Code::AutoOffsetReset | Code::OffsetOutOfRange);
            }
            _ if cause_of_failure(&error).is_final() => {
                witness.note(code, &error.to_string());
                return Err(failed(&format!("partition {}", self.place.number), &error));
            }
            _ => {}
        }
        witness.note(code, &error.to_string());
        Ok(Step::Nothing)
    }

    /// The brokers do not have it. Says so once, with the second answer: a broker that has just started does not know its topics yet. Ends
    /// where it was not read for ever.
    pub(super) fn is_missing(&mut self, asked: Instant) -> Option<What> {
        let is_second = *self.lost.get_or_insert(asked) < asked;
        let news = is_second && !std::mem::replace(&mut self.is_gone, true);
        if news && self.place.end.is_some() {
            self.end_here();
        }
        news.then_some(What::Gone { was_at: self.position })
    }

    /// Compares its place with what brokers say of its topic, of which it has these oldest and next messages. Says what has happened, and reads on from where that leaves it.
    pub(super) fn judge(
        &mut self,
        state: &TopicState,
        (low, high): (i64, i64),
        asked: Instant,
    ) -> Option<What> {
        // The controller, which has the ids, did not answer: a cut log would be taken for a topic that was made again.
        if self.place.id.is_some() && state.id.is_none() {
            return None;
        }
        // Unknown where there are no ids.
        let is_other = self.place.id.zip(state.id).map(|(known, now)| known != now);
        self.place.id = state.id.or(self.place.id);
        let was_lost = self.lost.take_if(|lost| *lost <= asked).is_some();
        let was_refused = was_lost && std::mem::take(&mut self.is_refused);
        let was_at = self.position;
        self.is_gone = false;
        // What came since it was asked is not known to the answer.
        let is_behind_end = high < was_at && (was_lost || self.last < asked);
        let what = match is_other {
            Some(true) => What::Anew { was_at, first: low },
            None if is_behind_end => What::Anew { was_at, first: low },
            Some(false) if is_behind_end => What::Cut { was_at, end: high },
            _ if was_lost && was_at < low => What::Removed { messages: low.abs_diff(was_at), first: low },
            // The log was cut below the place, and has grown beyond it since.
            _ if was_refused => What::Cut { was_at, end: was_at },
            _ => return None,
        };
        // What was refused is behind it: it is read from another place on.
        (self.lost, self.is_refused) = (None, false);
        self.position = what.next();
        self.is_at_end = self.position >= high;
        if self.place.end.is_some() && !matches!(what, What::Removed { .. }) {
            // What was to be read is not there any more.
            self.end_here();
        }
        Some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> Option<TopicId> {
        serde_json::from_value(serde_json::json!([0, number])).expect("an id")
    }

    /// A partition of which 100 messages were read and which now has 60: what is said with each of these ids in turn.
    fn said(known: Option<TopicId>, answers: &[Option<TopicId>]) -> Vec<Option<What>> {
        let mut reader = PartitionReader::new(Place { high: 100, first: 100, id: known, ..Place::default() });
        let judged = |id: &Option<TopicId>| {
            let state = TopicState { id: *id, ends: Vec::new() };
            reader.judge(&state, (0, 60), Instant::now())
        };
        answers.iter().map(judged).collect()
    }

    #[test]
    fn a_log_that_is_shorter_was_cut_or_is_of_another_topic() {
        let (cut, anew) = (What::Cut { was_at: 100, end: 60 }, What::Anew { was_at: 100, first: 0 });
        assert_eq!(said(id(1), &[id(1)]), [Some(cut)]);
        assert_eq!(said(id(1), &[id(2)]), [Some(anew)]);
        assert_eq!(said(None, &[None]), [Some(anew)]);
    }

    #[test]
    fn an_answer_without_the_id_that_was_known_decides_nothing() {
        let cut = What::Cut { was_at: 100, end: 60 };
        assert_eq!(said(id(1), &[None, None, id(1)]), [None, None, Some(cut)]);
    }
}
