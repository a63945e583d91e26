//! DROP streams: test data sent, received and verified word by word, as in the XDP paper (arXiv 2208.07118).
//!
//! ```text
//!  data generators ──► stream ──► UDP port ──► receiver ──► identifiers: jumps
//!  blocks of words     numbers    one each     threads       words: histogram ──► verification
//! ```
//!
//! [`SendStream`] makes the packets of one stream and [`send`] sends several; [`StreamAccount`] takes the packets of
//! one stream and [`receive`] receives several. [`Verification`] says whether a histogram can be that of a transfer
//! without loss. None of the accounting knows of a network, and it is tested without one.

mod account;
mod generator;
mod histogram;
mod pattern;
mod receive;
mod report;
mod send;
mod send_stream;
mod sent;
mod verification;

pub use account::{DropCounters, StreamAccount};
pub use generator::{BLOCK_UNIT, GeneratorError, GeneratorSettings};
pub use histogram::{SIDE, WORDS, WordHistogram};
pub use pattern::WordPattern;
pub use receive::{StreamSockets, receive};
pub use report::{ReceiveReport, StreamReport};
pub use send::{SendSettings, SendTarget, send};
pub use send_stream::{SendStream, StreamSettings};
pub use sent::{SentGenerator, SentReport, SentStream};
pub use verification::{Area, Check, Expectation, Outcome, Verification};
