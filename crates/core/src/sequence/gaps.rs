//! The first gaps in the numbers of a source, and its restarts, by number, for the report.

/// How many gaps are remembered by number, for the report.
pub const REMEMBERED_GAPS: usize = 64;

/// A run of numbers that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct Gap {
    /// First number missing.
    pub first: u64,
    /// How many are missing from there on (numbers that turned up later may lie inside, and those of packets whose own
    /// number was damaged).
    pub count: u64,
    /// When the packet behind the gap arrived, on the clock of the arrivals; 0 if that is not known.
    pub noticed_ns: u64,
}

/// How many restarts are remembered.
pub const REMEMBERED_RESTARTS: usize = 16;

/// A restart of the numbering: the sender has started over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Restart {
    /// When the first packet after it arrived, on the clock of the arrivals; 0 if that is not known.
    pub at_ns: u64,
    /// The newest number before.
    pub last: u64,
    /// The number of the first packet after it.
    pub first: u64,
}

/// The first [`REMEMBERED_GAPS`] gaps that are still open, oldest first, and the first
/// [`REMEMBERED_RESTARTS`] restarts.
#[derive(Clone, Debug, get_size2::GetSize)]
pub(super) struct Gaps {
    mask: u64,
    gaps: [Gap; REMEMBERED_GAPS],
    known: usize,
    forgotten: u64,
    restarts: [Restart; REMEMBERED_RESTARTS],
    known_restarts: usize,
}

impl Gaps {
    /// None so far, in numbers with these bits.
    pub(super) fn new(mask: u64) -> Self {
        Self {
            mask,
            gaps: [Gap { first: 0, count: 0, noticed_ns: 0 }; REMEMBERED_GAPS],
            known: 0,
            forgotten: 0,
            restarts: [Restart::default(); REMEMBERED_RESTARTS],
            known_restarts: 0,
        }
    }

    pub(super) fn note(&mut self, gap: Gap) {
        match self.gaps.get_mut(self.known) {
            Some(free) => {
                *free = gap;
                self.known += 1;
            }
            None => self.forgotten += 1,
        }
    }

    pub(super) fn note_restart(&mut self, restart: Restart) {
        if let Some(free) = self.restarts.get_mut(self.known_restarts) {
            *free = restart;
            self.known_restarts += 1;
        }
    }

    pub(super) fn restarts(&self) -> &[Restart] {
        &self.restarts[..self.known_restarts]
    }

    /// Takes `number` out of the gaps; a number in the middle stays covered by its gap.
    pub(super) fn close(&mut self, number: u64) {
        let inside = |gap: &Gap| number.wrapping_sub(gap.first) & self.mask;
        let Some(at) = self.list().iter().position(|gap| inside(gap) < gap.count) else {
            return;
        };
        let gap = &mut self.gaps[at];
        let inside = number.wrapping_sub(gap.first) & self.mask;
        if inside == 0 {
            gap.first = gap.first.wrapping_add(1) & self.mask;
            gap.count -= 1;
        } else if inside == gap.count - 1 {
            gap.count -= 1;
        }
        if gap.count == 0 {
            self.gaps.copy_within(at + 1..self.known, at);
            self.known -= 1;
        }
    }

    pub(super) fn list(&self) -> &[Gap] {
        &self.gaps[..self.known]
    }

    /// How many gaps came after the list was full.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }
}
