//! The first 64 and the last 32 bytes of a train.

/// First eight bytes of a train: `XTDF` and 0xBEEFFACE.
pub const BEGIN_MAGIC: u64 = 0x5854_4446_BEEF_FACE;
/// Last eight bytes of a train: `XTDF` and 0xDEADABCD.
pub const END_MAGIC: u64 = 0x5854_4446_DEAD_ABCD;

/// The header of a train.
///
/// | offset | type | field |
/// |---|---|---|
/// | 0 | u64 | 0x58544446BEEFFACE |
/// | 8 | u32, u32 | version of the format: major, minor |
/// | 16 | u64 | number of the train |
/// | 24 | u64 | number of the data |
/// | 32 | u32, u32 | link of the detector, link of the train builder |
/// | 40 | u64 | images |
/// | 48 | u32, u32 | bytes of the detector's own block, of the train builder's own |
/// | 56 | 8 bytes | reserved |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainHeader {
    /// Version of the format: major.
    pub major_version: u32,
    /// Version of the format: minor.
    pub minor_version: u32,
    /// Number of the train, of the whole facility: it grows by one every 100 ms.
    pub train: u64,
    /// Number of the data.
    pub data: u64,
    /// Link of the detector: its module.
    pub detector_link: u32,
    /// Link of the train builder.
    pub builder_link: u32,
    /// Images.
    pub images: u64,
    /// Bytes of the detector's own block.
    pub specific_bytes: u32,
    /// Bytes of the train builder's own block.
    pub builder_bytes: u32,
    /// Reserved.
    pub reserved: [u8; 8],
}

impl TrainHeader {
    /// All fields 0.
    pub const EMPTY: Self = Self {
        major_version: 0,
        minor_version: 0,
        train: 0,
        data: 0,
        detector_link: 0,
        builder_link: 0,
        images: 0,
        specific_bytes: 0,
        builder_bytes: 0,
        reserved: [0; 8],
    };
    /// Bytes of it.
    pub const BYTES: usize = 64;

    /// The header and its magic number as found, which nothing has checked.
    pub fn read(bytes: &[u8; Self::BYTES]) -> (u64, Self) {
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let header = Self {
            major_version: short(8),
            minor_version: short(12),
            train: long(16),
            data: long(24),
            detector_link: short(32),
            builder_link: short(36),
            images: long(40),
            specific_bytes: short(48),
            builder_bytes: short(52),
            reserved: std::array::from_fn(|k| bytes[56 + k]),
        };
        (long(0), header)
    }

    /// Its bytes, the magic number first.
    pub fn write(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let longs = [(0, BEGIN_MAGIC), (16, self.train), (24, self.data), (40, self.images)];
        for (at, value) in longs {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let shorts = [
            (8, self.major_version),
            (12, self.minor_version),
            (32, self.detector_link),
            (36, self.builder_link),
            (48, self.specific_bytes),
            (52, self.builder_bytes),
        ];
        for (at, value) in shorts {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        bytes[56..].copy_from_slice(&self.reserved);
        bytes
    }
}

/// The trailer of a train.
///
/// | offset | type | field |
/// |---|---|---|
/// | 0 | 16 bytes | checksum, which nobody outside can compute |
/// | 16 | u64 | status |
/// | 24 | u64 | 0x58544446DEADABCD |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrainTrailer {
    /// Checksum: passed on as it is, never verified.
    pub checksum: [u8; 16],
    /// Status; what its bits mean is not public.
    pub status: u64,
}

impl TrainTrailer {
    /// Bytes of it.
    pub const BYTES: usize = 32;

    /// The trailer and its magic number as found, which nothing has checked.
    pub fn read(bytes: &[u8; Self::BYTES]) -> (u64, Self) {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        (long(24), Self { checksum: std::array::from_fn(|k| bytes[k]), status: long(16) })
    }

    /// Its bytes, the magic number last.
    pub fn write(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.checksum);
        bytes[16..24].copy_from_slice(&self.status.to_le_bytes());
        bytes[24..].copy_from_slice(&END_MAGIC.to_le_bytes());
        bytes
    }
}
