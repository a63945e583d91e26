//! Programs that steer the file writer: its topics, its answers, and the files that come of it.

mod answers;
#[path = "../control_common/mod.rs"]
mod control_common;
mod conversation;
mod files;
mod order;
mod properties;
mod python;
mod service;
