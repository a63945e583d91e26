//! Configuration files: TOML, one file per instrument, checked down to the last key.
//!
//! ```toml
//! name = "my-detector"            # in reports, metrics and files
//!
//! [input]                         # optional: how packets travel
//! packets_per_slab = 256
//! threads = 1                     # 1: read and form in turn; 2: a thread for each
//!
//! [receive]                       # optional: live packets
//! address = "0.0.0.0:6006"
//!
//! [sequence]                      # optional: how the numbers of packets are read
//! confirm = 1024
//!
//! [threads]                       # optional: where threads run, by name
//! receive.core = 1
//!
//! [pulses]                        # optional: the source's pulses
//! frequency = "14Hz"
//!
//! [[veto]]                        # optional: marks events, deletes none
//! name = "prompt pulse"
//! time_of_flight = ["0us", "300us"]
//!
//! [outputs.csv]                   # optional: where events go; the options of the command line are short forms of this
//! file = "events.csv"
//!
//! [simulation.beam]               # optional: how `evforge simulate` simulates the detector
//! neutrons = "20kHz"
//!
//! [gdgem]                         # the detector: exactly one such section
//! readout = "vmm3a"
//! ```
//!
//! Every key can be overridden with `--set key=value` (`--set gdgem.sorting.window=1ms`; `detector` stands for the
//! detector's section, whichever it is: `--set detector.sorting.window=1ms`). An error names the
//! file, the line and the column, what was found and what is expected.

mod adc_readout;
mod document;
mod ess;
mod ess_beam_monitors;
mod ess_gdgem;
mod ess_multiblade;
mod ess_multigrid;
mod ess_vmm;
mod gdgem;
mod multiblade;
mod multigrid;
mod plugin;
mod receive;
mod sequence;
mod side_file;
mod sonde;
mod sorting;
mod threads;
mod tracks;
mod veto;
pub mod vmm_files;

pub use plugin::PluginSettings;
pub use receive::{ChecksumSetting, MethodSetting, ReceiveSettings};
pub use sequence::SequenceSettings;
pub use threads::{FormThread, ReceiveThreads, ThreadSettings};

use crate::region_threads::RegionThreads;
use crate::samples::SampleQueue;
use adc_readout::AdcReadoutSection;
use ess::EssSection;
use ess_beam_monitors::BeamMonitorSection;
use ess_gdgem::EssGdGemSection;
use ess_multiblade::EssMultiBladeSection;
use ess_multigrid::EssMultiGridSection;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStageSettings, Veto};
pub use evforge_core::quantity::{ByteSize, Duration, Frequency, QuantityError, Rate};
use evforge_detect::adc_readout::{AdcReadout, AdcReadoutSettings};
use evforge_detect::beam_monitors::{self, BeamMonitorSettings};
use evforge_detect::ess::EssSettings;
use evforge_detect::gdgem::ess::{self as gdgem_ess, EssGdGemSettings};
use evforge_detect::gdgem::{GdGem, GdGemSettings};
use evforge_detect::multiblade::{EssMultiBladeSettings, MultiBlade, MultiBladeSettings};
use evforge_detect::multigrid::{EssMultiGridSettings, MultiGrid, MultiGridCncs, MultiGridSettings};
use evforge_detect::partition::RegionExecutor;
use evforge_detect::settings::SettingsError;
use evforge_detect::sonde::{Sonde, SondeSettings};
use evforge_sim::simulation::SimulationSettings;
use gdgem::GdGemSection;
use multiblade::MultiBladeSection;
use multigrid::MultiGridSection;
use plugin::PluginSection;
use serde::Deserialize;
use sonde::SondeSection;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why there is no valid configuration.
#[derive(Debug)]
pub enum ConfigError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file, or an override, does not make a valid configuration.
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line and column, if the problem lies in the file.
        place: Option<(usize, usize)>,
        /// What is wrong and what is expected.
        problem: String,
    },
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable { path, source } => {
                write!(
                    f,
                    "the configuration {} cannot be read: {source} (see configs/ for examples)",
                    path.display()
                )
            }
            Self::Invalid { path, place: Some((line, column)), problem } => {
                write!(f, "{}:{line}:{column}: {problem}", path.display())
            }
            Self::Invalid { path, place: None, problem } => write!(f, "{}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            Self::Invalid { .. } => None,
        }
    }
}

/// How packets travel to the detector and events from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InputSettings {
    /// Packets that one slab holds at most.
    pub packets_per_slab: usize,
    /// Bytes that one slab holds at most.
    pub bytes_per_slab: ByteSize,
    /// Events that one batch holds at most.
    pub events_per_batch: usize,
    /// 1: one thread reads and forms in turn; 2: one reads while the other forms.
    pub threads: usize,
}

impl Default for InputSettings {
    fn default() -> Self {
        Self {
            packets_per_slab: 256,
            bytes_per_slab: ByteSize { bytes: 2 << 20 },
            events_per_batch: 8192,
            threads: 1,
        }
    }
}

impl InputSettings {
    /// Slabs that travel between two threads.
    pub const SLABS: usize = 4;

    fn check(&self) -> Result<(), SettingsError> {
        let refuse = |key: &str, problem: &str| {
            Err(SettingsError { key: format!("input.{key}"), problem: problem.to_owned() })
        };
        if !(1..=1 << 16).contains(&self.packets_per_slab) {
            return refuse("packets_per_slab", "must be in 1..=65536");
        }
        if self.bytes_per_slab.bytes > 1 << 30 {
            return refuse("bytes_per_slab", "must be at most 1GiB");
        }
        if !(1..=1 << 24).contains(&self.events_per_batch) {
            return refuse("events_per_batch", "must be in 1..=2^24");
        }
        if !(1..=2).contains(&self.threads) {
            return refuse("threads", "must be 1 or 2");
        }
        Ok(())
    }
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    input: InputSettings,
    #[serde(default)]
    receive: ReceiveSettings,
    #[serde(default)]
    sequence: SequenceSettings,
    #[serde(default)]
    threads: ThreadSettings,
    #[serde(default)]
    pulses: veto::Pulses,
    #[serde(default)]
    veto: Vec<veto::VetoEntry>,
    #[serde(default)]
    simulation: SimulationSettings,
    #[serde(default)]
    outputs: BTreeMap<String, toml::Value>,
    /// What all detectors of today's ESS readout have in common.
    ess: Option<EssSection>,
    gdgem: Option<GdGemSection>,
    multigrid: Option<MultiGridSection>,
    sonde: Option<SondeSection>,
    adc_readout: Option<AdcReadoutSection>,
    multiblade: Option<MultiBladeSection>,
    plugin: Option<PluginSection>,
    ess_beam_monitors: Option<BeamMonitorSection>,
    ess_multiblade: Option<EssMultiBladeSection>,
    ess_multigrid: Option<EssMultiGridSection>,
    ess_gdgem: Option<EssGdGemSection>,
}

/// Names of the detectors' sections.
#[rustfmt::skip]
const SECTIONS: [&str; 10] = [
    "gdgem",
    "multigrid",
    "sonde",
    "multiblade",
    "adc_readout",
    "ess_beam_monitors",
    "ess_multiblade",
    "ess_multigrid",
    "ess_gdgem",
    "plugin",
];

/// The table that they share.
const ESS: &str = "ess";

/// The names of sections with today's ESS readout begin so.
const ESS_DETECTORS: &str = "ess_";

/// A detector's section: its name and, if it is there, what it says.
type Section = (&'static str, Option<Result<DetectorSettings, SettingsError>>);

impl File {
    /// The detectors' sections, with what those that are there say. Files that they name are looked for in
    /// `folder`.
    fn detectors(&self, folder: &Path) -> [Section; SECTIONS.len()] {
        use DetectorSettings as Is;
        [
            of("gdgem", &self.gdgem, |section| Ok(Is::GdGem(section.settings(folder)?))),
            of("multigrid", &self.multigrid, |section| Ok(Is::MultiGrid(section.settings()?))),
            of("sonde", &self.sonde, |section| Ok(Is::Sonde(section.settings()?))),
            of("multiblade", &self.multiblade, |section| Ok(Is::MultiBlade(section.settings()?))),
            of("adc_readout", &self.adc_readout, |section| Ok(Is::AdcReadout(section.settings()))),
            of("ess_beam_monitors", &self.ess_beam_monitors, |section| {
                Ok(Is::BeamMonitors(section.settings(self.ess("ess_beam_monitors")?)?))
            }),
            of("ess_multiblade", &self.ess_multiblade, |section| {
                Ok(Is::EssMultiBlade(section.settings(self.ess("ess_multiblade")?)?))
            }),
            of("ess_multigrid", &self.ess_multigrid, |section| {
                Ok(Is::EssMultiGrid(section.settings(self.ess("ess_multigrid")?)?))
            }),
            of("ess_gdgem", &self.ess_gdgem, |section| {
                Ok(Is::EssGdGem(section.settings(self.ess("ess_gdgem")?)?))
            }),
            of("plugin", &self.plugin, |section| Ok(Is::Plugin(section.settings(folder)?))),
        ]
    }

    /// What `[ess]` says, for the detector in `section`.
    fn ess(&self, section: &str) -> Result<EssSettings, SettingsError> {
        let Some(ess) = &self.ess else {
            let problem = format!("[{section}] needs a table [ess] beside it, with the type of the detector");
            return SettingsError::refuse(ESS, problem);
        };
        ess.settings()
    }

    /// The name of the one section that is there, and its settings, checked but not built: a configuration
    /// can ask for more memory than there is.
    fn detector(&self, folder: &Path) -> Result<(&'static str, DetectorSettings), SettingsError> {
        let detectors = self.detectors(folder);
        let names: Vec<String> = detectors.iter().map(|(name, _)| format!("[{name}]")).collect();
        let mut present = detectors.into_iter().filter_map(|(name, settings)| Some((name, settings?)));
        let Some((name, settings)) = present.next() else {
            let problem = format!("no detector: a configuration has one section of {}", names.join(", "));
            return SettingsError::refuse("", problem);
        };
        if let Some((other, _)) = present.next() {
            let problem = format!("a second detector beside [{name}]: take one of the two out");
            return SettingsError::refuse(other, problem);
        }
        if self.ess.is_some() && !name.starts_with(ESS_DETECTORS) {
            let problem = format!("is for detectors of today's ESS readout, which [{name}] is not");
            return SettingsError::refuse(ESS, problem);
        }
        let settings = settings.and_then(|settings| settings.check().map(|()| settings));
        Ok((name, settings.map_err(|error| in_section(name, error))?))
    }
}

/// A valid configuration of one instrument.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the instrument.
    pub name: String,
    /// How packets travel.
    pub input: InputSettings,
    /// How packets come in live.
    pub receive: ReceiveSettings,
    /// How the numbers of packets are read.
    pub sequence: SequenceSettings,
    /// How many threads receive, and where threads run.
    pub threads: ThreadSettings,
    /// The source's pulses.
    pub pulses: PulseTrain,
    /// Rules that mark events.
    pub vetoes: Vec<Veto>,
    /// How the detector is simulated.
    pub simulation: SimulationSettings,
    /// Name of the detector's section.
    pub section: &'static str,
    /// The detector.
    pub detector: DetectorSettings,
    /// The tables `[outputs.…]`, by name, as they are written: each kind of output reads its own.
    pub outputs: BTreeMap<String, toml::Value>,
    /// The configuration as TOML text, overrides included.
    pub text: String,
    /// The file that it is from.
    pub path: PathBuf,
    /// True if `text` is not that of the file, because keys have been overridden.
    pub is_overridden: bool,
}

/// The settings of one of the detectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetectorSettings {
    /// A Gd-GEM.
    GdGem(GdGemSettings),
    /// A Multi-Grid.
    MultiGrid(MultiGridSettings),
    /// A SoNDe.
    Sonde(SondeSettings),
    /// Sampled channels.
    AdcReadout(AdcReadoutSettings),
    /// A Multi-Blade.
    MultiBlade(MultiBladeSettings),
    /// A Multi-Grid with today's ESS readout.
    EssMultiGrid(EssMultiGridSettings),
    /// A detector from outside.
    Plugin(PluginSettings),
    /// Beam monitors in today's ESS readout.
    BeamMonitors(BeamMonitorSettings),
    /// A Multi-Blade with today's ESS readout.
    EssMultiBlade(EssMultiBladeSettings),
    /// A Gd-GEM in today's ESS readout.
    EssGdGem(EssGdGemSettings),
}

impl DetectorSettings {
    /// Checks everything that can be checked without taking memory.
    ///
    /// # Errors
    /// The first setting that cannot be; never for a configuration that was read.
    pub fn check(&self) -> Result<(), SettingsError> {
        match self {
            Self::GdGem(settings) => settings.check(),
            Self::MultiGrid(settings) => settings.check(),
            Self::Sonde(settings) => settings.check(),
            Self::AdcReadout(settings) => settings.check(),
            Self::MultiBlade(settings) => settings.check(),
            Self::EssMultiGrid(settings) => settings.check(),
            // Nobody knows what a library takes but the library, which is not loaded for this.
            Self::Plugin(_) => Ok(()),
            Self::BeamMonitors(settings) => settings.check(),
            Self::EssMultiBlade(settings) => settings.check(),
            Self::EssGdGem(settings) => settings.check(),
        }
    }

    /// A fresh detector, whose mean values go to `samples` if it makes any.
    fn build(&self, samples: Option<SampleQueue>) -> Result<Box<dyn Detector>, SettingsError> {
        Ok(match self {
            Self::GdGem(settings) => Box::new(gd_gem(settings)?),
            Self::MultiGrid(MultiGridSettings::Mesytec(settings)) => Box::new(MultiGrid::new(settings)?),
            Self::MultiGrid(MultiGridSettings::Cncs(settings)) => Box::new(MultiGridCncs::new(settings)?),
            Self::Sonde(settings) => Box::new(Sonde::new(settings)?),
            Self::AdcReadout(settings) => match samples {
                Some(samples) => Box::new(AdcReadout::with_sink(settings, samples)?),
                None => Box::new(AdcReadout::new(settings)?),
            },
            Self::MultiBlade(settings) => Box::new(MultiBlade::new(settings)?),
            Self::EssMultiGrid(settings) => settings.detector()?,
            Self::Plugin(settings) => Box::new(settings.build()?),
            Self::BeamMonitors(settings) => Box::new(beam_monitors::new(settings)?),
            Self::EssMultiBlade(settings) => Box::new(settings.detector()?),
            Self::EssGdGem(settings) => Box::new(gdgem_ess::new(settings)?),
        })
    }
}

/// A Gd-GEM whose regions, if its panels are cut, have the threads that they ask for.
fn gd_gem(settings: &GdGemSettings) -> Result<GdGem, SettingsError> {
    match settings.partition {
        Some(partition) if partition.threads > 1 => {
            let threads = RegionThreads::new(partition.threads)?;
            GdGem::with_executor(settings, &(Arc::new(threads) as Arc<dyn RegionExecutor>))
        }
        _ => GdGem::new(settings),
    }
}

impl Config {
    /// Reads a file and applies `overrides` (`key=value`) in their order.
    ///
    /// # Errors
    /// If the file cannot be read, is not TOML, or does not describe a detector that can be.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(path, &text, overrides)
    }

    /// As [`Config::read`], from text; `path` is for the messages, and files that the text names are looked for
    /// beside it.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn parse(path: &Path, text: &str, overrides: &[String]) -> Result<Self, ConfigError> {
        let invalid = |place, problem| ConfigError::Invalid { path: path.to_owned(), place, problem };
        let in_text = |error: &toml::de::Error| {
            let place = error.span().map(|span| document::place_of(text, span.start));
            invalid(place, error.message().to_owned())
        };
        if overrides.is_empty() {
            let file: File = toml::from_str(text).map_err(|error| in_text(&error))?;
            return Self::of(file, text.to_owned(), path, false).map_err(|error| {
                let place = document::locate(text, &error.key);
                invalid(place, error.to_string())
            });
        }
        let mut table: toml::Table = toml::from_str(text).map_err(|error| in_text(&error))?;
        for assignment in overrides {
            let assignment = document::spelled_out(&table, assignment, &SECTIONS);
            document::set(&mut table, &assignment).map_err(|problem| invalid(None, problem))?;
        }
        let with = |problem: String| {
            invalid(None, format!("with --set {}: {}", overrides.join(" --set "), problem.trim_end()))
        };
        // Text again, so that the error of a wrong value can say at which key it stands.
        let text = toml::to_string(&table).map_err(|error| with(error.to_string()))?;
        let file: File = toml::from_str(&text).map_err(|error| with(error.to_string()))?;
        Self::of(file, text, path, true).map_err(|error| with(error.to_string()))
    }

    fn of(file: File, text: String, path: &Path, is_overridden: bool) -> Result<Self, SettingsError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        file.input.check()?;
        file.receive.check()?;
        file.sequence.check()?;
        file.threads.check(file.input.threads, file.receive.receivers())?;
        if file.name.is_empty() {
            return Err(SettingsError { key: "name".into(), problem: "the instrument needs a name".into() });
        }
        let pulses = file.pulses.train()?;
        let vetoes = file.veto.iter().enumerate().map(|(index, entry)| entry.veto(index));
        let vetoes = vetoes.collect::<Result<Vec<_>, _>>()?;
        veto::check(&vetoes)?;
        let (section, detector) = file.detector(folder)?;
        let File { name, input, receive, sequence, threads, mut simulation, outputs, .. } = file;
        simulation.beam.relative_to(folder);
        Ok(Self {
            name,
            input,
            receive,
            sequence,
            threads,
            pulses,
            vetoes,
            simulation,
            section,
            detector,
            outputs,
            text,
            path: path.to_owned(),
            is_overridden,
        })
    }

    /// What the stage has to know that assigns pulses to the events of `detector`. The calendar follows from the readout
    /// where that tells the pulses, and from `otherwise` elsewhere.
    pub fn pulse_stage(&self, detector: &dyn Detector, otherwise: CalendarRule) -> PulseStageSettings {
        let rule = if detector.tells_pulses() { CalendarRule::Readout } else { otherwise };
        PulseStageSettings { vetoes: self.vetoes.clone(), ..PulseStageSettings::new(self.pulses, rule) }
    }

    /// Sets a key of the output called `id`, whose table is begun if there is none: what the command line says.
    pub fn set_output(&mut self, id: &str, key: &str, value: impl Into<toml::Value>) {
        let table =
            self.outputs.entry(id.to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let toml::Value::Table(table) = table {
            table.insert(key.to_owned(), value.into());
        }
    }

    /// An error in a part of the configuration that others read (`[outputs]`), with its place in the file.
    pub fn explain(&self, error: &SettingsError) -> ConfigError {
        let place = document::locate(&self.text, &error.key).filter(|_| !self.is_overridden);
        ConfigError::Invalid { path: self.path.clone(), place, problem: error.to_string() }
    }

    /// How the detector forms events, by the name in the configuration, if it offers a choice.
    pub fn strategy(&self) -> Option<&'static str> {
        match &self.detector {
            DetectorSettings::Sonde(_)
            | DetectorSettings::AdcReadout(_)
            | DetectorSettings::GdGem(_)
            | DetectorSettings::BeamMonitors(_)
            | DetectorSettings::EssMultiBlade(_)
            | DetectorSettings::EssGdGem(_)
            | DetectorSettings::MultiBlade(_)
            | DetectorSettings::Plugin(_)
            | DetectorSettings::MultiGrid(MultiGridSettings::Cncs(_)) => None,
            DetectorSettings::MultiGrid(MultiGridSettings::Mesytec(settings)) => {
                Some(settings.strategy.name())
            }
            DetectorSettings::EssMultiGrid(settings) => Some(settings.strategy.name()),
        }
    }

    /// A fresh detector.
    ///
    /// # Errors
    /// Does not fail for a configuration that was read, because its settings have been checked; except for those of
    /// a detector from outside, which its library judges.
    pub fn build_detector(&self) -> Result<Box<dyn Detector>, SettingsError> {
        self.build_detector_with(None)
    }

    /// As [`Config::build_detector`]; mean values go to `samples`.
    pub(crate) fn build_detector_with(
        &self,
        samples: Option<SampleQueue>,
    ) -> Result<Box<dyn Detector>, SettingsError> {
        let mut detector = self.detector.build(samples).map_err(|error| in_section(self.section, error))?;
        detector.confirm_numbers_above(self.sequence.confirm);
        Ok(detector)
    }

    /// True if the detector makes mean values of samples.
    pub fn makes_mean_values(&self) -> bool {
        matches!(&self.detector, DetectorSettings::AdcReadout(settings) if settings.averaging.is_some())
    }
}

/// A section and, if it is there, what it says.
fn of<S>(
    name: &'static str,
    section: &Option<S>,
    settings: impl FnOnce(&S) -> Result<DetectorSettings, SettingsError>,
) -> Section {
    (name, section.as_ref().map(settings))
}

/// An error of a detector's settings with the name of its section, unless it is about the shared table `[ess]`.
fn in_section(section: &str, error: SettingsError) -> SettingsError {
    if error.key == ESS || error.key.starts_with("ess.") {
        return error;
    }
    SettingsError { key: format!("{section}.{}", error.key), ..error }
}

#[cfg(test)]
mod tests;
