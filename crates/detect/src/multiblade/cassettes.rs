//! The open windows of all cassettes, and the events of those that were closed.

use super::counters::CassetteCounters;
use super::position::PositionRules;
use super::window::{Window, WindowRules};
use crate::ess::{Place, Placed, WindowAnalysis};
use crate::event_order::TimedEvent;
use crate::hit::Timed;
use crate::module_windows::{ClusterWatcher, Windows};
use evforge_core::counter::CounterSnapshot;

/// A hit with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, get_size2::GetSize)]
pub struct BladeHit {
    /// Ticks.
    pub(super) time: u64,
    /// 0 for wires, 1 for strips.
    pub(super) plane: u8,
    /// Wire or strip, below 64.
    pub(super) coordinate: u8,
    /// Amplitude.
    pub(super) adc: u16,
}

impl Timed for BladeHit {
    #[inline]
    fn time(&self) -> u64 {
        self.time
    }

    #[inline]
    fn payload(&self) -> u32 {
        u32::from(self.plane) << 22 | u32::from(self.coordinate) << 16 | u32::from(self.adc)
    }

    #[inline]
    fn of(time: u64, payload: u32) -> Self {
        let plane = (payload >> 22) as u8 & 1;
        Self { time, plane, coordinate: (payload >> 16) as u8 & 63, adc: payload as u16 }
    }
}

impl Placed for BladeHit {
    #[inline(always)]
    fn placed(place: Place, time: u64, amplitude: u16) -> Self {
        Self { time, plane: place.plane & 1, coordinate: place.coordinate as u8 & 63, adc: amplitude }
    }
}

/// The windows of all cassettes.
#[derive(Debug, get_size2::GetSize)]
pub struct Cassettes {
    windows: Vec<Window>,
    rules: WindowRules,
    position: PositionRules,
    pub(super) counters: CassetteCounters,
    /// Events of closed windows.
    pub(super) formed: Vec<TimedEvent>,
}

impl Cassettes {
    /// With room for `events` events.
    pub(super) fn new(rules: WindowRules, position: PositionRules, events: usize) -> Self {
        Self {
            windows: (0..position.pixels().cassettes()).map(|_| Window::new(&rules)).collect(),
            rules,
            position,
            counters: CassetteCounters::default(),
            formed: Vec::with_capacity(events),
        }
    }
}

impl Windows for Cassettes {
    type Hit = BladeHit;

    /// If the hit does not belong to the open window, that window is closed.
    #[inline(always)]
    fn take(&mut self, cassette: usize, hit: BladeHit, watcher: &mut impl ClusterWatcher) {
        let Self { windows, rules, position, counters, formed } = self;
        let Some(window) = windows.get_mut(cassette) else { return };
        let (plane, coordinate, adc) = (usize::from(hit.plane), hit.coordinate, hit.adc);
        if window.takes(hit.time, rules) & !window.is_full(rules) {
            window.add(hit.time, plane, coordinate, adc, rules);
        } else {
            if window.takes(hit.time, rules) {
                counters.group_too_large += u64::from(window.hits());
            } else if window.hits() != 0 {
                position.resolve(cassette, window, counters, watcher, formed);
            }
            window.begin(hit.time, plane, coordinate, adc, rules);
        }
    }

    fn modules(&self) -> usize {
        self.windows.len()
    }

    #[inline]
    fn hits_of(&self, cassette: usize) -> u32 {
        self.windows[cassette].hits()
    }

    fn start_of(&self, cassette: usize) -> u64 {
        self.windows[cassette].start
    }

    fn is_over(&self, cassette: usize, time: u64) -> bool {
        self.windows[cassette].is_over(time, &self.rules)
    }

    fn close(&mut self, cassette: usize, watcher: &mut impl ClusterWatcher) {
        let Self { windows, position, counters, formed, .. } = self;
        let window = &mut windows[cassette];
        position.resolve(cassette, window, counters, watcher, formed);
        window.clear();
    }

    fn formed(&mut self) -> &mut Vec<TimedEvent> {
        &mut self.formed
    }
}

impl WindowAnalysis for Cassettes {
    fn events_formed(&self) -> u64 {
        self.counters.events
    }

    fn events_waiting(&self) -> u64 {
        self.formed.len() as u64
    }

    fn counters(&self, waiting: u64) -> CounterSnapshot {
        CounterSnapshot::of(&CassetteCounters { held: self.held() + waiting, ..self.counters })
    }
}
