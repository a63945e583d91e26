//! Inside a file whose writer was killed: is all that was committed there, and cutting back what was not.

use std::path::Path;

use hdf5_metno::{Dataset, File, Group, Result as Hdf5Result};

use super::layout::{RECORDING, STATE_ROOM};
use super::moment;
use super::recovery::Recovered;
use super::text::{read_text, write_text};

/// True if all data of the last commit lie within the first `length` bytes. A disk that was full can leave a
/// file whose tail was promised but never written; what lies there must not be taken for data.
pub(super) fn committed_data_lies_within(file: &File, length: u64) -> bool {
    let check = || -> Hdf5Result<bool> {
        let events = events_of(file)?;
        let committed: Vec<u64> = file.dataset(&format!("{RECORDING}/committed"))?.read_raw()?;
        let [event_count, pulse_count] = committed[..] else { return Ok(false) };
        let kept = [
            ("event_id", event_count),
            ("event_time_offset", event_count),
            ("event_time_zero", pulse_count),
            ("event_index", pulse_count),
        ];
        let veto = events.link_exists("event_veto").then_some(("event_veto", event_count));
        for (name, kept) in kept.into_iter().chain(veto) {
            let dataset = events.dataset(name)?;
            let chunk = dataset.chunk().and_then(|chunk| chunk.first().copied()).unwrap_or(1) as u64;
            let within = (0..dataset.num_chunks().unwrap_or(0))
                .filter_map(|index| dataset.chunk_info(index))
                .filter(|info| info.offset[0] < kept && info.addr.saturating_add(info.size) <= length)
                .count();
            if (within as u64) < kept.div_ceil(chunk) {
                return Ok(false);
            }
        }
        for group in file.group("/entry/instrument")?.groups()? {
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

/// The event group: the one child of class NXevent_data of the detector, wherever the detector is called.
pub(super) fn events_of(file: &File) -> Hdf5Result<Group> {
    for group in file.group("/entry/instrument")?.groups()? {
        for child in group.groups()? {
            if child.link_exists("event_index") && child.link_exists("event_id") {
                return Ok(child);
            }
        }
    }
    Err(hdf5_metno::Error::from("no group of events below /entry/instrument"))
}

/// Cuts all arrays back to the last commit and says so in the file.
pub(super) fn mend(path: &Path, file: &File) -> Hdf5Result<Recovered> {
    let events = events_of(file)?;
    let recording = file.group(RECORDING)?;
    let dataset = |name: &str| events.dataset(name);
    let (id, offset) = (dataset("event_id")?, dataset("event_time_offset")?);
    let veto = if events.link_exists("event_veto") { Some(dataset("event_veto")?) } else { None };
    let (zero, index) = (dataset("event_time_zero")?, dataset("event_index")?);

    let committed: Vec<u64> = recording.dataset("committed")?.read_raw()?;
    let [events_committed, pulses_committed] = committed[..] else {
        return Err(hdf5_metno::Error::from("`committed` does not hold two numbers"));
    };
    let (events_seen, pulses_seen) = (id.size().max(offset.size()), zero.size().max(index.size()));
    let limit = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let mut event_count = limit(events_committed).min(id.size()).min(offset.size());
    event_count = veto.iter().fold(event_count, |count, veto| count.min(veto.size()));
    let mut pulse_count = limit(pulses_committed).min(zero.size()).min(index.size());

    // Every record must begin within the events and not before the one before it.
    let starts: Vec<i64> = index.read_slice_1d::<i64, _>(..pulse_count)?.to_vec();
    let sound = starts.iter().enumerate().take_while(|&(at, &start)| {
        let previous = at.checked_sub(1).map_or(0, |previous| starts[previous]);
        start >= previous && start <= event_count as i64
    });
    pulse_count = sound.count();

    let (cue_index, cue_time) = (dataset("cue_index")?, dataset("cue_timestamp_zero")?);
    let cues: Vec<i64> = cue_index.read_slice_1d::<i64, _>(..cue_index.size().min(cue_time.size()))?.to_vec();
    let cue_count = cues.iter().take_while(|&&cue| cue <= event_count as i64).count();
    let extent = extent(&zero, &offset, &starts[..pulse_count], event_count)?;

    // All that is needed has been read: what is damaged beyond repair has failed before anything is changed.
    cut(&[&id, &offset], event_count)?;
    cut(&veto.iter().collect::<Vec<_>>(), event_count)?;
    cut(&[&zero, &index], pulse_count)?;
    cut(&[&cue_index, &cue_time], cue_count)?;
    mend_ledger(&file.group("/entry/ledger")?)?;

    let end_time = match extent {
        Some((start, end)) => {
            let text = moment::iso_8601(end);
            write_text(&file.dataset("/entry/start_time")?, &moment::iso_8601(start))?;
            write_text(&file.dataset("/entry/end_time")?, &text)?;
            file.dataset("/entry/duration")?.write_scalar(&((end - start) as f64 * 1e-9))?;
            text
        }
        None => read_text(&file.dataset("/entry/end_time")?)?,
    };
    events.dataset("total_counts")?.write_scalar(&(event_count as u64))?;
    recording.dataset("committed")?.write_raw(&[event_count as u64, pulse_count as u64])?;

    let recovered = Recovered {
        path: path.to_owned(),
        was_whole: false,
        events: event_count as u64,
        pulses: pulse_count as u64,
        events_cut: (events_seen - event_count) as u64,
        pulses_cut: (pulses_seen - pulse_count) as u64,
        end_time,
    };
    let note = format!(
        "recovered: on {} from a writer that was killed; {} events and {} pulses after the last commit cut away",
        moment::iso_8601(moment::now()),
        recovered.events_cut,
        recovered.pulses_cut
    );
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

/// Cuts all series of the ledger to the shortest.
fn mend_ledger(ledger: &Group) -> Hdf5Result<()> {
    let mut series = vec![ledger.dataset("time")?];
    for group in ledger.groups()? {
        series.push(group.dataset("value")?);
    }
    let rows = series.iter().map(|dataset| dataset.size()).min().unwrap_or(0);
    cut(&series.iter().collect::<Vec<_>>(), rows)
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
