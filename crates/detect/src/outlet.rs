//! The way out: events in the order (time, pixel), or as they come.

use crate::event_order::{EventOrder, OrderRules, TimedEvent};
use crate::module_windows::append;
use crate::pipeline::Former;
use crate::tick::TickLength;
use evforge_core::event::{EventBatch, PixelId};
use evforge_core::monitor::MonitorData;

evforge_core::counters! {
    /// Counters of the way out, which both read-outs share.
    pub struct OutletCounters: "multigrid-outlet" {
        events_formed: Enters(Events), Events, "Events formed, before they are put into order.";
        late: Discarded(Events), Events, "Events that came after their time had been closed.";
        unconfirmed_jump: Discarded(Events), Events, "Events with a jump in time that the next packet did not confirm.";
        held: Held(Events), Events, "Events that wait for their turn at this moment.";
        events: Leaves(Events), Events, "Events handed out.";
        forward_jumps: Information, Times, "Confirmed steps ahead of the clock by more than sorting.forward_jump.";
        clock_restarts: Information, Times, "Restarts of the clock.";
        forced_closings: Information, Times, "Times that waiting events were closed early for want of room: an alarm.";
    }
}

/// The events of a packet, on their way out.
#[derive(Debug)]
pub struct Placed<'a> {
    events: &'a mut Vec<TimedEvent>,
    room: usize,
}

impl Placed<'_> {
    /// True if no further event fits.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.events.len() >= self.room
    }

    /// Takes an event at `ticks`. Call it only while there is room.
    #[inline(always)]
    pub fn take(&mut self, ticks: u64, pixel_id: PixelId) {
        self.events.push(TimedEvent { time: ticks, pixel_id });
    }
}

/// Where the events of a pipeline go.
#[derive(Debug, get_size2::GetSize)]
pub struct Outlet {
    tick: TickLength,
    /// None: as they come.
    order: Option<EventOrder>,
    /// The events of a packet.
    placed: Vec<TimedEvent>,
    formed: u64,
    handed_out: u64,
}

impl Outlet {
    /// Times leave by `tick`; the events of this many sources are put into order by these rules, or leave as they come. A packet has
    /// at most `packet_events` of them.
    pub fn new(tick: TickLength, rules: Option<&OrderRules>, sources: usize, packet_events: usize) -> Self {
        Self {
            tick,
            order: rules.map(|rules| EventOrder::new(rules, sources)),
            placed: Vec::with_capacity(packet_events),
            formed: 0,
            handed_out: 0,
        }
    }

    /// The order, for who judges the events of packets as a whole, and memory for those of one; none if they leave as they come.
    #[inline]
    pub fn order(&mut self) -> Option<(&mut EventOrder, &mut Vec<TimedEvent>)> {
        Some((self.order.as_mut()?, &mut self.placed))
    }

    /// Begins a packet of a source: its events, as many as fit into the batch if they leave as they come. Call
    /// [`Outlet::end_packet`] afterwards.
    #[inline]
    pub fn begin_packet(&mut self, source: usize, batch: &EventBatch) -> Placed<'_> {
        self.placed.clear();
        let room = match &mut self.order {
            None => batch.capacity() - batch.len(),
            Some(order) => {
                order.begin_packet(source);
                usize::MAX
            }
        };
        Placed { events: &mut self.placed, room }
    }

    /// Ends a packet, or the part of it that fitted.
    #[inline]
    pub fn end_packet(&mut self, source: usize, batch: &mut EventBatch) {
        let Self { tick, placed, .. } = self;
        self.formed += placed.len() as u64;
        if let Some(order) = &mut self.order {
            order.push_all(source, placed);
            order.end_packet();
        } else {
            self.handed_out += append(placed, batch, |ticks| tick.nanoseconds(ticks)) as u64;
        }
    }

    /// The counts so far.
    pub fn counters(&self) -> OutletCounters {
        let counters = OutletCounters {
            events_formed: self.formed,
            events: self.handed_out,
            ..OutletCounters::default()
        };
        let Some(order) = &self.order else { return counters };
        let counts = order.clock_counts();
        OutletCounters {
            late: counts.late,
            unconfirmed_jump: counts.refuted,
            forward_jumps: counts.forward_jumps,
            clock_restarts: counts.restarts,
            held: order.held(),
            forced_closings: order.forced_closings(),
            ..counters
        }
    }
}

impl Former for Outlet {
    type Monitor = MonitorData;

    #[inline]
    fn drain(&mut self, _: Option<&mut MonitorData>, events: &mut EventBatch) -> bool {
        let Self { order: Some(order), tick, .. } = self else { return true };
        let before = events.len();
        let all = match tick.whole_nanoseconds() {
            Some(1) => order.drain(events, |ticks| ticks),
            _ => order.drain(events, |ticks| tick.nanoseconds(ticks)),
        };
        self.handed_out += (events.len() - before) as u64;
        all
    }

    #[inline]
    fn make_room(&mut self) -> bool {
        self.order.as_mut().is_none_or(EventOrder::make_room)
    }

    fn publish_closed(&mut self) {
        self.order.iter_mut().for_each(EventOrder::publish_closed);
    }

    fn close(&mut self, _: Option<&mut MonitorData>) -> bool {
        self.order.as_mut().is_some_and(EventOrder::close)
    }

    fn newest_time_ns(&self) -> Option<u64> {
        let (_, ticks) = self.order.as_ref()?.newest()?;
        Some(self.tick.nanoseconds(ticks))
    }
}
