//! The writer that the name of a file asks for.

use super::{CaptureError, PcapngWriter, PktsWriter, Written};
use evforge_core::packet::Packet;
use std::path::Path;

/// Writes pcapng, or `.pkts` if the file's name ends so.
#[derive(Debug)]
pub enum CaptureWriter {
    /// pcapng.
    Pcapng(PcapngWriter),
    /// `.pkts`.
    Pkts(PktsWriter),
}

impl CaptureWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// If no file can be made next to `path`, or if `path` is something other than a plain file.
    pub fn create(path: &Path) -> Result<Self, CaptureError> {
        if path.extension().is_some_and(|extension| extension == "pkts") {
            return PktsWriter::create(path).map(Self::Pkts);
        }
        PcapngWriter::create(path).map(Self::Pcapng)
    }

    /// Appends one packet.
    ///
    /// # Errors
    /// As the writer of the format.
    pub fn write(&mut self, packet: &Packet<'_>) -> Result<(), CaptureError> {
        match self {
            Self::Pcapng(writer) => writer.write(packet),
            Self::Pkts(writer) => writer.write(packet),
        }
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// If that fails; the temporary file is removed then.
    pub fn finish(self) -> Result<Written, CaptureError> {
        match self {
            Self::Pcapng(writer) => writer.finish(),
            Self::Pkts(writer) => writer.finish(),
        }
    }
}
