//! From the arrival of packets to the picture in a browser: what the page was shown, joined with when packets had arrived.

use super::{Arrivals, LatencySpread};
use crate::page_client::PageSeen;
use evforge_net::lateness::Lateness;

/// Events that are looked at between two pictures, at most.
const SAMPLES: u64 = 64;

/// How long it took until a browser had a picture with an event in it.
///
/// Events are shown in the order in which their packets came, and packets of a load are alike: the event with number e of E was formed of
/// the packet e/E of all packets. When that one arrived, the interface has counted.
///
/// None if no picture had a new event in it.
///
/// # Errors
/// If the page has not shown all events of the run at its end.
pub(super) fn until_shown(
    seen: &PageSeen,
    arrivals: &Arrivals,
    events: u64,
) -> Result<Option<LatencySpread>, String> {
    let shown = seen.updates.iter().map(|update| update.events).max().unwrap_or(0);
    if shown != events {
        return Err(format!("has {events} events, and the page was shown {shown} of them at the end"));
    }
    let mut lateness = Lateness::default();
    let mut before = 0;
    for update in seen.updates.iter().filter(|update| update.has_picture && update.events > 0) {
        let new = update.events.saturating_sub(before);
        let step = new.div_ceil(SAMPLES).max(1);
        let mut event = before + 1;
        while event <= update.events {
            let weight = step.min(update.events - event + 1);
            let middle = event as f64 + (weight - 1) as f64 / 2.0;
            let packet = middle / events as f64 * arrivals.packets() as f64;
            let arrived =
                arrivals.when(packet).ok_or("has events, and the interface has counted no packet")?;
            let late = update.at.saturating_duration_since(arrived);
            lateness.add_many(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX), weight);
            event += weight;
        }
        before = update.events.max(before);
    }
    Ok(LatencySpread::of(&lateness))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_client::PageUpdate;
    use std::time::{Duration, Instant};

    /// 1000 packets in a second, one each millisecond.
    fn even(begin: Instant) -> Arrivals {
        Arrivals::of((0..=1000).map(|ms| (begin + Duration::from_millis(ms), ms)).collect())
    }

    fn seen(begin: Instant, updates: &[(u64, u64, bool)]) -> PageSeen {
        let of = |&(ms, events, has_picture): &(u64, u64, bool)| PageUpdate {
            at: begin + Duration::from_millis(ms),
            events,
            has_picture,
        };
        PageSeen { updates: updates.iter().map(of).collect(), ..PageSeen::default() }
    }

    #[test]
    fn an_event_is_as_late_as_the_first_picture_that_has_it() {
        let begin = Instant::now();
        // Pictures each 200 ms, 10 ms after they were counted; 10 events a packet.
        let updates: Vec<(u64, u64, bool)> = (1..=5).map(|n| (200 * n + 10, 2000 * n, true)).collect();
        let spread = until_shown(&seen(begin, &updates), &even(begin), 10_000).unwrap().expect("events");
        assert_eq!(spread.events, 10_000);
        // Evenly from 10 to 210 ms.
        assert!((0.105..0.118).contains(&spread.p50), "{spread:?}");
        assert!(
            (0.205..0.218).contains(&spread.p99) && spread.largest.is_some_and(|largest| largest <= 0.21),
            "{spread:?}"
        );
    }

    #[test]
    fn an_update_without_a_picture_shows_nothing_and_events_that_were_not_shown_are_told() {
        let begin = Instant::now();
        let updates = [(500, 4000, false), (1000, 4000, true), (1100, 10_000, true)];
        let spread = until_shown(&seen(begin, &updates), &even(begin), 10_000).unwrap().expect("events");
        assert!(spread.largest.is_some_and(|largest| largest > 0.99), "{spread:?}");
        let problem = until_shown(&seen(begin, &updates), &even(begin), 10_001).unwrap_err();
        assert!(problem.contains("10001 events") && problem.contains("shown 10000"), "{problem}");
        assert_eq!(until_shown(&PageSeen::default(), &even(begin), 0), Ok(None));
    }
}
