//! What several test programs use: recordings from outside this repository, and captures read as a whole.

#![allow(dead_code)] // each program uses its part

use std::path::PathBuf;

use evforge_core::packet::{Packet, PacketOrigin, PacketSlab};
use evforge_net::capture::{CaptureCounters, CaptureError, CaptureReader, Fill};

/// A file of the shared data, or none with `test` reported as skipped.
pub(crate) fn file(test: &str, name: &str) -> Option<PathBuf> {
    let path = evforge_testkit::shared_folder().join(name);
    if path.exists() {
        return Some(path);
    }
    evforge_testkit::skip(test, &format!("reference data {} cannot be read", path.display()));
    None
}

/// An owned packet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Owned {
    pub(crate) bytes: Vec<u8>,
    pub(crate) original_length: u32,
    pub(crate) origin: PacketOrigin,
}

impl Owned {
    pub(crate) fn packet(&self) -> Packet<'_> {
        Packet { bytes: &self.bytes, original_length: self.original_length, origin: self.origin }
    }
}

/// Everything that is in a file, through a slab that is too small for it.
pub(crate) fn read(mut reader: CaptureReader) -> Result<(Vec<Owned>, CaptureCounters), CaptureError> {
    let mut slab = PacketSlab::new(7, 0);
    let mut packets = Vec::new();
    loop {
        let fill = reader.fill(&mut slab)?;
        packets.extend(slab.batch().iter().map(|packet| Owned {
            bytes: packet.bytes.to_vec(),
            original_length: packet.original_length,
            origin: packet.origin,
        }));
        slab.clear();
        if fill == Fill::End {
            assert_eq!(reader.total_bytes(), Some(reader.position()));
            return Ok((packets, *reader.counters()));
        }
    }
}
