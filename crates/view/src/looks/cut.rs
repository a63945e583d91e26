//! The counts of a selection: its picture, its spectra, its regions.

use super::frame_rule::FrameRule;
use super::look::{ByVeto, Selection, Window};
use super::pictured::Pictured;
use crate::beam::Charge;
use crate::event_memory::{Chunk, EventMemory, Position};
use evforge_picture::NOWHERE;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Chunks that are read at once: the lock of the memory is held for as many pointers.
const AT_ONCE: usize = 256;

/// What is counted of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegionCount {
    /// Pixels of the picture inside it.
    pub(crate) pixels: u64,
    /// Events in it, and those of them in the slice.
    pub(crate) all: u64,
    pub(crate) events: u64,
}

/// Sums over a selection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Events in the picture, in the slice.
    pub(crate) events: u64,
    /// Events in the picture, whatever their time of flight.
    pub(crate) all: u64,
    pub(crate) pulses: u64,
    /// Proton charge.
    pub(crate) charge: Charge,
    /// Events of each beam monitor.
    pub(crate) monitors: Vec<u64>,
    pub(crate) regions: Vec<RegionCount>,
    /// Counts per pixel of the picture; empty if they are taken from elsewhere.
    pub(crate) image: Vec<u64>,
    /// Counts per bin, of the whole picture first, then of each region.
    pub(crate) spectra: Vec<u64>,
    /// Events that should have been counted, and were gone.
    pub(crate) missed: u64,
}

/// One stream, as far as it has been counted.
#[derive(Debug)]
struct Reading {
    memory: Arc<EventMemory>,
    position: Position,
    /// Of a window of the last seconds: what is in the sums, the oldest first.
    inside: VecDeque<Arc<Chunk>>,
}

/// Counts the events of a selection, and goes on where it was.
#[derive(Debug)]
pub(crate) struct Cut {
    slice_ns: Option<[i32; 2]>,
    window: Window,
    vetoed: ByVeto,
    frames: FrameRule,
    from_ns: i32,
    width_ns: u32,
    bins: usize,
    is_map: bool,
    places: Arc<[u32]>,
    /// A bit per region for each pixel of the picture; empty without regions.
    masks: Vec<u16>,
    monitors: Vec<Range<usize>>,
    counts_image: bool,
    readings: Vec<Reading>,
    pub(crate) counts: Counts,
    /// When the oldest event came that is in the sums; none while there is none.
    oldest_ms: Option<u64>,
    /// Whether everything since the beginning of the window is in it.
    is_whole: bool,
    /// Grows whenever something is counted.
    pub(crate) version: u64,
}

/// Whether a chunk comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Comes,
    Goes,
}

/// Whether the counts of a picture without a cut are the same: nothing is selected.
pub(crate) fn image_is_of_everything(selection: &Selection, pictured: &Pictured) -> bool {
    selection.slice_ns.is_none()
        && selection.layers.is_none()
        && selection.window == Window::All
        && selection.vetoed == ByVeto::All
        && selection.frames.is_everything()
        && !pictured.is_map(selection.picture)
}

/// Bytes that the counts of a selection take.
pub(crate) fn bytes(selection: &Selection, pictured: &Pictured) -> usize {
    let [nx, ny] = pictured.size(selection.picture, selection.bins.count);
    let pixels = nx as usize * ny as usize;
    let image = if image_is_of_everything(selection, pictured) { 0 } else { 8 * pixels };
    let masks = if selection.regions.is_empty() { 0 } else { 2 * pixels };
    let places = if selection.layers.is_none() { 0 } else { 4 * pictured.set().pixel_count() };
    image + masks + places + 8 * (1 + selection.regions.len()) * selection.bins.count as usize
}

impl Cut {
    /// Counts of nothing yet: the first [`catch_up`](Self::catch_up) reads what the memory has.
    pub(crate) fn new(selection: &Selection, pictured: &Pictured) -> Self {
        let [nx, ny] = pictured.size(selection.picture, selection.bins.count);
        let pixels = nx as usize * ny as usize;
        let mut regions = vec![RegionCount::default(); selection.regions.len()];
        let mut masks = if regions.is_empty() { Vec::new() } else { vec![0_u16; pixels] };
        for (number, (region, count)) in selection.regions.iter().zip(&mut regions).enumerate() {
            region.pixels([nx, ny], |column, row| {
                masks[row as usize * nx as usize + column as usize] |= 1 << number;
                count.pixels += 1;
            });
        }
        let bins = selection.bins.count as usize;
        let counts_image = !image_is_of_everything(selection, pictured);
        let monitors: Vec<_> = pictured.monitors().into_iter().map(|(_, range)| range).collect();
        let counts = Counts {
            monitors: vec![0; monitors.len()],
            spectra: vec![0; (1 + regions.len()) * bins],
            image: vec![0; if counts_image { pixels } else { 0 }],
            regions,
            ..Counts::default()
        };
        let time = |ns: u32| i32::try_from(ns).unwrap_or(i32::MAX);
        Self {
            slice_ns: selection.slice_ns.map(|slice| slice.map(time)),
            window: selection.window,
            vetoed: selection.vetoed,
            frames: selection.frames,
            from_ns: time(selection.bins.from_ns),
            width_ns: selection.bins.width_ns,
            bins,
            is_map: pictured.is_map(selection.picture),
            places: pictured.places(selection.picture, selection.layers),
            masks,
            monitors,
            counts_image,
            readings: Vec::new(),
            counts,
            oldest_ms: None,
            is_whole: true,
            version: 0,
        }
    }

    /// Counts what has come in `memories` since it was last called, and takes out what has left the window at `now_ms`.
    pub(crate) fn catch_up(&mut self, memories: &[Arc<EventMemory>], now_ms: u64) {
        for memory in &memories[self.readings.len().min(memories.len())..] {
            let position = memory.oldest();
            let reaches = |ms| memory.oldest_ms().is_none_or(|oldest| oldest <= ms);
            self.is_whole &= memory.is_whole() || matches!(self.window, Window::Since(ms) if reaches(ms));
            self.readings.push(Reading { memory: Arc::clone(memory), position, inside: VecDeque::new() });
        }
        let mut readings = std::mem::take(&mut self.readings);
        for reading in &mut readings {
            loop {
                let new = reading.memory.since(&mut reading.position, AT_ONCE);
                self.counts.missed += new.missed;
                if new.chunks.is_empty() {
                    break;
                }
                for chunk in new.chunks {
                    self.take(reading, chunk, now_ms);
                }
            }
            self.leave(reading, now_ms);
        }
        self.readings = readings;
        if matches!(self.window, Window::Last(_)) {
            let inside = self.readings.iter().filter_map(|reading| reading.inside.front());
            self.oldest_ms = inside.map(|chunk| chunk.opened_ms).min();
        }
    }

    fn take(&mut self, reading: &mut Reading, chunk: Arc<Chunk>, now_ms: u64) {
        match self.window {
            Window::Since(ms) if chunk.opened_ms < ms => return,
            Window::Last(seconds) => {
                if chunk.opened_ms < beginning(now_ms, seconds) {
                    return;
                }
                self.count(&chunk, Turn::Comes);
                reading.inside.push_back(chunk);
                return;
            }
            Window::All | Window::Since(_) => {}
        }
        self.oldest_ms = Some(self.oldest_ms.map_or(chunk.opened_ms, |oldest| oldest.min(chunk.opened_ms)));
        self.count(&chunk, Turn::Comes);
    }

    /// Takes out what is too old, and what the memory no longer has: a window holds no more than that.
    fn leave(&mut self, reading: &mut Reading, now_ms: u64) {
        let Window::Last(seconds) = self.window else { return };
        let begins = beginning(now_ms, seconds).max(reading.memory.oldest_ms().unwrap_or(0));
        while reading.inside.front().is_some_and(|chunk| chunk.opened_ms < begins) {
            if let Some(chunk) = reading.inside.pop_front() {
                self.count(&chunk, Turn::Goes);
            }
        }
    }

    /// From when on every event is in the sums, if the server was started at `started_ms`.
    pub(crate) fn since_ms(&self, started_ms: u64, now_ms: u64) -> u64 {
        let memory = self
            .readings
            .iter()
            .filter_map(|reading| reading.memory.oldest_ms().filter(|_| !reading.memory.is_whole()));
        let oldest = self.oldest_ms.unwrap_or(now_ms);
        match self.window {
            Window::All if self.is_whole => started_ms,
            Window::All => oldest,
            Window::Since(ms) if self.is_whole => ms.max(started_ms),
            Window::Since(ms) => oldest.max(ms),
            Window::Last(seconds) => memory.fold(beginning(now_ms, seconds).max(started_ms), u64::max),
        }
    }

    /// Adds the events of a chunk, or takes them out again.
    fn count(&mut self, chunk: &Chunk, turn: Turn) {
        self.version += 1;
        if self.frames.is_everything() {
            self.count_pulses(chunk.pulses, chunk.charge, turn);
            self.count_events(chunk, 0..chunk.len(), turn);
            return;
        }
        for (run, events) in chunk.by_frames() {
            if run.kind.is_some_and(|kind| self.frames.has(kind)) {
                self.count_pulses(run.pulses, run.charge, turn);
                self.count_events(chunk, events, turn);
            }
        }
    }

    /// Adds pulses and their charge, or takes them out again.
    fn count_pulses(&mut self, pulses: u64, charge: Charge, turn: Turn) {
        let counts = &mut self.counts;
        let pulses = if turn == Turn::Comes { pulses } else { pulses.wrapping_neg() };
        counts.pulses = counts.pulses.wrapping_add(pulses);
        let charge = if turn == Turn::Comes { charge } else { charge.wrapping_neg() };
        counts.charge = counts.charge.wrapping_add(charge);
    }

    /// Adds some of the events of a chunk, or takes them out again.
    fn count_events(&mut self, chunk: &Chunk, events: Range<usize>, turn: Turn) {
        // What was added is taken out by adding its negative, modulo 2^64.
        let one = if turn == Turn::Comes { 1_u64 } else { u64::MAX };
        let add = |count: &mut u64| *count = count.wrapping_add(one);
        let counts = &mut self.counts;
        let (pixels, flights) = (chunk.pixels.get(events.clone()), chunk.flights_ns.get(events.clone()));
        let (pixels, flights) = (pixels.unwrap_or_default(), flights.unwrap_or_default());
        for (at, (&pixel, &flight)) in (events.start..).zip(pixels.iter().zip(flights)) {
            if self.vetoed != ByVeto::All && !self.vetoed.has(chunk.marks_of(at)) {
                continue;
            }
            let index = evforge_picture::PictureSet::index_of(pixel);
            if !self.monitors.is_empty()
                && let Some(monitor) = self.monitors.iter().position(|range| range.contains(&index))
            {
                add(&mut counts.monitors[monitor]);
            }
            let Some(&place) = self.places.get(index).filter(|&&place| place != NOWHERE) else { continue };
            let bin = flight
                .checked_sub(self.from_ns)
                .filter(|&since| flight >= 0 && since >= 0)
                .map(|since| (since as u32 / self.width_ns) as usize)
                .filter(|&bin| bin < self.bins);
            let is_in_slice = self.slice_ns.is_none_or(|[from, to]| (from..to).contains(&flight));
            // In a map an event without a bin is nowhere.
            let pixel = match (self.is_map, bin) {
                (false, _) => Some(place as usize),
                (true, Some(bin)) => Some(place as usize * self.bins + bin),
                (true, None) => None,
            };
            add(&mut counts.all);
            if is_in_slice {
                add(&mut counts.events);
                if let Some(pixel) = pixel.filter(|_| self.counts_image) {
                    add(&mut counts.image[pixel]);
                }
            }
            if let Some(bin) = bin {
                add(&mut counts.spectra[bin]);
            }
            let mut mask = pixel.and_then(|pixel| self.masks.get(pixel)).copied().unwrap_or(0);
            while mask != 0 {
                let region = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                add(&mut counts.regions[region].all);
                if is_in_slice {
                    add(&mut counts.regions[region].events);
                }
                if let Some(bin) = bin {
                    add(&mut counts.spectra[(1 + region) * self.bins + bin]);
                }
            }
        }
    }
}

/// When a window of the last seconds began.
fn beginning(now_ms: u64, seconds: u32) -> u64 {
    now_ms.saturating_sub(1000 * u64::from(seconds))
}
