//! The way out: events in the order (time, pixel), or as they come.

use super::counters::OutletCounters;
use super::settings::TimeSettings;
use crate::event_order::{EventOrder, OrderRules, TimedEvent};
use crate::settings::SettingsError;
use crate::tick::TickLength;
use evforge_core::event::{Event, EventBatch, PixelId};

/// Takes the events of a packet.
pub trait TakeEvents {
    /// True if no further event fits.
    fn is_full(&self) -> bool;

    /// Takes an event at `ticks`. Call it only while there is room.
    fn take(&mut self, ticks: u64, pixel_id: PixelId);
}

/// Where the events of a pipeline go.
#[derive(Debug)]
pub struct Outlet {
    tick: TickLength,
    /// None: as they come.
    order: Option<EventOrder>,
    /// The events of a packet, on their way into that order.
    placed: Vec<TimedEvent>,
    formed: u64,
    handed_out: u64,
    memory_bound: usize,
}

/// Straight into the batch.
#[derive(Debug)]
pub struct AsTheyCome<'a> {
    events: &'a mut EventBatch,
    tick: TickLength,
}

impl TakeEvents for AsTheyCome<'_> {
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.events.is_full()
    }

    #[inline(always)]
    fn take(&mut self, ticks: u64, pixel_id: PixelId) {
        // The caller has asked for room.
        let _has_room = self.events.push(Event { time_ns: self.tick.nanoseconds(ticks), pixel_id });
    }
}

/// Into the order of time. There is room for the events of a packet.
#[derive(Debug)]
pub struct InOrder<'a> {
    placed: &'a mut Vec<TimedEvent>,
}

impl TakeEvents for InOrder<'_> {
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }

    #[inline(always)]
    fn take(&mut self, ticks: u64, pixel_id: PixelId) {
        self.placed.push(TimedEvent { time: ticks, pixel_id });
    }
}

/// A way for the events of one packet.
#[derive(Debug)]
pub enum Way<'a> {
    /// As they come.
    Straight(AsTheyCome<'a>),
    /// In order.
    Ordered(InOrder<'a>),
}

impl Outlet {
    /// For packets with at most `packet_events` events.
    ///
    /// # Errors
    /// If the length of a tick is invalid.
    pub fn new(settings: &TimeSettings, packet_events: usize) -> Result<Self, SettingsError> {
        let rules: Option<OrderRules> = settings.order_rules(packet_events)?;
        Ok(Self {
            tick: settings.tick_length()?,
            order: rules.map(|rules| EventOrder::new(&rules, 1)),
            placed: Vec::with_capacity(rules.map_or(0, |_| packet_events)),
            formed: 0,
            handed_out: 0,
            memory_bound: rules.map_or(0, |rules| {
                EventOrder::memory_bound(&rules, 1) + packet_events * size_of::<TimedEvent>()
            }),
        })
    }

    /// Makes sure that the events of one more packet fit. False if `events` has to be emptied first.
    #[inline]
    pub fn make_room(&mut self, events: &mut EventBatch) -> bool {
        match &mut self.order {
            None => !events.is_full(),
            Some(_) => loop {
                if !self.drain(events) {
                    return false;
                }
                if self.order.as_mut().is_none_or(EventOrder::make_room) {
                    return true;
                }
            },
        }
    }

    /// The newest time that has come in, in nanoseconds; none where events leave as they come.
    pub fn newest_time_ns(&self) -> Option<u64> {
        let (_, ticks) = self.order.as_ref()?.newest()?;
        Some(self.tick.nanoseconds(ticks))
    }

    /// Begins a packet and sets which way its events go. Call [`Outlet::make_room`] before and
    /// [`Outlet::end_packet`] afterwards.
    #[inline]
    pub fn begin_packet<'a>(&'a mut self, events: &'a mut EventBatch) -> Way<'a> {
        match &mut self.order {
            None => Way::Straight(AsTheyCome { events, tick: self.tick }),
            Some(order) => {
                order.begin_packet(0);
                self.placed.clear();
                Way::Ordered(InOrder { placed: &mut self.placed })
            }
        }
    }

    /// Ends a packet, or the part of it that fitted; `straight` of its events went straight out.
    #[inline]
    pub fn end_packet(&mut self, straight: u64) {
        if let Some(order) = &mut self.order {
            self.formed += self.placed.len() as u64;
            order.push_all(0, &self.placed);
            order.end_packet();
        } else {
            self.formed += straight;
            self.handed_out += straight;
        }
    }

    /// Appends the events of the time that is closed. False if `events` filled up before the end.
    fn drain(&mut self, events: &mut EventBatch) -> bool {
        let Self { order: Some(order), tick, .. } = self else { return true };
        let before = events.len();
        let all = order.drain(events, |ticks| tick.nanoseconds(ticks));
        self.handed_out += (events.len() - before) as u64;
        all
    }

    /// Hands out what is closed already. True if `events` filled up and there is more.
    pub fn publish_closed(&mut self, events: &mut EventBatch) -> bool {
        if let Some(order) = &mut self.order {
            order.publish_closed();
        }
        !self.drain(events)
    }

    /// Hands out everything. True if there is more: empty `events` and call again.
    pub fn close(&mut self, events: &mut EventBatch) -> bool {
        let waits = self.order.as_mut().is_some_and(EventOrder::close);
        !self.drain(events) || waits
    }

    /// The counts so far.
    pub fn counters(&self) -> OutletCounters {
        let mut counters = OutletCounters {
            events_formed: self.formed,
            events: self.handed_out,
            ..OutletCounters::default()
        };
        if let Some(order) = &self.order {
            let counts = order.clock_counts();
            counters.late = counts.late;
            counters.unconfirmed_jump = counts.refuted;
            counters.forward_jumps = counts.forward_jumps;
            counters.clock_restarts = counts.restarts;
            counters.held = order.held();
            counters.forced_closings = order.forced_closings();
        }
        counters
    }

    /// Memory in bytes.
    pub fn memory_bound(&self) -> usize {
        self.memory_bound
    }
}
