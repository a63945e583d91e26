//! From pulses to pulse records: which of them begin one, and which events belong to it.
//!
//! A *pulse record* is one entry of `event_time_zero` and `event_index`. Which pulse an event belongs to, and how long after
//! it, was decided before ([`evforge_core::pulsed`]); this is only about what the file can say of it.
//!
//! Records are in the order of time: readers search in them. A pulse that is earlier than the newest one (a clock that started over,
//! events in the order of arrival) has its record, with its events, in the groups of late events.

use evforge_core::event::PixelId;
use evforge_core::pixel_ids::Pixels;
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
    /// First and last of all pulses and events in their order; none before the first record.
    pub(crate) extent: Option<Extent>,
    /// The record in the order of time that was begun last.
    open: Option<OpenRecord>,
    /// The record of a late pulse that was begun last.
    open_late: Option<OpenRecord>,
    /// The pulse of the readout that was named last, if it has no record because it has no date.
    undated: Option<Pulse>,
}

#[derive(Clone, Copy, Debug)]
struct OpenRecord {
    pulse: Pulse,
    has_events: bool,
    is_closed: bool,
}

/// Where the events of a pulse go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Behind all earlier pulses, whose starts are in order.
    InOrder { is_new: bool },
    /// To the groups of late events: the newest pulse is a later one.
    Late,
    /// Nowhere: the pulse cannot be expressed in nanoseconds since the Unix epoch.
    Nowhere,
}

/// The arrays that records and their events are appended to.
#[derive(Debug)]
pub(crate) struct Arrays<'a> {
    pub(crate) events: &'a mut EventGroups,
    pub(crate) late: &'a mut EventGroups,
    pub(crate) frames: Option<&'a mut FrameLog>,
}

impl Records {
    /// Appends the events and pulses of a batch.
    pub(crate) fn take(
        &mut self,
        batch: &PulsedBatch,
        detector: &Pixels,
        mut to: Arrays<'_>,
        counters: &mut NexusCounters,
    ) {
        counters.events_taken += batch.len() as u64;
        let (pixels, offsets) = (batch.pixel_ids(), batch.offsets_ns());
        for (number, (pulse, range)) in batch.by_pulse().enumerate() {
            let start = pulse.unix_ns.unwrap_or(0);
            let place = self.begin(pulse, &mut to, counters);
            if let (Some(frames), Place::InOrder { is_new }) = (&mut to.frames, place) {
                // Of a pulse of the train, or one before the first frame, nothing is known.
                let frame = batch.frame(number).copied().unwrap_or_default();
                if is_new { frames.begin(start, &frame) } else { frames.go_on(&frame) }
            }
            let (pixels, offsets) = (&pixels[range.clone()], &offsets[range.clone()]);
            // Without vetoes there are no marks, and none is needed.
            let marks = batch.marks().get(range).unwrap_or_default();
            let before = counters.events;
            let (groups, record) = match place {
                Place::Late => (&mut *to.late, &mut self.open_late),
                Place::InOrder { .. } | Place::Nowhere => (&mut *to.events, &mut self.open),
            };
            let has_record = place != Place::Nowhere;
            let longest = if has_record && groups.takes_all() && offsets.iter().all(|&offset| offset >= 0) {
                // Nearly always: all events at once.
                let without = pixels.iter().filter(|&&pixel| !detector.has(pixel)).count();
                counters.events_without_pixel += without as u64;
                counters.events += pixels.len() as u64;
                groups.push_all(pixels, offsets, marks);
                offsets.iter().copied().max().unwrap_or(0)
            } else {
                take_some(has_record, pixels, offsets, marks, detector, groups, counters)
            };
            let added = counters.events - before;
            counters.events_late += if place == Place::Late { added } else { 0 };
            if let Some(record) = record {
                record.has_events |= added > 0;
            }
            if let (Some(extent), Place::InOrder { .. }) = (&mut self.extent, place) {
                extent.end = extent.end.max(start + u64::from(longest.unsigned_abs()));
            }
        }
    }

    /// Begins the record of a pulse, unless it is the one that was begun last and goes on.
    fn begin(&mut self, pulse: &Pulse, to: &mut Arrays<'_>, counters: &mut NexusCounters) -> Place {
        let is_told = pulse.origin == PulseOrigin::Readout;
        let Some(start) = pulse.unix_ns else {
            let goes_on = self.undated.is_some_and(|undated| undated.is_same(pulse));
            counters.pulses_outside_epoch += u64::from(is_told && !goes_on);
            self.undated = Some(*pulse);
            return Place::Nowhere;
        };
        self.undated = None;
        let is_late = self.open.is_some_and(|open| open.pulse.unix_ns.is_some_and(|newest| start < newest));
        let (record, groups) = match is_late {
            false => (&mut self.open, &mut *to.events),
            true => (&mut self.open_late, &mut *to.late),
        };
        let goes_on = record.is_some_and(|record| record.pulse.is_same(pulse));
        if !goes_on {
            close(record, counters);
            groups.begin_record(start);
            *record = Some(OpenRecord { pulse: *pulse, has_events: false, is_closed: false });
            counters.pulses += 1;
            counters.pulses_told += u64::from(is_told);
            counters.pulses_late += u64::from(is_late);
        }
        if is_late {
            return Place::Late;
        }
        let extent = self.extent.get_or_insert(Extent { start, end: start });
        extent.end = extent.end.max(start);
        Place::InOrder { is_new: !goes_on }
    }

    /// The records that were begun last have ended: now it is known whether they have events.
    pub(crate) fn close(&mut self, counters: &mut NexusCounters) {
        close(&mut self.open, counters);
        close(&mut self.open_late, counters);
    }
}

fn close(record: &mut Option<OpenRecord>, counters: &mut NexusCounters) {
    if let Some(record) = record.as_mut().filter(|record| !record.is_closed) {
        counters.empty_pulses += u64::from(!record.has_events);
        record.is_closed = true;
    }
}

/// Appends those events of a record that have a place there, and counts the others. The time of the latest after the pulse.
fn take_some(
    has_record: bool,
    pixels: &[PixelId],
    offsets: &[i32],
    marks: &[u8],
    detector: &Pixels,
    groups: &mut EventGroups,
    counters: &mut NexusCounters,
) -> i32 {
    let mut longest = 0;
    let marks = marks.iter().copied().chain(std::iter::repeat(0));
    for ((&pixel, &offset), mark) in pixels.iter().zip(offsets).zip(marks) {
        let Some(group) = groups.of_pixel(pixel) else {
            counters.events_outside_monitors += 1;
            continue;
        };
        if !has_record {
            counters.events_outside_epoch += 1;
        } else if offset < 0 {
            counters.events_outside_pulse += 1;
        } else {
            counters.events_without_pixel += u64::from(!detector.has(pixel));
            groups.push(group, pixel, offset, mark);
            counters.events += 1;
            longest = longest.max(offset);
        }
    }
    longest
}
