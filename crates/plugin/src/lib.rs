//! Plugins: shared libraries behind the C interface of `include/evforge/detector.h`.
//!
//! [`PluginDetector`] is a [`Detector`](evforge_core::detector::Detector) whose events a library forms. It gives the
//! library packets, checks every answer, and counts for itself what it gave and got. A library that reports a
//! failure, or reports something impossible, is not called any more; the run continues without it.
//!
//! | you look for | it is in |
//! |---|---|
//! | a library, loaded and checked | [`library`] |
//! | what is looked at in its file before that | `library_file` |
//! | the counters that a library declares, and those of the host | [`declared`] |
//! | packets as the library sees them | `packets` |
//! | the events that it wrote, on their way into batches | `event_buffer` |
//! | what is kept of its counters and sources, and the laws that they must keep | `accounts` |
//! | all of it as a detector | [`detector`] |
//!
//! What cannot be checked: a library is code in this process. One that writes into memory of others, never returns
//! or ends the process takes everything with it. A process for each instrument contains that.
//!
//! This crate and `evforge-plugin-interface` are the only ones with calls into such libraries.

pub mod declared;
pub mod detector;
pub mod library;

mod accounts;
mod event_buffer;
mod library_file;
mod packets;
mod text;

#[cfg(test)]
mod in_process;

pub use declared::PluginCounters;
pub use detector::{CreateError, PluginDetector};
pub use library::{LoadError, PluginLibrary, refuse_libraries};
