//! Inside a file whose writer was killed: is all that was committed there, and cutting back what was not.

use std::path::Path;

use evforge_core::pulsed::CalendarOrigin;
use hdf5_metno::{Dataset, File, Group, Result as Hdf5Result};

use super::frame_log::RowsToMend;
use super::groups::EVENTS_LATE;
use super::layout::{EVENT_GROUPS, RECORDING, STATE_ROOM, TOTAL_PULSES};
use super::moment;
use super::recovered::{Recovered, Wish};
use super::series::OUTPUTS;
use crate::storage::raw_rows::read_rows;
use crate::storage::text::{read_text, write_text};

/// True if all data of the last commit lie within the first `length` bytes. A disk that was full can leave a
/// file whose tail was promised but never written; what lies there must not be taken for data.
pub(super) fn committed_data_lies_within(file: &File, length: u64) -> bool {
    let check = || -> Hdf5Result<bool> {
        let sets = groups_of(file)?;
        let of_frames = sets[0].pulses;
        let groups =
            sets.iter().flat_map(|set| set.groups.iter().map(|(group, events)| (group, *events, set.pulses)));
        for (events, event_count, pulse_count) in groups {
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
            && frames.arrays().iter().any(|array| !chunks_lie_within(array, of_frames, length))
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
    let Ok(sets) = groups_of(file) else { return 0 };
    let groups = sets.iter().flat_map(|set| &set.groups);
    let arrays = groups.filter_map(|(group, _)| group.datasets().ok()).flatten();
    let bytes = arrays.map(|array| {
        let values: usize = array.chunk().unwrap_or_default().iter().product();
        let width = array.dtype().map_or(0, |dtype| dtype.size());
        // What cannot be compressed may grow a little.
        (values * width + values * width / 64 + 64) as u64
    });
    bytes.sum()
}

/// Groups of events with the same pulses, and what the last commit says of them.
#[derive(Default)]
pub(super) struct Groups {
    /// With the events of each.
    pub(super) groups: Vec<(Group, u64)>,
    /// The pulse records that each of them has.
    pub(super) pulses: u64,
}

/// The groups of events of a file, and those of late events. Files of versions up to 0.2 have none of these.
pub(super) fn groups_of(file: &File) -> Hdf5Result<[Groups; 2]> {
    let recording = file.group(RECORDING)?;
    let paths = read_text(&recording.dataset(EVENT_GROUPS)?)?;
    let groups = paths.lines().map(|path| file.group(path)).collect::<Hdf5Result<Vec<_>>>()?;
    let committed: Vec<u64> = recording.dataset("committed")?.read_raw()?;
    let set = |groups: Vec<Group>, counts: &[u64]| {
        let (pulses, events) = counts.split_last()?;
        Some(Groups { groups: groups.into_iter().zip(events.iter().copied()).collect(), pulses: *pulses })
    };
    let (in_order, of_late) = committed.split_at(committed.len().min(groups.len() + 1));
    let late = match of_late.len() {
        0 => Some(Groups::default()),
        length if length == in_order.len() => {
            let late = groups.iter().map(|group| group.group(EVENTS_LATE)).collect::<Hdf5Result<Vec<_>>>()?;
            set(late, of_late)
        }
        _ => None,
    };
    match (in_order.len() > groups.len()).then(|| set(groups, in_order)).flatten().zip(late) {
        Some((in_order, late)) => Ok([in_order, late]),
        None => Err(hdf5_metno::Error::from("`committed` does not fit the groups of events")),
    }
}

/// No more of each than `keep`, in the order of `committed`.
fn limit(sets: &mut [Groups; 2], keep: &[u64]) {
    let mut keep = keep.iter();
    for Groups { groups, pulses } in sets {
        for count in groups.iter_mut().map(|(_, events)| events).chain([pulses]) {
            *count = keep.next().map_or(*count, |keep| (*count).min(*keep));
        }
    }
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
    let mut sets = groups_of(file)?;
    limit(&mut sets, wish.keep.unwrap_or_default());
    let examine = |set: &Groups| {
        let one = |(group, events): &(Group, u64)| EventGroup::examine(group, *events, set.pulses);
        set.groups.iter().map(one).collect::<Hdf5Result<Vec<_>>>()
    };
    let (all, late) = (examine(&sets[0])?, examine(&sets[1])?);
    // All groups in order have the same pulses, and so have all of late events.
    let mut pulses = pulses_of(&all);
    let pulses_late = pulses_of(&late);
    // And each has a row, where there are frames.
    let frames = RowsToMend::find(file)?;
    pulses = frames.iter().fold(pulses, |pulses, frames| pulses.min(frames.rows()));
    let frame_totals = frames.as_ref().map(|frames| frames.totals_of(pulses)).transpose()?;
    let mut whole: Option<(u64, u64)> = None;
    for group in &all {
        let starts = &group.starts[..pulses];
        if let Some((start, end)) = extent(&group.zero, &group.offset, starts, group.events)? {
            whole = Some(whole.map_or((start, end), |whole| (whole.0.min(start), whole.1.max(end))));
        }
    }
    let with_late = || all.iter().chain(&late);
    let events: u64 = with_late().map(|group| group.events as u64).sum();
    let events_seen: u64 = with_late().map(|group| group.events_seen() as u64).sum();
    let seen = |groups: &[EventGroup]| groups.iter().map(EventGroup::pulses_seen).max().unwrap_or(0);
    let pulses_seen = seen(&all) + seen(&late);

    // All that is needed has been read: what is damaged beyond repair has failed before anything is changed.
    for (groups, pulses) in [(&all, pulses), (&late, pulses_late)] {
        let cues = groups.iter().map(|group| group.cues).min().unwrap_or(0);
        groups.iter().try_for_each(|group| group.cut(pulses, cues))?;
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
    let has_date = read_text(&recording.dataset("clock")?)? != CalendarOrigin::Detector.text();
    let end_time = match whole {
        // Without a date the file has the time at which it was made.
        Some((start, end)) if has_date => {
            let text = moment::iso_8601(end);
            write_text(&file.dataset("/entry/start_time")?, &moment::iso_8601(start))?;
            write_text(&file.dataset("/entry/end_time")?, &text)?;
            text
        }
        _ => read_text(&file.dataset("/entry/end_time")?)?,
    };
    let mut kept: Vec<u64> = Vec::new();
    for (groups, pulses) in [(&all, pulses), (&late, pulses_late)] {
        kept.extend(groups.iter().map(|group| group.events as u64).chain([pulses as u64]));
    }
    // Of versions up to 0.2.
    kept.truncate(recording.dataset("committed")?.size());
    recording.dataset("committed")?.write_raw(&kept)?;
    if file.link_exists(TOTAL_PULSES) {
        file.dataset(TOTAL_PULSES)?.write_scalar(&(pulses as u64))?;
    }

    let recovered = Recovered {
        path: path.to_owned(),
        was_whole: false,
        events,
        pulses: (pulses + pulses_late) as u64,
        events_cut: events_seen - events,
        pulses_cut: (pulses_seen - pulses - pulses_late) as u64,
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

/// Pulse records that all of these groups have.
fn pulses_of(groups: &[EventGroup]) -> usize {
    groups.iter().map(|group| group.starts.len()).min().unwrap_or(0)
}

/// Cuts datasets to `length` rows.
fn cut(datasets: &[&Dataset], length: usize) -> Hdf5Result<()> {
    for dataset in datasets {
        let mut shape = dataset.shape();
        if let [rows, ..] = &mut shape[..]
            && *rows > length
        {
            *rows = length;
            dataset.resize(shape)?;
        }
    }
    Ok(())
}

/// Cuts all series of the ledger and of the outputs to the shortest.
fn mend_series(entry: &Group) -> Hdf5Result<()> {
    let mut series = growing(&entry.group("ledger")?, 1)?;
    if entry.link_exists(OUTPUTS) {
        // Counters of files up to layout 2 had groups of their own.
        series.extend(growing(&entry.group(OUTPUTS)?, 2)?);
    }
    let rows = series.iter().map(readable_rows).min().unwrap_or(0);
    cut(&series.iter().collect::<Vec<_>>(), rows)
}

/// Rows of a growing array, of a table without those at its end that the disk has not kept: a row is packed, and cannot be read then.
fn readable_rows(dataset: &Dataset) -> usize {
    /// Counters at most, whatever the file claims.
    const MOST: usize = 1 << 20;
    let shape = dataset.shape();
    let mut rows = shape.first().copied().unwrap_or(0);
    let is_table = matches!(shape[..], [_, counters] if counters <= MOST)
        && dataset.dtype().is_ok_and(|value| value.size() == size_of::<i64>());
    while is_table && rows > 0 && read_rows(dataset, rows - 1, rows).is_err() {
        rows -= 1;
    }
    rows
}

/// The growing arrays in a group, and in groups up to so many levels below it.
fn growing(group: &Group, levels: usize) -> Hdf5Result<Vec<Dataset>> {
    let mut all = group.datasets()?;
    all.retain(|dataset| dataset.is_resizable());
    if levels > 0 {
        for inner in group.groups()? {
            all.extend(growing(&inner, levels - 1)?);
        }
    }
    Ok(all)
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
