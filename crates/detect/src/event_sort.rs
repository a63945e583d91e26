//! Puts the events of a step into the order (time, pixel).
//!
//! Events of many modules are in no order at all. As packed words they are sorted by the digits of their times, which takes
//! a third of the time of a sort by comparisons.

use crate::event_order::TimedEvent;
use crate::hit::{KEY_TIME_LIMIT, PAYLOAD_LIMIT, TimeKey, Timed as _};
use crate::memory::room_for;
use crate::time_order::order_payloads;
use crate::time_sort::TimeSort;

/// Events that are sorted as words at most; more than that are compared.
const MOST_EVENTS: usize = 1 << 16;
/// Events up to which comparisons are faster.
const FEW: usize = 64;

/// Sorts events; keeps its working memory between calls.
#[derive(Debug, get_size2::GetSize)]
pub struct EventSort {
    keys: Vec<TimeKey>,
    by_time: TimeSort,
}

impl Default for EventSort {
    fn default() -> Self {
        let key = TimeKey::new(TimedEvent { time: 1, pixel_id: 1 }, 0);
        Self { keys: room_for(key, MOST_EVENTS), by_time: TimeSort::new(MOST_EVENTS) }
    }
}

impl EventSort {
    /// Sorts by time, and by pixel where times are equal.
    pub fn sort(&mut self, events: &mut [TimedEvent]) {
        let (mut first, mut last, mut pixels) = (u64::MAX, 0, 0);
        for event in events.iter() {
            first = first.min(event.time);
            last = last.max(event.time);
            pixels |= event.pixel_id;
        }
        let fit = (FEW..=MOST_EVENTS).contains(&events.len())
            && last - first < KEY_TIME_LIMIT
            && pixels < PAYLOAD_LIMIT;
        if !fit {
            return events.sort_unstable_by_key(|event| (event.time, event.pixel_id));
        }
        let Self { keys, by_time } = self;
        keys.clear();
        keys.extend(events.iter().map(|&event| TimeKey::new(event, first)));
        by_time.sort(keys);
        order_payloads(keys);
        for (event, key) in events.iter_mut().zip(keys) {
            *event = TimedEvent::of(first + key.time(), key.payload());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_are_sorted_by_time_and_pixel_whatever_they_are(
            events in proptest::collection::vec((0..63_u32, any::<u64>(), 0..30_u32, any::<u32>()), 0..300),
            are_alike: bool,
        ) {
            let shifted = |(shift, time, pixel_shift, pixel): (u32, u64, u32, u32)| TimedEvent {
                time: if are_alike { time >> 54 } else { time >> 2 >> shift },
                pixel_id: if are_alike { pixel >> 28 } else { pixel >> pixel_shift },
            };
            let mut events: Vec<_> = events.into_iter().map(shifted).collect();
            let mut expected = events.clone();
            expected.sort_by_key(|event| (event.time, event.pixel_id));
            EventSort::default().sort(&mut events);
            prop_assert_eq!(events, expected);
        }
    }
}
