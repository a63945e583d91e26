//! Where the trains of a node go.
//!
//! | sink | what it does |
//! |---|---|
//! | [`FileSink`] | writes them into files that EXtra-data opens |
//! | [`ContentSink`] | checks every byte of images with a known pattern |

mod content;
mod files;

pub use content::{ContentCounters, ContentFound, ContentSink, WrongImage};
pub use files::FileSink;
