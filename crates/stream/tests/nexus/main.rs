//! Files as they are written and read, in one process.

mod bulk;
#[path = "../common/mod.rs"]
mod common;
mod follow;
mod frames;
mod layout;
mod output;
mod packed;
mod pulses;
mod reader;
mod recovery;
mod space;
