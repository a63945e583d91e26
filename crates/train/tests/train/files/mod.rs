//! Files of trains: read back by EXtra-data, killed writers, full disks.
#![allow(missing_docs, clippy::unwrap_used)]

pub(crate) mod common;
mod full_disk;
mod kill;
mod python;
mod rules;
