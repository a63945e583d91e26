//! Markers of the triggered mode (EFU formats of 2018, section 4.3, "TRG").
//!
//! In this mode the packets are those of VMM3a, but a marker has one of three meanings. Markers of the chips
//! 16 to 31, which do not exist, speak of the chip 16 below.

use super::TimeMarker;

/// Bits of a trigger time that are always 0 on the wire.
const CUT_BITS: u32 = 10;
/// Upper four bits of the 32-bit part of a marker that is an event counter.
const EVENT_COUNTER: u64 = 0xF;
/// Where these four bits are in the stamp.
const KIND_SHIFT: u32 = 38;

/// Width of the event counter in bits.
pub const EVENT_COUNTER_BITS: u32 = 16;

/// Relative trigger times are below this.
pub const RELATIVE_TIME_LIMIT: u64 = 4096;

/// What a marker of the triggered mode says about a chip (0..=15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerMarker {
    /// Number of the trigger, [`EVENT_COUNTER_BITS`] wide.
    EventCounter {
        /// The chip.
        chip: u8,
        /// The number.
        count: u16,
    },
    /// Time of the trigger in ticks of the FEC's clock, a multiple of 1024.
    TriggerTime {
        /// The chip.
        chip: u8,
        /// Ticks, 42 bits; those from 15 × 2^38 on cannot be told from event counters.
        stamp: u64,
    },
    /// How many ticks before the trigger time the chip's counter started, below [`RELATIVE_TIME_LIMIT`].
    RelativeTime {
        /// The chip.
        chip: u8,
        /// Ticks.
        ticks: u16,
    },
    /// A stamp of 4096 or more where only a relative time can be.
    Meaningless {
        /// The chip.
        chip: u8,
        /// The stamp, 42 bits.
        stamp: u64,
    },
}

impl From<TimeMarker> for TriggerMarker {
    #[inline]
    fn from(marker: TimeMarker) -> Self {
        let TimeMarker { chip, stamp } = marker;
        if chip < 16 {
            return match u16::try_from(stamp) {
                Ok(ticks) if stamp < RELATIVE_TIME_LIMIT => Self::RelativeTime { chip, ticks },
                _ => Self::Meaningless { chip, stamp },
            };
        }
        let chip = chip - 16;
        if stamp >> KIND_SHIFT == EVENT_COUNTER {
            // Six bits of the 32-bit part above the ten of the 16-bit part: the lower 16 of the stamp.
            Self::EventCounter { chip, count: stamp as u16 }
        } else {
            Self::TriggerTime { chip, stamp: stamp >> CUT_BITS << CUT_BITS }
        }
    }
}

impl From<TriggerMarker> for TimeMarker {
    /// The marker as it is sent. What does not fit its field is cut.
    fn from(marker: TriggerMarker) -> Self {
        match marker {
            TriggerMarker::EventCounter { chip, count } => {
                Self { chip: 16 + (chip & 0xF), stamp: EVENT_COUNTER << KIND_SHIFT | u64::from(count) }
            }
            TriggerMarker::TriggerTime { chip, stamp } => {
                Self { chip: 16 + (chip & 0xF), stamp: stamp >> CUT_BITS << CUT_BITS }
            }
            TriggerMarker::RelativeTime { chip, ticks } => {
                Self { chip: chip & 0xF, stamp: u64::from(ticks) % RELATIVE_TIME_LIMIT }
            }
            TriggerMarker::Meaningless { chip, stamp } => Self { chip: chip & 0xF, stamp },
        }
    }
}
