//! Inside a file whose writer was killed: is all that was committed there, and cutting back what was not.

use std::path::Path;

use evforge_core::pulsed::EARLIEST_DATE_NS;
use hdf5_metno::{Dataset, File, Group, Result as Hdf5Result};

use super::frame_log::RowsToMend;
use super::layout::{EVENT_GROUPS, RECORDING, STATE_ROOM, TOTAL_PULSES};
use super::moment;
use super::recovered::{Recovered, Wish};
use super::series::OUTPUTS;
use crate::storage::text::{read_text, write_text};

/// True if all data of the last commit lie within the first `length` bytes. A disk that was full can leave a
/// file whose tail was promised but never written; what lies there must not be taken for data.
pub(super) fn committed_data_lies_within(file: &File, length: u64) -> bool {
    let check = || -> Hdf5Result<bool> {
        let (groups, committed) = groups_of(file)?;
        let Some((&pulse_count, event_counts)) = committed.split_last() else { return Ok(false) };
        for (events, &event_count) in groups.iter().zip(event_counts) {
            let kept = [
                ("event_id", event_count),
                ("event_time_offset", event_count),
                ("event_time_zero", pulse_count),
                ("event_index", pulse_count),
            ];
            let veto = events.link_exists("event_veto").then_some(("event_veto", event_count));
            for (name, kept) in kept.into_iter().chain(veto) {
                if !chunks_lie_within(&events.dataset(name)?, kept, length) {
                    return Ok(false);
                }
            }
        }
        if let Some(frames) = RowsToMend::find(file)?
            && frames.arrays().iter().any(|array| !chunks_lie_within(array, pulse_count, length))
        {
            return Ok(false);
        }
        let below_instrument = file.group("/entry/instrument")?.groups()?;
        for group in file.group("/entry")?.groups()?.into_iter().chain(below_instrument) {
            for dataset in group.datasets()? {
                let end = dataset.offset().map(|offset| offset.saturating_add(dataset.storage_size()));
                if end.is_some_and(|end| end > length) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    };
    check().unwrap_or(false)
}

/// True if the first `kept` values of a growing dataset lie within the first `length` bytes.
fn chunks_lie_within(dataset: &Dataset, kept: u64, length: u64) -> bool {
    let chunk = dataset.chunk().and_then(|chunk| chunk.first().copied()).unwrap_or(1) as u64;
    let within = (0..dataset.num_chunks().unwrap_or(0))
        .filter_map(|index| dataset.chunk_info(index))
        .filter(|info| info.offset[0] < kept && info.addr.saturating_add(info.size) <= length)
        .count();
    within as u64 >= kept.div_ceil(chunk)
}

/// Bytes at most that the chunks take at which arrays of events end: each is written anew when its array is cut.
pub(super) fn room_for_cutting(file: &File) -> u64 {
    let groups = groups_of(file).map(|(groups, _)| groups).unwrap_or_default();
    let arrays = groups.iter().filter_map(|group| group.datasets().ok()).flatten();
    let bytes = arrays.map(|array| {
        let values: usize = array.chunk().unwrap_or_default().iter().product();
        let width = array.dtype().map_or(0, |dtype| dtype.size());
        // What cannot be compressed may grow a little.
        (values * width + values * width / 64 + 64) as u64
    });
    bytes.sum()
}

/// The groups of events, and what the last commit says of them: the events of each, then the pulse records.
pub(super) fn groups_of(file: &File) -> Hdf5Result<(Vec<Group>, Vec<u64>)> {
    let recording = file.group(RECORDING)?;
    let paths = read_text(&recording.dataset(EVENT_GROUPS)?)?;
    let groups = paths.lines().map(|path| file.group(path)).collect::<Hdf5Result<Vec<_>>>()?;
    let committed: Vec<u64> = recording.dataset("committed")?.read_raw()?;
    if committed.len() != groups.len() + 1 {
        return Err(hdf5_metno::Error::from("`committed` does not fit the groups of events"));
    }
    Ok((groups, committed))
}

/// A group of events under repair.
struct EventGroup {
    id: Dataset,
    offset: Dataset,
    veto: Option<Dataset>,
    zero: Dataset,
    index: Dataset,
    cue_index: Dataset,
    cue_time: Dataset,
    total_counts: Dataset,
    /// Events to keep.
    events: usize,
    /// What `event_index` says, as far as it is sound.
    starts: Vec<i64>,
    /// Cues to keep.
    cues: usize,
}

impl EventGroup {
    /// Finds out how much of the committed events and pulses there is, without changing anything.
    fn examine(group: &Group, events_committed: u64, pulses_committed: u64) -> Hdf5Result<Self> {
        let dataset = |name: &str| group.dataset(name);
        let (id, offset) = (dataset("event_id")?, dataset("event_time_offset")?);
        let veto = if group.link_exists("event_veto") { Some(dataset("event_veto")?) } else { None };
        let (zero, index) = (dataset("event_time_zero")?, dataset("event_index")?);
        let limit = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let mut events = limit(events_committed).min(id.size()).min(offset.size());
        events = veto.iter().fold(events, |count, veto| count.min(veto.size()));
        let pulses = limit(pulses_committed).min(zero.size()).min(index.size());

        // Every record must begin within the events and not before the one before it.
        let mut starts: Vec<i64> = index.read_slice_1d::<i64, _>(..pulses)?.to_vec();
        let sound = starts.iter().enumerate().take_while(|&(at, &start)| {
            let previous = at.checked_sub(1).map_or(0, |previous| starts[previous]);
            start >= previous && start <= events as i64
        });
        starts.truncate(sound.count());

        let (cue_index, cue_time) = (dataset("cue_index")?, dataset("cue_timestamp_zero")?);
        let cues: Vec<i64> =
            cue_index.read_slice_1d::<i64, _>(..cue_index.size().min(cue_time.size()))?.to_vec();
        let cues = cues.iter().take_while(|&&cue| cue <= events as i64).count();
        let total_counts = dataset("total_counts")?;
        Ok(Self { id, offset, veto, zero, index, cue_index, cue_time, total_counts, events, starts, cues })
    }

    /// Events in the arrays, whole or not.
    fn events_seen(&self) -> usize {
        self.id.size().max(self.offset.size())
    }

    /// Pulse records in the arrays, whole or not.
    fn pulses_seen(&self) -> usize {
        self.zero.size().max(self.index.size())
    }

    /// Cuts the arrays back to this many pulse records and cues, and to the events to keep.
    fn cut(&self, pulses: usize, cues: usize) -> Hdf5Result<()> {
        cut(&[&self.id, &self.offset], self.events)?;
        cut(&self.veto.iter().collect::<Vec<_>>(), self.events)?;
        cut(&[&self.zero, &self.index], pulses)?;
        cut(&[&self.cue_index, &self.cue_time], cues)?;
        self.total_counts.write_scalar(&(self.events as u64))
    }
}

/// Cuts all arrays back to the last commit and marks it in the file.
pub(super) fn mend(path: &Path, file: &File, wish: &Wish<'_>) -> Hdf5Result<Recovered> {
    let recording = file.group(RECORDING)?;
    let (groups, mut committed) = groups_of(file)?;
    for (count, &keep) in committed.iter_mut().zip(wish.keep.unwrap_or_default()) {
        *count = keep.min(*count);
    }
    let (&pulses_committed, events_committed) = committed.split_last().unwrap_or((&0, &[]));
    let mut all = Vec::with_capacity(groups.len());
    for (group, &events) in groups.iter().zip(events_committed) {
        all.push(EventGroup::examine(group, events, pulses_committed)?);
    }
    // All groups have the same pulses.
    let mut pulses = all.iter().map(|group| group.starts.len()).min().unwrap_or(0);
    // And each has a row, where there are frames.
    let frames = RowsToMend::find(file)?;
    pulses = frames.iter().fold(pulses, |pulses, frames| pulses.min(frames.rows()));
    let frame_totals = frames.as_ref().map(|frames| frames.totals_of(pulses)).transpose()?;
    let cues = all.iter().map(|group| group.cues).min().unwrap_or(0);
    let mut whole: Option<(u64, u64)> = None;
    for group in &all {
        let starts = &group.starts[..pulses];
        if let Some((start, end)) = extent(&group.zero, &group.offset, starts, group.events)? {
            whole = Some(whole.map_or((start, end), |whole| (whole.0.min(start), whole.1.max(end))));
        }
    }
    let events: u64 = all.iter().map(|group| group.events as u64).sum();
    let events_seen: u64 = all.iter().map(|group| group.events_seen() as u64).sum();
    let pulses_seen = all.iter().map(EventGroup::pulses_seen).max().unwrap_or(0);

    // All that is needed has been read: what is damaged beyond repair has failed before anything is changed.
    for group in &all {
        group.cut(pulses, cues)?;
    }
    if let (Some(frames), Some(totals)) = (&frames, &frame_totals) {
        cut(&frames.arrays().iter().collect::<Vec<_>>(), pulses)?;
        frames.write_totals(totals)?;
    }
    mend_series(&file.group("/entry")?)?;
    mend_live_time(&file.group("/entry/live_time")?)?;

    if let Some((start, end)) = whole {
        file.dataset("/entry/duration")?.write_scalar(&((end - start) as f64 * 1e-9))?;
    }
    let end_time = match whole {
        // Without a date the file has the time at which it was made.
        Some((start, end)) if start >= EARLIEST_DATE_NS => {
            let text = moment::iso_8601(end);
            write_text(&file.dataset("/entry/start_time")?, &moment::iso_8601(start))?;
            write_text(&file.dataset("/entry/end_time")?, &text)?;
            text
        }
        _ => read_text(&file.dataset("/entry/end_time")?)?,
    };
    let kept: Vec<u64> = all.iter().map(|group| group.events as u64).chain([pulses as u64]).collect();
    recording.dataset("committed")?.write_raw(&kept)?;
    if file.link_exists(TOTAL_PULSES) {
        file.dataset(TOTAL_PULSES)?.write_scalar(&(pulses as u64))?;
    }

    let recovered = Recovered {
        path: path.to_owned(),
        was_whole: false,
        events,
        pulses: pulses as u64,
        events_cut: events_seen - events,
        pulses_cut: (pulses_seen - pulses) as u64,
        end_time,
    };
    let note = match wish.note {
        Some(note) => note.to_owned(),
        None => format!(
            "recovered: on {} from a writer that was killed; {} events and {} pulses after the last commit cut away",
            moment::iso_8601(moment::now()),
            recovered.events_cut,
            recovered.pulses_cut
        ),
    };
    debug_assert!(note.len() <= STATE_ROOM);
    write_text(&recording.dataset("state")?, &note)?;
    Ok(recovered)
}

/// Cuts datasets to `length` values.
fn cut(datasets: &[&Dataset], length: usize) -> Hdf5Result<()> {
    for dataset in datasets {
        if dataset.size() > length {
            dataset.resize(length)?;
        }
    }
    Ok(())
}

/// Cuts all series of the ledger and of the outputs to the shortest.
fn mend_series(entry: &Group) -> Hdf5Result<()> {
    let ledger = entry.group("ledger")?;
    let mut series = vec![ledger.dataset("time")?];
    let mut collections = vec![ledger];
    if entry.link_exists(OUTPUTS) {
        collections.extend(entry.group(OUTPUTS)?.groups()?);
    }
    for collection in &collections {
        for log in collection.groups()? {
            series.push(log.dataset("value")?);
        }
    }
    let rows = series.iter().map(|dataset| dataset.size()).min().unwrap_or(0);
    cut(&series.iter().collect::<Vec<_>>(), rows)
}

/// Cuts the rows of the live time to those that are there in all columns.
fn mend_live_time(live: &Group) -> Hdf5Result<()> {
    let mut columns = live.datasets()?;
    // The names were written before the rows that need them.
    columns.retain(|column| !column.name().ends_with("/source_name"));
    let rows = columns.iter().map(|column| column.size()).min().unwrap_or(0);
    cut(&columns.iter().collect::<Vec<_>>(), rows)
}

/// First pulse and last pulse or event in nanoseconds since the Unix epoch; none without pulses. `starts` is what
/// `event_index` says.
fn extent(zero: &Dataset, offset: &Dataset, starts: &[i64], events: usize) -> Hdf5Result<Option<(u64, u64)>> {
    let pulses: Vec<u64> = zero.read_slice_1d::<u64, _>(..starts.len())?.to_vec();
    let (Some(&first), Some(&latest)) = (pulses.iter().min(), pulses.iter().max()) else { return Ok(None) };
    let Some(last_event) = events.checked_sub(1) else { return Ok(Some((first, latest))) };
    // The record of the last event is the last one that begins at or before it.
    let record = starts.partition_point(|&start| start <= last_event as i64);
    let pulse = record.checked_sub(1).map_or(first, |record| pulses[record]);
    let offset = offset.read_slice_1d::<i32, _>(last_event..events)?[0];
    // Where the clock started over, the last event is not the latest; pulses without events may follow it.
    Ok(Some((first, latest.max(pulse + u64::try_from(offset).unwrap_or(0)))))
}
