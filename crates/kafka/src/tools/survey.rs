//! What is in a topic: from its offsets, and a sample of its newest messages.

use crate::client::{Cause, ClientError, ClientSettings, Deadline};
use crate::topic::{Begin, Next, Record, TopicReader, Until};
use evforge_messages::{RefusedCounters, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Sources of a topic that are told apart. Whoever puts a number into each name must not fill the memory of who looks on.
const MOST_SOURCES: usize = 1000;

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Messages of each partition.
    pub messages: u64,
    /// Time for a topic.
    pub within: Duration,
}

/// What was found in a topic.
#[derive(Clone, Debug, Default)]
pub struct TopicFindings {
    /// Its name.
    pub name: String,
    /// Number, lowest and highest offset of each partition; the highest is that of the next message.
    pub partitions: Vec<(i32, i64, i64)>,
    /// Messages looked at.
    pub messages: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Bytes of the largest of these.
    pub largest: u64,
    /// True if time was up before the sample was complete.
    pub is_cut: bool,
    /// Messages by schema and source.
    pub sources: BTreeMap<(Schema, Option<String>), SourceFindings>,
    /// Messages of further sources, beyond those that are told apart.
    pub of_further_sources: u64,
    /// Messages that are refused, by reason.
    pub refused: RefusedCounters,
    /// Where the newest refused message is (partition and offset), and why it is refused.
    pub newest_refused: Option<(i32, i64, String)>,
}

/// What was found of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SourceFindings {
    /// Messages.
    pub messages: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Kafka's times of the first and the last, in milliseconds since 1970.
    pub kafka_ms: Option<(i64, i64)>,
    /// The latest time in the messages themselves, in nanoseconds since 1970.
    pub last_time_ns: Option<i64>,
}

impl SourceFindings {
    /// Messages per second, between the first and the last.
    pub fn rate(&self) -> Option<f64> {
        let (first, last) = self.kafka_ms?;
        (last > first && self.messages > 1)
            .then(|| (self.messages - 1) as f64 * 1000.0 / last.saturating_sub(first) as f64)
    }
}

impl TopicFindings {
    /// How many messages the topic keeps: as many as its offsets tell, which some kinds of topics have fewer of.
    pub fn kept(&self) -> u64 {
        self.partitions.iter().map(|(_, low, high)| u64::try_from(high - low).unwrap_or(0)).sum()
    }

    fn take(&mut self, record: &Record) {
        let bytes = record.payload.len() as u64;
        self.messages += 1;
        self.bytes += bytes;
        self.largest = self.largest.max(bytes);
        let message = match record.decode() {
            Ok(message) => message,
            Err(refused) => {
                self.refused.count(refused.reason());
                self.newest_refused = Some((record.partition, record.offset, refused.to_string()));
                return;
            }
        };
        let key = (message.schema(), message.source_name().map(str::to_owned));
        if self.sources.len() >= MOST_SOURCES && !self.sources.contains_key(&key) {
            self.of_further_sources += 1;
            return;
        }
        let source = self.sources.entry(key).or_default();
        source.messages += 1;
        source.bytes += bytes;
        if let Some(ms) = record.time_ms {
            let (first, last) = source.kafka_ms.unwrap_or((ms, ms));
            source.kafka_ms = Some((first.min(ms), last.max(ms)));
        }
        source.last_time_ns = source.last_time_ns.max(message.time_ns());
    }
}

/// Looks into a topic, until its sample is complete, time is up, or `stop` is set.
///
/// # Errors
/// If it cannot be read.
pub fn survey(
    settings: &ClientSettings,
    topic: &str,
    sample: Sample,
    stop: &Arc<AtomicBool>,
) -> Result<TopicFindings, ClientError> {
    let mut findings = TopicFindings { name: topic.to_owned(), ..TopicFindings::default() };
    let opening = Deadline::of_opening().or_when(stop);
    let begin = Begin::Last(sample.messages);
    let mut reader = match TopicReader::open(settings, topic, begin, Until::Present, &opening) {
        Err(error) if error.cause == Cause::AskedToEnd => {
            findings.is_cut = true;
            return Ok(findings);
        }
        opened => opened?,
    };
    findings.partitions = reader.offsets().collect();
    let deadline = Instant::now() + sample.within;
    loop {
        if stop.load(Ordering::Relaxed) || Instant::now() >= deadline {
            findings.is_cut = true;
            return Ok(findings);
        }
        match reader.next(Duration::from_millis(100))? {
            Next::Message(record) => findings.take(&record),
            // What was there when it was opened is what counts.
            Next::Idle | Next::Changed(_) => {}
            Next::End => return Ok(findings),
        }
    }
}
