//! Trains of the European XFEL: made, assembled from packets, processed, filed and passed on. No socket is in here but that of the
//! bridge.
//!
//! ```text
//!  datagrams ──► assembly ──► train, whole or not ──► processing ──► files, next node
//!               in place, out of order               images in = kept + rejected
//! ```

#![forbid(unsafe_code)]

pub mod bridge;
pub mod file;
