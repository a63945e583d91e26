//! Datagrams of the SIS3153 and the blocks in them (EFU formats of 2018, section 2.1).

/// First byte of a datagram with readout data.
pub(super) const READOUT_DATA: u8 = 0x60;
/// Bytes before the first word: kind, packet id, status.
pub const HEADER: usize = 3;
/// Low byte of the first word of a block.
pub(super) const BLOCK: u32 = 0x58;
/// High byte of the second word of a block.
pub(super) const BEGIN: u32 = 0xBB;
/// The word after the data of a block.
pub(super) const END_OF_DATA: u32 = 0x8765_4321;
/// High byte of the last word of a block.
pub(super) const END: u32 = 0xEE;
/// Words of a block that are not data.
pub(super) const FRAMING: usize = 4;
/// A datagram shorter than this has no room for the framing of a block, in bytes.
const SHORTEST: usize = HEADER + 4 * FRAMING;

/// Why a datagram is rejected as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The first byte is not that of readout data: a request, an acknowledgement, a heartbeat. Holds it.
    NotReadoutData(u8),
    /// Too short for the framing of one block.
    TooShort,
    /// Room for the framing of a block, but not for any data in it.
    NoTriggers,
}

/// A datagram with readout data.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The packet id; its meaning in this stream is not known (always 0 in recordings).
    pub packet_id: u8,
    /// The status byte.
    pub status: u8,
    words: &'a [[u8; 4]],
    left_over: usize,
}

impl<'a> Datagram<'a> {
    /// Checks the first bytes of a datagram.
    ///
    /// # Errors
    /// The reason why there is nothing in it.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Rejection> {
        let Some((&[kind, packet_id, status], body)) = bytes.split_first_chunk::<HEADER>() else {
            return Err(match bytes.first() {
                Some(&kind) if kind != READOUT_DATA => Rejection::NotReadoutData(kind),
                _ => Rejection::TooShort,
            });
        };
        if kind != READOUT_DATA {
            return Err(Rejection::NotReadoutData(kind));
        }
        if bytes.len() < SHORTEST {
            return Err(Rejection::TooShort);
        }
        let (words, rest) = body.as_chunks();
        if words.len() <= FRAMING {
            return Err(Rejection::NoTriggers);
        }
        Ok(Self { packet_id, status, words, left_over: rest.len() })
    }

    /// The triggers in order, from the first word on.
    #[inline]
    pub fn triggers(&self) -> Triggers<'a> {
        Triggers { rest: self.words }
    }

    /// The triggers from word `from` on: what is left after [`Triggers::words_left`] said
    /// `word_count() - from`. Empty past the end.
    #[inline]
    pub fn triggers_from(&self, from: usize) -> Triggers<'a> {
        Triggers { rest: self.words.get(from..).unwrap_or_default() }
    }

    /// Words in the datagram.
    pub fn word_count(&self) -> usize {
        self.words.len()
    }

    /// Bytes at the end that do not fill a word, 0..=3.
    pub fn left_over_bytes(&self) -> usize {
        self.left_over
    }

    /// True if every block is sound: what the reference demands before it uses any of them.
    pub fn is_undamaged(&self) -> bool {
        self.triggers().all(|trigger| trigger.is_ok())
    }
}

/// What is wrong with the framing of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockFault {
    /// Its first word is not that of a block.
    NoBlock,
    /// Its second word is not a begin-readout.
    NoBegin,
    /// Its length has no room for the framing.
    LengthTooShort,
    /// Its length points past the end of the datagram.
    LengthBeyondPacket,
    /// The end-of-data word is not where the length says.
    NoEndOfData,
    /// The end-readout word is not where the length says.
    NoEnd,
}

/// A part of a datagram that belongs to no sound block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What was wrong with the block that should have been at the start of it.
    pub fault: BlockFault,
    /// Words passed over until the next sound block or the end of the datagram.
    pub words: usize,
}

/// The blocks of a datagram, each one trigger.
///
/// Where a block is damaged, the triggers before it have been handed out already, and the search for the next
/// begins at the word after its beginning: only a place where all four framing words are right is taken for a
/// block, so that data are not mistaken for one. (A wrong length that points at the end of
/// a later block makes one trigger of both; [`Trigger::read`] finds the framing words in it and refuses it.) The
/// reference throws the whole datagram away instead; who
/// wants that asks [`Datagram::is_undamaged`] first. Fewer than five words at the end are no trigger.
#[derive(Clone, Debug)]
pub struct Triggers<'a> {
    rest: &'a [[u8; 4]],
}

/// The words of one trigger, without the framing.
#[derive(Clone, Copy, Debug)]
pub struct Trigger<'a> {
    /// The readout's counter of triggers, 24 bits.
    pub counter: u32,
    pub(super) words: &'a [[u8; 4]],
}

impl<'a> Triggers<'a> {
    /// Words that have not been looked at yet.
    #[inline]
    pub fn words_left(&self) -> usize {
        self.rest.len()
    }

    #[cold]
    #[inline(never)]
    fn pass_over(&mut self, fault: BlockFault) -> Damage {
        let before = self.rest.len();
        while let [_, after @ ..] = self.rest {
            self.rest = after;
            if after.len() <= FRAMING {
                self.rest = &[];
            } else if block(after).is_ok() {
                break;
            }
        }
        Damage { fault, words: before - self.rest.len() }
    }
}

impl<'a> Iterator for Triggers<'a> {
    type Item = Result<Trigger<'a>, Damage>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.len() <= FRAMING {
            self.rest = &[];
            return None;
        }
        match block(self.rest) {
            Ok((trigger, rest)) => {
                self.rest = rest;
                Some(Ok(trigger))
            }
            Err(fault) => Some(Err(self.pass_over(fault))),
        }
    }
}

impl std::iter::FusedIterator for Triggers<'_> {}

/// Splits the block at the start of `words` from what follows.
#[inline(always)]
fn block(words: &[[u8; 4]]) -> Result<(Trigger<'_>, &[[u8; 4]]), BlockFault> {
    let [first, second, ..] = words else { return Err(BlockFault::NoBlock) };
    let [marker, length @ .., _] = *first;
    if u32::from(marker) != BLOCK {
        return Err(BlockFault::NoBlock);
    }
    let begin = u32::from_le_bytes(*second);
    if begin >> 24 != BEGIN {
        return Err(BlockFault::NoBegin);
    }
    // The length is big-endian and counts the words after the first.
    let Some((whole, rest)) = words.split_at_checked(1 + usize::from(u16::from_be_bytes(length))) else {
        return Err(BlockFault::LengthBeyondPacket);
    };
    let [_, _, data @ .., end_of_data, end] = whole else { return Err(BlockFault::LengthTooShort) };
    if u32::from_le_bytes(*end_of_data) != END_OF_DATA {
        return Err(BlockFault::NoEndOfData);
    }
    if u32::from_le_bytes(*end) >> 24 != END {
        return Err(BlockFault::NoEnd);
    }
    Ok((Trigger { counter: begin & 0xFF_FFFF, words: data }, rest))
}
