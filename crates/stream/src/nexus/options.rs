//! What an event file is to contain and how it is to be written.

use schemars::JsonSchema;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use evforge_core::beam_monitor::{BeamMonitorData, BeamMonitorPlan};
use evforge_core::counter::{CounterInfo, CounterSnapshot};
use evforge_core::frame::FrameVeto;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::pixel_ids::{PixelIds, Pixels};
use evforge_core::placement::Placement;
use evforge_core::run_identity::RunIdentity;

use serde::{Deserialize, Serialize};

use super::error::NexusError;
use super::monitor_group::events_name;
use crate::storage::workers::Workers;

/// How the arrays of events are compressed. Everything else is too small to matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As it is: fastest, and every HDF5 reader can read it.
    None,
    /// Byte shuffle and LZF, by HDF5 in the thread of the output. Only h5py and programs that bring the filter can read it:
    /// `h5dump`, Mantid and other programs with a stock HDF5 cannot. A chunk that is committed in parts takes room for each part.
    Lzf,
    /// Byte shuffle and deflate with a level of `0..=9`, in threads of its own: read by every HDF5 library.
    Deflate(u8),
}

impl Default for Compression {
    /// The level at which libdeflate is a twentieth smaller than at 1, for a tenth more time.
    fn default() -> Self {
        Self::Deflate(2)
    }
}

/// When the disk is asked to keep what was written, so that the loss of power does not take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskSync {
    /// With every commit: what was written becomes a commit when the disk says that it has it.
    #[default]
    Commit,
    /// Never: the operating system writes it when it likes, usually within half a minute.
    None,
}

/// What to do if there is a file at the path already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExistingFile {
    /// Refuse to write.
    #[default]
    Refuse,
    /// Remove it first, unless another process is writing it.
    Overwrite,
    /// Write `run-1.nxs` instead of `run.nxs`, or the next number that is free.
    Number,
}

/// Where the pulses of a file come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PulseOrigin {
    /// From the configuration, because the readout reports none.
    #[default]
    ConfiguredTrain,
    /// From the readout: the batches of events carry them.
    Readout,
}

impl PulseOrigin {
    /// What the file says.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::ConfiguredTrain => "configured train",
            Self::Readout => "the readout",
        }
    }
}

/// What an event file is to contain and how it is to be written. Start from [`NexusOptions::new`] and set
/// what differs.
#[derive(Clone, Debug)]
pub struct NexusOptions {
    /// The file. Its folder must exist.
    pub path: PathBuf,
    /// What to do if the file exists.
    pub existing: ExistingFile,
    /// What the run is called, and whose it is. Without a title it is called after the instrument.
    pub run: RunIdentity,
    /// Name of the instrument; not empty.
    pub instrument: String,
    /// Name of the detector: the name of its group, so neither empty nor with a `/`. "detector" by default.
    pub detector: String,
    /// The grid of pixels, at most `i32::MAX` of them.
    pub geometry: LogicalGeometry,
    /// Their ids, where the facility has given them. None where they are those of the geometry.
    pub pixel_ids: Option<Arc<PixelIds>>,
    /// Where the pixels are; none if that is not known: the file then has no positions.
    pub placement: Option<Placement>,
    /// Where the pulses come from, for the reader of the file. It is the readout in any case if the first batch has pulses
    /// that the readout reported.
    pub pulse_origin: PulseOrigin,
    /// Beam monitors, if that is what the stream is from: the file then has a histogram and events for each of them and
    /// no detector. See [`NexusOptions::with_beam_monitors`].
    pub beam_monitors: Vec<BeamMonitorPlan>,
    /// Names of the vetoes, in the order of the bits of an event's mark. With any, the file has `event_veto`.
    pub vetoes: Vec<String>,
    /// The vetoes that frames can have, in the order of their bits, if the readout tells frames: the file then has `framelog`. It has
    /// in any case if the first batch has frames.
    pub frames: Option<Vec<FrameVeto>>,
    /// The configuration of the run as text (TOML), to be stored with the data. May be empty.
    pub configuration: String,
    /// The counters of the detector: a table in the file has them over time. Only those known when the file is
    /// created can be in it; see [`NexusOptions::with_counters`].
    pub counters: Vec<CounterInfo>,
    /// The outputs of the run by their ids, each with the counters of its own: these, and those of any output, are
    /// in a table of the file over time. See [`NexusOptions::with_outputs`].
    pub outputs: Vec<(String, Vec<CounterInfo>)>,
    /// How often what has been taken goes to the file. What a kill can cost is bounded by it. 2 s by default.
    pub flush_interval: Duration,
    /// Whether a commit waits for the disk. It does by default.
    pub sync: DiskSync,
    /// Compression of the event arrays. Deflate by default.
    pub compression: Compression,
    /// Threads that deflate, at most 64. Without any it is done in the thread of the output. Half of the cores by default, at
    /// least one and at most four.
    pub compression_threads: usize,
    /// Events per chunk of the event arrays, the unit in which HDF5 stores and compresses. At least 1024;
    /// 8192 by default (32 KiB per chunk).
    pub chunk_events: usize,
    /// Bytes reserved for the report that is written at the end. 65536 by default.
    pub report_space: usize,
}

impl NexusOptions {
    /// The pixels with their ids.
    pub(crate) fn pixels(&self) -> Pixels {
        Pixels { geometry: self.geometry, ids: self.pixel_ids.clone() }
    }

    /// Options with defaults for all that has one.
    pub fn new(path: impl Into<PathBuf>, instrument: impl Into<String>, geometry: LogicalGeometry) -> Self {
        Self {
            path: path.into(),
            existing: ExistingFile::default(),
            run: RunIdentity::default(),
            instrument: instrument.into(),
            detector: "detector".to_owned(),
            geometry,
            pixel_ids: None,
            placement: None,
            pulse_origin: PulseOrigin::default(),
            beam_monitors: Vec::new(),
            vetoes: Vec::new(),
            frames: None,
            configuration: String::new(),
            counters: Vec::new(),
            outputs: Vec::new(),
            flush_interval: Duration::from_secs(2),
            sync: DiskSync::default(),
            compression: Compression::default(),
            compression_threads: Workers::default_count(),
            chunk_events: 8 << 10,
            report_space: 64 << 10,
        }
    }

    /// Puts each counter of `snapshot` into the table of counters of the file.
    #[must_use]
    pub fn with_counters(mut self, snapshot: &CounterSnapshot) -> Self {
        self.counters = snapshot.iter().map(|(info, _)| *info).collect();
        self
    }

    /// Gives each of the beam monitors of a detector's first ledger its groups in the file.
    #[must_use]
    pub fn with_beam_monitors(mut self, monitors: &[BeamMonitorData]) -> Self {
        self.beam_monitors = monitors.iter().map(|monitor| monitor.plan().clone()).collect();
        self
    }

    /// Gives each of the outputs of the run a table with its counters over time: with those of any output, and with
    /// those of its own that are named here. This output may be one of them ([`NexusCounters`](super::NexusCounters)).
    #[must_use]
    pub fn with_outputs(mut self, outputs: &[(String, Vec<CounterInfo>)]) -> Self {
        self.outputs = outputs.to_vec();
        self
    }

    /// # Errors
    /// If an option makes no sense.
    pub(crate) fn check(&self) -> Result<(), NexusError> {
        let complain = |text: String| Err(NexusError::Option(text));
        if self.geometry.pixel_count() > i32::MAX as u32 {
            return Err(NexusError::TooManyPixels(self.geometry));
        }
        // HDF5 writes back and forth in a file: a pipe would be read or waited for without end.
        let is_device = std::fs::metadata(&self.path).is_ok_and(|about| !about.is_file());
        if is_device || self.path.as_os_str() == "-" {
            return complain(format!(
                "a NeXus file cannot be written to {}, which is not a plain file: name a file such as run.nxs",
                self.path.display()
            ));
        }
        if self.instrument.is_empty() {
            return complain("an event file needs the name of an instrument: set `instrument`".into());
        }
        if self.detector.is_empty() || self.detector.contains(['/', '\n']) || self.detector == "." {
            return complain(format!(
                "`{}` cannot be the name of a detector: it names a group in the file, so it must not be empty \
                 and must not contain `/` or the end of a line",
                self.detector
            ));
        }
        if ["name", "source"].contains(&&*self.detector) {
            return complain(format!(
                "`{}` cannot be the name of a detector: NXinstrument has a member of that name",
                self.detector
            ));
        }
        for (name, text) in [
            ("instrument", &self.instrument),
            ("detector", &self.detector),
            ("configuration", &self.configuration),
        ] {
            if text.contains('\0') {
                return complain(format!(
                    "the {name} contains a zero byte, at which the text in the file would end"
                ));
            }
        }
        let mut names = self.frames.iter().flatten().map(|veto| &veto.name);
        if let Some(name) = names.find(|name| name.contains('\0')) {
            return complain(format!(
                "the name of the veto {name:?} contains a zero byte: give it another name"
            ));
        }
        self.run.check().map_err(|error| NexusError::Option(error.within("run").to_string()))?;
        self.check_beam_monitors()?;
        self.check_outputs()?;
        if self.chunk_events < 1024 {
            return complain(format!("chunks of {} events are too small: at least 1024", self.chunk_events));
        }
        if self.compression_threads > 64 {
            return complain(format!(
                "{} threads to compress are too many: at most 64",
                self.compression_threads
            ));
        }
        if let Compression::Deflate(level @ 10..) = self.compression {
            return complain(format!("deflate has no level {level}: 0 to 9"));
        }
        Ok(())
    }

    /// Whether there is a detector: not with beam monitors alone.
    pub fn has_detector(&self) -> bool {
        self.beam_monitors.iter().all(|plan| plan.alongside)
    }

    /// # Errors
    /// If an output has no possible id, or shares it with another.
    fn check_outputs(&self) -> Result<(), NexusError> {
        for (index, (id, _)) in self.outputs.iter().enumerate() {
            if id.is_empty() || id.contains(['/', '\n', '\0']) || id == "." {
                return Err(NexusError::Option(format!(
                    "`{id}` cannot be the id of an output: it names a group in the file, so it must not be empty and \
                     must not contain `/`, the end of a line or a zero byte"
                )));
            }
            if self.outputs[..index].iter().any(|(other, _)| other == id) {
                return Err(NexusError::Option(format!("there are two outputs with the id `{id}`")));
            }
        }
        Ok(())
    }

    /// # Errors
    /// If a beam monitor has no possible name, or shares its name or its pixels with another.
    fn check_beam_monitors(&self) -> Result<(), NexusError> {
        let complain = |text: String| Err(NexusError::Option(text));
        let mut names: Vec<String> = ENTRY_MEMBERS.map(str::to_owned).into();
        for (index, plan) in self.beam_monitors.iter().enumerate() {
            let name = &plan.name;
            if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            {
                return complain(format!(
                    "`{name}` cannot be the name of a beam monitor: it names a group in the file, so it must \
                     consist of letters, digits and underscores"
                ));
            }
            for name in [name.clone(), events_name(plan)] {
                if names.contains(&name) {
                    return complain(format!(
                        "beam monitor `{}`: there is another group `{name}` in the file",
                        plan.name
                    ));
                }
                names.push(name);
            }
            let pixels = plan.pixels();
            if pixels.is_empty() {
                continue;
            }
            let is_inside = |pixel| self.geometry.is_valid(pixel);
            if plan.alongside && (is_inside(pixels.start) || pixels.end > i32::MAX as u32) {
                return complain(format!(
                    "the pixels of beam monitor `{name}` do not follow those of the detector"
                ));
            }
            let lies_inside = is_inside(pixels.start) && is_inside(pixels.end - 1);
            if !plan.alongside && !lies_inside {
                return complain(format!("the pixels of beam monitor `{name}` lie outside the geometry"));
            }
            let overlaps = |other: &&BeamMonitorPlan| {
                pixels.start < other.pixels().end && other.pixels().start < pixels.end
            };
            if let Some(other) = self.beam_monitors[..index].iter().find(overlaps) {
                return complain(format!("beam monitors `{}` and `{name}` share pixels", other.name));
            }
        }
        Ok(())
    }
}

/// What the entry of a file contains besides beam monitors.
const ENTRY_MEMBERS: [&str; 23] = [
    "definition",
    "title",
    "run_number",
    "entry_identifier",
    "experiment_identifier",
    "experiment_description",
    "user",
    "total_pulses",
    "start_time",
    "end_time",
    "duration",
    "sample",
    "instrument",
    "ledger",
    "configuration",
    "recording",
    "live_time",
    "outputs",
    "framelog",
    "raw_frames",
    "good_frames",
    "proton_charge",
    "proton_charge_raw",
];
