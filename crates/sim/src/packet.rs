//! A simulated packet, and what its sender knows of it.

use evforge_core::packet::{ArrivalClock, Packet, PacketOrigin};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// What the readout that has made a packet knows of it, so that nobody has to read it out of the bytes again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// The source, counted from 0 in the order of [`Readout::sources`](crate::readout::Readout::sources).
    pub source: usize,
    /// Number of the packet as it is in it; none where the format has no numbers.
    pub number: Option<u64>,
    /// Bytes of the packet's header; what follows are readouts (and markers). 0 where the format has no header.
    pub header: usize,
}

/// A packet with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedPacket {
    /// The payload.
    pub bytes: Vec<u8>,
    /// Where it comes from; the arrival is when the electronics send it: on the detector's clock, or by the
    /// calendar, if the simulation [starts](crate::start::Start) at a date.
    pub origin: PacketOrigin,
    /// What its sender knows of it.
    pub sender: Sender,
}

impl SimulatedPacket {
    /// A packet that `source` sends to `port` at `sent_ns`. It is of the first source, without a number and a header,
    /// unless [`SimulatedPacket::of`] says otherwise.
    pub fn new(bytes: Vec<u8>, source: Ipv4Addr, port: u16, sent_ns: u64) -> Self {
        let origin = PacketOrigin {
            source: SocketAddr::new(IpAddr::V4(source), port),
            destination_port: port,
            arrival_ns: sent_ns,
            arrival_clock: ArrivalClock::Capture,
        };
        Self { bytes, origin, sender: Sender::default() }
    }

    /// This packet with what its sender knows of it.
    #[must_use]
    pub fn of(self, sender: Sender) -> Self {
        Self { sender, ..self }
    }

    /// The packet as the rest of evforge sees packets.
    pub fn packet(&self) -> Packet<'_> {
        Packet { bytes: &self.bytes, original_length: self.bytes.len() as u32, origin: self.origin }
    }
}
