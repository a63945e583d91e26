//! Trains over TCP from one node to the next: what stands before each train.

/// What stands before each train in a stream of them; the train follows, as it is, with [`StreamHeader::bytes`] bytes.
///
/// This framing is evforge's own. A stream is of one sender and one module from its beginning to its end.
///
/// | offset | type, little-endian | field |
/// |---|---|---|
/// | 0 | 8 bytes | `EVFTRAIN` |
/// | 8 | u32 | version of this framing: 1 |
/// | 12 | u32 | module, 0 to 255 |
/// | 16 | u64 | the sender: a number that no other sender has |
/// | 24 | u64 | place of the train in the sender's sequence for this module, from 0 |
/// | 32 | u64 | number of the train |
/// | 40 | u64 | bytes of the train, at least 1 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHeader {
    /// Number of the module.
    pub module: u8,
    /// The sender: chosen when it begins, the same in all its connections, and one that no other sender has.
    pub sender: u64,
    /// Place of the train among all that the sender was to send of this module, from 0. Those that it could not send have places, too:
    /// so a receiver knows how many there were.
    pub sequence: u64,
    /// Number of the train, as in its own header; where trains have none, any.
    pub train: u64,
    /// Bytes of the train, at least 1.
    pub bytes: u64,
}

/// Why what stands before a train is of no use, in the order of the checks. What follows it in its stream cannot be read then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamRejection {
    /// It does not begin with [`StreamHeader::MAGIC`].
    WrongMagic([u8; 8]),
    /// It has another version than [`StreamHeader::VERSION`].
    OtherVersion(u32),
    /// Its module is above 255.
    WrongModule(u32),
    /// It announces a train without bytes.
    Empty,
}

impl StreamHeader {
    /// Bytes of it.
    pub const BYTES: usize = 48;
    /// Its first bytes.
    pub const MAGIC: [u8; 8] = *b"EVFTRAIN";
    /// The version of the framing.
    pub const VERSION: u32 = 1;

    /// Its bytes.
    pub fn write(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&Self::MAGIC);
        bytes[8..12].copy_from_slice(&Self::VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&u32::from(self.module).to_le_bytes());
        let numbers = [self.sender, self.sequence, self.train, self.bytes];
        for (place, number) in bytes[16..].as_chunks_mut().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        bytes
    }

    /// Reads what stands before a train.
    ///
    /// # Errors
    /// The reason why it is of no use.
    pub fn parse(bytes: &[u8; Self::BYTES]) -> Result<Self, StreamRejection> {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let magic = std::array::from_fn(|k| bytes[k]);
        if magic != Self::MAGIC {
            return Err(StreamRejection::WrongMagic(magic));
        }
        if word(8) != Self::VERSION {
            return Err(StreamRejection::OtherVersion(word(8)));
        }
        let module = u8::try_from(word(12)).map_err(|_| StreamRejection::WrongModule(word(12)))?;
        let header =
            Self { module, sender: number(16), sequence: number(24), train: number(32), bytes: number(40) };
        if header.bytes == 0 { Err(StreamRejection::Empty) } else { Ok(header) }
    }
}
