//! Windows of hits in the order of arrival, kept in registers.
//!
//! A hit follows the one before it in the same cassette so closely that going through memory for the state of the
//! window would cost more than all the rest. So the window under way is a small value of sums, both planes side by
//! side in each, which the loop over the readouts of a packet keeps in registers; it is put away only when
//! the next hit is of another cassette. A window that is closed goes to a list, which is resolved at the end of
//! the packet in the order in which the windows were closed.

use super::cassettes::{BladeHit, Cassettes};
use super::counters::MultiBladeCounters;
use super::ordered_windows::LARGEST_READOUT_COUNT;
use super::position::ClusterWatcher;
use super::window::{PlaneSums, Window, WindowRules};

/// The sums of a window; those of wires in the lower half and those of strips in the upper, where there is a
/// half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenWindow {
    start: u64,
    anchor: u64,
    wire_map: u64,
    strip_map: u64,
    counts: u64,
    sums: u64,
    weighted_wires: u64,
    weighted_strips: u64,
    strongest_wire: u32,
    strongest_strip: u32,
}

impl OpenWindow {
    #[inline(always)]
    fn hits(&self) -> u64 {
        (self.counts & 0xFFFF_FFFF) + (self.counts >> 32)
    }

    #[inline(always)]
    fn add(&mut self, hit: BladeHit) {
        let strip = u64::from(hit.plane & 1);
        let (of_wires, of_strips) = (strip.wrapping_sub(1), strip.wrapping_neg());
        let bit = 1_u64 << (hit.coordinate & 63);
        self.wire_map |= bit & of_wires;
        self.strip_map |= bit & of_strips;
        self.counts += 1 << (32 * strip);
        self.sums += u64::from(hit.adc) << (32 * strip);
        let weighted = u64::from(hit.adc) * u64::from(hit.coordinate);
        self.weighted_wires += weighted & of_wires;
        self.weighted_strips += weighted & of_strips;
        let strength = PlaneSums::strength(hit.coordinate, hit.adc);
        self.strongest_wire = self.strongest_wire.max(strength & of_wires as u32);
        self.strongest_strip = self.strongest_strip.max(strength & of_strips as u32);
    }

    /// The sums of wires and of strips.
    fn planes(&self) -> [PlaneSums; 2] {
        let (low, high) = (|value: u64| value as u32, |value: u64| (value >> 32) as u32);
        let wires =
            (self.wire_map, low(self.counts), low(self.sums), self.weighted_wires, self.strongest_wire);
        let strips =
            (self.strip_map, high(self.counts), high(self.sums), self.weighted_strips, self.strongest_strip);
        [wires, strips].map(PlaneSums::of)
    }
}

/// The open windows of all cassettes, and those that the packet has closed.
#[derive(Debug)]
pub(super) struct ArrivalWindows {
    rules: WindowRules,
    open: Vec<OpenWindow>,
    /// Windows that the packet has closed, with their cassettes, in order.
    closed: Vec<(u32, OpenWindow)>,
    /// Where a closed window is unpacked to be resolved.
    unpacked: Window,
}

impl ArrivalWindows {
    /// For so many cassettes, with rules that keep no hits beside the sums.
    pub(super) fn new(rules: WindowRules, cassettes: u16) -> Self {
        Self {
            rules,
            open: vec![OpenWindow::default(); usize::from(cassettes)],
            closed: Vec::with_capacity(LARGEST_READOUT_COUNT),
            unpacked: Window::new(&rules),
        }
    }

    /// Memory in bytes.
    pub(super) fn memory_bound(cassettes: u16) -> usize {
        usize::from(cassettes) * size_of::<OpenWindow>()
            + LARGEST_READOUT_COUNT * size_of::<(u32, OpenWindow)>()
            + size_of::<Self>()
    }

    /// Begins a packet.
    #[inline(always)]
    pub(super) fn begin(&mut self) -> PacketWindows<'_> {
        PacketWindows { rules: self.rules, cassette: usize::MAX, window: OpenWindow::default(), all: self }
    }

    /// Resolves what the packet has closed.
    #[inline]
    pub(super) fn end_packet(&mut self, cassettes: &mut Cassettes, watcher: &mut impl ClusterWatcher) {
        let Self { closed, unpacked, .. } = self;
        for (cassette, window) in closed.iter() {
            (unpacked.start, unpacked.planes) = (window.start, window.planes());
            cassettes.resolve(*cassette as usize, unpacked, watcher);
        }
        closed.clear();
    }

    /// Closes and resolves all windows.
    pub(super) fn close_all(&mut self, cassettes: &mut Cassettes, watcher: &mut impl ClusterWatcher) {
        self.end_packet(cassettes, watcher);
        for (cassette, window) in self.open.iter_mut().enumerate() {
            if window.hits() != 0 {
                (self.unpacked.start, self.unpacked.planes) = (window.start, window.planes());
                cassettes.resolve(cassette, &self.unpacked, watcher);
                *window = OpenWindow::default();
            }
        }
    }

    /// Hits in open windows, between packets.
    pub(super) fn held(&self) -> u64 {
        self.open.iter().map(OpenWindow::hits).sum()
    }
}

/// The windows while the hits of a packet come in.
#[derive(Debug)]
pub(super) struct PacketWindows<'a> {
    rules: WindowRules,
    /// The cassette whose window is under way; none at the beginning.
    cassette: usize,
    window: OpenWindow,
    all: &'a mut ArrivalWindows,
}

impl PacketWindows<'_> {
    /// Takes a hit of `cassette`.
    #[inline(always)]
    pub(super) fn take(&mut self, cassette: usize, hit: BladeHit, counters: &mut MultiBladeCounters) {
        if cassette != self.cassette {
            self.turn_to(cassette);
        }
        let takes = self.rules.takes(hit.time, self.window.anchor);
        if !takes | (self.window.hits() == 0) {
            self.close_window();
            (self.window.start, self.window.anchor) = (hit.time, hit.time);
        } else if self.rules.is_full(self.window.hits()) {
            counters.group_too_large += self.window.hits();
            self.window = OpenWindow { start: hit.time, anchor: hit.time, ..OpenWindow::default() };
        }
        self.window.anchor = if self.rules.is_gap() { hit.time } else { self.window.anchor };
        self.window.add(hit);
    }

    /// Puts the window under way away and takes up that of `cassette`.
    #[inline(always)]
    fn turn_to(&mut self, cassette: usize) {
        if let Some(place) = self.all.open.get_mut(self.cassette) {
            *place = self.window;
        }
        self.window = self.all.open.get(cassette).copied().unwrap_or_default();
        self.cassette = cassette;
    }

    /// Puts the window under way on the list, if it has hits.
    #[inline(always)]
    fn close_window(&mut self) {
        // There is room for every hit of a packet; asking keeps the code that would grow the list out of here.
        if self.window.hits() != 0 && self.all.closed.len() < self.all.closed.capacity() {
            self.all.closed.push((self.cassette as u32, self.window));
        }
        self.window = OpenWindow::default();
    }

    /// Puts the window under way away; the packet, or the run, is over.
    #[inline(always)]
    pub(super) fn put_away(&mut self) -> &mut ArrivalWindows {
        self.turn_to(usize::MAX);
        self.all
    }
}
