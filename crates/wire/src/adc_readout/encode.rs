//! Encoder: runs of samples to packets.

use super::packet::{
    DATA, FILLER, HEADER, IDLE, MODULE, MODULE_HEADER, MODULE_TRAILER, NOT_IN_LENGTH, PACKET_TRAILER, TRAILER,
};
use super::{Header, LARGEST_PACKET, RawTime};

/// Builds packets: [`begin`](AdcEncoder::begin), modules, [`finish`](AdcEncoder::finish); or
/// [`idle`](AdcEncoder::idle) for a heartbeat.
#[derive(Clone, Debug, Default)]
pub struct AdcEncoder {
    bytes: Vec<u8>,
}

impl AdcEncoder {
    /// Begins a packet of data.
    pub fn begin(&mut self, header: &Header) {
        self.start(header, DATA);
    }

    /// Appends a run of samples of one channel. Returns false, and leaves the packet as it is, if there is
    /// no room for it and the trailer of the packet.
    pub fn push_module(&mut self, channel: u16, oversampling: u16, time: RawTime, samples: &[u16]) -> bool {
        let length = MODULE_HEADER + 2 * samples.len() + TRAILER;
        if self.bytes.len() + length + TRAILER > LARGEST_PACKET {
            return false;
        }
        self.bytes.extend(MODULE.to_be_bytes());
        self.bytes.extend((length as u16).to_be_bytes());
        self.bytes.extend(channel.to_be_bytes());
        self.bytes.extend(oversampling.to_be_bytes());
        self.push_time(time);
        for sample in samples {
            self.bytes.extend(sample.to_be_bytes());
        }
        self.bytes.extend(MODULE_TRAILER.to_be_bytes());
        true
    }

    /// Ends a packet of data, with `filler` bytes (as many as fit) before its trailer.
    pub fn finish(&mut self, filler: usize) {
        let room = LARGEST_PACKET.saturating_sub(self.bytes.len() + TRAILER);
        self.bytes.extend(std::iter::repeat_n(FILLER, filler.min(room)));
        self.end();
    }

    /// Makes a heartbeat.
    pub fn idle(&mut self, header: &Header, time: RawTime) {
        self.start(header, IDLE);
        self.push_time(time);
        self.end();
    }

    /// The packet so far.
    pub fn packet(&self) -> &[u8] {
        &self.bytes
    }

    fn start(&mut self, header: &Header, packet_type: u16) {
        let words = [header.global_count, packet_type, 0, header.readout_count, header.reserved];
        self.bytes.clear();
        self.bytes.extend(words.into_iter().flat_map(u16::to_be_bytes));
    }

    fn push_time(&mut self, time: RawTime) {
        self.bytes.extend(time.seconds.to_be_bytes());
        self.bytes.extend(time.fraction.to_be_bytes());
    }

    /// Appends the trailer and writes the length into the header.
    fn end(&mut self) {
        self.bytes.extend(PACKET_TRAILER.to_be_bytes());
        let length = (self.bytes.len() - NOT_IN_LENGTH) as u16;
        if let Some(place) = self.bytes[..].first_chunk_mut::<HEADER>() {
            place[4..6].copy_from_slice(&length.to_be_bytes());
        }
    }
}
