//! A data generator: blocks of a pattern, cut into packets (XDP paper, chapter on the test setup).

use evforge_core::packet::LARGEST_PAYLOAD;
use thiserror::Error;

/// Every block is a whole number of these: one turn of the pattern, 65 536 words of two bytes.
///
/// The paper writes "128 kbit"; only with 128 KiB does each word occur equally often, as it says.
pub const BLOCK_UNIT: u64 = 131_072;

/// The paper's parameters of a data generator; its pattern is that of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorSettings {
    /// Bytes of a block: a multiple of [`BLOCK_UNIT`].
    pub block_bytes: u64,
    /// Largest payload of a packet in bytes, behind the header of the stream: even, and 2 or more. The last packet of
    /// a block has what is left.
    pub packet_bytes: usize,
    /// Blocks to make; none goes on without end.
    pub blocks: Option<u64>,
    /// Pause after each word in picoseconds.
    pub pause_per_word: u64,
    /// Pause at the end of each packet in picoseconds.
    pub pause_per_packet: u64,
}

/// Settings of a generator or a stream are impossible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GeneratorError {
    /// The block is no multiple of a turn of the pattern.
    #[error(
        "a block of {0} bytes is not possible: it must be a multiple of {BLOCK_UNIT} bytes (128KiB), so that it has every \
         word equally often"
    )]
    Block(u64),
    /// The payload is odd, 0, or with its header larger than a datagram.
    #[error(
        "a packet of {found} payload bytes is not possible: expected an even number from 2 to {most} (words have two \
         bytes, and the largest datagram {LARGEST_PAYLOAD}, header included)"
    )]
    Packet {
        /// Bytes asked for.
        found: usize,
        /// Most bytes that there can be.
        most: usize,
    },
    /// A stream without a generator.
    #[error("a stream without a data generator is not possible: at least 1")]
    NoGenerator,
    /// A rate of 0.
    #[error("a rate of 0 is not possible: it must be above 0")]
    NoRate,
}

/// The next piece of a generator's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where in the block it begins.
    pub(super) offset: u64,
    /// Its bytes.
    pub(super) length: usize,
    pub(super) first_of_block: bool,
    pub(super) last_of_block: bool,
}

/// A generator at work.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    settings: GeneratorSettings,
    offset: u64,
    blocks: u64,
    bytes: u64,
    /// When its next packet is ready, in picoseconds after the start.
    ready: u64,
}

impl Generator {
    pub(super) fn new(settings: GeneratorSettings, header: usize) -> Result<Self, GeneratorError> {
        let GeneratorSettings { block_bytes, packet_bytes, .. } = settings;
        if block_bytes == 0 || !block_bytes.is_multiple_of(BLOCK_UNIT) {
            return Err(GeneratorError::Block(block_bytes));
        }
        let most = (LARGEST_PAYLOAD - header) & !1;
        if packet_bytes == 0 || !packet_bytes.is_multiple_of(2) || packet_bytes > most {
            return Err(GeneratorError::Packet { found: packet_bytes, most });
        }
        Ok(Self { settings, offset: 0, blocks: 0, bytes: 0, ready: 0 })
    }

    pub(super) fn settings(&self) -> GeneratorSettings {
        self.settings
    }

    /// Bytes made so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When its next packet is ready; none if there is none.
    pub(super) fn ready(&self) -> Option<u64> {
        self.settings.blocks.is_none_or(|most| self.blocks < most).then_some(self.ready)
    }

    /// Makes the next packet.
    pub(super) fn advance(&mut self) -> Piece {
        let settings = self.settings;
        let left = settings.block_bytes - self.offset;
        let length = (settings.packet_bytes as u64).min(left);
        let piece = Piece {
            offset: self.offset,
            length: length as usize,
            first_of_block: self.offset == 0,
            last_of_block: length == left,
        };
        self.bytes += length;
        self.offset += length;
        if piece.last_of_block {
            self.offset = 0;
            self.blocks += 1;
        }
        let pause = settings.pause_per_word.saturating_mul(length / 2);
        self.ready = self.ready.saturating_add(pause).saturating_add(settings.pause_per_packet);
        piece
    }
}
