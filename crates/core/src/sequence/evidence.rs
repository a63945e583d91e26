//! What a packet says besides its number: its header time, its arrival, its content. They tell a sender that starts over from one
//! whose packets are reordered or duplicated.

/// Packets whose header times are remembered, once to twice: as far as packets of a network overtake one another.
const WINDOW: u32 = 64;

/// No packet is under way so long: what comes after such a pause is neither late nor a copy.
const PAUSE_NS: u64 = 1_000_000_000;

/// What a packet says besides its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Stamp {
    /// When it arrived, in nanoseconds since 1970; 0 if that is not known.
    pub arrival_ns: u64,
    /// The time in its header, in any unit: a sender's next packet has the same or a later one. None if there is none.
    pub sent: Option<u64>,
    /// The same for packets of the same content; 0 if that is not known.
    pub content: u16,
}

impl Stamp {
    /// Of a packet with these bytes, and this time in its header.
    #[inline]
    pub fn of(bytes: &[u8], arrival_ns: u64, sent: Option<u64>) -> Self {
        Self { arrival_ns, sent, content: content(bytes, sent.unwrap_or(0)) }
    }

    /// True if nothing came for so long after `left_ns` that this packet cannot have been under way since.
    pub(super) fn is_after_pause(&self, left_ns: u64) -> bool {
        left_ns != 0 && self.arrival_ns.saturating_sub(left_ns) >= PAUSE_NS
    }

    /// Whether it has the content `other`; none if that is not known.
    pub(super) fn is_copy_of(&self, other: u16) -> Option<bool> {
        (self.content != 0 && other != 0).then_some(self.content == other)
    }
}

/// The length of a packet and nine words of it, spread evenly, in 16 bits; never 0.
#[inline]
fn content(bytes: &[u8], sent: u64) -> u16 {
    const PARTS: usize = 8;
    let mut sum = sent ^ bytes.len() as u64;
    let mut take = |word: u64| sum = (sum.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match bytes.last_chunk::<8>() {
        Some(last) => {
            let step = (bytes.len() - 8) / PARTS;
            for part in 0..PARTS {
                let word = bytes[part * step..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
                take(word);
            }
            take(u64::from_le_bytes(*last));
        }
        None => bytes.iter().for_each(|&byte| take(u64::from(byte))),
    }
    ((sum >> 48) as u16).max(1)
}

/// Where a header time lies among those of the last packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before all of them.
    Earlier,
    /// Among them: that of a packet that was overtaken.
    Within,
    /// After all of them: that of a packet sent later.
    Later,
    /// It has none, or they have none.
    Unknown,
}

/// The header times of the last packets whose numbers went ahead, [`WINDOW`] to twice as many.
#[derive(Clone, Copy, Debug, get_size2::GetSize)]
pub(super) struct Times {
    /// Bits of a `u64` that a header time does not have.
    shift: u32,
    /// Packets of the newer span.
    packets: u32,
    /// Packets for which times tell nothing yet: the clock was set back, and what was sent before has later times.
    set_back: u32,
    newer: Option<Span>,
    older: Option<Span>,
}

#[derive(Clone, Copy, Debug, get_size2::GetSize)]
struct Span {
    first: u64,
    last: u64,
}

impl Times {
    /// For header times of this many bits, which wrap.
    pub(super) fn new(bits: u32) -> Self {
        Self { shift: 64 - bits.clamp(1, 64), packets: 0, set_back: 0, newer: None, older: None }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = Self::new(64 - self.shift);
    }

    #[inline]
    fn is_later(self, time: u64, other: u64) -> bool {
        (time.wrapping_sub(other) << self.shift).cast_signed() > 0
    }

    #[inline]
    pub(super) fn note(&mut self, time: u64) {
        self.packets += 1;
        self.set_back = self.set_back.saturating_sub(1);
        if self.newer.is_some_and(|span| self.is_later(span.last, time)) {
            self.set_back = 2 * WINDOW;
        }
        let this = *self;
        match &mut self.newer {
            Some(span) if self.packets <= WINDOW => {
                if this.is_later(time, span.last) {
                    span.last = time;
                } else if this.is_later(span.first, time) {
                    span.first = time;
                }
            }
            newer => {
                self.older = newer.replace(Span { first: time, last: time });
                self.packets = 1;
            }
        }
    }

    pub(super) fn place(&self, time: Option<u64>) -> Place {
        let (Some(time), Some(newer), 0) = (time, self.newer, self.set_back) else { return Place::Unknown };
        let spans = || [Some(newer), self.older].into_iter().flatten();
        if spans().all(|span| self.is_later(time, span.last)) {
            Place::Later
        } else if spans().all(|span| self.is_later(span.first, time)) {
            Place::Earlier
        } else {
            Place::Within
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_times_that_wrap_have_an_order() {
        let mut times = Times::new(32);
        assert_eq!(times.place(Some(5)), Place::Unknown);
        for step in 0..200 {
            times.note((u64::from(u32::MAX) - 100 + step) & u64::from(u32::MAX));
        }
        // The newest is 98, and at least the last 64 are remembered.
        let places = [99, 98, 35, u64::from(u32::MAX) - 60, 1 << 30].map(|time| times.place(Some(time)));
        assert_eq!(places, [Place::Later, Place::Within, Place::Within, Place::Earlier, Place::Later]);
        assert_eq!(times.place(None), Place::Unknown);
    }

    #[test]
    fn contents_that_differ_in_a_word_are_told_apart() {
        let mut bytes = vec![7_u8; 900];
        let before = content(&bytes, 1);
        assert_ne!(before, content(&bytes, 2));
        bytes[899] = 8;
        assert_ne!(before, content(&bytes, 1));
        assert_ne!(content(&[], 0), 0);
        assert_ne!(content(&[1, 2, 3], 0), content(&[1, 2, 4], 0));
    }
}
