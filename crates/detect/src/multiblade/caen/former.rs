//! Hits into the windows of cassettes, as they arrive or in order of time, and their events out.

use super::readout_stage::{ARRIVAL_TIME_MASK, ArrivalSink, Begun, Content, OrderedSink, ReadoutTally};
use super::settings::{HitOrder, LARGEST_READOUT_COUNT, MultiBladeSettings};
use super::wiring::Wiring;
use crate::module_windows::{ClusterWatcher, ModuleWindows, StraightOut, Windows, append};
use crate::multiblade::cassettes::{BladeHit, Cassettes};
use crate::multiblade::position::PositionRules;
use crate::multiblade::window::WindowRules;
use crate::pipeline::Former;
use crate::source_clocks::{ClockRules, SourceClockCounters, SourceClocks};
use crate::tick::TickLength;
use evforge_core::clock::WrappingClock;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_core::monitor::MonitorData;
use evforge_wire::caen::TIME_BITS;

/// The windows of all cassettes, and the way of hits into them.
#[derive(Debug, get_size2::GetSize)]
pub struct CassetteFormer {
    cassettes: Cassettes,
    order: Order,
    /// What times leave as.
    out: TickLength,
}

/// The way of hits into windows.
#[derive(Debug, get_size2::GetSize)]
enum Order {
    /// As they arrive; this many of the events in `cassettes` have left.
    Arrival { gone: usize },
    /// In order of time, with the clocks of the digitisers.
    Time(Box<TimeOrdered>),
}

/// Hits on their way into windows in order of time.
#[derive(Debug, get_size2::GetSize)]
struct TimeOrdered {
    windows: ModuleWindows,
    line: SourceClocks<BladeHit>,
    clocks: Vec<WrappingClock>,
    room_for_a_packet: usize,
}

impl TimeOrdered {
    fn new(settings: &MultiBladeSettings, sources: usize, tick: TickLength) -> Self {
        let ticks = |duration| tick.ticks_in(duration);
        let clocks = ClockRules::new(&settings.sorting, ticks, LARGEST_READOUT_COUNT);
        Self {
            windows: ModuleWindows::new(usize::from(settings.cassettes), settings.sorting.max_held_hits),
            line: SourceClocks::new(sources, &clocks),
            clocks: vec![WrappingClock::new(TIME_BITS); sources],
            room_for_a_packet: settings.room_for_a_packet(),
        }
    }

    fn make_room(&mut self) -> bool {
        let Self { windows, line, room_for_a_packet, .. } = self;
        let has_room = windows.find_room(*room_for_a_packet) >= *room_for_a_packet;
        if !has_room {
            let (closed, latest) = (windows.closed_before(), windows.latest_pending());
            let target = line.force(closed, latest, windows, has_room_for_quarantine);
            windows.advance(target);
        }
        has_room
    }

    /// Ends a packet: closes what no source can reach any more, if that is worth while.
    fn end_packet(&mut self) {
        let watermark = self.line.follow(&mut self.windows, has_room_for_quarantine);
        if self.windows.is_closing_worthwhile() {
            self.windows.advance(watermark);
        }
    }

    fn close(&mut self) -> bool {
        let Self { windows, line, room_for_a_packet, .. } = self;
        windows.find_room(*room_for_a_packet);
        let closed = windows.closed_before();
        let held_back = line.release(windows, closed, |windows| windows.room() >= *room_for_a_packet);
        let end = windows.latest_pending().map_or(0, |(epoch, _)| epoch);
        windows.advance((end.max(line.watermark().0), u64::MAX));
        held_back
    }
}

/// Whether the hits of a quarantine fit.
fn has_room_for_quarantine(windows: &mut ModuleWindows) -> bool {
    windows.find_room(LARGEST_READOUT_COUNT) >= LARGEST_READOUT_COUNT
}

impl CassetteFormer {
    /// For settings that have been checked, with the hits of so many digitisers.
    pub(super) fn new(settings: &MultiBladeSettings, sources: usize, tick: TickLength) -> Self {
        let (time_mask, events, order) = match settings.order {
            HitOrder::Arrival => {
                let events = 2 * (LARGEST_READOUT_COUNT + usize::from(settings.cassettes));
                (ARRIVAL_TIME_MASK, events, Order::Arrival { gone: 0 })
            }
            HitOrder::Time => {
                let (cassettes, held) = (usize::from(settings.cassettes), settings.sorting.max_held_hits);
                let events = ModuleWindows::event_capacity(cassettes, held);
                (u64::MAX, events, Order::Time(Box::new(TimeOrdered::new(settings, sources, tick))))
            }
        };
        let rules = WindowRules::new(&settings.window, settings.sorting.max_group_hits, time_mask);
        let position =
            PositionRules::new(&settings.window, settings.maximum, settings.rounding, settings.pixels());
        Self {
            cassettes: Cassettes::new(rules, position, events),
            order,
            out: if settings.raw_ticks { TickLength::RAW } else { tick },
        }
    }

    /// Takes the readouts of a packet.
    #[inline]
    pub(super) fn take(
        &mut self,
        content: &Content<'_>,
        Begun { digitizer, stamp }: Begun,
        wiring: &mut Wiring,
        watcher: &mut impl ClusterWatcher,
        tally: &mut ReadoutTally,
    ) {
        match &mut self.order {
            Order::Arrival { .. } => {
                let mut sink = ArrivalSink { cassettes: &mut self.cassettes, watcher };
                content.take(digitizer, wiring, &mut sink, tally);
            }
            Order::Time(ordered) => {
                let TimeOrdered { windows, line, clocks, .. } = &mut **ordered;
                let mut sink = OrderedSink { windows, line: line.begin_packet_of_several(), clocks, stamp };
                content.take(digitizer, wiring, &mut sink, tally);
                ordered.end_packet();
            }
        }
    }

    /// What happened to the hits, and to the time of the digitisers.
    pub(super) fn counters(&self) -> CounterSnapshot {
        let mut counters = self.cassettes.counters;
        counters.held = self.cassettes.held();
        let mut clocks = SourceClockCounters::default();
        if let Order::Time(ordered) = &self.order {
            clocks = ordered.line.counters();
            clocks.forced_closings += ordered.windows.forced_closings();
            counters.held += ordered.windows.held();
        }
        CounterSnapshot::of(&counters).and(&clocks)
    }
}

impl Former for CassetteFormer {
    type Monitor = MonitorData;

    #[inline]
    fn drain(&mut self, monitor: Option<&mut MonitorData>, events: &mut EventBatch) -> bool {
        let Self { cassettes, order, out } = self;
        match order {
            Order::Arrival { gone } => {
                *gone += append(&cassettes.formed[*gone..], events, |ticks| out.nanoseconds(ticks));
                if *gone < cassettes.formed.len() {
                    return false;
                }
                cassettes.formed.clear();
                *gone = 0;
                true
            }
            Order::Time(ordered) => {
                let mut out = StraightOut { events, nanoseconds: |ticks| out.nanoseconds(ticks) };
                match monitor {
                    None => ordered.windows.drain(cassettes, &mut (), &mut out),
                    Some(monitor) => ordered.windows.drain(cassettes, monitor, &mut out),
                }
            }
        }
    }

    #[inline]
    fn make_room(&mut self) -> bool {
        match &mut self.order {
            Order::Arrival { .. } => true,
            Order::Time(ordered) => ordered.make_room(),
        }
    }

    fn publish_closed(&mut self) {
        if let Order::Time(ordered) = &mut self.order {
            ordered.windows.advance(ordered.line.watermark());
        }
    }

    fn close(&mut self, monitor: Option<&mut MonitorData>) -> bool {
        match (&mut self.order, monitor) {
            (Order::Time(ordered), _) => return ordered.close(),
            (Order::Arrival { .. }, None) => self.cassettes.close_all(&mut ()),
            (Order::Arrival { .. }, Some(monitor)) => self.cassettes.close_all(monitor),
        }
        false
    }

    fn newest_time_ns(&self) -> Option<u64> {
        let Order::Time(ordered) = &self.order else { return None };
        Some(self.out.nanoseconds(ordered.line.newest()?.1))
    }
}
