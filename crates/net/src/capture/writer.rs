//! What all capture writers share, and the writer of `.pkts`.

use std::io::Write;
use std::path::Path;

use evforge_core::packet::{LARGEST_PAYLOAD, Packet};

use super::error::CaptureError;
use crate::staged_file::StagedFile;

/// What a finished capture file contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Packets in it.
    pub packets: u64,
    /// Their payload bytes.
    pub payload_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// The staged file with what has been put into it.
#[derive(Debug)]
pub(super) struct Output {
    file: StagedFile,
    written: Written,
}

impl Output {
    pub(super) fn create(path: &Path) -> Result<Self, CaptureError> {
        let file = StagedFile::create(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::InvalidInput => CaptureError::NotReplaceable { path: path.to_owned() },
            _ => CaptureError::Write { path: path.to_owned(), packets: 0, source },
        })?;
        Ok(Self { file, written: Written::default() })
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        self.written.file_bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|source| self.failed(source))
    }

    pub(super) fn count(&mut self, packet: &Packet<'_>) {
        self.written.packets += 1;
        self.written.payload_bytes += packet.bytes.len() as u64;
    }

    pub(super) fn finish(mut self) -> Result<Written, CaptureError> {
        self.file.finish().map_err(|source| self.failed(source))?;
        Ok(self.written)
    }

    fn failed(&self, source: std::io::Error) -> CaptureError {
        CaptureError::Write { path: self.file.target().to_owned(), packets: self.written.packets, source }
    }

    pub(super) fn unwritable(&self, reason: String) -> CaptureError {
        CaptureError::Unwritable { path: self.file.target().to_owned(), packet: self.written.packets, reason }
    }
}

/// Writes `.pkts`: payloads behind their lengths, and nothing of their origin.
///
/// The file has a temporary name next to its own ([`staged_file`](crate::staged_file)) until
/// [`finish`](PktsWriter::finish); dropped before that, it is removed. An existing file is replaced.
#[derive(Debug)]
pub struct PktsWriter(Output);

impl PktsWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// If no file can be made next to `path`, or if `path` is something other than a plain file.
    pub fn create(path: &Path) -> Result<Self, CaptureError> {
        Output::create(path).map(Self)
    }

    /// Appends one packet.
    ///
    /// # Errors
    /// If the packet is cut (the format could not say so), longer than 65 507 bytes, or cannot be written.
    pub fn write(&mut self, packet: &Packet<'_>) -> Result<(), CaptureError> {
        if packet.is_cut() {
            return Err(self.0.unwritable(format!(
                "only {} of its {} bytes are there, and .pkts would make it look whole. Write pcapng.",
                packet.bytes.len(),
                packet.original_length
            )));
        }
        if packet.bytes.len() > LARGEST_PAYLOAD {
            return Err(self.0.unwritable(format!(
                "it has {} bytes; a UDP payload has at most {LARGEST_PAYLOAD}.",
                packet.bytes.len()
            )));
        }
        // Fits: checked above.
        self.0.put(&(packet.bytes.len() as u32).to_le_bytes())?;
        self.0.put(packet.bytes)?;
        self.0.count(packet);
        Ok(())
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// If that fails; the temporary file is removed then.
    pub fn finish(self) -> Result<Written, CaptureError> {
        self.0.finish()
    }
}
