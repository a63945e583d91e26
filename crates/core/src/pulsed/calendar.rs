//! The place of the detector's clock on the calendar: decided once in a run, the same for every output.

use crate::time::Clock;
use std::sync::Arc;

/// What determines the date of the detector's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CalendarOrigin {
    /// The readout: its times count from 1970.
    #[default]
    Readout,
    /// The arrival of the first packet of a capture: the first event, or its pulse, is put there.
    FirstPacket,
    /// The arrival of the newest packet when the first events were formed: they are put there.
    FirstEvents,
    /// The wall clock when the first events were formed, because the packets have no stamps.
    WallClock,
    /// Nothing: readout and stamps count from no date. Times are those of the detector's clock.
    Detector,
}

/// 1990-01-01T00:00:00Z in nanoseconds since 1970: a clock that says less was never set.
pub const EARLIEST_DATE_NS: u64 = 631_152_000 * 1_000_000_000;

impl CalendarOrigin {
    /// As files and reports have it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Readout => "the readout carries the epoch",
            Self::FirstPacket => "arrival stamp of the first packet in the capture",
            Self::FirstEvents => "arrival stamp of the packets at the first events",
            Self::WallClock => "wall clock at the first events",
            Self::Detector => "none: time of the detector's clock",
        }
    }
}

/// How the detector's clock relates to the calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calendar {
    /// Nanoseconds to add to a time of the detector to get nanoseconds since 1970-01-01T00:00:00Z.
    pub anchor_ns: i64,
    /// Who says so.
    pub origin: CalendarOrigin,
}

impl Calendar {
    /// A time of the detector in nanoseconds since 1970, if that lies in `0..=i64::MAX` (until the year 2262).
    #[inline]
    pub fn unix_ns(&self, time_ns: u64) -> Option<u64> {
        let time = i128::from(time_ns) + i128::from(self.anchor_ns);
        i64::try_from(time).ok().and_then(|time| u64::try_from(time).ok())
    }
}

/// How the calendar of a run is found.
#[derive(Clone, Debug)]
pub enum CalendarRule {
    /// The readout carries the date.
    Readout,
    /// From a capture: the stamp of its first packet. Without stamps, the clock.
    Capture(Arc<dyn Clock>),
    /// Live: the stamp of the newest packet at the first events. Without stamps, the clock.
    Live(Arc<dyn Clock>),
}

/// Finds the calendar of a run at its first events and keeps it from then on.
#[derive(Debug)]
pub(super) struct CalendarKeeper {
    rule: CalendarRule,
    first_stamp_ns: Option<u64>,
    newest_stamp_ns: Option<u64>,
    decided: Option<Calendar>,
}

impl CalendarKeeper {
    pub(super) fn new(rule: CalendarRule) -> Self {
        Self { rule, first_stamp_ns: None, newest_stamp_ns: None, decided: None }
    }

    /// Takes note of the arrival of packets, in nanoseconds since 1970: of the first and the last of a slab.
    pub(super) fn packets_arrived(&mut self, first_ns: u64, last_ns: u64) {
        self.first_stamp_ns.get_or_insert(first_ns);
        self.newest_stamp_ns = Some(last_ns);
    }

    /// The calendar; decided now if it is not yet, with `first_ns` as the first time of an event or pulse.
    pub(super) fn decide(&mut self, first_ns: Option<u64>) -> Calendar {
        if let Some(calendar) = self.decided {
            return calendar;
        }
        let anchored = |stamp: Option<u64>, origin: CalendarOrigin, clock: &Arc<dyn Clock>| {
            let (date, origin) =
                stamp.map_or_else(|| (clock.unix_ns(), CalendarOrigin::WallClock), |stamp| (stamp, origin));
            let anchor = i128::from(date) - i128::from(first_ns.unwrap_or(0));
            let anchor_ns = anchor.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
            Calendar { anchor_ns, origin }
        };
        let mut calendar = match &self.rule {
            CalendarRule::Readout => Calendar { anchor_ns: 0, origin: CalendarOrigin::Readout },
            CalendarRule::Capture(clock) => anchored(self.first_stamp_ns, CalendarOrigin::FirstPacket, clock),
            CalendarRule::Live(clock) => anchored(self.newest_stamp_ns, CalendarOrigin::FirstEvents, clock),
        };
        let first = first_ns.and_then(|first| calendar.unix_ns(first));
        if first.is_some_and(|first| first < EARLIEST_DATE_NS) {
            calendar.origin = CalendarOrigin::Detector;
        }
        *self.decided.insert(calendar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::ManualClock;

    #[test]
    fn the_calendar_is_decided_once_by_its_rule() {
        const DATE: u64 = EARLIEST_DATE_NS;
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::starting_at(DATE + 9_000));
        let date = i64::try_from(DATE).unwrap();
        // The rule; the first stamps, which are 100 apart, if there are any; the first time.
        for (rule, stamps, first, expected) in [
            (CalendarRule::Readout, Some(DATE), DATE + 100, (0, CalendarOrigin::Readout)),
            (CalendarRule::Readout, Some(DATE), 100, (0, CalendarOrigin::Detector)),
            (
                CalendarRule::Capture(Arc::clone(&clock)),
                Some(DATE + 500),
                100,
                (date + 400, CalendarOrigin::FirstPacket),
            ),
            (CalendarRule::Capture(Arc::clone(&clock)), Some(500), 100, (400, CalendarOrigin::Detector)),
            (
                CalendarRule::Live(Arc::clone(&clock)),
                Some(DATE + 500),
                100,
                (date + 700, CalendarOrigin::FirstEvents),
            ),
            (CalendarRule::Live(Arc::clone(&clock)), None, 100, (date + 8_900, CalendarOrigin::WallClock)),
        ] {
            let mut keeper = CalendarKeeper::new(rule);
            if let Some(stamp) = stamps {
                keeper.packets_arrived(stamp, stamp + 100);
                keeper.packets_arrived(stamp + 200, stamp + 300);
            }
            let calendar = keeper.decide(Some(first));
            assert_eq!((calendar.anchor_ns, calendar.origin), expected);
            keeper.packets_arrived(DATE + 10_000, DATE + 10_000);
            assert_eq!(keeper.decide(Some(5)), calendar);
        }
    }

    #[test]
    fn what_1970_to_2262_cannot_express_has_no_date() {
        let calendar = |anchor_ns| Calendar { anchor_ns, origin: CalendarOrigin::FirstPacket };
        assert_eq!(calendar(-6).unix_ns(5), None);
        assert_eq!(calendar(-5).unix_ns(5), Some(0));
        assert_eq!(calendar(0).unix_ns(i64::MAX as u64), Some(i64::MAX as u64));
        assert_eq!(calendar(1).unix_ns(i64::MAX as u64), None);
        assert_eq!(calendar(i64::MAX).unix_ns(u64::MAX), None);
    }
}
