//! The arrays of a group of class NXevent_data, in whatever width, and whatever unit of time.

use std::ops::Range;

use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{Dataset, Group};
use jiff::Timestamp;

use super::groups::text_attribute;

/// The four arrays of a group of events.
#[derive(Debug)]
pub(super) struct EventArrays {
    /// The group.
    pub(super) path: String,
    pub(super) event_id: Dataset,
    pub(super) event_time_offset: Dataset,
    event_time_zero: Dataset,
    event_index: Dataset,
    /// Nanoseconds of a unit, and of the time that pulses count from.
    pub(super) offset_unit: f64,
    zero_unit: f64,
    zero_begin: i64,
}

impl EventArrays {
    /// The arrays of a group.
    ///
    /// # Errors
    /// If one is absent, has several dimensions, or a unit that is no time.
    pub(super) fn open(group: &Group) -> hdf5_metno::Result<Self> {
        let dataset = |name: &str| {
            let found = group
                .dataset(name)
                .map_err(|error| hdf5_metno::Error::from(format!("{}/{name}: {error}", group.name())))?;
            match found.shape().as_slice() {
                [_] => Ok(found),
                shape => Err(hdf5_metno::Error::from(format!(
                    "{}/{name} has the shape {shape:?}: expected one dimension",
                    group.name()
                ))),
            }
        };
        let (event_id, event_time_offset) = (dataset("event_id")?, dataset("event_time_offset")?);
        let (event_time_zero, event_index) = (dataset("event_time_zero")?, dataset("event_index")?);
        let begin = ["offset", "start"].iter().find_map(|name| text_attribute(&event_time_zero, name));
        Ok(Self {
            path: group.name(),
            offset_unit: unit(&event_time_offset)?,
            zero_unit: unit(&event_time_zero)?,
            zero_begin: begin.map_or(Ok(0), |text| nanoseconds(&text))?,
            event_id,
            event_time_offset,
            event_time_zero,
            event_index,
        })
    }

    /// How long they are: event_id, event_time_offset, event_time_zero, event_index.
    pub(super) fn lengths(&self) -> [usize; 4] {
        let sets = [&self.event_id, &self.event_time_offset, &self.event_time_zero, &self.event_index];
        sets.map(|set| set.size())
    }

    /// Learns how long they are by now, in a file that somebody writes: pulses before the events that they point at, so that
    /// these are there.
    pub(super) fn refresh(&self) -> hdf5_metno::Result<()> {
        let sets = [&self.event_index, &self.event_time_zero, &self.event_id, &self.event_time_offset];
        sets.into_iter().try_for_each(Dataset::refresh)
    }

    /// Times (nanoseconds since 1970) and first events of pulses.
    pub(super) fn pulses(&self, range: Range<usize>) -> hdf5_metno::Result<Vec<(i64, i64)>> {
        let times = whole_numbers(&self.event_time_zero, range.clone(), self.zero_unit)?;
        let firsts = whole_numbers(&self.event_index, range, 1.0)?;
        let begin = self.zero_begin;
        Ok(times.into_iter().map(|time| time.saturating_add(begin)).zip(firsts).collect())
    }

    /// Pixels of events, and nanoseconds since their pulse.
    pub(super) fn events(&self, range: Range<usize>) -> hdf5_metno::Result<(Vec<i64>, Vec<i64>)> {
        let ids = whole_numbers(&self.event_id, range.clone(), 1.0)?;
        Ok((ids, whole_numbers(&self.event_time_offset, range, self.offset_unit)?))
    }
}

/// Nanoseconds of the unit of a dataset.
pub(super) fn unit(dataset: &Dataset) -> hdf5_metno::Result<f64> {
    let text = text_attribute(dataset, "units").unwrap_or_default();
    match text.as_str() {
        "ns" | "nanosecond" | "nanoseconds" => Ok(1.0),
        "us" | "µs" | "microsecond" | "microseconds" => Ok(1e3),
        "ms" | "millisecond" | "milliseconds" => Ok(1e6),
        "s" | "second" | "seconds" => Ok(1e9),
        other => Err(format!("{}: its unit is \"{other}\": expected ns, us, ms or s", dataset.name()).into()),
    }
}

/// The time that pulses, or values of a log, count from.
pub(super) fn nanoseconds(text: &str) -> hdf5_metno::Result<i64> {
    // Files without a zone are meant in UTC.
    let parsed = text.parse::<Timestamp>().or_else(|_| format!("{text}Z").parse::<Timestamp>());
    let time = parsed.map_err(|error| hdf5_metno::Error::from(format!("the time `{text}`: {error}")))?;
    i64::try_from(time.as_nanosecond()).map_err(|_| format!("the time `{text}` is out of range").into())
}

/// Values of a dataset in units of this size, as whole numbers.
pub(super) fn whole_numbers(
    dataset: &Dataset,
    range: Range<usize>,
    unit: f64,
) -> hdf5_metno::Result<Vec<i64>> {
    if range.is_empty() {
        return Ok(Vec::new());
    }
    match dataset.dtype()?.to_descriptor()? {
        TypeDescriptor::Float(_) => {
            let values = dataset.read_slice_1d::<f64, _>(range)?;
            Ok(values.iter().map(|value| (value * unit).round() as i64).collect())
        }
        _ => {
            let values = dataset.read_slice_1d::<i64, _>(range)?;
            let factor = unit as i64;
            Ok(values.iter().map(|value| value.saturating_mul(factor)).collect())
        }
    }
}
