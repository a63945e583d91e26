//! The counts of one stream: one writer, the sink; any number of readers, who never hold it up.
//!
//! All counters are atomic and written by one thread only, so that adding is a plain load and store. A
//! reader sees each counter as it is at some moment during its reading; the counts of a picture may
//! therefore be some events apart from the total next to it, but nothing is lost and the next picture has it.

use crate::beam::Charge;
use crate::event_memory::EventMemory;
use crate::lock::lock;
use evforge_core::run_state::RunState;
use evforge_picture::PictureSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// How far the input of a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InputState {
    /// It has been used up.
    Ended = 0,
    /// It runs or has not begun.
    Running = 1,
    /// It failed before its end.
    Failed = 2,
}

/// The state of a run and when it was taken note of.
#[derive(Clone, Debug)]
pub(crate) struct ObservedState {
    pub(crate) run: Arc<RunState>,
    pub(crate) at: Instant,
}

/// What a sink has counted and seen.
#[derive(Debug)]
pub(crate) struct Accumulator {
    /// Name of the stream; empty if there is only one.
    pub(crate) stream: String,
    /// Zero of `last_event_ms`.
    started: Instant,
    pixels: Box<[AtomicU64]>,
    /// Counts per bin of each part of the pixels, and of the events that are in none of them.
    spectra: Box<[AtomicU64]>,
    bins: usize,
    /// The pixels of each part, from 0.
    parts: Vec<Range<usize>>,
    pulses: AtomicU64,
    /// Proton charge; none before any was told.
    charge: Mutex<Option<Charge>>,
    /// The newest events themselves.
    pub(crate) memory: Arc<EventMemory>,
    events: AtomicU64,
    pictured: AtomicU64,
    outside_geometry: AtomicU64,
    before_first_pulse: AtomicU64,
    beyond_spectrum: AtomicU64,
    /// How often pixels and spectra were replaced: held while they are, and by who reads them.
    replaced: Mutex<u64>,
    /// Milliseconds from `started` to the newest batch with events; means nothing unless `has_events`.
    last_event_ms: AtomicU64,
    has_events: AtomicBool,
    input: AtomicU8,
    state: Mutex<Option<Arc<ObservedState>>>,
}

/// Adds to a counter that no other thread writes.
#[inline]
fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed) + by, Relaxed);
}

fn zeros(count: usize) -> Box<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl Accumulator {
    pub(crate) fn new(
        stream: String,
        pixels: usize,
        parts: Vec<Range<usize>>,
        bins: usize,
        memory: Arc<EventMemory>,
    ) -> Self {
        Self {
            stream,
            started: Instant::now(),
            pixels: zeros(pixels),
            spectra: zeros((parts.len() + 1) * bins),
            bins,
            parts,
            pulses: AtomicU64::new(0),
            charge: Mutex::new(None),
            memory,
            events: AtomicU64::new(0),
            pictured: AtomicU64::new(0),
            outside_geometry: AtomicU64::new(0),
            before_first_pulse: AtomicU64::new(0),
            beyond_spectrum: AtomicU64::new(0),
            replaced: Mutex::new(0),
            last_event_ms: AtomicU64::new(0),
            has_events: AtomicBool::new(false),
            input: AtomicU8::new(InputState::Running as u8),
            state: Mutex::new(None),
        }
    }

    /// That of a detector of so many pixels, with a spectrum of one bin.
    #[cfg(test)]
    pub(crate) fn for_test(pixels: usize) -> Self {
        let memory = Arc::new(EventMemory::new(1 << 20));
        Self::new(String::new(), pixels, std::iter::once(0..pixels).collect(), 1, memory)
    }

    /// Counts an event in pixel `pixel_id` (from 1).
    #[inline]
    pub(crate) fn count_pixel(&self, pixel_id: u32) {
        match self.pixels.get(PictureSet::index_of(pixel_id)) {
            Some(count) => {
                bump(count, 1);
                bump(&self.pictured, 1);
            }
            None => bump(&self.outside_geometry, 1),
        }
    }

    /// Counts an event in a bin of the spectrum of its part; none is an event before its pulse or before the first one.
    #[inline]
    pub(crate) fn count_bin(&self, pixel_id: u32, bin: Option<u64>) {
        let Some(bin) = bin else { return bump(&self.before_first_pulse, 1) };
        let index = PictureSet::index_of(pixel_id);
        let part = self.parts.iter().position(|part| part.contains(&index)).unwrap_or(self.parts.len());
        let bin = usize::try_from(bin).ok().filter(|&bin| bin < self.bins);
        let place = bin.and_then(|bin| self.spectra.get(part * self.bins + bin));
        bump(place.unwrap_or(&self.beyond_spectrum), 1);
    }

    /// Counts pulses that began.
    pub(crate) fn count_pulses(&self, pulses: u64) {
        bump(&self.pulses, pulses);
    }

    /// Adds proton charge. It is known from then on, be it 0.
    pub(crate) fn add_charge(&self, charge: Charge) {
        let mut sum = lock(&self.charge);
        *sum = Some(sum.unwrap_or(0).wrapping_add(charge));
    }

    /// Proton charge since the start; none where none was told.
    pub(crate) fn charge(&self) -> Option<Charge> {
        *lock(&self.charge)
    }

    pub(crate) fn pulses(&self) -> u64 {
        self.pulses.load(Relaxed)
    }

    /// Replaces the counts of the pixels and the number of events, which are counted elsewhere.
    pub(crate) fn set_pixels(&self, counts: impl Iterator<Item = u64>, events: u64) {
        for (place, count) in self.pixels.iter().zip(counts) {
            place.store(count, Relaxed);
        }
        self.count_events(events.saturating_sub(self.events()));
    }

    /// Replaces pixels and spectrum by what takes their place.
    pub(crate) fn replace(&self, pixels: impl Iterator<Item = u64>, spectrum: impl Iterator<Item = u64>) {
        let mut replaced = self.whole();
        for (place, value) in self.pixels.iter().zip(pixels).chain(self.spectra.iter().zip(spectrum)) {
            place.store(value, Relaxed);
        }
        *replaced += 1;
    }

    /// How often they were replaced; they are not while somebody has this.
    pub(crate) fn whole(&self) -> MutexGuard<'_, u64> {
        lock(&self.replaced)
    }

    /// Closes a batch of this many events.
    pub(crate) fn count_events(&self, count: u64) {
        if count > 0 {
            bump(&self.events, count);
            self.last_event_ms.store(self.started.elapsed().as_millis() as u64, Relaxed);
            self.has_events.store(true, Relaxed);
        }
    }

    pub(crate) fn set_input(&self, state: InputState) {
        self.input.store(state as u8, Relaxed);
    }

    pub(crate) fn set_state(&self, run: &Arc<RunState>) {
        let observed = Arc::new(ObservedState { run: Arc::clone(run), at: Instant::now() });
        // Held for the exchange of one pointer, here and by readers.
        *lock(&self.state) = Some(observed);
    }

    pub(crate) fn state(&self) -> Option<Arc<ObservedState>> {
        lock(&self.state).clone()
    }

    pub(crate) fn pixels(&self) -> impl Iterator<Item = u64> + '_ {
        self.pixels.iter().map(|count| count.load(Relaxed))
    }

    /// Events in these pixels, counted from 0.
    pub(crate) fn events_in(&self, pixels: &Range<usize>) -> u64 {
        self.pixels.get(pixels.clone()).unwrap_or_default().iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Counts per bin of a part; the one behind the last has the events that are in none.
    pub(crate) fn spectrum(&self, part: usize) -> impl Iterator<Item = u64> + '_ {
        self.spectra.iter().skip(part * self.bins).take(self.bins).map(|count| count.load(Relaxed))
    }

    /// How many parts have a spectrum, with that of the events that are in none.
    pub(crate) fn spectrum_count(&self) -> usize {
        self.parts.len() + 1
    }

    pub(crate) fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    pub(crate) fn pictured(&self) -> u64 {
        self.pictured.load(Relaxed)
    }

    pub(crate) fn outside_geometry(&self) -> u64 {
        self.outside_geometry.load(Relaxed)
    }

    pub(crate) fn before_first_pulse(&self) -> u64 {
        self.before_first_pulse.load(Relaxed)
    }

    pub(crate) fn beyond_spectrum(&self) -> u64 {
        self.beyond_spectrum.load(Relaxed)
    }

    /// When the newest event came, or none before the first.
    pub(crate) fn last_event_at(&self) -> Option<Instant> {
        let after = std::time::Duration::from_millis(self.last_event_ms.load(Relaxed));
        self.has_events.load(Relaxed).then(|| self.started + after)
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    pub(crate) fn input(&self) -> InputState {
        match self.input.load(Relaxed) {
            0 => InputState::Ended,
            1 => InputState::Running,
            _ => InputState::Failed,
        }
    }
}
