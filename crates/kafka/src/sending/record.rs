//! A message on its way to a topic.

use crate::client::{Complaint, Header};

/// A message with everything that a broker is given, borrowed from whoever made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) topic: &'a str,
    /// None: librdkafka chooses by the key.
    pub(crate) partition: Option<i32>,
    pub(crate) key: Option<&'a [u8]>,
    /// Milliseconds since 1970; 0 is now.
    pub(crate) timestamp_ms: i64,
    pub(crate) payload: &'a [u8],
    pub(crate) headers: &'a [Header],
    pub(crate) about: About<'a>,
}

/// What a message is to the accounts, and to a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct About<'a> {
    /// Events in it.
    pub(crate) events: u64,
    /// Its source, and its number in it; nothing of an earlier run is sent twice by them. Number 0: none.
    pub(crate) source: &'a str,
    pub(crate) id: i64,
    /// Arrival of the packets of its earliest event, in nanoseconds since 1970.
    pub(crate) arrival_ns: Option<u64>,
}

/// The same, with memory of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnedRecord {
    pub(crate) topic: String,
    pub(crate) partition: Option<i32>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) timestamp_ms: i64,
    pub(crate) payload: Vec<u8>,
    pub(crate) headers: Vec<Header>,
    pub(crate) events: u64,
    pub(crate) source: String,
    pub(crate) id: i64,
    pub(crate) arrival_ns: Option<u64>,
}

impl From<&Record<'_>> for OwnedRecord {
    fn from(record: &Record<'_>) -> Self {
        Self {
            topic: record.topic.to_owned(),
            partition: record.partition,
            key: record.key.map(<[u8]>::to_vec),
            timestamp_ms: record.timestamp_ms,
            payload: record.payload.to_vec(),
            headers: record.headers.to_vec(),
            events: record.about.events,
            source: record.about.source.to_owned(),
            id: record.about.id,
            arrival_ns: record.about.arrival_ns,
        }
    }
}

impl OwnedRecord {
    /// As it is sent.
    pub(crate) fn as_record(&self) -> Record<'_> {
        Record {
            topic: &self.topic,
            partition: self.partition,
            key: self.key.as_deref(),
            timestamp_ms: self.timestamp_ms,
            payload: &self.payload,
            headers: &self.headers,
            about: About {
                events: self.events,
                source: &self.source,
                id: self.id,
                arrival_ns: self.arrival_ns,
            },
        }
    }
}

/// What is known of a message that was given to a [`Transport`], and comes back with its report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
    pub(crate) arrival_ns: Option<u64>,
    pub(crate) on_disk: OnDisk,
}

/// Where a message is on disk if it is given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnDisk {
    /// Nowhere.
    #[default]
    Never,
    /// In the file of the spill that it was read from, where it still is.
    Still(u64),
    /// It was sent from memory, as the message of this number: it belongs into this file of the spill.
    Then { file: u64, number: u64 },
}

/// Why a message will never be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    TimedOut,
    TooLarge,
    UnknownTopic,
    NotAuthorised,
    Purged,
    Other,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) ticket: Ticket,
    /// None if it was acknowledged.
    pub(crate) failure: Option<(FailureKind, String)>,
    /// The message, if it was given up and belongs on the disk.
    pub(crate) given_up: Option<OwnedRecord>,
}

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There is no room at the moment.
    Full,
    /// It never will be.
    Never(FailureKind, String),
}

/// What stands between this program and a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// In words for a person.
    pub(crate) words: String,
    /// No broker can be reached at all.
    pub(crate) is_total: bool,
}

/// Takes messages, and reports later what became of each: Kafka, or a test.
pub(crate) trait Transport: Send {
    /// Takes a message, in the order in which they are to be in its partition.
    fn send(&mut self, record: &Record<'_>, ticket: Ticket) -> Result<(), Refused>;

    /// Appends what became of messages since the last call. Waits no longer than this for the first one.
    fn poll(&mut self, wait: std::time::Duration, reports: &mut Vec<Report>);

    /// What stands between this program and a broker since something was acknowledged.
    fn trouble(&self) -> Option<Trouble>;

    /// Why nothing can be sent any more, whatever happens, if that is so.
    fn fatal(&self) -> Option<String>;

    /// Requests sent again so far.
    fn retries(&self) -> u64;

    /// What it has complained about since something was acknowledged, in the words of the client.
    fn complaints(&self) -> Vec<Complaint> {
        Vec::new()
    }

    /// Gives up everything that has not been acknowledged; the reports follow.
    fn purge(&mut self);
}
