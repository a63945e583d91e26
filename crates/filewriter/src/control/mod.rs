//! The conversation with control programs: starts, stops, answers, states and ends, as messages on topics of Kafka.
//!
//! ```text
//! pool topic ───────┐                                    ┌──► control topic of each job: echo, answ, x5f2, wrdn
//! command topic ────┼──► Conversation ──► Action ────────┤
//! control topics ───┘        │ ▲                         └──► command topic: x5f2 while idle, answ to what was refused
//!                            ▼ │
//!                            Jobs (files)
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | what the part that writes files does for it | [`Jobs`] |
//! | what is answered when | [`Reply`], `start`, `stop` |
//! | what follows a command | `hear_start`, `hear_stop` |
//! | the jobs that write real files | [`JobRunner`] |
//! | the rules, without Kafka | [`Conversation`] |
//! | the same with Kafka | [`service`] |
//!
//! `docs/file-writer-control.md` is the description for people.

mod conversation;
mod hear_start;
mod hear_stop;
mod heard;
mod job_runner;
mod jobs;
mod left_jobs;
mod reply;
mod running_job;
pub mod service;
mod start;
mod stop;
mod talks;
mod text;
mod voice;
mod waiting;

pub use conversation::{Act, Conversation, ConversationSettings};
pub use heard::{Action, ECHO, Heard, Origin, Sent};
pub use job_runner::{JobRunner, JobRunnerSettings};
pub use jobs::{JobPhase, JobRequest, JobState, Jobs};
pub use reply::Reply;
pub use voice::Identity;

/// Commands with a Kafka time stamp that is older than this are not followed, milliseconds.
pub const TOO_OLD_MS: u64 = 120_000;

/// How old a command is, in seconds, if that is too old.
pub(super) fn too_old(sent_ms: Option<u64>, now_ms: u64) -> Option<u64> {
    let age = now_ms.saturating_sub(sent_ms?);
    (age > TOO_OLD_MS).then_some(age / 1000)
}
