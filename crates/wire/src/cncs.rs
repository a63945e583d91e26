//! The read-out of the Multi-Grid demonstrator at CNCS, 2016.
//!
//! Source: EFU formats of 2018, section 2.5. A packet is a sequence of groups of ten 32-bit words,
//! little-endian: a header, eight data words of the channels 0 to 7 in order, and a footer with the time. There
//! is no header over all and no sequence number.
//!
//! ```text
//! header  01 … module (bits 23..16) … 9 (bits 11..0)
//! data    00 … channel (bits 23..16) … amplitude (bits 13..0)      eight of them
//! footer  11 time (bits 29..0)
//! ```

/// Data words of a group.
pub const CHANNELS: usize = 8;

/// Words of a group.
pub const GROUP_WORDS: usize = CHANNELS + 2;

/// Bytes of a group.
pub const GROUP_BYTES: usize = 4 * GROUP_WORDS;

/// Largest value of a data word: 14 bits.
pub const LARGEST_VALUE: u16 = (1 << 14) - 1;

/// Width of the time in bits.
pub const TIME_BITS: u32 = 30;

/// Largest payload on a link with 9000-byte frames, in bytes.
pub const LARGEST_PACKET: usize = 8972;

/// One group: what one neutron left in one module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Number of the module, 0..=255.
    pub module: u8,
    /// The values of the eight channels, each 0..=[`LARGEST_VALUE`].
    pub values: [u16; CHANNELS],
    /// Time in ticks of the read-out, [`TIME_BITS`] wide.
    pub time: u32,
}

impl Group {
    /// Amplitude of the wire with the largest signal.
    pub fn wire_amplitude(&self) -> u16 {
        self.values[0]
    }

    /// Amplitude of a second wire: large where two neutrons came at once.
    pub fn second_wire_amplitude(&self) -> u16 {
        self.values[1]
    }

    /// Position on the wires, before calibration.
    pub fn wire_position(&self) -> u16 {
        self.values[2]
    }

    /// Amplitude of the grid with the largest signal.
    pub fn grid_amplitude(&self) -> u16 {
        self.values[4]
    }

    /// Position on the grids, before calibration.
    pub fn grid_position(&self) -> u16 {
        self.values[6]
    }

    /// The group in these ten words, if they are one.
    #[inline]
    fn decode(words: &[[u8; 4]; GROUP_WORDS]) -> Option<Self> {
        let [header, data @ .., footer] = words.map(u32::from_le_bytes);
        let mut sound = header >> 30 == 0b01 && header & 0xFFF == 9 && footer >> 30 == 0b11;
        let mut values = [0; CHANNELS];
        for ((channel, value), word) in (0..).zip(&mut values).zip(data) {
            sound &= word >> 30 == 0 && word >> 16 & 0xFF == channel;
            *value = word as u16 & LARGEST_VALUE;
        }
        sound.then_some(Self { module: (header >> 16) as u8, values, time: footer & ((1 << TIME_BITS) - 1) })
    }
}

/// The groups of a packet, in order.
///
/// Where ten words are no group, the search goes on one word later, so that a damaged group costs none of its
/// neighbours. (The reference goes on after the word that was wrong: it loses the next group if that word was
/// its header.)
#[derive(Clone, Debug)]
pub struct Groups<'a> {
    words: &'a [[u8; 4]],
    passed_over: usize,
}

/// The groups in a packet. Any bytes are a packet, possibly one without groups.
#[inline]
pub fn groups(packet: &[u8]) -> Groups<'_> {
    let (words, left_over) = packet.as_chunks();
    Groups { words, passed_over: left_over.len() }
}

impl Groups<'_> {
    /// After the last group: bytes that belong to no group, which is the length of the packet less
    /// [`GROUP_BYTES`] for each group. Before: those of the part that has been looked at, and the bytes at the
    /// end that do not fill a word.
    pub fn error_bytes(&self) -> usize {
        self.passed_over
    }

    /// Bytes that have not been looked at yet, except those that do not fill a word.
    pub fn bytes_left(&self) -> usize {
        4 * self.words.len()
    }
}

impl Iterator for Groups<'_> {
    type Item = Group;

    #[inline]
    fn next(&mut self) -> Option<Group> {
        while let Some((words, rest)) = self.words.split_first_chunk() {
            if let Some(group) = Group::decode(words) {
                self.words = rest;
                return Some(group);
            }
            self.words = &self.words[1..];
            self.passed_over += 4;
        }
        self.passed_over += 4 * self.words.len();
        self.words = &[];
        None
    }
}

impl std::iter::FusedIterator for Groups<'_> {}

/// Builds packets.
#[derive(Clone, Debug, Default)]
pub struct GroupEncoder {
    bytes: Vec<u8>,
}

impl GroupEncoder {
    /// Begins a packet.
    pub fn begin(&mut self) {
        self.bytes.clear();
    }

    /// Appends a group; what is wider than its field is cut to it. Returns false, and leaves the packet as it
    /// is, if it is full.
    pub fn push(&mut self, group: &Group) -> bool {
        if self.bytes.len() + GROUP_BYTES > LARGEST_PACKET {
            return false;
        }
        self.bytes.extend((0b01 << 30 | u32::from(group.module) << 16 | 9).to_le_bytes());
        for (channel, value) in (0..).zip(group.values) {
            self.bytes.extend((channel << 16 | u32::from(value & LARGEST_VALUE)).to_le_bytes());
        }
        self.bytes.extend((0b11 << 30 | group.time & ((1 << TIME_BITS) - 1)).to_le_bytes());
        true
    }

    /// The packet so far.
    pub fn packet(&self) -> &[u8] {
        &self.bytes
    }
}
