//! From pulses to pulse records: which of them begin one, and which events belong to it.
//!
//! A *pulse record* is one entry of `event_time_zero` and `event_index`. Which pulse an event belongs to, and how long after
//! it, was decided before ([`evforge_core::pulsed`]); this is only about what the file can say of it.

use evforge_core::event::PixelId;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pulsed::{Pulse, PulseOrigin, PulsedBatch};

use super::counters::NexusCounters;
use super::event_group::EventGroups;
use super::frame_log::FrameLog;

/// First pulse and last pulse or event, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The records of a file.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// First and last of all pulses and events; none before the first record.
    pub(crate) extent: Option<Extent>,
    /// The record that was begun last.
    open: Option<OpenRecord>,
    /// The pulse of the readout that was named last, if it has no record because it has no date.
    undated: Option<Pulse>,
}

#[derive(Clone, Copy, Debug)]
struct OpenRecord {
    pulse: Pulse,
    /// Events in the file when it was begun.
    events_before: u64,
    is_closed: bool,
}

impl Records {
    /// Appends the events and pulses of a batch.
    pub(crate) fn take(
        &mut self,
        batch: &PulsedBatch,
        geometry: LogicalGeometry,
        events: &mut EventGroups,
        mut frames: Option<&mut FrameLog>,
        counters: &mut NexusCounters,
    ) {
        counters.events_taken += batch.len() as u64;
        let (pixels, offsets) = (batch.pixel_ids(), batch.offsets_ns());
        for (number, (pulse, range)) in batch.by_pulse().enumerate() {
            let (start, is_new) = self.begin(pulse, events, counters);
            if let (Some(frames), Some(start)) = (&mut frames, start) {
                // Of a pulse of the train, or one before the first frame, nothing is known.
                let frame = batch.frame(number).copied().unwrap_or_default();
                if is_new { frames.begin(start, &frame) } else { frames.go_on(&frame) }
            }
            let (pixels, offsets) = (&pixels[range.clone()], &offsets[range.clone()]);
            // Without vetoes there are no marks, and none is needed.
            let marks = batch.marks().get(range).unwrap_or_default();
            let longest = match start {
                // Nearly always: all events at once.
                Some(_) if events.takes_all() && offsets.iter().all(|&offset| offset >= 0) => {
                    let without = pixels.iter().filter(|&&pixel| !geometry.is_valid(pixel)).count();
                    counters.events_without_pixel += without as u64;
                    counters.events += pixels.len() as u64;
                    events.push_all(pixels, offsets, marks);
                    offsets.iter().copied().max().unwrap_or(0)
                }
                _ => take_some(start.is_some(), pixels, offsets, marks, geometry, events, counters),
            };
            if let (Some(extent), Some(start)) = (&mut self.extent, start) {
                extent.end = extent.end.max(start + u64::from(longest.unsigned_abs()));
            }
        }
    }

    /// Begins the record of a pulse, unless it is the one that was begun last and goes on. When it began in nanoseconds
    /// since the Unix epoch, none if that cannot be expressed, so that it has no record; and whether the record is a new one.
    fn begin(
        &mut self,
        pulse: &Pulse,
        events: &mut EventGroups,
        counters: &mut NexusCounters,
    ) -> (Option<u64>, bool) {
        let is_told = pulse.origin == PulseOrigin::Readout;
        let Some(start) = pulse.unix_ns else {
            let goes_on = self.undated.is_some_and(|undated| undated.is_same(pulse));
            counters.pulses_outside_epoch += u64::from(is_told && !goes_on);
            self.undated = Some(*pulse);
            return (None, false);
        };
        self.undated = None;
        if self.open.is_some_and(|open| open.pulse.is_same(pulse)) {
            return (Some(start), false);
        }
        self.close(counters);
        events.begin_record(start);
        counters.pulses += 1;
        counters.pulses_told += u64::from(is_told);
        self.open = Some(OpenRecord { pulse: *pulse, events_before: counters.events, is_closed: false });
        let extent = self.extent.get_or_insert(Extent { start, end: start });
        *extent = Extent { start: extent.start.min(start), end: extent.end.max(start) };
        (Some(start), true)
    }

    /// The record that was begun last has ended: now it is known whether it has events.
    pub(crate) fn close(&mut self, counters: &mut NexusCounters) {
        if let Some(open) = &mut self.open
            && !open.is_closed
        {
            counters.empty_pulses += u64::from(open.events_before == counters.events);
            open.is_closed = true;
        }
    }
}

/// Appends those events of a record that have a place there, and counts the others. The time of the latest after the pulse.
fn take_some(
    has_record: bool,
    pixels: &[PixelId],
    offsets: &[i32],
    marks: &[u8],
    geometry: LogicalGeometry,
    events: &mut EventGroups,
    counters: &mut NexusCounters,
) -> i32 {
    let mut longest = 0;
    let marks = marks.iter().copied().chain(std::iter::repeat(0));
    for ((&pixel, &offset), mark) in pixels.iter().zip(offsets).zip(marks) {
        let Some(group) = events.of_pixel(pixel) else {
            counters.events_outside_monitors += 1;
            continue;
        };
        if !has_record {
            counters.events_outside_epoch += 1;
        } else if offset < 0 {
            counters.events_outside_pulse += 1;
        } else {
            counters.events_without_pixel += u64::from(!geometry.is_valid(pixel));
            events.push(group, pixel, offset, mark);
            counters.events += 1;
            longest = longest.max(offset);
        }
    }
    longest
}
