//! `[outputs.kafka]` with real brokers that fail, disks that are full, and a program that is killed: what the topics have in the
//! end is compared, event by event, with what was formed.
//!
//! `make soak` runs the same for longer: `EVFORGE_SOAK` is how often the program is killed, and lets a broker stand still for a
//! minute; `EVFORGE_SEED` is what the moments are drawn from.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod brokers;
mod cluster;
mod disk;
mod ends;
mod policies;
mod producer_killed;
mod run;
mod truth;
mod writer;
