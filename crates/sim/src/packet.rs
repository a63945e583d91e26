//! A simulated packet.

use evforge_core::packet::{ArrivalClock, Packet, PacketOrigin};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A packet with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedPacket {
    /// The payload.
    pub bytes: Vec<u8>,
    /// Where it comes from; the arrival is when the electronics send it, on the detector's clock.
    pub origin: PacketOrigin,
}

impl SimulatedPacket {
    /// A packet that `source` sends to `port` at `sent_ns`.
    pub fn new(bytes: Vec<u8>, source: Ipv4Addr, port: u16, sent_ns: u64) -> Self {
        let origin = PacketOrigin {
            source: SocketAddr::new(IpAddr::V4(source), port),
            destination_port: port,
            arrival_ns: sent_ns,
            arrival_clock: ArrivalClock::Capture,
        };
        Self { bytes, origin }
    }

    /// The packet as the rest of evforge sees packets.
    pub fn packet(&self) -> Packet<'_> {
        Packet { bytes: &self.bytes, original_length: self.bytes.len() as u32, origin: self.origin }
    }
}
