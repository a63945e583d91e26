//! Trains of the European XFEL: made, assembled from packets, processed, filed and passed on.
//!
//! ```text
//!  datagrams ──► assembly ──► train, whole or not ──► sinks: files, content check, …
//!               in place, out of order               images in = kept + rejected
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | what a train builder sends | [`generate`] |
//! | datagrams to trains | [`assembly`] |
//! | steps over the images of whole trains | [`processing`] |
//! | files that EXtra-data opens | [`mod@file`] |
//! | whole trains for clients of the karabo-bridge | [`bridge`] |
//! | trains over TCP between nodes | [`tcp`] |
//! | a node that receives, and gives trains to sinks | [`node`], [`sinks`] |
//!
//! Bytes on the wire and in a train are in [`evforge_wire::train`].

#![forbid(unsafe_code)]

pub mod assembly;
pub mod bridge;
pub mod file;
pub mod generate;
pub mod node;
pub mod processing;
pub mod sinks;
pub mod tcp;
