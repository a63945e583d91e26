//! A channel in the table that readouts are looked up in: one word.
//!
//! ```text
//! bit 63     not just taken: the lower half says which
//! bit 62     a hit
//! bit 49     a grid
//! bit 48     a wire
//! 47 … 32    free: the amplitude is added here
//! 31 …  0    what the reconstruction needs to know
//! ```

/// A channel. The default is none: it changes nothing when it is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, get_size2::GetSize)]
pub struct Channel(u64);

const SPECIAL: u32 = 63;
const HIT: u32 = 62;
const GRID: u32 = 49;
const WIRE: u32 = 48;
const AMPLITUDE: u32 = 32;

impl Channel {
    /// A wire.
    pub fn wire(content: u32) -> Self {
        Self(1 << HIT | 1 << WIRE | u64::from(content))
    }

    /// A grid.
    pub fn grid(content: u32) -> Self {
        Self(1 << HIT | 1 << GRID | u64::from(content))
    }

    /// A channel that something must be done about before it is taken, or that is not there.
    pub fn special(number: u32) -> Self {
        Self(1 << SPECIAL | u64::from(number))
    }

    /// True for a special channel.
    #[inline(always)]
    pub fn is_special(self) -> bool {
        self.0 >> SPECIAL != 0
    }

    /// 1 for a wire or a grid, 0 for none.
    #[inline(always)]
    pub fn hits(self) -> u64 {
        self.0 >> HIT
    }

    /// What the reconstruction needs to know, or the number of a special channel.
    #[inline(always)]
    pub fn content(self) -> u32 {
        self.0 as u32
    }

    /// All ones for a wire, zero otherwise.
    #[inline(always)]
    pub fn wire_mask(self) -> u64 {
        mask(self.0, WIRE)
    }

    /// All ones for a grid, zero otherwise.
    #[inline(always)]
    pub fn grid_mask(self) -> u64 {
        mask(self.0, GRID)
    }

    /// A number that, among wires or among grids, is ordered by amplitude; its lower half is the content.
    #[inline(always)]
    pub fn with_amplitude(self, amplitude: u16) -> u64 {
        // The bits in between are free.
        self.0.wrapping_add(u64::from(amplitude) << AMPLITUDE)
    }
}

/// All ones if `bit` of `word` is set, zero otherwise.
#[inline(always)]
fn mask(word: u64, bit: u32) -> u64 {
    ((word << (63 - bit)) as i64 >> 63) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_one_of_its_kinds() {
        let (wire, grid, none) = (Channel::wire(7), Channel::grid(u32::MAX), Channel::default());
        assert_eq!([wire, grid, none].map(Channel::wire_mask), [u64::MAX, 0, 0]);
        assert_eq!([wire, grid, none].map(Channel::grid_mask), [0, u64::MAX, 0]);
        assert_eq!([wire, grid, none].map(Channel::hits), [1, 1, 0]);
        assert_eq!([wire, grid, none].map(Channel::content), [7, u32::MAX, 0]);
        assert_eq!([wire, grid, Channel::special(3)].map(Channel::is_special), [false, false, true]);
        assert!(Channel::wire(u32::MAX).with_amplitude(3) < wire.with_amplitude(4));
        assert!(wire.with_amplitude(u16::MAX) >> 48 == wire.with_amplitude(0) >> 48, "stays in its bits");
    }
}
