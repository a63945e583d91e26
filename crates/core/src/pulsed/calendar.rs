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
}

impl CalendarOrigin {
    /// As files and reports have it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Readout => "the readout carries the epoch",
            Self::FirstPacket => "arrival stamp of the first packet in the capture",
            Self::FirstEvents => "arrival stamp of the packets at the first events",
            Self::WallClock => "wall clock at the first events",
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
        let calendar = match &self.rule {
            CalendarRule::Readout => Calendar { anchor_ns: 0, origin: CalendarOrigin::Readout },
            CalendarRule::Capture(clock) => anchored(self.first_stamp_ns, CalendarOrigin::FirstPacket, clock),
            CalendarRule::Live(clock) => anchored(self.newest_stamp_ns, CalendarOrigin::FirstEvents, clock),
        };
        *self.decided.insert(calendar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::ManualClock;

    #[test]
    fn the_calendar_is_decided_once_by_its_rule() {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::starting_at(9_000));
        for (rule, stamps, expected) in [
            (CalendarRule::Readout, true, (0, CalendarOrigin::Readout)),
            (CalendarRule::Capture(Arc::clone(&clock)), true, (400, CalendarOrigin::FirstPacket)),
            (CalendarRule::Live(Arc::clone(&clock)), true, (700, CalendarOrigin::FirstEvents)),
            (CalendarRule::Live(Arc::clone(&clock)), false, (8_900, CalendarOrigin::WallClock)),
        ] {
            let mut keeper = CalendarKeeper::new(rule);
            if stamps {
                keeper.packets_arrived(500, 600);
                keeper.packets_arrived(700, 800);
            }
            let calendar = keeper.decide(Some(100));
            assert_eq!((calendar.anchor_ns, calendar.origin), expected);
            keeper.packets_arrived(10_000, 10_000);
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
