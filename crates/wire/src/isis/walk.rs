//! The messages of a datagram, one after the other (ISIS streaming readout, sections 2 and 3).

use super::header::{Extent, begins_message, board_parameters, word};
use super::{Fault, Header, Rules, Version, WORD};

/// A checked message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What it says of its frame.
    pub header: Header,
    events: &'a [[u8; 8]],
    bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// Its events as pairs of words ([`event::words`](super::event::words)), in the order of the wire.
    #[inline]
    pub fn events(&self) -> &'a [[u8; 8]] {
        self.events
    }

    /// How many events it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether it has no events: veto frames, frames of control boards, and frames without a neutron.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The whole message, header included.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Walks over the messages of a datagram, and over the faults of those that are of no use.
///
/// The walk ends where no marker is, and behind a fault whose message has no known end ([`Fault::ends_datagram`]). What is then
/// left is [`Messages::rest`].
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
    rules: Rules,
    has_ended: bool,
}

impl<'a> Messages<'a> {
    /// The messages of a datagram.
    #[inline]
    pub fn new(bytes: &'a [u8], rules: Rules) -> Self {
        Self { rest: bytes, rules, has_ended: false }
    }

    /// What has not been walked over. After the end of the walk: the padding, or the message whose end is not known and all that
    /// follows it.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all bytes that are left are zero, as padding is. True if none are left.
    pub fn rest_is_zero(&self) -> bool {
        self.rest.iter().all(|&byte| byte == 0)
    }

    #[inline]
    fn take(&mut self) -> Result<Message<'a>, Fault> {
        let extent = Extent::of(self.rest, self.rules)?;
        let (bytes, rest) = self.rest.split_at(WORD * extent.message_words);
        self.rest = rest;
        let (header, data) = bytes.split_at(WORD * extent.header_words);
        if !self.rules.format.allows(extent.version) {
            return Err(Fault::WrongVersion(extent.version));
        }
        let header = Header::of(extent.version, header.as_chunks().0, self.rules)?;
        let (events, left) = data.as_chunks();
        if !left.is_empty() {
            return Err(Fault::HalfEvent(data.len() / WORD));
        }
        Ok(Message { header, events, bytes })
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Fault>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended || !begins_message(self.rest) {
            self.has_ended = true;
            return None;
        }
        let message = self.take();
        self.has_ended = matches!(message, Err(fault) if fault.ends_datagram());
        Some(message)
    }
}

impl std::iter::FusedIterator for Messages<'_> {}

/// Who sent a datagram and as which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Numbering {
    /// Version of the first message.
    pub version: Version,
    /// Number of its frame.
    pub frame: u32,
    /// Number of its frame among those that were sent: 32 bits, one more with each frame, the same in all messages of a frame.
    pub streamed_frame: u32,
    /// Number of the printed circuit board; 0 in version 1.
    pub pcb: u16,
    /// Address of the board, if the board describes its events.
    pub address: Option<u8>,
}

/// Who sent a datagram and as which number, by its first message: also if that is then rejected for its length, time or content. None
/// if the datagram does not begin with a message of an expected version, or ends within the first fourteen words.
#[inline]
pub fn numbering(bytes: &[u8], rules: Rules) -> Option<Numbering> {
    if !begins_message(bytes) {
        return None;
    }
    let (words, _) = bytes.as_chunks::<WORD>();
    let word_1 = word(words, 1)?;
    let version = Version::of(word_1).filter(|&version| rules.format.allows(version))?;
    word(words, 13)?;
    let number = |frame, streamed_frame, pcb, address| {
        let (frame, streamed_frame) = (word(words, frame)?, word(words, streamed_frame)?);
        Some(Numbering { version, frame, streamed_frame, pcb, address })
    };
    match version {
        Version::V1 => number(3, 12, 0, None),
        Version::V2 => {
            let header = &words[..words.len().min((word_1 & 0xFF) as usize)];
            let pcb = rules.bit_order.field(word(words, 2)?, 16, 16) as u16;
            number(5, 11, pcb, board_parameters(header, pcb).map(|board| board.address))
        }
    }
}
