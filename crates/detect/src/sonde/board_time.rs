//! Times of the boards: 32 bits that start over, to 64 bits that do not.
//!
//! A board has one counter, which stamps the header of every packet as well as its readouts. The header's time
//! is followed from packet to packet ([`WrappingClock`]): a step of less than half the counter's range is a
//! step forward. A readout lies within half a range of its packet's header, before or after it. So times come
//! out right as long as a board sends a packet at least once in half a turn of its counter; a board that was
//! silent for longer comes back whole turns too early. Before the first turn there is none: what would lie
//! there keeps its 32 bits.

use crate::tick::TickLength;
use evforge_core::clock::WrappingClock;

/// The time of the header of a packet, in 64 bits, to which its readouts are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderTime {
    extended: u64,
    raw: u32,
}

impl HeaderTime {
    /// Follows the header's time with the clock of its board.
    #[inline]
    pub fn follow(clock: &mut WrappingClock, raw: u32) -> Self {
        Self { extended: clock.extend(u64::from(raw)), raw }
    }

    /// Its 32 bits.
    pub fn raw(self) -> u32 {
        self.raw
    }

    /// True in the first turn, as far as times need no extension.
    #[inline]
    pub fn is_in_first_turn(self) -> bool {
        self.extended < HALF_TURN
    }

    /// True if no time of the packet gets too large by a multiplication with `factor`.
    #[inline]
    pub fn leaves_room_for(self, factor: u64) -> bool {
        self.extended.checked_add(HALF_TURN).is_some_and(|latest| latest.checked_mul(factor).is_some())
    }

    /// What extends the times of the readouts in the same packet, after the first turn, if all of them come out below
    /// `limit`.
    #[inline]
    pub fn extension_below(self, limit: u64) -> Option<impl Fn(u32) -> u64 + use<>> {
        let is_below = !self.is_in_first_turn() && self.extended < limit.saturating_sub(HALF_TURN);
        is_below.then_some(move |time| self.extend_later(time))
    }

    /// The 64-bit time of a readout in the same packet.
    #[inline(always)]
    pub fn extend(self, time: u32) -> u64 {
        if self.is_in_first_turn() {
            return u64::from(time);
        }
        self.extend_later(time)
    }

    /// The same after the first turn.
    #[inline(always)]
    fn extend_later(self, time: u32) -> u64 {
        let from_header = time.wrapping_sub(self.raw).cast_signed();
        self.extended.wrapping_add_signed(i64::from(from_header))
    }
}

/// How a time becomes that of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct BoardTime {
    /// Whether 32 bits are extended to 64.
    pub extended: bool,
    /// Length of a tick.
    pub tick: TickLength,
}

/// Width of the counter in bits.
pub const COUNTER_BITS: u32 = 32;

/// Half the range of the counter.
const HALF_TURN: u64 = 1 << (COUNTER_BITS - 1);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn readouts_before_and_after_a_wrap_of_the_header() {
        let mut clock = WrappingClock::new(COUNTER_BITS);
        let header = HeaderTime::follow(&mut clock, 5);
        assert_eq!([3, 5, 9, u32::MAX].map(|time| header.extend(time)), [3, 5, 9, u64::from(u32::MAX)]);
        HeaderTime::follow(&mut clock, 1 << 31);
        HeaderTime::follow(&mut clock, u32::MAX);
        let header = HeaderTime::follow(&mut clock, 5);
        let turn = 1_u64 << 32;
        assert_eq!([3, 5, u32::MAX].map(|time| header.extend(time)), [turn + 3, turn + 5, turn - 1]);
    }

    proptest! {
        #[test]
        fn times_within_half_a_turn_of_the_header_come_out_right(
            steps in prop::collection::vec((0..(1_u64 << 31) - (1 << 24), -(1_i64 << 31)..1_i64 << 31), 1..40),
        ) {
            let mut clock = WrappingClock::new(COUNTER_BITS);
            let mut truth = 0_u64;
            for (step, offset) in steps {
                truth += step;
                let header = HeaderTime::follow(&mut clock, truth as u32);
                if let Some(time) = truth.checked_add_signed(offset) {
                    prop_assert_eq!(header.extend(time as u32), time);
                }
            }
        }
    }
}
