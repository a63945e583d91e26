//! A configuration: the tables that every run has, and the detector.

use crate::detectors::{DetectorSettings, Parts, SECTIONS, send_alongside};
use crate::document::{Document, TableError, Tables, from_disk, locate};
use crate::forming_threads::FormingThreads;
use crate::{
    ChangeSettings, ConfigError, FormCount, InputSettings, ReceiveSettings, SequenceSettings, ServeSettings,
    ThreadSettings,
};
use evforge_control::ControlSettings;
use evforge_core::detector::Detector;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::placement::{Placement, PlacementSettings};
use evforge_core::pulse::{PulseSource, PulseTrain};
use evforge_core::pulsed::{CalendarRule, MOST_VETOES, PulseStageSettings, Veto};
use evforge_core::run_identity::RunIdentity;
use evforge_core::settings::SettingsError;
use evforge_detect::adc_readout::SampleSink;
use evforge_detect::beam_monitors::BeamMonitorSettings;
use evforge_detect::workers::Workers;
use evforge_inspect::expected::Expected;
use evforge_log::LogSettings;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a configuration says whatever the detector: all that a command needs which forms no events.
#[derive(Clone, Debug, JsonSchema)]
pub struct CommonConfig {
    /// Name of the instrument, in reports and files.
    #[schemars(length(min = 1, max = LONGEST_NAME), extend("x-range" = "not empty"))]
    pub name: String,
    /// How packets and events travel.
    pub input: InputSettings,
    /// How packets come in live.
    pub receive: ReceiveSettings,
    /// How the numbers of packets are read.
    pub sequence: SequenceSettings,
    /// How many threads receive, and where threads run.
    pub threads: ThreadSettings,
    /// The source's pulses.
    #[schemars(with = "PulseSource")]
    pub pulses: PulseTrain,
    /// Events that should not be trusted. A veto marks events and counts them; it deletes none.
    #[schemars(rename = "veto", length(max = MOST_VETOES))]
    pub vetoes: Vec<Veto>,
    /// What the run is called, and whose it is.
    pub run: RunIdentity,
    /// Thresholds that change during a run, at a time of the data.
    #[schemars(rename = "change")]
    pub changes: Vec<ChangeSettings>,
    /// How a run can be asked while it goes on.
    pub control: ControlSettings,
    /// A service that has one run after the other (`evforge serve`).
    pub serve: ServeSettings,
    /// What the program says, how much of it, and where to.
    pub log: LogSettings,
    /// Where the pixels of the detector are.
    pub placement: Option<PlacementSettings>,
    /// The tables `[outputs.…]`, by name, as they are written: each kind of output reads its own.
    #[schemars(skip)]
    pub outputs: BTreeMap<String, toml::Value>,
    /// The configuration as TOML text, overrides included.
    #[schemars(skip)]
    pub text: String,
    /// The same before anything was overridden in it: where values come from.
    #[schemars(skip)]
    pub file_text: String,
    /// The file that it is from.
    #[schemars(skip)]
    pub path: PathBuf,
    /// What was overridden in the text of the file.
    #[schemars(skip)]
    pub overrides: Vec<String>,
}

/// A valid configuration of one instrument.
#[derive(Clone, Debug)]
pub struct Config {
    /// Everything but the detector.
    pub common: CommonConfig,
    /// Name of the detector's section.
    pub section: &'static str,
    /// The detector.
    pub detector: DetectorSettings,
    /// Beam monitors that send to the same ports, in packets of their own type.
    pub monitors: Option<BeamMonitorSettings>,
    /// What somebody should know of the files that the detector's section names: what in them has no effect, above all.
    pub notes: Vec<String>,
}

// A configuration with a detector is one without it, and more.
impl Deref for Config {
    type Target = CommonConfig;

    fn deref(&self) -> &CommonConfig {
        &self.common
    }
}

impl DerefMut for Config {
    fn deref_mut(&mut self) -> &mut CommonConfig {
        &mut self.common
    }
}

impl CommonConfig {
    /// Reads a file and applies `overrides` (`key=value`) in their order. It may have a detector or none.
    ///
    /// # Errors
    /// If the file cannot be read, is not TOML, or something in it is invalid, the detector included.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        read(Document::read(path, overrides, &SECTIONS)?).map(|(common, _)| common)
    }

    /// As [`CommonConfig::read`], from text; `path` is for the messages.
    ///
    /// # Errors
    /// As [`CommonConfig::read`].
    pub fn parse(path: &Path, text: &str, overrides: &[String]) -> Result<Self, ConfigError> {
        read(Document::new(path, text, overrides, &SECTIONS)?).map(|(common, _)| common)
    }

    /// The table `key`, for those that read tables of their own (`[simulation]`); its default if there is none.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn table<T: DeserializeOwned + Default>(&self, key: &str) -> Result<T, ConfigError> {
        let table = Tables::parse(&self.text).and_then(|mut tables| tables.take_or_default(key));
        table.map_err(|error| self.document().invalid(error))
    }

    /// An error in a part of the configuration that others read (`[outputs]`), with its place in the file.
    pub fn explain(&self, error: &SettingsError) -> ConfigError {
        let place = locate(&self.text, &error.key).filter(|_| self.overrides.is_empty());
        ConfigError::Invalid { path: self.path.clone(), place, problem: error.to_string() }
    }

    /// Where the pixels of a detector with this geometry and these beam monitors are; none if the configuration does not
    /// say.
    ///
    /// # Errors
    /// What in `[placement]` does not fit the geometry or the monitors, and where it is.
    pub fn place<'a>(
        &self,
        geometry: LogicalGeometry,
        monitors: impl IntoIterator<Item = &'a str>,
    ) -> Result<Option<Placement>, ConfigError> {
        let Some(settings) = &self.placement else { return Ok(None) };
        let known: Vec<&str> = monitors.into_iter().collect();
        if let Some(name) = settings.monitors.keys().find(|name| !known.contains(&name.as_str())) {
            let key = format!("placement.monitors.{name}");
            let problem = match known.as_slice() {
                [] => "the configuration has no beam monitors".to_owned(),
                known => {
                    format!("is not a beam monitor of the configuration, which has {}", known.join(", "))
                }
            };
            return Err(self.explain(&SettingsError { key, problem }));
        }
        settings.place(geometry).map(Some).map_err(|error| self.explain(&error))
    }

    fn document(&self) -> Document {
        let Self { path, text, file_text, overrides, .. } = self.clone();
        Document { path, text, file_text, overrides, read_file: from_disk }
    }

    /// What the stage has to know that assigns pulses to the events of `detector`. The calendar follows from the readout
    /// where that carries the date, and from `otherwise` elsewhere.
    pub fn pulse_stage(&self, detector: &dyn Detector, otherwise: CalendarRule) -> PulseStageSettings {
        let rule = if detector.tells_date() { CalendarRule::Readout } else { otherwise };
        PulseStageSettings {
            vetoes: self.vetoes.clone(),
            is_told: detector.tells_pulses(),
            ..PulseStageSettings::new(self.pulses, rule)
        }
    }

    /// Sets a key of the output called `id`, whose table is begun if there is none: what the command line says.
    pub fn set_output(&mut self, id: &str, key: &str, value: impl Into<toml::Value>) {
        let table =
            self.outputs.entry(id.to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let toml::Value::Table(table) = table {
            table.insert(key.to_owned(), value.into());
        }
    }
}

impl Config {
    /// Reads a file and applies `overrides` (`key=value`) in their order.
    ///
    /// # Errors
    /// As [`CommonConfig::read`], or if there is no detector.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        Self::of(Document::read(path, overrides, &SECTIONS)?)
    }

    /// As [`Config::read`], from text; `path` is for the messages, and files that the text names are looked for
    /// in its folder.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn parse(path: &Path, text: &str, overrides: &[String]) -> Result<Self, ConfigError> {
        Self::of(Document::new(path, text, overrides, &SECTIONS)?)
    }

    pub(crate) fn of(document: Document) -> Result<Self, ConfigError> {
        let (common, found) = read(document)?;
        if let Some(Found { section, detector, monitors, notes }) = found {
            return Ok(Self { common, section, detector, monitors, notes });
        }
        let names = SECTIONS.map(|name| format!("[{name}]")).join(", ");
        let problem = format!("no detector: a configuration has one section of {names}");
        Err(common.document().invalid(SettingsError { key: String::new(), problem }.into()))
    }

    /// As [`Config::read`], with the detector of a library in the place of the one that the file names. Without a file
    /// everything else has its default, and the instrument is called as the library is.
    ///
    /// # Errors
    /// As [`Config::read`]; if the file has the section of another detector, or the library's path is not UTF-8.
    pub fn read_with_library(
        path: Option<&Path>,
        library: &Path,
        overrides: &[String],
    ) -> Result<Self, ConfigError> {
        let told = format!("--detector {}", library.display());
        let refuse =
            |problem: String| ConfigError::Invalid { path: told.clone().into(), place: None, problem };
        let absolute = std::path::absolute(library).map_err(|error| refuse(error.to_string()))?;
        let absolute = absolute.to_str().ok_or_else(|| refuse("the path is not UTF-8".to_owned()))?;
        let mut changes = vec![format!("plugin.library={}", toml::Value::from(absolute))];
        changes.extend_from_slice(overrides);
        let Some(path) = path else {
            let stem = library.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let name = stem.strip_prefix("lib").unwrap_or(stem);
            let text = format!("name = {}\n", toml::Value::from(name));
            return Self::parse(Path::new(&told), &text, &changes);
        };
        Self::read(path, &changes)
    }

    /// The packets that it reads.
    pub fn expected(&self) -> Expected {
        let monitors = self.monitors.as_ref().and_then(|monitors| monitors.type_alongside().ok());
        self.detector.expected(monitors)
    }

    /// The simulation of its detector.
    ///
    /// # Errors
    /// If it cannot be simulated, or not so.
    pub fn simulated(&self, settings: &SimulationSettings) -> Result<Simulated, SimulationError> {
        self.detector.simulated(settings, self.pulses)
    }

    /// A fresh detector.
    ///
    /// # Errors
    /// Does not fail for a configuration that was read, because its settings have been checked; except for those of
    /// a plugin, which its library judges.
    pub fn build_detector(&self) -> Result<Box<dyn Detector>, SettingsError> {
        self.build_detector_with(None)
    }

    /// As [`Config::build_detector`]; averaged waveforms go to `averages`.
    ///
    /// # Errors
    /// As [`Config::build_detector`].
    pub fn build_detector_with(
        &self,
        averages: Option<Box<dyn SampleSink>>,
    ) -> Result<Box<dyn Detector>, SettingsError> {
        self.build_detector_formed_by(averages, self.forming_threads()?)
    }

    /// How many threads form events on this host.
    pub fn forming_count(&self) -> usize {
        if !self.detector.shares_forming() {
            return 1;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.forming(cores, self.input.threads)
    }

    /// The threads that share the forming of events; none if there is one.
    fn forming_threads(&self) -> Result<Option<Arc<dyn Workers>>, SettingsError> {
        let count = self.forming_count();
        if count < 2 {
            return Ok(None);
        }
        Ok(Some(Arc::new(FormingThreads::new(count, &self.threads)?)))
    }

    /// As [`Config::build_detector_with`]; events are formed by these threads, whatever `threads.form` says.
    ///
    /// # Errors
    /// As [`Config::build_detector`].
    pub fn build_detector_formed_by(
        &self,
        averages: Option<Box<dyn SampleSink>>,
        workers: Option<Arc<dyn Workers>>,
    ) -> Result<Box<dyn Detector>, SettingsError> {
        let monitors = self.monitors.as_ref();
        let mut settings = self.detector.clone();
        let alongside = monitors.zip(settings.ess_mut());
        let built = alongside
            .map_or(Ok(()), |(monitors, ess)| send_alongside(ess, monitors))
            .and_then(|()| settings.build(Parts { averages, monitors, workers }));
        let mut detector = built.map_err(|error| in_section(self.section, error))?;
        detector.confirm_numbers_above(self.sequence.confirm);
        for (index, entry) in self.changes.iter().enumerate() {
            let change = entry.change().in_section(self.section);
            detector.change(&change).map_err(|refusal| SettingsError {
                key: format!("change[{index}]"),
                problem: refusal.to_string(),
            })?;
        }
        Ok(detector)
    }
}

/// Bytes of the name of an instrument: it stands in names of files, messages and metrics.
const LONGEST_NAME: usize = 1024;

/// The table that all detectors of the ESS readout share.
pub(crate) const ESS: &str = "ess";

/// The names of sections with the ESS readout begin so.
pub(crate) const ESS_DETECTORS: &str = "ess_";

/// The section of beam monitors, alone or alongside a detector.
pub(crate) const MONITORS: &str = "ess_beam_monitors";

/// All keys at the top of a configuration.
pub(crate) const KEYS: [&str; 17 + SECTIONS.len()] = {
    let mut keys = ["name"; 17 + SECTIONS.len()];
    let common = [
        "name",
        "input",
        "receive",
        "sequence",
        "threads",
        "pulses",
        "veto",
        "placement",
        "run",
        "change",
        "control",
        "serve",
        "log",
        "simulation",
        "outputs",
        "kafka",
        ESS,
    ];
    let mut index = 0;
    while index < keys.len() {
        keys[index] = if index < common.len() { common[index] } else { SECTIONS[index - common.len()] };
        index += 1;
    }
    keys
};

/// The detector of a configuration: the name of its section, what that says, and notes.
struct Found {
    section: &'static str,
    detector: DetectorSettings,
    /// Beam monitors alongside.
    monitors: Option<BeamMonitorSettings>,
    notes: Vec<String>,
}

fn read(document: Document) -> Result<(CommonConfig, Option<Found>), ConfigError> {
    let found = read_tables(&document);
    found.map_err(|error| document.invalid(error))
}

fn read_tables(document: &Document) -> Result<(CommonConfig, Option<Found>), TableError> {
    let mut tables = Tables::parse(&document.text)?;
    tables.refuse_unknown(&KEYS)?;
    let folder = document.path.parent().unwrap_or(Path::new(""));
    let PulseSource { train, channel } = tables.take_or_default("pulses")?;
    let common = CommonConfig {
        name: tables.require("name")?,
        input: tables.take_or_default("input")?,
        receive: tables.take_or_default("receive")?,
        sequence: tables.take_or_default("sequence")?,
        threads: tables.take_or_default("threads")?,
        pulses: train,
        vetoes: tables.take_or_default("veto")?,
        run: tables.take_or_default("run")?,
        changes: tables.take_or_default("change")?,
        control: tables.take_or_default("control")?,
        serve: tables.take_or_default("serve")?,
        log: tables.take_or_default("log")?,
        placement: tables.take("placement")?,
        outputs: outputs_of(tables.take_or_default("outputs")?, folder),
        text: document.text.clone(),
        file_text: document.file_text.clone(),
        path: document.path.clone(),
        overrides: document.overrides.clone(),
    };
    let section = section_of(&tables)?;
    let found = match section {
        Some(section) => {
            let monitors = if section == MONITORS { None } else { tables.take(MONITORS)? };
            let mut detector = DetectorSettings::read(section, &mut tables)?;
            detector.read_files(section, (folder, document.read_file), &mut tables.notes)?;
            if let Some(channel) = channel
                && !detector.set_pulse_channel(channel)
            {
                let problem = format!(
                    "pulses are taken from a channel of [adc_readout] only: [{section}] has none for them, leave it out"
                );
                return Ok(SettingsError::refuse("pulses.channel", problem)?);
            }
            Some(Found { section, detector, monitors, notes: std::mem::take(&mut tables.notes) })
        }
        None => None,
    };
    common.check()?;
    if let Some(Found { section, detector, monitors, .. }) = &found {
        detector.check().map_err(|error| in_section(section, error))?;
        if let FormCount::Threads(count) = common.threads.form.count
            && count > 1
            && !detector.shares_forming()
        {
            let problem =
                format!("is {count}, but events of [{section}] are formed by one thread: leave it out");
            return Ok(SettingsError::refuse("threads.form", problem)?);
        }
        if let Some(monitors) = monitors {
            let alongside = || detector.clone().ess_mut().map_or(Ok(()), |ess| send_alongside(ess, monitors));
            let checked = monitors.check().and_then(|()| alongside());
            checked.map_err(|error| in_section(MONITORS, error))?;
        }
    }
    Ok((common, found))
}

/// The packets that a configuration reads, whose files need not be there.
pub(crate) fn expected_of(text: &str) -> Option<Expected> {
    let mut tables = Tables::parse(text).ok()?;
    let section = section_of(&tables).ok()??;
    Some(DetectorSettings::read(section, &mut tables).ok()?.expected(None))
}

/// The one section of a detector, if there is one.
fn section_of(tables: &Tables<'_>) -> Result<Option<&'static str>, SettingsError> {
    let has_other = |first: &str| SECTIONS.iter().any(|&other| other != first && tables.has(other));
    // Beam monitors stand alongside a detector, or alone.
    let mut present = SECTIONS
        .into_iter()
        .filter(|&section| tables.has(section) && (section != MONITORS || !has_other(MONITORS)));
    let section = present.next();
    if let (Some(first), Some(other)) = (section, present.next()) {
        let problem = format!("a second detector in addition to [{first}]: take one of the two out");
        return SettingsError::refuse(other, problem);
    }
    match section {
        Some(section) if tables.has(ESS) && !section.starts_with(ESS_DETECTORS) => {
            let problem = format!("is for detectors of the ESS readout, which [{section}] is not");
            SettingsError::refuse(ESS, problem)
        }
        Some(section) if tables.has(MONITORS) && !section.starts_with(ESS_DETECTORS) => {
            let problem =
                format!("send alongside a detector of the ESS readout only, which [{section}] is not");
            SettingsError::refuse(MONITORS, problem)
        }
        Some(section) if !tables.has(ESS) && section.starts_with(ESS_DETECTORS) => {
            let problem = format!("[{section}] needs a table [ess] as well, with the type of the detector");
            SettingsError::refuse(ESS, problem)
        }
        section => Ok(section),
    }
}

/// The tables `[outputs.…]`. What an output reads lies beside the configuration, unlike what it writes: the views of a page.
fn outputs_of(mut tables: BTreeMap<String, toml::Value>, folder: &Path) -> BTreeMap<String, toml::Value> {
    for (id, table) in &mut tables {
        let is_view = table.get("kind").map_or(id == "view", |kind| kind.as_str() == Some("view"));
        if is_view && let Some(toml::Value::String(file)) = table.get_mut("views") {
            // What is no text stays as it is, as the folder was text before.
            if let Ok(path) = folder.join(&*file).into_os_string().into_string() {
                *file = path;
            }
        }
    }
    tables
}

impl CommonConfig {
    fn check(&self) -> Result<(), SettingsError> {
        self.input.check()?;
        self.receive.check()?;
        self.sequence.check()?;
        self.control.check()?;
        self.serve.check(self.outputs.keys().map(String::as_str))?;
        self.log.check()?;
        self.run.check().map_err(|error| error.within("run"))?;
        self.threads.check(self.input.threads, self.receive.receivers())?;
        if self.name.is_empty() {
            return SettingsError::refuse("name", "the instrument needs a name");
        }
        if self.name.len() > LONGEST_NAME || self.name.chars().any(char::is_control) {
            let problem = format!("must be a line of text with at most {LONGEST_NAME} bytes");
            return SettingsError::refuse("name", problem);
        }
        if self.vetoes.len() > MOST_VETOES {
            let problem = format!("{} vetoes, at most {MOST_VETOES}", self.vetoes.len());
            return SettingsError::refuse("veto", problem);
        }
        Ok(())
    }
}

/// An error of a detector's settings with the name of its section, unless it is about the shared table `[ess]`.
fn in_section(section: &str, error: SettingsError) -> SettingsError {
    if error.key == ESS || error.key.starts_with("ess.") {
        return error;
    }
    error.within(section)
}
