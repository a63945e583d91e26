//! Writing pcapng.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use evforge_core::packet::{LARGEST_PAYLOAD, Packet};

use super::error::CaptureError;
use super::pcapng_block::{append_packet, beginning};
use super::writer::{Output, Written};

/// Writes pcapng: one section, one Ethernet interface with nanosecond time stamps, one enhanced packet block
/// per packet, with Ethernet, IP and UDP headers made from the packet's origin.
///
/// What an origin does not know is written as zeros: a packet without a stamp is of 1970, one without a
/// source is from 0.0.0.0:0. Hardware addresses are made up (02:00:00:00:00:01 to 02:00:00:00:00:02).
///
/// The file has a temporary name next to its own ([`staged_file`](crate::staged_file)) until
/// [`finish`](PcapngWriter::finish); dropped before that, it is removed. An existing file is replaced.
#[derive(Debug)]
pub struct PcapngWriter {
    output: Output,
    destination: IpAddr,
    block: Vec<u8>,
}

/// Bytes of the largest block: payload, headers of UDP, IPv6 and Ethernet, and what a block adds.
const LARGEST_BLOCK: usize = LARGEST_PAYLOAD + 8 + 40 + 14 + 36;

impl PcapngWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// If no file can be made next to `path`, or if `path` is something other than a plain file.
    pub fn create(path: &Path) -> Result<Self, CaptureError> {
        let mut output = Output::create(path)?;
        let beginning = beginning().map_err(|reason| output.unwritable(reason))?;
        output.put(&beginning)?;
        Ok(Self {
            output,
            destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            block: Vec::with_capacity(LARGEST_BLOCK),
        })
    }

    /// The address that the packets were sent to, which packets do not carry with them; without it, and for
    /// packets of the other address family, it is written as zeros.
    #[must_use]
    pub fn to_address(mut self, destination: IpAddr) -> Self {
        self.destination = destination;
        self
    }

    /// Appends one packet. A cut packet stays one: the file says how long it was on the wire, and its
    /// checksum is left out.
    ///
    /// # Errors
    /// If the packet is longer than UDP allows, or cannot be written.
    pub fn write(&mut self, packet: &Packet<'_>) -> Result<(), CaptureError> {
        self.block.clear();
        append_packet(&mut self.block, packet, self.destination)
            .map_err(|reason| self.output.unwritable(reason))?;
        self.output.put(&self.block)?;
        self.output.count(packet);
        Ok(())
    }

    /// Brings everything to the disk and gives the file its name.
    ///
    /// # Errors
    /// If that fails; the temporary file is removed then.
    pub fn finish(self) -> Result<Written, CaptureError> {
        self.output.finish()
    }
}

#[cfg(test)]
mod tests {
    use evforge_core::packet::PacketOrigin;

    use super::*;

    #[test]
    fn a_packet_longer_than_udp_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = PcapngWriter::create(&folder.path().join("x")).unwrap();
        let bytes = vec![0; LARGEST_PAYLOAD + 1];
        let packet = Packet { bytes: &bytes, original_length: 0, origin: PacketOrigin::default() };
        let text = writer.write(&packet).unwrap_err().to_string();
        assert!(text.contains("65508 bytes, more than a UDP datagram can carry"), "{text}");
    }
}
