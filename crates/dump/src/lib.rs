//! Files from a debugging session: raw readouts in HDF5 tables.
//!
//! The event formation unit of 2018 dumped the readouts of a run into an HDF5 file, one table with one row per
//! readout (EFU formats of 2018, section 12). Such files are read here and written, and what is read becomes
//! packets again, so that every pipeline processes an old dump as if the electronics sent it.
//!
//! | table | row | detector |
//! |---|---|---|
//! | `srs_hits` | [`rows::SrsHit`] | Gd-GEM |
//! | `mbcaen_readouts` | [`rows::CaenReadout`] | Multi-Blade |
//! | `mgmesytec_hits` | [`rows::MesytecHit`] | Multi-Grid |
//!
//! | you want to | use |
//! |---|---|
//! | read the rows of a file | [`table_reader::TableReader`] |
//! | write rows into a file | [`table_writer::TableWriter`] |
//! | read a file as packets | [`packets::open`] |
//! | dump the readouts of packets | [`recording`] |
//!
//! Files are read a stretch of rows at a time: memory does not grow with them. What is wrong with one is reported
//! with the file, the table, what was found and what is expected ([`error::DumpError`]).
//!
//! `unsafe` is confined to the one declaration of a type whose members lie elsewhere than the file declares
//! (`august_2018`).

#![deny(unsafe_code)]

mod august_2018;
pub mod counters;
pub mod error;
pub mod layout;
pub mod packets;
pub mod recording;
pub mod rows;
pub mod table_reader;
pub mod table_writer;
pub mod tables;
