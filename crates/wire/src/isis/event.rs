//! The two words of an event (ISIS streaming readout, sections 2 and 3).
//!
//! Nothing here is checked: a word of any value has a meaning.

/// Both words of an event.
#[inline(always)]
pub fn words(pair: &[u8; 8]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = *pair;
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}

/// Both words as bytes.
#[inline]
pub fn bytes(first: u32, second: u32) -> [u8; 8] {
    (u64::from(first) << 32 | u64::from(second)).to_be_bytes()
}

/// Events of version 1: what the second word means depends on the type of the board. That of an LVDS board (PC3634M1S) is a
/// number of 32 bits, as it is.
pub mod v1 {
    /// Width of the time in bits.
    pub const TIME_BITS: u32 = 24;

    /// Time since the frame's, in ticks of the board, 24 bits. The upper byte of the word has no meaning.
    #[inline(always)]
    pub const fn raw_time(first: u32) -> u32 {
        first & ((1 << TIME_BITS) - 1)
    }

    /// The first word of an event; a time that is wider than 24 bits is cut. The upper byte is ones, as in the boards' examples.
    pub const fn first_word(raw_time: u32) -> u32 {
        !((1 << TIME_BITS) - 1) | raw_time
    }

    /// The second word of a WLSF board (PC3877MS).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Wlsf {
        /// Position, 16 bits.
        pub position: u16,
        /// Pulse height, 12 bits.
        pub height: u16,
    }

    impl Wlsf {
        /// What a second word means.
        #[inline(always)]
        pub const fn of(second: u32) -> Self {
            Self { position: second as u16, height: ((second >> 16) & 0xFFF) as u16 }
        }

        /// The second word; a height that is wider than its field is cut. Bits without a meaning are ones.
        pub const fn word(self) -> u32 {
            0xF000_0000 | (self.height as u32 & 0xFFF) << 16 | self.position as u32
        }
    }

    /// The second word of an MADC board (PC3544MS).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Madc {
        /// Position along the tube, 12 bits.
        pub position: u16,
        /// Pulse height, 12 bits.
        pub height: u16,
        /// Channel of the board, 0..=7.
        pub channel: u8,
    }

    impl Madc {
        /// What a second word means.
        #[inline(always)]
        pub const fn of(second: u32) -> Self {
            Self {
                position: (second & 0xFFF) as u16,
                height: ((second >> 12) & 0xFFF) as u16,
                channel: ((second >> 26) & 7) as u8,
            }
        }

        /// The second word; what is wider than its field is cut. Bits without a meaning are ones.
        pub const fn word(self) -> u32 {
            0xE300_0000
                | (self.channel as u32 & 7) << 26
                | (self.height as u32 & 0xFFF) << 12
                | (self.position as u32 & 0xFFF)
        }
    }
}

/// Events of version 2: the header describes them ([`BoardParameters`](super::BoardParameters)).
pub mod v2 {
    use super::super::BoardParameters;

    /// Width of the time in bits.
    pub const TIME_BITS: u32 = 25;

    /// What the seven bits above the time must be.
    const MARK: u32 = 0b111_0000;

    /// Whether the first word is that of an event.
    #[inline(always)]
    pub const fn is_event(first: u32) -> bool {
        first >> TIME_BITS == MARK
    }

    /// Time since the frame's, in ticks of the board, 25 bits.
    #[inline(always)]
    pub const fn raw_time25(first: u32) -> u32 {
        first & ((1 << TIME_BITS) - 1)
    }

    /// The first word of an event; a time that is wider than 25 bits is cut.
    pub const fn first_word(raw_time: u32) -> u32 {
        MARK << TIME_BITS | raw_time25(raw_time)
    }

    /// The second word: channel at the top, position at the bottom, diagnostic data above the position.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SelfDescribed {
        /// Channel, as wide as [`BoardParameters::channel_bits`].
        pub channel: u32,
        /// Diagnostic data, for instance a pulse height, as wide as [`BoardParameters::diagnostic_bits`].
        pub diagnostic: u32,
        /// Position, as wide as [`BoardParameters::position_bits`].
        pub position: u32,
    }

    impl SelfDescribed {
        /// What a second word means. Any widths do no harm; those of a message that has been accepted are not more than 32 bits
        /// together.
        #[inline]
        pub const fn of(second: u32, board: &BoardParameters) -> Self {
            let word = second as u64;
            Self {
                channel: shifted(word << 32, 64_u32.saturating_sub(board.channel_bits as u32)),
                diagnostic: shifted(word, board.position_bits as u32) & lowest(board.diagnostic_bits),
                position: second & lowest(board.position_bits),
            }
        }

        /// The second word; what is wider than its field is cut.
        pub fn word(self, board: &BoardParameters) -> u32 {
            let channel = (self.channel & lowest(board.channel_bits)) as u64;
            let diagnostic = (self.diagnostic & lowest(board.diagnostic_bits)) as u64;
            let at = |value: u64, shift: u32| value.unbounded_shl(shift) as u32;
            at(channel, 32_u32.saturating_sub(board.channel_bits as u32))
                | at(diagnostic, board.position_bits as u32)
                | self.position & lowest(board.position_bits)
        }

        /// The pixel: offset of the board, position, and 2^(bits of the position) for each channel. It may be wider than 32 bits.
        #[inline]
        pub const fn pixel(self, board: &BoardParameters) -> u64 {
            let channel = (self.channel as u64).unbounded_shl(board.position_bits as u32);
            channel.wrapping_add(self.position as u64).wrapping_add(board.detector_id_offset as u64)
        }
    }

    /// The word without its lowest bits: all of them if there are 64 and more to leave out.
    #[inline(always)]
    const fn shifted(word: u64, bits: u32) -> u32 {
        word.unbounded_shr(bits) as u32
    }

    /// The lowest bits of a word, 0 to 255 of them.
    #[inline(always)]
    const fn lowest(bits: u8) -> u32 {
        1_u64.unbounded_shl(bits as u32).wrapping_sub(1) as u32
    }
}
