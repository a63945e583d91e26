//! The first 48 bytes of an HDF5 file, as the HDF5 File Format Specification (version 3.0, section II.A,
//! "Superblock", versions 2 and 3) describes them.
//!
//! | byte | what |
//! |---|---|
//! | 0..8 | signature `\x89HDF\r\n\x1a\n` |
//! | 8 | version: 3 for files that can be followed while they grow |
//! | 9, 10 | size of addresses and of lengths: 8 |
//! | 11 | file consistency flags: bit 0 "open for write", bit 2 "being written for followers" |
//! | 12..20 | base address: 0 |
//! | 20..28 | address of the superblock extension |
//! | 28..36 | end of file: what lies behind it does not belong to the file |
//! | 36..44 | address of the root group |
//! | 44..48 | checksum of bytes 0..44: Jenkins' lookup3 |
//!
//! # Why the flags are patched here
//! A writer that is killed leaves the flags set, and then every plain open is refused. The tool `h5clear -s`
//! clears them through a property of the library that is private to it, and is not installed with
//! `libhdf5-dev`; the public interface has no call for it. The flags are one byte with a checksum, both fixed
//! by the specification, so writing 48 bytes is the robust way.
//!
//! The end of file is raised to the length of the file at the same time: while it is followed, an HDF5 file
//! grows before its superblock learns of it, and a plain open would treat the tail as foreign and cut it.

/// Bytes of a superblock of version 2 or 3 with addresses of 8 bytes.
pub const SUPERBLOCK_LENGTH: usize = 48;

const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";
const CHECKSUM_AT: usize = SUPERBLOCK_LENGTH - 4;
const OPEN_FOR_WRITE: u8 = 1;
const WRITTEN_FOR_FOLLOWERS: u8 = 1 << 2;

/// A superblock of version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    bytes: [u8; SUPERBLOCK_LENGTH],
}

/// Why bytes are not a superblock that evforge can have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuperblockError {
    /// There is no HDF5 signature.
    NotHdf5,
    /// An HDF5 file of another kind.
    OtherKind(String),
    /// Cut short or changed.
    Damaged(String),
}

impl Superblock {
    /// Reads a superblock from the first bytes of a file.
    pub fn parse(start: &[u8]) -> Result<Self, SuperblockError> {
        if !start.starts_with(&SIGNATURE) {
            return Err(SuperblockError::NotHdf5);
        }
        let Some(&version) = start.get(8) else {
            return Err(SuperblockError::Damaged("it ends within its header".into()));
        };
        if version != 3 {
            return Err(SuperblockError::OtherKind(format!(
                "its superblock has version {version}, evforge writes version 3"
            )));
        }
        let Some(bytes) = start.first_chunk::<SUPERBLOCK_LENGTH>() else {
            return Err(SuperblockError::Damaged("it ends within its header".into()));
        };
        let superblock = Self { bytes: *bytes };
        let (stored, computed) = (superblock.stored_checksum(), superblock.computed_checksum());
        if stored != computed {
            return Err(SuperblockError::Damaged(format!(
                "the checksum of its header is {stored:#010x} where {computed:#010x} is expected"
            )));
        }
        let sizes = (superblock.bytes[9], superblock.bytes[10]);
        if sizes != (8, 8) || superblock.word(12) != 0 {
            return Err(SuperblockError::OtherKind(
                "its addresses are not 8 bytes long or do not count from 0, which evforge never writes"
                    .into(),
            ));
        }
        Ok(superblock)
    }

    /// True if a writer has the file open, or had when it was killed.
    pub fn is_marked_as_open(&self) -> bool {
        self.bytes[11] & (OPEN_FOR_WRITE | WRITTEN_FOR_FOLLOWERS) != 0
    }

    /// True if the file is marked as open, but not for followers: its writer ended before or after the time in
    /// which anything of ours is written.
    pub fn is_closed_to_followers(&self) -> bool {
        self.is_marked_as_open() && self.bytes[11] & WRITTEN_FOR_FOLLOWERS == 0
    }

    /// The length that the file should at least have, in bytes.
    pub fn end_of_file(&self) -> u64 {
        self.word(28)
    }

    /// The superblock without the marks of a writer, for a file of `length` bytes.
    pub fn closed(&self, length: u64) -> Self {
        let mut closed = *self;
        closed.bytes[11] &= !(OPEN_FOR_WRITE | WRITTEN_FOR_FOLLOWERS);
        closed.bytes[28..36].copy_from_slice(&self.end_of_file().max(length).to_le_bytes());
        let checksum = closed.computed_checksum();
        closed.bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        closed
    }

    /// The bytes, to be written at the start of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn word(&self, at: usize) -> u64 {
        self.bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn stored_checksum(&self) -> u32 {
        self.bytes[CHECKSUM_AT..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn computed_checksum(&self) -> u32 {
        lookup3(&self.bytes[..CHECKSUM_AT])
    }
}

/// Bob Jenkins' hash "lookup3" (hashlittle, initial value 0), the checksum of all HDF5 metadata
/// (HDF5 File Format Specification, section II.A).
fn lookup3(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |bytes: &[u8], at: usize| {
        // Bytes past the end count as 0.
        (0..4).fold(0_u32, |word, i| word | u32::from(bytes.get(at + i).copied().unwrap_or(0)) << (8 * i))
    };
    let mut rest = bytes;
    while rest.len() > 12 {
        a = a.wrapping_add(word(rest, 0));
        b = b.wrapping_add(word(rest, 4));
        c = c.wrapping_add(word(rest, 8));
        // Mixing: each step subtracts, stirs in a rotation, and adds.
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(rest, 0));
    b = b.wrapping_add(word(rest, 4));
    c = c.wrapping_add(word(rest, 8));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The driver values that Jenkins publishes with the function.
    #[test]
    fn lookup3_gives_its_published_values() {
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }

    fn sample(flags: u8) -> Superblock {
        let mut bytes = [0_u8; SUPERBLOCK_LENGTH];
        bytes[..8].copy_from_slice(&SIGNATURE);
        bytes[8..12].copy_from_slice(&[3, 8, 8, flags]);
        bytes[28..36].copy_from_slice(&1000_u64.to_le_bytes());
        let checksum = lookup3(&bytes[..CHECKSUM_AT]);
        bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        Superblock { bytes }
    }

    #[test]
    fn closing_clears_the_marks_and_takes_the_tail_in() {
        let open = sample(OPEN_FOR_WRITE | WRITTEN_FOR_FOLLOWERS);
        assert!(open.is_marked_as_open());
        let closed = Superblock::parse(open.closed(1234).bytes()).unwrap();
        assert!(!closed.is_marked_as_open());
        assert_eq!(closed.end_of_file(), 1234);
        assert_eq!(open.closed(10).end_of_file(), 1000);
    }

    proptest! {
        #[test]
        fn no_changed_byte_goes_unnoticed(at in 0..SUPERBLOCK_LENGTH, flip in 1..=255_u8) {
            let mut bytes = sample(5).bytes;
            bytes[at] ^= flip;
            prop_assert!(Superblock::parse(&bytes).is_err());
        }

        #[test]
        fn arbitrary_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(Superblock::parse(&bytes).is_err());
        }
    }
}
