//! The file writer: it subscribes to events, motor positions, temperatures, alarms and chopper stamps on topics of Kafka and
//! joins them into one NeXus file per run.
//!
//! ```text
//! JSON, TOML, template ──► structure ──► groups and datasets of the file
//!                              │
//!                              └──► modules: which topic and source, what datasets
//!
//! partitions ──► readers ──► blocks ──► window ──► modules ──► columns ──► commits in the file
//!                (decode)               (job)     (rows)       (file)
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | what a file is to contain: NeXus structure JSON in both dialects | [`structure`] |
//! | what becomes of a message: which rows in which datasets | [`modules`] |
//! | the HDF5 file: columns, commits, what a kill leaves, the end | [`file`](mod@file) |
//! | the structure of a file for a detector of ours | [`detector`] |
//! | one file from beginning to end: window, completeness, report | [`job`] |
//! | the conversation with control programs: pl72, 6s4t, answ, wrdn, x5f2 | [`control`] |

#![forbid(unsafe_code)]

pub mod control;
pub mod detector;
pub mod file;
pub mod job;
pub mod modules;
pub mod structure;
