//! What the program says while it works: one way from whoever says something to whoever reads it.
//!
//! ```text
//! tracing::warn!(target: group::INPUT, …)
//!        │ off: one relaxed load, and nothing else
//!        ▼
//!   LogLayer ─► Record ─► Limiter ─┬─► standard error: human, JSON lines, or journald
//!   (levels of the groups)         ├─► a file: JSON lines
//!                                  └─► Graylog: GELF over UDP or TCP, by a thread of its own
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | the groups, and the levels that each can have | [`group`], [`Level`] |
//! | switching groups while the program runs | [`LogControl`] |
//! | the log of the program: how it begins, is set up and ends | [`Log`], [`begin`] |
//! | the table `[log]` | [`settings`] |
//! | one thing that was said | [`record`] |
//! | what holds back repeated messages | [`limit`] |
//! | what people see | [`human`] |
//! | what programs read | [`json_lines`], [`journald`], [`gelf`] |
//! | the one place that writes on standard error | [`console`] |
//! | what the log has counted | [`LogCounters`] |
//!
//! # How to say something
//! ```
//! use evforge_log::group;
//! tracing::info!(target: group::RUN, "receiving at UDP {}", "127.0.0.1:9000");
//! tracing::warn!(target: group::KAFKA, broker = "127.0.0.1:9092", "the broker does not answer");
//! tracing::trace!(target: group::INPUT, packets = 17, "a batch");
//! ```
//! Never for each readout or event, and for each packet only behind `tracing::enabled!`. These fields are for the log itself:
//!
//! | field | meaning |
//! |---|---|
//! | `notice = true` | An information that is shown with `--quiet`, too: syslog's notice. |
//! | `lead = "note"` | What stands before the sentence where people read it, in the place of the usual word; `""`: nothing. |
//! | `unshown = true` | Standard error does not get it where people read it: they are told in another way, as by the report. |
//! | `always = true` | Not held back when it is repeated: a list. |

#![forbid(unsafe_code)]

pub mod console;
pub mod control;
mod counters;
pub mod gelf;
pub mod group;
pub mod human;
pub mod journald;
pub mod json_lines;
pub mod layer;
pub mod limit;
mod log;
mod names;
mod output;
pub mod record;
pub mod settings;

pub use control::LogControl;
pub use counters::{LogCounters, LogCounts};
pub use group::{Group, Level};
pub use layer::LogLayer;
pub use log::{Log, LogError, begin, fail, global, say, stage};
pub use names::UnknownName;
pub use record::{Record, Severity};
pub use settings::{Compression, Form, GelfSettings, Levels, LogSettings};
