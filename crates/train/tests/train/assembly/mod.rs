//! The assembly of trains: every fault by itself, and all of them together.

pub(crate) mod common;
mod faults;
mod holes;
mod properties;
mod sources;
