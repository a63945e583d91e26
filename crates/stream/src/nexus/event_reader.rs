//! Events of a file, pulse by pulse: of files that evforge has written, and of others with groups of class NXevent_data.
//!
//! Times may be whole numbers or not, in any unit of time that NeXus files use; ids may have any width that fits a pixel. A file that
//! is damaged ends with an error that says where.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hdf5_metno::types::{FixedAscii, FixedUnicode, TypeDescriptor, VarLenAscii, VarLenUnicode};
use hdf5_metno::{Dataset, File, Group, Location};
use jiff::Timestamp;

use super::error::NexusError;

/// How deep groups are looked into, and how many: links of a file may lead in circles.
const DEEPEST: usize = 8;
const MOST_GROUPS: usize = 10_000;
/// Pulses that are read at once.
const PULSES: usize = 4096;
/// Events of a pulse that come in one piece.
const EVENTS: usize = 1 << 20;

/// Events of one pulse, or a piece of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadPulse {
    /// The detector or monitor that they are of.
    pub source: String,
    /// The pulse, in nanoseconds since 1970.
    pub time_ns: i64,
    /// Nanoseconds since the pulse.
    pub times: Vec<i32>,
    /// Pixels.
    pub pixels: Vec<i32>,
}

/// Reads the events of a file, all groups together in the order of their pulses.
#[derive(Debug)]
pub struct EventReader {
    path: PathBuf,
    groups: Vec<EventsOfGroup>,
}

/// One group of events.
#[derive(Debug)]
struct EventsOfGroup {
    source: String,
    event_id: Dataset,
    event_time_offset: Dataset,
    event_time_zero: Dataset,
    event_index: Dataset,
    /// Nanoseconds of a unit, and of the time that pulses count from.
    offset_unit: f64,
    zero_unit: f64,
    zero_begin: i64,
    pulses: usize,
    events: usize,
    /// Times and first events of the pulses that were read, the first of them, and the pulse that is next.
    block: Vec<(i64, i64)>,
    block_begin: usize,
    next_pulse: usize,
    /// Events of that pulse that were handed out.
    taken: usize,
}

impl EventReader {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or has no events.
    pub fn open(path: &Path) -> Result<Self, NexusError> {
        std::fs::File::open(path).map_err(|cause| NexusError::io("open", path, cause))?;
        let failed =
            |attempt: &'static str, cause: String| NexusError::Hdf5 { attempt, path: path.to_owned(), cause };
        let file = File::open(path).map_err(|error| failed("open the HDF5 content", error.to_string()))?;
        let mut found = Vec::new();
        find(&file, "", 0, &mut found);
        let groups = found
            .into_iter()
            .map(|(group, source)| EventsOfGroup::open(&group, source))
            .collect::<hdf5_metno::Result<Vec<_>>>()
            .map_err(|error| failed("read the groups of events (NXevent_data)", error.to_string()))?;
        if groups.is_empty() {
            return Err(failed("read the events", "it has no group of class NXevent_data".to_owned()));
        }
        Ok(Self { path: path.to_owned(), groups })
    }

    /// The detectors and monitors with events, with how many pulses and events each has.
    pub fn sources(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.groups.iter().map(|group| (group.source.as_str(), group.pulses, group.events))
    }

    /// The next pulse; one with many events in several pieces of the same time. False at the end.
    ///
    /// # Errors
    /// If the file is damaged, with where.
    pub fn read(&mut self, pulse: &mut ReadPulse) -> Result<bool, NexusError> {
        let mut oldest: Option<(i64, usize)> = None;
        for place in 0..self.groups.len() {
            let time = self.in_group(place, EventsOfGroup::time)?;
            oldest = oldest.into_iter().chain(time.map(|time| (time, place))).min();
        }
        let Some((time, place)) = oldest else { return Ok(false) };
        pulse.time_ns = time;
        self.in_group(place, |group| group.take(pulse))?;
        Ok(true)
    }

    fn in_group<T>(
        &mut self,
        place: usize,
        action: impl FnOnce(&mut EventsOfGroup) -> hdf5_metno::Result<T>,
    ) -> Result<T, NexusError> {
        let group = self.groups.get_mut(place);
        let result = group.map_or_else(
            || Err("there is no such group".into()),
            |group| {
                action(group).map_err(|error| {
                    hdf5_metno::Error::from(format!("{}, pulse {}: {error}", group.source, group.next_pulse))
                })
            },
        );
        result.map_err(|error| NexusError::Hdf5 {
            attempt: "read the events",
            path: self.path.clone(),
            cause: error.to_string(),
        })
    }
}

impl EventsOfGroup {
    fn open(group: &Group, source: String) -> hdf5_metno::Result<Self> {
        let dataset = |name: &str| {
            group
                .dataset(name)
                .map_err(|error| hdf5_metno::Error::from(format!("{}/{name}: {error}", group.name())))
        };
        let (event_id, event_time_offset) = (dataset("event_id")?, dataset("event_time_offset")?);
        let (event_time_zero, event_index) = (dataset("event_time_zero")?, dataset("event_index")?);
        let lengths = [&event_id, &event_time_offset, &event_time_zero, &event_index].map(|set| set.size());
        let [ids, offsets, zeros, indices] = lengths;
        if ids != offsets || zeros != indices {
            return Err(format!(
                "{}: event_id has {ids} values and event_time_offset {offsets}, event_time_zero {zeros} and event_index \
                 {indices}: they must be as many",
                group.name()
            )
            .into());
        }
        let begin = ["offset", "start"].iter().find_map(|name| text_attribute(&event_time_zero, name));
        Ok(Self {
            source,
            offset_unit: unit(&event_time_offset)?,
            zero_unit: unit(&event_time_zero)?,
            zero_begin: begin.map_or(Ok(0), |text| nanoseconds(&text))?,
            event_id,
            event_time_offset,
            event_time_zero,
            event_index,
            pulses: zeros,
            events: ids,
            block: Vec::new(),
            block_begin: 0,
            next_pulse: 0,
            taken: 0,
        })
    }

    /// The time of the next pulse; none at the end.
    fn time(&mut self) -> hdf5_metno::Result<Option<i64>> {
        if self.next_pulse >= self.pulses {
            return Ok(None);
        }
        Ok(Some(self.pulse(self.next_pulse)?.0))
    }

    /// Time and first event of a pulse.
    fn pulse(&mut self, number: usize) -> hdf5_metno::Result<(i64, i64)> {
        let is_read = (self.block_begin..self.block_begin + self.block.len()).contains(&number);
        if !is_read {
            let range = number..(number + PULSES).min(self.pulses);
            let times = whole_numbers(&self.event_time_zero, range.clone(), self.zero_unit)?;
            let firsts = whole_numbers(&self.event_index, range, 1.0)?;
            let begin = self.zero_begin;
            self.block = times.into_iter().map(|time| time.saturating_add(begin)).zip(firsts).collect();
            self.block_begin = number;
        }
        let found = self.block.get(number - self.block_begin).copied();
        found.ok_or_else(|| "event_time_zero ends early".into())
    }

    /// Hands out the next piece of the next pulse.
    fn take(&mut self, into: &mut ReadPulse) -> hdf5_metno::Result<()> {
        let first = self.pulse(self.next_pulse)?.1;
        let end = match self.next_pulse + 1 {
            next if next < self.pulses => self.pulse(next)?.1,
            _ => i64::try_from(self.events).unwrap_or(i64::MAX),
        };
        let (Ok(first), Ok(end)) = (usize::try_from(first), usize::try_from(end)) else {
            return Err(format!("event_index is negative: {first}, {end}").into());
        };
        if first > end || end > self.events {
            return Err(format!(
                "event_index says that its events are {first} to {end}, and there are {}",
                self.events
            )
            .into());
        }
        let begin = first + self.taken;
        let piece = begin..(begin + EVENTS).min(end);
        into.source.clone_from(&self.source);
        into.times = narrow(
            whole_numbers(&self.event_time_offset, piece.clone(), self.offset_unit)?,
            "event_time_offset",
        )?;
        into.pixels = narrow(whole_numbers(&self.event_id, piece.clone(), 1.0)?, "event_id")?;
        if piece.end == end {
            self.next_pulse += 1;
            self.taken = 0;
        } else {
            self.taken += piece.len();
        }
        Ok(())
    }
}

/// The groups of events below a group, each with what it is of.
fn find(group: &Group, parent: &str, depth: usize, found: &mut Vec<(Group, String)>) {
    for name in group.member_names().unwrap_or_default() {
        // What cannot be opened is a dataset, or a link that leads nowhere.
        let Ok(inner) = group.group(&name) else { continue };
        if found.len() >= MOST_GROUPS {
            return;
        }
        if text_attribute(&inner, "NX_class").as_deref() == Some("NXevent_data") {
            let class = text_attribute(group, "NX_class").unwrap_or_default();
            let is_of_parent = ["NXdetector", "NXmonitor"].contains(&class.as_str());
            found.push((inner, if is_of_parent { parent.to_owned() } else { name }));
        } else if depth < DEEPEST {
            find(&inner, &name, depth + 1, found);
        }
    }
}

fn text_attribute(location: &Location, name: &str) -> Option<String> {
    let attribute = location.attr(name).ok()?;
    let text = attribute.read_scalar::<VarLenUnicode>().map(|text| text.to_string());
    text.or_else(|_| attribute.read_scalar::<VarLenAscii>().map(|text| text.to_string()))
        .or_else(|_| attribute.read_scalar::<FixedUnicode<256>>().map(|text| text.to_string()))
        .or_else(|_| attribute.read_scalar::<FixedAscii<256>>().map(|text| text.to_string()))
        .ok()
}

/// Nanoseconds of the unit of a dataset.
fn unit(dataset: &Dataset) -> hdf5_metno::Result<f64> {
    let text = text_attribute(dataset, "units").unwrap_or_default();
    match text.as_str() {
        "ns" | "nanosecond" | "nanoseconds" => Ok(1.0),
        "us" | "µs" | "microsecond" | "microseconds" => Ok(1e3),
        "ms" | "millisecond" | "milliseconds" => Ok(1e6),
        "s" | "second" | "seconds" => Ok(1e9),
        other => Err(format!("{}: its unit is \"{other}\": expected ns, us, ms or s", dataset.name()).into()),
    }
}

/// The time that pulses count from.
fn nanoseconds(text: &str) -> hdf5_metno::Result<i64> {
    // Files without a zone are meant in UTC.
    let parsed = text.parse::<Timestamp>().or_else(|_| format!("{text}Z").parse::<Timestamp>());
    let time = parsed
        .map_err(|error| hdf5_metno::Error::from(format!("the time `{text}` of event_time_zero: {error}")))?;
    i64::try_from(time.as_nanosecond())
        .map_err(|_| format!("the time `{text}` of event_time_zero is out of range").into())
}

/// Values of a dataset in units of this size, as whole numbers.
fn whole_numbers(dataset: &Dataset, range: Range<usize>, unit: f64) -> hdf5_metno::Result<Vec<i64>> {
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

/// Whole numbers as messages have them.
fn narrow(values: Vec<i64>, name: &str) -> hdf5_metno::Result<Vec<i32>> {
    let narrow = |value| {
        i32::try_from(value)
            .map_err(|_| hdf5_metno::Error::from(format!("{name} has the value {value}, beyond 32 bits")))
    };
    values.into_iter().map(narrow).collect()
}
