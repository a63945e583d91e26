//! What reaches a conversation, and what it wants to have done.

/// Where a message was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'a> {
    /// The topic of which each message is for any one of several writers.
    Pool,
    /// The command topic, or one that is followed.
    Topic(&'a str),
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// Where it was read.
    pub origin: Origin<'a>,
    /// Its content.
    pub payload: &'a [u8],
    /// The time that Kafka has of it, milliseconds since 1970; none counts as now.
    pub time_ms: Option<u64>,
    /// Until when the topic had been read to its end before this message came, milliseconds since 1970: now, unless brokers were
    /// away or this program was.
    pub read_until_ms: u64,
    /// True if it has the mark of a start that an evforge has repeated on a control topic ([`ECHO`]).
    pub is_echo: bool,
}

/// The name of the header that a repeated start has, so that no other evforge takes it for a start.
pub const ECHO: &str = "evforge-echo";

/// What a conversation wants to have done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A message to be sent.
    Send {
        /// To where.
        topic: String,
        /// Its content.
        payload: Vec<u8>,
        /// What it is.
        kind: Sent,
    },
    /// A topic to be read from this time on, milliseconds since 1970, by Kafka's times. It may be read already.
    Follow {
        /// The topic.
        topic: String,
        /// Since when.
        since_ms: u64,
    },
    /// A topic that needs not be read any more, unless it is the command topic.
    Unfollow {
        /// The topic.
        topic: String,
    },
    /// Something for people.
    Say(String),
}

/// What a message to be sent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A start, repeated as it came: to be marked with [`ECHO`].
    Echo,
    /// An answer to a command.
    Answer,
    /// The end of a job.
    End,
    /// The state at this moment: of no use later.
    Status,
}
