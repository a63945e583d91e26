//! The paper's rules for successive identifiers (XDP paper, chapter on UDP and figure 3).
//!
//! The distance of two successive identifiers is their difference modulo 2^width, taken as a signed number:
//!
//! * 1: as it should be;
//! * above 1, a *forward jump*: the packets in between are reported lost, `distance - 1` of them;
//! * 0 or below, a *zero* or *negative jump*: additional packets are reported, `1 - distance` of them.
//!
//! The paper does not say how many additional packets a jump stands for. With the number above, and only with
//! it, the reports add up: `sent + additional = received + lost`, where *sent* is the number of identifiers from
//! the first to the last packet.
//!
//! A packet that comes late gives three reports: forward, negative, forward. They can still mean that nothing was
//! lost, so that this combination is recognised as one reordering. The reports themselves are counted all the
//! same, as the paper does: its aim is a transfer without any of them.

use super::IdentifierWidth;

/// What one identifier says, by the paper's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// The first packet, or distance 1.
    None,
    /// This many packets (at least 1) in between are reported lost.
    Forward(u64),
    /// The same identifier again: one additional packet.
    Zero,
    /// This many identifiers back (at least 1).
    Negative(u64),
}

/// What was reported so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JumpCounts {
    /// Packets seen.
    pub packets: u64,
    /// Distances above 1.
    pub forward_jumps: u64,
    /// Distances of 0.
    pub zero_jumps: u64,
    /// Distances below 0.
    pub negative_jumps: u64,
    /// Packets reported lost by forward jumps.
    pub lost: u128,
    /// Packets reported additional by zero and negative jumps.
    pub additional: u128,
    /// Combinations of a forward, a negative and a forward jump that are packets which came late.
    pub reorderings: u64,
    /// Packets that came late in them.
    pub reordered: u64,
    /// How many of `lost`, and equally of `additional`, these combinations explain.
    pub explained: u128,
    /// Sum of all distances: identifiers from the first packet to the last, less one.
    pub advance: i128,
}

impl JumpCounts {
    /// Packets reported lost that no recognised reordering explains.
    pub fn lost_unexplained(&self) -> u128 {
        self.lost.saturating_sub(self.explained)
    }

    /// Additional packets that no recognised reordering explains.
    pub fn additional_unexplained(&self) -> u128 {
        self.additional.saturating_sub(self.explained)
    }

    /// Reports of all kinds: 0 is the paper's aim.
    pub fn jumps(&self) -> u64 {
        self.forward_jumps + self.zero_jumps + self.negative_jumps
    }

    /// What the law `sent + additional = received + lost` leaves over: 0 unless something is wrong.
    pub fn imbalance(&self) -> i128 {
        let sent = if self.packets == 0 { 0 } else { self.advance + 1 };
        // Fits: each packet adds at most 2^64, and there are fewer than 2^63 packets.
        sent + self.additional as i128 - i128::from(self.packets) - self.lost as i128
    }
}

/// Follows the identifiers of one stream.
#[derive(Clone, Copy, Debug)]
pub struct JumpTracker {
    shift: u32,
    last: Option<u64>,
    pattern: Pattern,
    counts: JumpCounts,
}

/// How far the combination of three jumps has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    None,
    /// After a forward jump: the first missing identifier and how many are missing. The last packet seen is the
    /// newest.
    Early {
        first: u64,
        missing: u64,
    },
    /// After a jump back into the gap: how many packets of it have come since, of `room` that could.
    Late {
        head: u64,
        late: u64,
        room: u64,
        additional: u128,
    },
}

impl JumpTracker {
    /// For identifiers of this width.
    pub fn new(width: IdentifierWidth) -> Self {
        Self { shift: 64 - width.bits(), last: None, pattern: Pattern::None, counts: JumpCounts::default() }
    }

    /// Takes the identifier of the next packet (bits above the width are ignored).
    #[inline]
    pub fn observe(&mut self, identifier: u64) -> Jump {
        self.counts.packets += 1;
        let Some(last) = self.last.replace(identifier) else { return Jump::None };
        let distance = self.distance(last, identifier);
        self.counts.advance += i128::from(distance);
        if distance == 1 {
            self.pattern = match self.pattern {
                Pattern::Late { late, room, .. } if late == room => Pattern::None,
                Pattern::Late { head, late, room, additional } => {
                    Pattern::Late { head, late: late + 1, room, additional }
                }
                unchanged => unchanged,
            };
            return Jump::None;
        }
        if distance > 1 {
            self.forward(last, identifier, distance)
        } else {
            self.back(last, identifier, distance)
        }
    }

    /// What was reported so far.
    pub fn counts(&self) -> JumpCounts {
        self.counts
    }

    /// From `from` to `to`, modulo 2^width, as a signed number.
    fn distance(&self, from: u64, to: u64) -> i64 {
        (to.wrapping_sub(from) << self.shift) as i64 >> self.shift
    }

    fn forward(&mut self, last: u64, identifier: u64, distance: i64) -> Jump {
        let missing = distance.unsigned_abs() - 1;
        self.counts.forward_jumps += 1;
        self.counts.lost += u128::from(missing);
        let mut gap = (last.wrapping_add(1), missing);
        if let Pattern::Late { head, late, additional, .. } = self.pattern {
            let beyond = self.distance(head, identifier);
            if beyond >= 1 {
                self.counts.reorderings += 1;
                self.counts.reordered += late;
                self.counts.explained += additional;
                // What lies behind the newest packet that had come early is missing in truth.
                gap = (head.wrapping_add(1), beyond.unsigned_abs() - 1);
            }
        }
        let (first, still_missing) = gap;
        self.pattern = match still_missing {
            0 => Pattern::None,
            missing => Pattern::Early { first, missing },
        };
        Jump::Forward(missing)
    }

    fn back(&mut self, last: u64, identifier: u64, distance: i64) -> Jump {
        let additional = u128::from(distance.unsigned_abs()) + 1;
        self.counts.additional += additional;
        let before = self.pattern;
        self.pattern = Pattern::None;
        if distance == 0 {
            self.counts.zero_jumps += 1;
            return Jump::Zero;
        }
        self.counts.negative_jumps += 1;
        if let Pattern::Early { first, missing } = before
            && let Ok(inside) = u64::try_from(self.distance(first, identifier))
            && inside < missing
        {
            self.pattern = Pattern::Late { head: last, late: 1, room: missing - inside, additional };
        }
        Jump::Negative(distance.unsigned_abs())
    }
}
