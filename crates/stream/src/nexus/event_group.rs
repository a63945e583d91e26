//! Groups of events with their pulse records, class NXevent_data: one for a detector, or one for each beam monitor
//! that sends events. All of them have the same pulse records: the arrays of times are one, under several names.

use std::ops::Range;

use evforge_core::event::PixelId;
use hdf5_metno::{Dataset, Group, Result};

use super::column::{Column, cache_of};
use super::detector_groups::number_of_detectors;
use super::event_column::EventColumn;
use super::groups::{EVENTS_LATE, EVENTS_LATE_NOTE};
use super::options::{Compression, NexusOptions};
use crate::storage::dataset::{class, mark_as_time, scalar};
use crate::storage::growing::WorkerLost;
use crate::storage::text::set_attribute;
use crate::storage::workers::Workers;

/// Records per chunk of the pulse arrays, and cues.
const CHUNK_PULSES: usize = 256;
const CHUNK_CUES: usize = 64;
/// Fewest events per chunk where several groups share the room for one.
const FEWEST_CHUNK_EVENTS: usize = 1024;

/// Events per chunk in groups of late events, which nearly always are empty.
const CHUNK_LATE: usize = 4096;

/// Where a group of events is to be, and which events go there.
#[derive(Debug)]
pub(crate) struct EventPlace<'a> {
    pub(crate) parent: &'a Group,
    pub(crate) name: String,
    /// The ids of its pixels; none if all events go there, whatever their pixel.
    pub(crate) pixels: Option<Range<PixelId>>,
}

/// All groups of a file.
#[derive(Debug)]
pub(crate) struct EventGroups {
    groups: Vec<EventGroup>,
    /// True if all events go to the first group.
    takes_all: bool,
    /// Pixels and the number of their group, in the order of the pixels.
    by_pixel: Vec<(Range<PixelId>, usize)>,
    /// None without groups.
    pulses: Option<PulseTimes>,
    workers: Workers,
}

/// The times of the pulse records, the same for all groups.
#[derive(Debug)]
struct PulseTimes {
    event_time_zero: Column<u64>,
    cue_timestamp_zero: Column<i64>,
}

/// One group.
#[derive(Debug)]
struct EventGroup {
    event_id: EventColumn<i32>,
    event_time_offset: EventColumn<i32>,
    /// Marks of the events, one bit per veto, if there are vetoes.
    event_veto: Option<EventColumn<u8>>,
    event_index: Column<i64>,
    cue_index: Column<i64>,
    total_counts: Dataset,
}

impl EventGroups {
    /// Creates the groups, whose chunks `workers` compress.
    pub(crate) fn create(
        places: Vec<EventPlace<'_>>,
        options: &NexusOptions,
        workers: Workers,
    ) -> Result<Self> {
        let chunk = (options.chunk_events / places.len().max(1)).max(FEWEST_CHUNK_EVENTS);
        Self::create_of("NXevent_data", places, chunk, options, workers)
    }

    /// Creates in each of these groups the one of its events whose pulse is earlier than the newest one. Their pulses are in no order, so
    /// they are of no class in which readers expect one.
    pub(crate) fn create_late(
        groups: &[(Group, Option<Range<PixelId>>)],
        options: &NexusOptions,
    ) -> Result<Self> {
        let place = |(group, pixels)| EventPlace { parent: group, name: EVENTS_LATE.to_owned(), pixels };
        let places = groups.iter().map(|(group, pixels)| place((group, pixels.clone()))).collect();
        let plain = NexusOptions { compression: Compression::None, ..options.clone() };
        let workers = Workers::start(0, 0).map_err(|error| hdf5_metno::Error::from(error.to_string()))?;
        let late = Self::create_of("NXcollection", places, CHUNK_LATE, &plain, workers)?;
        for (group, _) in groups {
            set_attribute(&*group.group(EVENTS_LATE)?, "note", EVENTS_LATE_NOTE)?;
        }
        Ok(late)
    }

    fn create_of(
        of_class: &str,
        places: Vec<EventPlace<'_>>,
        chunk: usize,
        options: &NexusOptions,
        workers: Workers,
    ) -> Result<Self> {
        let mut all = Self {
            groups: Vec::with_capacity(places.len()),
            takes_all: places.first().is_some_and(|place| place.pixels.is_none()),
            by_pixel: Vec::new(),
            pulses: None,
            workers,
        };
        let mut first_path = String::new();
        for EventPlace { parent, name, pixels } in places {
            let group = class(parent, &name, of_class)?;
            if all.pulses.is_none() {
                first_path = group.name();
                all.pulses = Some(PulseTimes::create(&group)?);
            } else {
                for times in ["event_time_zero", "cue_timestamp_zero"] {
                    group.link_hard(&format!("{first_path}/{times}"), times)?;
                }
            }
            all.by_pixel.extend(pixels.map(|pixels| (pixels, all.groups.len())));
            all.groups.push(EventGroup::create(&group, chunk, options)?);
        }
        all.by_pixel.sort_by_key(|(pixels, _)| pixels.start);
        Ok(all)
    }

    /// Begins a pulse record in every group.
    pub(crate) fn begin_record(&mut self, start: u64) {
        if let Some(pulses) = &mut self.pulses {
            pulses.event_time_zero.pending.push(start);
        }
        for group in &mut self.groups {
            group.event_index.pending.push(group.event_id.len() as i64);
        }
    }

    /// The number of the group that the events of a pixel go to, if there is one.
    #[inline]
    pub(crate) fn of_pixel(&self, pixel: PixelId) -> Option<usize> {
        if self.takes_all {
            return Some(0);
        }
        // They share no pixels: only the last one that begins up to this pixel can have it.
        let behind = self.by_pixel.partition_point(|(pixels, _)| pixels.start <= pixel);
        let (pixels, group) = self.by_pixel.get(behind.checked_sub(1)?)?;
        pixels.contains(&pixel).then_some(*group)
    }

    /// Appends an event to the group with this number, to the record that was begun last.
    #[inline]
    pub(crate) fn push(&mut self, group: usize, pixel: PixelId, offset: i32, mark: u8) {
        let Some(group) = self.groups.get_mut(group) else { return };
        group.event_id.pending().push(id(pixel));
        group.event_time_offset.pending().push(offset);
        if let Some(veto) = &mut group.event_veto {
            veto.pending().push(mark);
        }
    }

    /// Appends events that all go to the first group. Without marks there are as many zeros.
    pub(crate) fn push_all(&mut self, pixels: &[PixelId], offsets: &[i32], marks: &[u8]) {
        let Some(group) = self.groups.first_mut() else { return };
        group.event_id.pending().extend(pixels.iter().map(|&pixel| id(pixel)));
        group.event_time_offset.pending().extend_from_slice(offsets);
        if let Some(veto) = &mut group.event_veto {
            veto.pending().extend_from_slice(marks);
            veto.pending().resize(group.event_id.pending().len(), 0);
        }
    }

    /// Hands the chunks that are full to the threads that compress them.
    pub(crate) fn seal(&mut self) {
        for group in &mut self.groups {
            group.event_id.seal(&mut self.workers);
            group.event_time_offset.seal(&mut self.workers);
            if let Some(veto) = &mut group.event_veto {
                veto.seal(&mut self.workers);
            }
        }
    }

    /// Has everything that waits in the form in which [`EventGroups::flush`] writes it. In the last one nothing follows.
    ///
    /// # Errors
    /// If a thread that compresses has ended.
    pub(crate) fn prepare(&mut self, is_last: bool) -> std::result::Result<(), WorkerLost> {
        self.seal();
        for group in &mut self.groups {
            group.event_id.prepare(&mut self.workers, is_last);
            group.event_time_offset.prepare(&mut self.workers, is_last);
            if let Some(veto) = &mut group.event_veto {
                veto.prepare(&mut self.workers, is_last);
            }
        }
        for group in &mut self.groups {
            group.event_id.collect()?;
            group.event_time_offset.collect()?;
            if let Some(veto) = &mut group.event_veto {
                veto.collect()?;
            }
        }
        Ok(())
    }

    /// True if all events go to the first group, whatever their pixel.
    pub(crate) fn takes_all(&self) -> bool {
        self.takes_all
    }

    /// Notes where the newest pulse begins, if one has begun since the last commit, and brings everything that waits
    /// to the file, in the order in which a reader may need it: events before the records that point at them.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let Some(pulses) = &mut self.pulses else { return Ok(()) };
        if let Some(&zero) = pulses.event_time_zero.pending.last() {
            pulses.cue_timestamp_zero.pending.push(zero as i64);
            for EventGroup { event_index, cue_index, .. } in &mut self.groups {
                cue_index.pending.extend(event_index.pending.last());
            }
        }
        for group in &mut self.groups {
            group.event_id.flush()?;
            group.event_time_offset.flush()?;
            if let Some(veto) = &mut group.event_veto {
                veto.flush()?;
            }
        }
        pulses.event_time_zero.flush()?;
        for group in &mut self.groups {
            group.event_index.flush()?;
        }
        pulses.cue_timestamp_zero.flush()?;
        for group in &mut self.groups {
            group.cue_index.flush()?;
        }
        Ok(())
    }

    /// Bytes by which the file grows at most with the next [`EventGroups::flush`].
    pub(crate) fn growth(&self) -> u64 {
        let Some(pulses) = &self.pulses else { return 0 };
        let groups = self.groups.iter().map(|group| {
            group.event_id.growth()
                + group.event_time_offset.growth()
                + group.event_veto.as_ref().map_or(0, EventColumn::growth)
                + group.event_index.growth(0)
                // One cue with each commit.
                + group.cue_index.growth(1)
        });
        pulses.event_time_zero.growth(0) + pulses.cue_timestamp_zero.growth(1) + groups.sum::<u64>()
    }

    /// Says in every group how many events there are, in the order of the groups.
    pub(crate) fn write_totals(&self, counts: &[u64]) -> Result<()> {
        for (group, count) in self.groups.iter().zip(counts) {
            group.total_counts.write_scalar(count)?;
            group.total_counts.flush()?;
        }
        Ok(())
    }

    /// Pulse records.
    pub(crate) fn pulse_count(&self) -> u64 {
        self.pulses.as_ref().map_or(0, |pulses| pulses.event_time_zero.len() as u64)
    }

    /// Events of each group, in the order of their creation.
    pub(crate) fn event_counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.groups.iter().map(|group| group.event_id.len() as u64)
    }
}

/// A pixel as the file has it. The grid ends within 31 bits; what lies beyond is no pixel, which is 0.
#[inline]
fn id(pixel: PixelId) -> i32 {
    i32::try_from(pixel).unwrap_or(0)
}

/// Memory at most of the groups that `options` ask for, if `events` events and `pulses` pulse records wait: what waits,
/// and what HDF5 keeps of each array.
pub(crate) fn memory_bound(options: &NexusOptions, events: usize, pulses: usize) -> usize {
    let groups = (options.beam_monitors.len() + number_of_detectors(options)).max(1);
    let veto = usize::from(!options.vetoes.is_empty());
    let chunk = (options.chunk_events / groups).max(FEWEST_CHUNK_EVENTS);
    let cache = |chunk| 2 * cache_of::<i32>(chunk) + veto * cache_of::<u8>(chunk);
    let caches = groups * (cache(chunk) + cache(CHUNK_LATE));
    let pulse_arrays = 4 * (groups + 1);
    let threads = match options.compression {
        Compression::Deflate(_) => {
            Workers::memory_bound(options.compression_threads, chunk * size_of::<i32>())
        }
        Compression::None | Compression::Lzf => 0,
    };
    // Of an array that is compressed here there is, instead of the cache: the chunk that is being filled as values, as bytes,
    // packed, and one that has just become full.
    caches
        + threads
        + pulse_arrays * cache_of::<i64>(CHUNK_PULSES)
        + events * (2 * size_of::<i32>() + veto)
        + pulses * (groups + 1) * size_of::<i64>()
}

impl PulseTimes {
    fn create(group: &Group) -> Result<Self> {
        let plain = Compression::None;
        let times = Self {
            event_time_zero: Column::create(group, "event_time_zero", CHUNK_PULSES, plain)?,
            cue_timestamp_zero: Column::create(group, "cue_timestamp_zero", CHUNK_CUES, plain)?,
        };
        mark_as_time(times.event_time_zero.dataset(), "offset")?;
        mark_as_time(times.cue_timestamp_zero.dataset(), "start")?;
        Ok(times)
    }
}

impl EventGroup {
    fn create(group: &Group, chunk: usize, options: &NexusOptions) -> Result<Self> {
        let (plain, compression) = (Compression::None, options.compression);
        let total_counts = scalar(group, "total_counts", 0_u64)?;
        set_attribute(&total_counts, "units", "counts")?;
        let event_veto = if options.vetoes.is_empty() {
            None
        } else {
            let column = EventColumn::create(group, "event_veto", chunk, compression)?;
            set_attribute(column.dataset()?, "bits", &options.vetoes.join("\n"))?;
            Some(column)
        };
        let events = Self {
            event_id: EventColumn::create(group, "event_id", chunk, compression)?,
            event_time_offset: EventColumn::create(group, "event_time_offset", chunk, compression)?,
            event_veto,
            event_index: Column::create(group, "event_index", CHUNK_PULSES, plain)?,
            cue_index: Column::create(group, "cue_index", CHUNK_CUES, plain)?,
            total_counts,
        };
        set_attribute(events.event_time_offset.dataset()?, "units", "ns")?;
        Ok(events)
    }
}
