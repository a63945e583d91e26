//! The events of topics into batches, for whoever shows them: every message is used or counted by the reason why it is not, each
//! once, and what is missing between the numbers of a source's messages is counted as lost.
//!
//! | messages | what is made of them |
//! |---|---|
//! | ev44, ev42 | events, each with its pulse; the same number and the same bytes twice is one message |
//! | da00, hs00, hs01 | the spectrum and its sum, under the name of the source ([`SourceNotes`]) |
//! | f142, f144, un00, tdct | the newest value ([`SourceNotes`]) |
//! | pu00, vc00 | pulses, as frames, and what their vetoes are ([`SourceNotes`]); pu00 share the numbers of the events |
//! | da00 of a topic of ledgers | what a run tells of itself ([`SourceNotes`]) |
//! | others, and what cannot be read | counted by reason |

mod counters;
mod frames;
mod monitors;
mod notes;
mod sources;
mod topic;

pub use counters::EventTopicCounters;
pub use monitors::MonitorPixels;
pub use notes::{Note, NoteKind, PulseNote, RunNote, RunRow, SourceNotes, SpectrumNote, Spread};
pub use topic::{TopicRole, TopicUse};

use crate::client::{ClientError, ClientSettings, Complaint, Deadline};
use crate::topic::{Begin, Change, Next, Record, TopicReader, Until};
use evforge_core::batch_filler::BatchFiller;
use evforge_core::event::{Event, PixelId};
use evforge_core::frame::FrameLedger;
use evforge_core::ledger::SourceLedger;
use evforge_messages::{Message, RefusedCounters};
use frames::TopicFrames;
use notes::{NotNoted, Noted};
use sources::Sources;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How reading went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    /// There were messages.
    On,
    /// Nothing came in the time.
    Idle,
    /// All is read that was there at the beginning.
    ToTheEnd,
}

/// Reads events from topics.
pub struct EventTopics {
    topics: Vec<OpenTopic>,
    sources: Sources,
    monitors: MonitorPixels,
    counters: EventTopicCounters,
    refused: RefusedCounters,
    notes: SourceNotes,
    frames: TopicFrames,
    first_refused: Option<String>,
    changes: Vec<Change>,
}

struct OpenTopic {
    role: TopicRole,
    reader: TopicReader,
    is_at_its_end: bool,
}

impl EventTopics {
    /// Opens all topics.
    ///
    /// # Errors
    /// As [`TopicReader::open`], for the first topic that cannot be read.
    pub fn open(
        settings: &ClientSettings,
        topics: &[TopicUse],
        (begin, until): (Begin, Until),
        monitors: MonitorPixels,
        deadline: &Deadline,
    ) -> Result<Self, ClientError> {
        let open = |topic: &TopicUse| {
            let reader = TopicReader::open(settings, &topic.name, begin, until, deadline)?;
            Ok(OpenTopic { role: topic.role, reader, is_at_its_end: false })
        };
        Ok(Self {
            topics: topics.iter().map(open).collect::<Result<_, ClientError>>()?,
            ..Self::of(monitors)
        })
    }

    /// Without topics: messages are handed to [`EventTopics::take`].
    pub fn of(monitors: MonitorPixels) -> Self {
        Self {
            topics: Vec::new(),
            sources: Sources::default(),
            monitors,
            counters: EventTopicCounters::default(),
            refused: RefusedCounters::default(),
            notes: SourceNotes::default(),
            frames: TopicFrames::default(),
            first_refused: None,
            changes: Vec::new(),
        }
    }

    /// Fills in the events of what has come, of at most `most` messages of each topic; waits for `wait` if nothing has.
    ///
    /// # Errors
    /// If a topic cannot be read and will not be.
    pub fn read(
        &mut self,
        most: usize,
        wait: Duration,
        filler: &mut BatchFiller<'_>,
    ) -> Result<Went, ClientError> {
        let mut went = Went::Idle;
        for place in 0..self.topics.len() {
            for _ in 0..most {
                let topic = &mut self.topics[place];
                match topic.reader.next(Duration::ZERO)? {
                    Next::Message(record) => {
                        let role = topic.role;
                        self.take((place, role), &record, filler);
                        went = Went::On;
                    }
                    Next::Changed(change) => self.changes.push(change),
                    Next::Idle => break,
                    Next::End => {
                        topic.is_at_its_end = true;
                        break;
                    }
                }
            }
        }
        if went == Went::Idle {
            if self.topics.iter().all(|topic| topic.is_at_its_end) {
                return Ok(Went::ToTheEnd);
            }
            std::thread::sleep(wait);
        }
        Ok(went)
    }

    /// Takes a message of a topic: its number and what it is read for.
    pub fn take(&mut self, topic: (usize, TopicRole), record: &Record, filler: &mut BatchFiller<'_>) {
        self.counters.messages_read += 1;
        self.counters.bytes += record.payload.len() as u64;
        let message = match record.decode() {
            Ok(message) => message,
            Err(refused) => {
                self.counters.messages_refused += 1;
                self.refused.count(refused.reason());
                self.first_refused.get_or_insert_with(|| refused.to_string());
                return;
            }
        };
        if !self.sources.is_new(topic.0, record, &message) {
            self.counters.messages_duplicated += 1;
            return;
        }
        let source = message.source_name().unwrap_or_default();
        let place = (topic.0, record.partition);
        match &message {
            Message::Ev44(events) => {
                let rule = self.monitors.rule(topic.1, source);
                for (pulse, range) in events.pulses() {
                    let pixel = |place| events.pixel_id.get(place).and_then(|id| PixelId::try_from(id).ok());
                    let flight = |place| events.time_of_flight.get(place).map(i64::from);
                    self.add(place, (pulse, range), &rule, pixel, flight, filler);
                }
                self.counters.messages_of_events += 1;
            }
            Message::Ev42(events) => {
                let rule = self.monitors.rule(topic.1, source);
                // Checked when it was read: it lies before 2262.
                let pulse = i64::try_from(events.pulse_time).unwrap_or(i64::MAX);
                let pixel = |place| events.detector_id.get(place);
                let flight = |place| events.time_of_flight.get(place).map(i64::from);
                self.add(place, (pulse, 0..events.events()), &rule, pixel, flight, filler);
                self.counters.messages_of_events += 1;
            }
            _ => {
                let counters = &mut self.counters;
                let noted = self.notes.take(topic.1, &message, now_ns());
                // That of a log is about no events.
                if let (Message::Pu00(pulse), TopicRole::Events, Ok(_)) = (&message, topic.1, &noted)
                    && let Some((time_ns, frame)) =
                        self.frames.begin((topic.0, record), pulse, self.notes.vetoes())
                {
                    filler.begin_frame(time_ns, frame);
                }
                *match noted {
                    Ok(Noted::Value) => &mut counters.messages_noted,
                    Ok(Noted::Ledger) => &mut counters.messages_of_ledgers,
                    Err(NotNoted::TooManyNames) => &mut counters.messages_of_too_many_names,
                    Err(NotNoted::NameTooLong) => &mut counters.messages_with_long_names,
                    Err(NotNoted::NoNumber) => &mut counters.messages_without_numbers,
                    Err(NotNoted::OutOfTime) => &mut counters.messages_of_the_future,
                    Err(NotNoted::OtherSchema) => &mut counters.messages_of_other_schemas,
                } += 1;
            }
        }
    }

    /// Adds the events of a pulse.
    fn add(
        &mut self,
        place: (usize, i32),
        (pulse_ns, range): (i64, std::ops::Range<usize>),
        rule: &monitors::Rule,
        pixel: impl Fn(usize) -> Option<PixelId>,
        flight: impl Fn(usize) -> Option<i64>,
        filler: &mut BatchFiller<'_>,
    ) {
        self.counters.pulses_read += 1;
        let Ok(start) = u64::try_from(pulse_ns) else {
            self.counters.events_read += range.len() as u64;
            self.counters.events_outside_epoch += range.len() as u64;
            return;
        };
        match self.frames.of(place, start, range.len() as u64) {
            Some(frame) => filler.begin_frame(start, frame),
            None => filler.begin_pulse(start),
        }
        for place in range {
            self.counters.events_read += 1;
            let time = flight(place).and_then(|flight| start.checked_add_signed(flight));
            match (time, rule.pixel(pixel(place))) {
                (None, _) => self.counters.events_outside_epoch += 1,
                (_, None) => self.counters.events_of_unknown_monitors += 1,
                (Some(time_ns), Some(pixel_id)) => {
                    self.counters.events_shown += 1;
                    filler.push(Event { time_ns, pixel_id });
                }
            }
        }
    }

    /// What was counted.
    pub fn counters(&self) -> EventTopicCounters {
        let behind = self.topics.iter().map(|topic| topic.reader.behind(None));
        EventTopicCounters {
            // Unknown until the brokers have said it.
            messages_behind: behind.flatten().sum(),
            charges_refused: self.notes.charges_refused(),
            spectra_left_out: self.notes.spectra_left_out(),
            messages_lost: self.sources.missing(),
            messages_of_untold_sources: self.sources.untold(),
            ..self.counters
        }
    }

    /// Messages that were refused, by reason.
    pub fn refused(&self) -> &RefusedCounters {
        &self.refused
    }

    /// What was wrong with the first one that was refused.
    pub fn first_refused(&self) -> Option<&str> {
        self.first_refused.as_deref()
    }

    /// The sources of events, with their messages: those that are missing are lost.
    pub fn sources(&self) -> Vec<SourceLedger> {
        self.sources.ledgers()
    }

    /// What is known of all frames; none if no message has told of one.
    pub fn frames(&self) -> Option<FrameLedger> {
        self.frames.ledger(self.notes.vetoes())
    }

    /// Values and sums that came.
    pub fn notes(&self) -> &SourceNotes {
        &self.notes
    }

    /// The same, to take what came since it was last asked.
    pub fn notes_mut(&mut self) -> &mut SourceNotes {
        &mut self.notes
    }

    /// What has happened to the topics since they were opened.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What the client has complained about: why nothing comes.
    pub fn complaints(&self) -> Vec<Complaint> {
        self.topics.iter().flat_map(|topic| topic.reader.complaints()).collect()
    }
}

/// Nanoseconds since 1970.
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
