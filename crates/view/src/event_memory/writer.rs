//! The writing end of the memory: adds to the open chunk, and closes it when it is full or old.

use super::chunk::{Chunk, NO_FLIGHT};
use super::memory::EventMemory;
use super::open_frame::OpenFrame;
use crate::beam::Charge;
use crate::lock::unix_ms;
use evforge_core::event::PixelId;
use evforge_core::pulsed::{PulseOrigin, PulsedBatch};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events of a full chunk; the last batch in it may bring more.
const FULL: usize = 1 << 16;
/// Bytes of a chunk that is as long as any: with the last batch in it, columns that have grown by doubling, and marks.
pub(crate) const LONGEST_CHUNK: usize = 4 << 20;
/// A chunk is closed when it is so old: what has come is seen soon.
const OLD: Duration = Duration::from_millis(50);

/// The sink's end of an [`EventMemory`].
#[derive(Debug)]
pub(crate) struct ChunkWriter {
    memory: Arc<EventMemory>,
    open: Chunk,
    opened: Instant,
    frame: OpenFrame,
}

impl ChunkWriter {
    pub(crate) fn new(memory: Arc<EventMemory>) -> Self {
        Self { memory, open: Chunk::default(), opened: Instant::now(), frame: OpenFrame::default() }
    }

    /// Adds the events of a batch, which are at these `pixels`. The charge that its frames tell; none if they tell none.
    pub(crate) fn add(&mut self, batch: &PulsedBatch, pixels: &[PixelId]) -> Option<Charge> {
        if batch.is_empty() && batch.pulses_begun() == 0 && batch.frames().is_empty() {
            return None;
        }
        self.open_now();
        let chunk = &mut self.open;
        // Marks begin with the first batch that has some: no event before it was vetoed.
        if !batch.marks().is_empty() {
            chunk.marks.resize(chunk.pixels.len(), 0);
            chunk.marks.extend_from_slice(batch.marks());
        }
        // Pulses without frames are told from those with frames, once there are some.
        let has_frames = !batch.frames().is_empty() || !chunk.frames.is_empty();
        let base = chunk.pixels.len();
        let charge = has_frames.then(|| self.frame.add(batch, chunk, base)).flatten();
        chunk.charge = chunk.charge.wrapping_add(charge.unwrap_or(0));
        chunk.pixels.extend_from_slice(pixels);
        for (pulse, range) in batch.by_pulse() {
            match pulse.origin {
                PulseOrigin::None => {
                    chunk.flights_ns.resize(range.end - range.start + chunk.flights_ns.len(), NO_FLIGHT)
                }
                PulseOrigin::Readout | PulseOrigin::Train => {
                    chunk.flights_ns.extend_from_slice(batch.offsets_ns().get(range).unwrap_or_default());
                }
            }
        }
        // Every event has a pulse; a batch that says otherwise has events without time of flight.
        chunk.flights_ns.resize(chunk.pixels.len(), NO_FLIGHT);
        chunk.pulses += batch.pulses_begun();
        if chunk.len() >= FULL {
            self.close();
        } else {
            self.close_if_old();
        }
        charge
    }

    /// Adds proton charge.
    pub(crate) fn add_charge(&mut self, charge: Charge) {
        self.open_now();
        self.open.charge = self.open.charge.wrapping_add(charge);
        self.close_if_old();
    }

    /// A chunk is open from when something comes into it.
    fn open_now(&mut self) {
        if self.open.is_empty() {
            self.open.opened_ms = unix_ms();
            self.opened = Instant::now();
        }
    }

    /// Closes the open chunk if it has been open for long.
    pub(crate) fn close_if_old(&mut self) {
        if !self.open.is_empty() && self.opened.elapsed() >= OLD {
            self.close();
        }
    }

    /// Closes the open chunk, if there is anything in it.
    pub(crate) fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let first_event = self.open.first_event + self.open.len() as u64;
        let mut chunk = std::mem::replace(&mut self.open, Chunk { first_event, ..Chunk::default() });
        // What a chunk holds is what it says.
        chunk.pixels.shrink_to_fit();
        chunk.flights_ns.shrink_to_fit();
        chunk.marks.shrink_to_fit();
        chunk.frames.shrink_to_fit();
        self.memory.add(chunk);
    }
}

impl Drop for ChunkWriter {
    fn drop(&mut self) {
        self.close();
    }
}
