//! Packets that have been made and not been taken yet.

/// Packets in one piece of memory, taken from the front.
#[derive(Debug, Default)]
pub struct PacketQueue {
    bytes: Vec<u8>,
    /// Where each packet ends.
    ends: Vec<usize>,
    taken: usize,
}

impl PacketQueue {
    /// Appends a packet.
    pub fn push(&mut self, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.ends.push(self.bytes.len());
    }

    /// The packet that is next, if there is one.
    pub fn front(&self) -> Option<&[u8]> {
        let end = *self.ends.get(self.taken)?;
        let start = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// Takes the next packet out.
    pub fn pop(&mut self) {
        self.taken += 1;
        if self.taken >= self.ends.len() {
            self.bytes.clear();
            self.ends.clear();
            self.taken = 0;
        }
    }
}
