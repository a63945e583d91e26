//! The groups and datasets of an event file: names, and their creation before the first event.
//!
//! Everything that a file will ever contain is created here, because nothing may be added once others may
//! follow the file (streaming-and-nexus.md, section 4). The tree is drawn in the documentation of
//! [`nexus`](super).

use std::ops::Range;

use evforge_core::event::PixelId;
use evforge_core::pulsed::{Calendar, CalendarOrigin};
use hdf5_metno::{Dataset, File, Group, Result};

use super::column::OBJECT;
use super::detector_groups::{
    DetectorGroup, bytes_of_detectors, create_detectors, detector_names, number_of_detectors,
};
use super::event_group::{EventGroups, EventPlace};
use super::frame_log::{self, FrameLog};
use super::live_table::LiveTable;
use super::moment::{self, ISO_8601_ROOM};
use super::monitor_group::{MonitorGroup, create_monitor, events_name, has_events};
use super::options::{NexusOptions, PulseOrigin};
use super::series::{self, LedgerSeries};
use super::transformations::{along_the_beam, write_chain};
use crate::storage::dataset::{class, preallocated, scalar};
use crate::storage::text::{create_text, set_attribute};
use crate::storage::workers::Workers;

/// Begins the root attribute `creator` of every file that evforge writes.
pub(crate) const CREATOR: &str = "evforge";
/// The version of the layout, in the attribute `version` of `definition`. Readers of ours check it.
pub(crate) const LAYOUT_VERSION: &str = "3";
/// The versions that can be repaired: in the first one, what is not known of packets was -1 or 0; up to the second one, every counter
/// was an NXlog.
pub(crate) const KNOWN_VERSIONS: [&str; 3] = ["1", "2", LAYOUT_VERSION];
/// What `definition` says.
pub(crate) const DEFINITION: &str = "evforge_events";
/// The group with what the writer says about its own work.
pub(crate) const RECORDING: &str = "/entry/recording";
/// Where the definition is.
pub(crate) const DEFINITION_PATH: &str = "/entry/definition";

/// Where the number of pulses is, if the readout tells them.
pub(crate) const TOTAL_PULSES: &str = "/entry/total_pulses";

/// In [`RECORDING`]: the paths of the groups of events, a line each, in the order of `committed`.
pub(crate) const EVENT_GROUPS: &str = "event_groups";

/// The state of a file while it is written, and of one whose writer was killed.
pub(crate) const STATE_WRITING: &str = "writing";
/// Room for the state of a recording.
pub(crate) const STATE_ROOM: usize = 256;

/// The datasets that are written while the file grows.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) events: EventGroups,
    pub(crate) late: EventGroups,
    /// Only where the readout tells frames.
    pub(crate) frames: Option<FrameLog>,
    pub(crate) monitors: Vec<MonitorGroup>,
    /// Events of each group and pulse records of the last commit, then the same of late events.
    pub(crate) committed: Dataset,
    pub(crate) state: Dataset,
    /// Whether the times of events are dates.
    pub(crate) has_date: bool,
    pub(crate) start_time: Dataset,
    pub(crate) end_time: Dataset,
    pub(crate) duration: Dataset,
    /// Only where the readout tells the pulses.
    pub(crate) total_pulses: Option<Dataset>,
    pub(crate) report: Dataset,
    pub(crate) ledger: LedgerSeries,
    pub(crate) live: LiveTable,
}

/// What a file says of its run, besides the options.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    /// Nanoseconds since the Unix epoch by the wall clock.
    pub(crate) now_ns: u64,
    pub(crate) calendar: Calendar,
    /// The name of the file that this one continues.
    pub(crate) continues: Option<String>,
}

impl Layout {
    /// Creates the whole tree in an empty file.
    pub(crate) fn create(
        file: &File,
        options: &NexusOptions,
        beginning: &Beginning,
        workers: Workers,
    ) -> Result<Self> {
        let created = moment::iso_8601(beginning.now_ns);
        set_attribute(file, "file_name", &options.path.to_string_lossy())?;
        set_attribute(file, "file_time", &created)?;
        set_attribute(file, "creator", &format!("{CREATOR} {}", env!("CARGO_PKG_VERSION")))?;
        let (major, minor, release) = hdf5_metno::library_version();
        set_attribute(file, "HDF5_Version", &format!("{major}.{minor}.{release}"))?;

        let StaticPart { entry, detectors } = StaticPart::create(file, options)?;
        let start_time = create_text(&entry, "start_time", &created, ISO_8601_ROOM)?;
        let end_time = create_text(&entry, "end_time", &created, ISO_8601_ROOM)?;
        let has_date = beginning.calendar.origin != CalendarOrigin::Detector;
        if !has_date {
            for dataset in [&start_time, &end_time] {
                set_attribute(
                    dataset,
                    "note",
                    "no date is known: the file was made then. Events have the time of the detector's clock",
                )?;
            }
        }
        let duration = scalar(&entry, "duration", 0.0_f64)?;
        set_attribute(&duration, "units", "s")?;

        let is_told = options.pulse_origin == PulseOrigin::Readout;
        let total_pulses = is_told.then(|| scalar(&entry, "total_pulses", 0_u64)).transpose()?;
        let placement = options.placement.as_ref();

        let mut monitors = Vec::with_capacity(options.beam_monitors.len());
        for (index, plan) in options.beam_monitors.iter().enumerate() {
            let place = placement.and_then(|placement| placement.monitors.get(&plan.name));
            monitors.push(MonitorGroup::create(&entry, index + 1, plan, place.copied())?);
        }
        let with_events = options.beam_monitors.iter().filter(|plan| has_events(plan));
        let of_monitors: Vec<EventPlace<'_>> = with_events
            .map(|plan| EventPlace { parent: &entry, name: events_name(plan), pixels: Some(plan.pixels()) })
            .collect();
        let mut places = Vec::with_capacity(detectors.len() + of_monitors.len());
        for detector in &detectors {
            // A group that gets all events gets those without a pixel as well.
            let all = (!of_monitors.is_empty()).then(|| 1..options.geometry.pixel_count() + 1);
            places.push(EventPlace {
                parent: &detector.group,
                name: detector.events.clone(),
                pixels: detector.pixels.clone().or(all),
            });
        }
        places.extend(of_monitors);
        let paths: Vec<String> =
            places.iter().map(|place| format!("{}/{}", place.parent.name(), place.name)).collect();
        let pixels: Vec<_> = places.iter().map(|place| place.pixels.clone()).collect();
        let events = EventGroups::create(places, options, workers)?;
        let groups = paths.iter().zip(pixels).map(|(path, pixels)| Ok((entry.group(path)?, pixels)));
        let late = EventGroups::create_late(&groups.collect::<Result<Vec<_>>>()?, options)?;
        let frames = options.frames.as_ref().map(|vetoes| FrameLog::create(&entry, vetoes)).transpose()?;
        let recording = class(&entry, "recording", "NXcollection")?;
        let state = create_text(&recording, "state", STATE_WRITING, STATE_ROOM)?;
        // The version once more, as text of fixed length: reading an attribute of variable length from a damaged
        // file can keep HDF5 1.10 busy for ever, so recovery must not.
        create_text(&recording, "layout_version", LAYOUT_VERSION, 0)?;
        if let Some(continued) = &beginning.continues {
            create_text(&recording, "continues", continued, 0)?;
        }
        create_text(&recording, "clock", beginning.calendar.origin.text(), 0)?;
        let anchor = scalar(&recording, "clock_anchor", beginning.calendar.anchor_ns)?;
        set_attribute(&anchor, "units", "ns")?;
        create_text(&recording, "pulses", options.pulse_origin.text(), 0)?;
        create_text(&recording, EVENT_GROUPS, &paths.join("\n"), 0)?;
        let counts = 2 * (paths.len() + 1);
        let committed = preallocated::<u64>(&recording, "committed", counts)?;
        committed.write_raw(&vec![0_u64; counts])?;
        let report = create_text(&recording, "report", "{}", options.report_space)?;
        let ledger = class(&entry, "ledger", "NXcollection")?;
        let ledger = LedgerSeries::create(&ledger, &entry, options)?;

        let live = LiveTable::create(&class(&entry, "live_time", "NXcollection")?)?;
        Ok(Self {
            events,
            late,
            frames,
            monitors,
            committed,
            state,
            has_date,
            start_time,
            end_time,
            duration,
            total_pulses,
            report,
            ledger,
            live,
        })
    }

    /// Bytes by which the file grows at most when everything that waits is brought to it.
    pub(crate) fn growth(&self) -> u64 {
        let frames = self.frames.as_ref().map_or(0, FrameLog::growth);
        BETWEEN
            + self.events.growth()
            + self.late.growth()
            + frames
            + self.ledger.growth()
            + self.live.growth()
    }
}

/// What is known before the first event, and stays: names, the instrument, where things are, the configuration.
#[derive(Debug)]
pub(crate) struct StaticPart {
    pub(crate) entry: Group,
    pub(crate) detectors: Vec<DetectorGroup>,
}

impl StaticPart {
    /// Creates it in an empty file.
    pub(crate) fn create(file: &File, options: &NexusOptions) -> Result<Self> {
        set_attribute(file, "NX_class", "NXroot")?;
        set_attribute(file, "default", "entry")?;
        let entry = class(file, "entry", "NXentry")?;
        let definition = create_text(&entry, "definition", DEFINITION, 0)?;
        set_attribute(&definition, "version", LAYOUT_VERSION)?;
        create_identity(&entry, options)?;

        let sample = class(&entry, "sample", "NXsample")?;
        create_text(&sample, "name", options.run.sample.as_deref().unwrap_or_default(), 0)?;
        // The sample is the origin of NeXus' coordinates.
        create_text(&sample, "depends_on", ".", 0)?;

        let instrument = class(&entry, "instrument", "NXinstrument")?;
        create_text(&instrument, "name", &options.instrument, 0)?;
        let source = class(&instrument, "source", "NXsource")?;
        create_text(&source, "probe", "neutron", 0)?;
        let placement = options.placement.as_ref();
        if let Some(distance) = placement.and_then(|placement| placement.source_distance) {
            write_chain(&source, &[along_the_beam(-distance)])?;
        }
        let detectors =
            if options.has_detector() { create_detectors(&instrument, options)? } else { Vec::new() };
        let configuration = class(&entry, "configuration", "NXcollection")?;
        create_text(&configuration, "toml", &options.configuration, 0)?;
        set_attribute(&configuration, "type", "text/toml")?;
        Ok(Self { entry, detectors })
    }
}

/// A group of events that messages are to fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventGroupName {
    /// The path of the group that it is to be in.
    pub parent: String,
    /// Its name.
    pub name: String,
    /// The ids of its pixels, from the first to the last; none if it gets all events.
    pub pixels: Option<(u32, u32)>,
}

/// Creates in an empty file what an event file has before its first event, but for times, and says which groups of
/// events there are to be. For writers that get events in another way than a run does.
///
/// # Errors
/// If HDF5 refuses.
pub fn write_static_part(file: &File, options: &NexusOptions) -> Result<()> {
    let StaticPart { entry, .. } = StaticPart::create(file, options)?;
    for (index, plan) in options.beam_monitors.iter().enumerate() {
        let place = options.placement.as_ref().and_then(|placement| placement.monitors.get(&plan.name));
        create_monitor(&entry, index + 1, plan, place.copied())?;
    }
    Ok(())
}

/// The groups of events of a file with these options, in their order.
pub fn event_group_names(options: &NexusOptions) -> Vec<EventGroupName> {
    let ids = |pixels: Range<PixelId>| (pixels.start, pixels.end - 1);
    let monitors = || options.beam_monitors.iter().filter(|plan| has_events(plan));
    let has_monitors = monitors().next().is_some();
    let detectors = if options.has_detector() { detector_names(options) } else { Vec::new() };
    let detectors = detectors.into_iter().map(|(name, pixels)| EventGroupName {
        parent: format!("/entry/instrument/{name}"),
        pixels: pixels.or(has_monitors.then(|| 1..options.geometry.pixel_count() + 1)).map(ids),
        name: format!("{name}_events"),
    });
    let of_monitors = monitors().map(|plan| EventGroupName {
        parent: "/entry".to_owned(),
        name: events_name(plan),
        pixels: Some(ids(plan.pixels())),
    });
    detectors.chain(of_monitors).collect()
}

/// Bytes at most of what [`write_static_part`] writes.
pub fn static_bytes_at_most(options: &NexusOptions) -> u64 {
    length_at_the_beginning(options)
}

/// What the run is called, and whose it is; what nobody has said is absent.
fn create_identity(entry: &Group, options: &NexusOptions) -> Result<()> {
    let run = &options.run;
    let title = run.title.clone().unwrap_or_else(|| format!("{} run", options.instrument));
    create_text(entry, "title", &title, 0)?;
    if let Some(number) = run.number {
        // As a number for Mantid, as text for the NeXus definition.
        scalar(entry, "run_number", i32::try_from(number).unwrap_or(i32::MAX))?;
        create_text(entry, "entry_identifier", &number.to_string(), 0)?;
    }
    for (name, text) in
        [("experiment_identifier", &run.experiment), ("experiment_description", &run.experiment_description)]
    {
        if let Some(text) = text {
            create_text(entry, name, text, 0)?;
        }
    }
    if let Some(user) = &run.user {
        create_text(&class(entry, "user", "NXuser")?, "name", user, 0)?;
    }
    Ok(())
}

/// What HDF5 may take besides arrays and their indices: it cuts small things from blocks of its own, and rounds.
const BETWEEN: u64 = 128 << 10;

/// Length at most of a file with these options and nothing in it yet.
pub(crate) fn length_at_the_beginning(options: &NexusOptions) -> u64 {
    let detector = if options.has_detector() { bytes_of_detectors(options) } else { 0 };
    // A group of a detector has up to 40 objects: axes, offsets, a shape, steps to the sample, arrays of events.
    let objects = 64 + 40 * number_of_detectors(options) as u64;
    let texts = [&options.instrument, &options.configuration].map(|text| text.len());
    let identity: usize = options.run.texts().map(|(_, text)| text.len()).sum();
    let vetoes: usize = options.vetoes.iter().map(String::len).sum();
    let monitors: u64 =
        options.beam_monitors.iter().map(|plan| 24 * OBJECT + 16 * plan.histogram.bins() as u64 + 8).sum();
    BETWEEN
        + objects * OBJECT
        + detector
        + (texts.iter().sum::<usize>() + identity + vetoes + options.report_space) as u64
        + monitors
        + frame_log::length_at_the_beginning(options)
        + series::length_at_the_beginning(options)
}
