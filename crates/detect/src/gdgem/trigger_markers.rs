//! Base times of the triggered mode (EFU formats of 2018, section 4.3, "TRG").

use super::counters::GdGemCounters;
use super::electronics::CHIPS;
use super::hit_time::HitTime;
use evforge_core::clock::WrappingClock;
use evforge_wire::srs_vmm::{RELATIVE_TIME_LIMIT, TriggerMarker};

/// What the markers of one chip have said.
#[derive(Clone, Copy, Debug, Default, get_size2::GetSize)]
struct ChipTrigger {
    /// Trigger time, extended to 64 bits.
    trigger: Option<u64>,
    /// Relative trigger time, below [`RELATIVE_TIME_LIMIT`].
    relative: Option<u64>,
    /// The latest event counter.
    event_counter: Option<u16>,
}

/// The trigger times of the chips of one FEC.
///
/// A chip has a base time once it has both a trigger time and a relative time: until then the place of its
/// readouts in time is not known.
#[derive(Clone, Debug, Default, get_size2::GetSize)]
pub(super) struct TriggerTimes {
    chips: [ChipTrigger; CHIPS],
}

impl TriggerTimes {
    /// Takes a marker. Gives the chip whose base time it changes, with that time if it is known by now.
    pub(super) fn take(
        &mut self,
        marker: TriggerMarker,
        stamps: &mut WrappingClock,
        time: &HitTime,
        counters: &mut GdGemCounters,
    ) -> Option<(u8, Option<i64>)> {
        let chip = match marker {
            TriggerMarker::EventCounter { chip, count } => {
                counters.event_counters += 1;
                let state = self.chips.get_mut(usize::from(chip))?;
                let is_next = state.event_counter.is_none_or(|last| last.wrapping_add(1) == count);
                counters.event_counter_steps += u64::from(!is_next);
                state.event_counter = Some(count);
                return None;
            }
            TriggerMarker::TriggerTime { chip, stamp } => {
                counters.trigger_times += 1;
                self.chips.get_mut(usize::from(chip))?.trigger = Some(stamps.extend(stamp));
                chip
            }
            TriggerMarker::RelativeTime { chip, ticks } => {
                counters.relative_times += 1;
                debug_assert!(u64::from(ticks) < RELATIVE_TIME_LIMIT);
                self.chips.get_mut(usize::from(chip))?.relative = Some(u64::from(ticks));
                chip
            }
            TriggerMarker::Meaningless { .. } => {
                counters.markers_without_meaning += 1;
                return None;
            }
        };
        let state = self.chips.get(usize::from(chip))?;
        let base = state.trigger.zip(state.relative);
        Some((chip, base.map(|(trigger, relative)| time.of_relative_trigger(trigger, relative))))
    }
}
