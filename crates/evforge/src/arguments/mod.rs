//! Options that several commands have: the same name, the same meaning, read in one place.
//!
//! | what | spelling |
//! |---|---|
//! | inputs | as they are, or `--input`; `-` is standard input |
//! | the output of a command | `--output`; `-` is standard output |
//! | addresses | `HOST:PORT`, by number or name |
//! | where reading a topic begins and ends | `--begin oldest`, `newest`, `last:10`, an offset, a time, how long ago; `--end present`, `never`, an offset, a time |
//! | times of runs | `60`, `60s`, `2h`: a bare number is seconds |
//! | windows and gaps | with a unit: `500ns` |

mod config;
mod end;
mod inputs;
mod log;
mod overwrite;
mod page_names;
mod receive_backend;
mod run_identity;
pub(crate) mod span;
mod topic;

pub(crate) use config::ConfigArguments;
pub(crate) use end::EndArguments;
pub(crate) use inputs::{CaptureArguments, Inputs};
pub(crate) use log::LogArguments;
pub(crate) use overwrite::OverwriteArguments;
pub(crate) use page_names::PageNameArguments;
pub(crate) use receive_backend::{Method, WayArguments};
pub(crate) use run_identity::IdentityArguments;
pub(crate) use span::SpanArguments;
pub(crate) use topic::TopicArguments;
