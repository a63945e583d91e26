//! What is expected of a sender (ISIS streaming readout, sections 3 and 4).

use super::Version;

/// Which version is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Version 1 only.
    V1,
    /// Version 2 only.
    V2,
    /// Either: each message tells by its word 1.
    #[default]
    Auto,
}

impl Format {
    /// The format of this name in configurations: `v1`, `v2` or `auto`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::V1, Self::V2, Self::Auto].into_iter().find(|format| format.name() == name)
    }

    /// Its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::Auto => "auto",
        }
    }

    /// Whether messages of this version are expected.
    #[inline]
    pub const fn allows(self, version: Version) -> bool {
        matches!((self, version), (Self::Auto, _) | (Self::V1, Version::V1) | (Self::V2, Version::V2))
    }
}

/// From which end the bits of words 2, 6, 8 and 9 of version 2 are numbered.
///
/// The documentation numbers those words of version 1 from the most significant bit, and its text was taken over (section 3): which
/// of the two the boards do cannot be known before the first recorded packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BitOrder {
    /// Bit 0 is the least significant one, as in all other words.
    #[default]
    Lsb,
    /// Bit 0 is the most significant one.
    Msb,
}

impl BitOrder {
    /// The order of this name in configurations: `lsb` or `msb`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Lsb, Self::Msb].into_iter().find(|order| order.name() == name)
    }

    /// Its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lsb => "lsb",
            Self::Msb => "msb",
        }
    }

    /// Bits `first` to `first + bits - 1` of a word as a number.
    #[inline]
    pub(super) const fn field(self, word: u32, first: u32, bits: u32) -> u32 {
        let shift = self.shift(first, bits);
        (word >> shift) & mask(bits)
    }

    /// A word with nothing but a number in bits `first` to `first + bits - 1`; a number that is wider is cut.
    pub(super) const fn place(self, number: u32, first: u32, bits: u32) -> u32 {
        (number & mask(bits)) << self.shift(first, bits)
    }

    /// A word of single flags such that flag n is the bit of value 2^n. Doing it twice gives the word again.
    #[inline]
    pub(super) const fn flags(self, word: u32) -> u32 {
        match self {
            Self::Lsb => word,
            Self::Msb => word.reverse_bits(),
        }
    }

    const fn shift(self, first: u32, bits: u32) -> u32 {
        match self {
            Self::Lsb => first,
            Self::Msb => 32 - first - bits,
        }
    }
}

/// The lowest bits, 1 to 31 of them.
const fn mask(bits: u32) -> u32 {
    (1 << bits) - 1
}

/// How the messages of a sender are to be read. By default: either version, bits numbered as documented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Which version is expected.
    pub format: Format,
    /// How version 2 numbers the bits of words 2, 6, 8 and 9.
    pub bit_order: BitOrder,
}
