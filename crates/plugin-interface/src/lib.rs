//! The interface between evforge and plugins, in Rust.
//!
//! `include/evforge/detector.h` is the interface, with its rules; [`layout`] is the same, member by member. Whoever
//! writes a detector in Rust implements [`Detector`] and names it in [`export_detector!`]: what is behind that, and
//! only that, is unsafe. `examples/plugin-rust` is one that works, and `docs/write-a-plugin.md` tells how.
//!
//! | you look for | it is in |
//! |---|---|
//! | the structures and numbers of the header | [`layout`] |
//! | what a detector in Rust implements | [`author`] |
//! | how it becomes the table of functions of the header | [`table`] |
//!
//! This crate depends on nothing, so that a plugin needs nothing else of evforge.

pub mod author;
pub mod layout;
pub mod table;

pub use author::{Counter, Description, Detector, Events, Outcome, Packet, counter};
pub use layout::{Pulse, Source, law, role, unit};
