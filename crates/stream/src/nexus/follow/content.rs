//! What a file says of itself, apart from its events: how its pixels are numbered above all.

use evforge_core::frame::FrameVeto;
use hdf5_metno::types::{VarLenAscii, VarLenUnicode};
use hdf5_metno::{Dataset, File, Group};

use crate::nexus::groups::{DETECTOR, Found, MONITOR, text_attribute};
use crate::storage::text::{read_text, readable};

/// The group by which files of `evforge write` are known.
pub(super) const OWN_WRITER: &str = "/entry/evforge_writer";
/// Pixels whose numbers are read: as many as a page shows.
const MOST_PIXELS: usize = 1 << 25;

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileContent {
    /// The name of the instrument, or the title.
    pub instrument: Option<String>,
    /// The configuration of the run as text, where evforge wrote the file. It names files, and may name libraries: nobody should load
    /// what a file of data says.
    pub configuration: Option<String>,
    /// Detectors that number their pixels.
    pub detectors: Vec<DetectorIds>,
    /// Beam monitors.
    pub monitors: Vec<MonitorIds>,
    /// The groups of events.
    pub groups: Vec<GroupContent>,
    /// The time between pulses in nanoseconds, by the first of them.
    pub period_ns: Option<u64>,
    /// The vetoes that frames can have, as far as they have names; none if the file has no frames.
    pub frame_vetoes: Option<Vec<FrameVeto>>,
}

/// A group of events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupContent {
    /// Its path.
    pub path: String,
    /// The detector or monitor that its events are of.
    pub source: String,
    /// True if that is a beam monitor.
    pub is_of_monitor: bool,
}

impl GroupContent {
    pub(super) fn of(found: &Found) -> Self {
        Self { path: found.group.name(), source: found.owner(), is_of_monitor: false }
    }
}

/// The numbers of a detector's pixels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DetectorIds {
    /// Its path.
    pub path: String,
    /// Sides of the array, the one that runs fastest last.
    pub shape: Vec<usize>,
    /// The numbers, in the order of the array.
    pub ids: Vec<u32>,
}

/// A beam monitor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorIds {
    /// Its path and name.
    pub path: String,
    /// See `path`.
    pub name: String,
    /// The group of its events, where that is elsewhere.
    pub events: Option<String>,
    /// Its first pixel, where it numbers them.
    pub first_pixel: Option<u32>,
    /// Columns and rows of its pixels.
    pub sides: (u32, u32),
}

impl FileContent {
    pub(super) fn read(
        file: &File,
        found: &[Found],
        groups: Vec<GroupContent>,
        faults: &mut Vec<String>,
    ) -> Self {
        let text = |path: &str| {
            file.dataset(path).ok().and_then(|set| any_text(&set)).filter(|text| !text.is_empty())
        };
        let mut room = MOST_PIXELS;
        let mut detectors = Vec::new();
        for found in found.iter().filter(|found| found.class == DETECTOR) {
            match detector(found, &mut room) {
                Ok(ids) => detectors.extend(ids),
                Err(error) => {
                    faults.push(format!("{}/detector_number: not read: {error}", found.group.name()));
                }
            }
        }
        // Names may be in another order than panels are: bank_10 before bank_2.
        detectors.sort_by_cached_key(|detector: &DetectorIds| detector.ids.iter().min().copied());
        let entry = found.first().map(|found| found.group.name());
        let entry = entry.and_then(|path| path.split('/').nth(1).map(str::to_owned)).unwrap_or_default();
        let monitors = found.iter().filter(|found| found.class == MONITOR).map(monitor).collect();
        let mut content = Self {
            instrument: text(&format!("/{entry}/instrument/name"))
                .or_else(|| text(&format!("/{entry}/title"))),
            configuration: text(&format!("/{entry}/configuration/toml")),
            detectors,
            monitors,
            groups,
            period_ns: None,
            frame_vetoes: None,
        };
        let of_monitors: Vec<bool> =
            content.groups.iter().map(|group| content.monitor_of(group).is_some()).collect();
        for (group, is_of_monitor) in content.groups.iter_mut().zip(of_monitors) {
            group.is_of_monitor = is_of_monitor;
        }
        content
    }

    /// The monitor whose events a group has.
    pub(super) fn monitor_of(&self, group: &GroupContent) -> Option<&MonitorIds> {
        self.monitors.iter().find(|monitor| {
            monitor.events.as_ref() == Some(&group.path)
                || group.path.rsplit_once('/').is_some_and(|(parent, _)| parent == monitor.path)
        })
    }

    /// The detector whose events a group has, where it numbers its pixels.
    pub(super) fn detector_of(&self, group: &GroupContent) -> Option<usize> {
        let parent = group.path.rsplit_once('/').map(|(parent, _)| parent)?;
        self.detectors.iter().position(|detector| detector.path == parent)
    }
}

fn detector(found: &Found, room: &mut usize) -> hdf5_metno::Result<Option<DetectorIds>> {
    let Ok(set) = found.group.dataset("detector_number") else { return Ok(None) };
    let pixels = set.size();
    if pixels == 0 {
        return Ok(None);
    }
    *room = room.checked_sub(pixels).ok_or_else(|| {
        hdf5_metno::Error::from(format!(
            "it has {pixels} pixels; of all detectors, {MOST_PIXELS} can be shown"
        ))
    })?;
    Ok(Some(DetectorIds { path: found.group.name(), shape: set.shape(), ids: set.read_raw::<u32>()? }))
}

fn monitor(found: &Found) -> MonitorIds {
    let number = |name: &str| scalar(&found.group, name).and_then(|value| u32::try_from(value).ok());
    let sides = (number("columns").unwrap_or(1), number("rows").unwrap_or(1));
    MonitorIds {
        path: found.group.name(),
        name: found.name.clone(),
        events: text_attribute(&found.group, "events"),
        first_pixel: number("detector_id").filter(|&id| id > 0),
        sides,
    }
}

fn scalar(group: &Group, name: &str) -> Option<i64> {
    let set = group.dataset(name).ok()?;
    // A single value, with or without a dimension.
    (set.size() == 1).then(|| set.read_raw::<i64>().ok()).flatten()?.first().copied()
}

/// The text of a dataset, of fixed or variable length.
fn any_text(set: &Dataset) -> Option<String> {
    if set.size() != 1 {
        return None;
    }
    let first = |texts: Vec<VarLenUnicode>| texts.first().map(|text| readable(text.as_bytes()));
    let ascii = |texts: Vec<VarLenAscii>| texts.first().map(|text| readable(text.as_bytes()));
    let text = read_text(set).ok();
    let text = text.or_else(|| set.read_raw::<VarLenUnicode>().ok().and_then(first));
    text.or_else(|| set.read_raw::<VarLenAscii>().ok().and_then(ascii)).map(|text| text.trim().to_owned())
}
