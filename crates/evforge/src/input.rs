//! Files that packets are read from, whatever their kind.

use crate::CommandError;
use evforge_core::packet_source::PacketSource;
use evforge_net::capture::CaptureReader;
use std::path::Path;

/// Opens a file with packets; of a capture, only those sent to `port`, if one is given.
pub(crate) fn open(path: &Path, port: Option<u16>) -> Result<Box<dyn PacketSource>, CommandError> {
    let mut reader = CaptureReader::open(path)?;
    if let Some(port) = port {
        reader = reader.only_port(port);
    }
    Ok(Box::new(reader))
}
