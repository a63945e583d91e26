//! `evforge write` with real brokers: the file of every shipped configuration is that of `evforge run --nexus`; a writer that is
//! killed loses nothing and doubles nothing, nor does the service on whose file the HDF5 library crashes; several units of an instrument are one file, and one that dies is a gap.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod compared;
mod detectors;
mod killed;
mod service;
mod support;
mod topics;
mod units;
