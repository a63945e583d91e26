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
//! [cores]                         # optional: pin threads by name
//! receive = 1
//!
//! [pulses]                        # optional: the source's pulses
//! frequency = "14Hz"
//!
//! [[veto]]                        # optional: marks events, deletes none
//! name = "prompt pulse"
//! time_of_flight = ["0us", "300us"]
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
mod quantity;
mod receive;
mod side_file;
mod sonde;
mod sorting;
mod tracks;
mod veto;
pub mod vmm_files;

pub use plugin::PluginSettings;
pub use quantity::{ByteSize, Duration, Frequency, QuantityError, Rate};
pub use receive::{CoreSettings, ReceiveSettings};

use crate::region_threads::RegionThreads;
use crate::samples::SampleQueue;
use crate::veto::{Veto, VetoStage};
use adc_readout::AdcReadoutSection;
use ess::EssSection;
use ess_beam_monitors::BeamMonitorSection;
use ess_gdgem::EssGdGemSection;
use ess_multiblade::EssMultiBladeSection;
use ess_multigrid::EssMultiGridSection;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseTrain;
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
use gdgem::GdGemSection;
use multiblade::MultiBladeSection;
use multigrid::MultiGridSection;
use plugin::PluginSection;
use serde::Deserialize;
use sonde::SondeSection;
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
    cores: CoreSettings,
    #[serde(default)]
    pulses: veto::Pulses,
    #[serde(default)]
    veto: Vec<veto::VetoEntry>,
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
    /// Which core each thread is kept on.
    pub cores: CoreSettings,
    /// The source's pulses.
    pub pulses: PulseTrain,
    /// Rules that mark events.
    pub vetoes: Vec<Veto>,
    /// Name of the detector's section.
    pub section: &'static str,
    /// The detector.
    pub detector: DetectorSettings,
    /// The configuration as TOML text, overrides included.
    pub text: String,
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
        let folder = path.parent().unwrap_or(Path::new(""));
        let invalid = |place, problem| ConfigError::Invalid { path: path.to_owned(), place, problem };
        let in_text = |error: &toml::de::Error| {
            let place = error.span().map(|span| document::place_of(text, span.start));
            invalid(place, error.message().to_owned())
        };
        if overrides.is_empty() {
            let file: File = toml::from_str(text).map_err(|error| in_text(&error))?;
            return Self::of(file, text.to_owned(), folder).map_err(|error| {
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
        Self::of(file, text, folder).map_err(|error| with(error.to_string()))
    }

    fn of(file: File, text: String, folder: &Path) -> Result<Self, SettingsError> {
        file.input.check()?;
        file.receive.check()?;
        if file.name.is_empty() {
            return Err(SettingsError { key: "name".into(), problem: "the instrument needs a name".into() });
        }
        let pulses = file.pulses.train()?;
        let vetoes = file.veto.iter().enumerate().map(|(index, entry)| entry.veto(index));
        let vetoes = vetoes.collect::<Result<Vec<_>, _>>()?;
        crate::veto::check(&vetoes)?;
        let (section, detector) = file.detector(folder)?;
        let File { name, input, receive, cores, .. } = file;
        Ok(Self { name, input, receive, cores, pulses, vetoes, section, detector, text })
    }

    /// A fresh stage that marks events.
    pub fn veto_stage(&self) -> VetoStage {
        VetoStage::new(self.vetoes.clone(), self.pulses)
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
        self.detector.build(samples).map_err(|error| in_section(self.section, error))
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
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "test"
[gdgem]
readout = "vmm3a"
geometry = { nx = 128, ny = 128 }
[gdgem.time]
convention = "signed-offset"
bunch_crossing = "22.5ns"
marker_tick = "22.5ns"
[[gdgem.mapping]]
fec = 2
vmm = 0
plane = "x"
strip_offset = 0
"#;

    /// A mask of a chip that is not mapped.
    const MASKS: &str = "[[gdgem.mask]]
fec = 2
vmm = 4
channels = [3]
reason = \"hot\"
[[gdgem.mapping]]";

    #[test]
    fn masks_and_thresholds_of_channels_reach_the_settings() {
        let entries = "[[gdgem.mask]]
fec = 2
vmm = 0
channels = [3, 63]
reason = \"hot\"
[[gdgem.channel_threshold]]
fec = 2
vmm = 0
channels = [7]
adc = 1023
";
        let good = format!("{GOOD}{entries}");
        let DetectorSettings::GdGem(settings) = parse(&good, &[]).unwrap().detector else {
            panic!("another detector")
        };
        assert_eq!((&settings.mask[0].channels, &*settings.mask[0].reason), (&vec![3, 63], "hot"));
        assert_eq!(
            (settings.channel_thresholds[0].adc, &settings.channel_thresholds[0].channels),
            (1023, &vec![7])
        );
        for (from, to, expected) in [
            ("[3, 63]", "[3, 64]", "gdgem.mask[0].channels: 64 is not in 0..=63"),
            ("[7]", "[64]", "gdgem.channel_threshold[0].channels: 64 is not in 0..=63"),
            ("1023", "1024", "gdgem.channel_threshold[0].adc: is above the largest amplitude 1023"),
        ] {
            let error = parse(&good.replacen(from, to, 1), &[]).unwrap_err();
            assert!(error.contains(expected), "{error}\n  expected {expected}");
        }
    }

    fn parse(text: &str, overrides: &[&str]) -> Result<Config, String> {
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        Config::parse(Path::new("test.toml"), text, &overrides).map_err(|error| error.to_string())
    }

    #[test]
    fn overrides_reach_the_settings() {
        let plain = parse(GOOD, &[]).unwrap();
        let DetectorSettings::GdGem(settings) = &plain.detector else { panic!("another detector") };
        assert_eq!(settings.sorting.window, 500_000_000);
        let changed = parse(GOOD, &["gdgem.sorting.window=1ms", "input.threads=2"]).unwrap();
        let DetectorSettings::GdGem(settings) = &changed.detector else { panic!("another detector") };
        assert_eq!((settings.sorting.window, changed.input.threads), (1_000_000_000, 2));
        assert!(changed.text.contains("1ms"));
    }

    #[test]
    fn detector_stands_for_the_section_of_the_detector() {
        let changed = parse(GOOD, &["detector.sorting.window=1ms"]).unwrap();
        let DetectorSettings::GdGem(settings) = &changed.detector else { panic!("another detector") };
        assert_eq!(settings.sorting.window, 1_000_000_000);
        let error = parse(GOOD, &["detector.sortin.window=1ms"]).unwrap_err();
        assert!(error.contains("with --set detector.sortin.window=1ms") && error.contains("unknown field"));
    }

    #[test]
    fn errors_name_line_and_column() {
        for (from, to, expected) in [
            ("22.5ns\"\nmarker", "22.5\"\nmarker", "test.toml:8:18: found `22.5`, expected a time"),
            ("nx = 128", "nx = 0", "test.toml:5:12: gdgem.geometry: a geometry of 0 x 128"),
            ("vmm = 0", "vmm = 16", "test.toml:12:7: gdgem.mapping[0].vmm: chip 16 is not in 0..=15"),
            ("vmm = 0", "vnm = 0", "test.toml:12:1: unknown field `vnm`"),
            ("readout = \"vmm3a\"", "readout = \"vmm4\"", "test.toml:4:11: unknown variant `vmm4`"),
            ("[gdgem]\n", "[gdgem\n", "test.toml:3:7: "),
            (
                "[[gdgem.mapping]]",
                MASKS,
                "test.toml:12:7: gdgem.mask[0].vmm: chip 4 of FEC 2 is in no mapping",
            ),
        ] {
            let text = GOOD.replacen(from, to, 1);
            let error = parse(&text, &[]).unwrap_err();
            assert!(error.starts_with(expected), "{error}\n  expected {expected}");
        }
    }

    #[test]
    fn errors_of_files_that_a_configuration_names_name_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.toml");
        let entry = r#"{"fecID": 0, "vmmID": 3, "planeID": 0, "strip_offset": 0}"#;
        std::fs::write(folder.path().join("wiring.json"), format!(r#"{{"srs_mappings": [{entry}]}}"#))
            .unwrap();
        let without = GOOD.split("[[gdgem.mapping]]").next().unwrap();
        let named = |key: &str, file: &str| {
            without.replace("[gdgem.time]", &format!("{key} = \"{file}\"\n[gdgem.time]"))
        };
        let error = |text: &str| Config::parse(&path, text, &[]).unwrap_err().to_string();
        for (text, expected) in [
            (without.to_owned(), "gdgem.mapping: no chip is mapped"),
            (named("mapping_file", "none.json"), "none.json: cannot be read: No such file"),
            (named("mapping_file", "."), "is not a file"),
            (
                named("mapping_file", "wiring.json"),
                "test.toml:6:16: gdgem.mapping_file: wiring.json: mapping[0].fec: FEC 0 is not in 1..=15",
            ),
            (named("mapping_file", "test.toml"), "test.toml: cannot be read"),
            (GOOD.replace("[gdgem.time]", "mapping_file = 'x'\n[gdgem.time]"), "keep one"),
            (
                GOOD.replace("[gdgem.time]", "calibration = 'wiring.json'\n[gdgem.time]"),
                "wiring.json: missing field `vmm_calibration` at line 1 column",
            ),
        ] {
            let error = error(&text);
            assert!(error.contains(expected), "{error}\n  expected {expected}");
        }
    }

    #[test]
    fn pulses_and_vetoes_are_read_and_checked() {
        let with = |text: &str| parse(&format!("{GOOD}{text}"), &[]);
        let veto = "[[veto]]\nname = \"prompt\"\ntime_of_flight = [\"0us\", \"300us\"]\n";
        let config = with(&format!("[pulses]\nfrequency = \"10Hz\"\n{veto}")).unwrap();
        assert_eq!(config.pulses, PulseTrain::european_xfel());
        assert_eq!(config.vetoes[0].range, crate::veto::VetoRange::TimeOfFlight(0, 300_000));
        let error = with(&veto.replace("300us", "0ns")).unwrap_err();
        assert!(
            error.contains("veto[0].time_of_flight: the range of `prompt` ends before it begins"),
            "{error}"
        );
        let error = with("[pulses]\nfrequency = \"14\"\n").unwrap_err();
        assert!(error.contains("found `14`, expected a frequency such as 14Hz"), "{error}");
        let error = with("[pulses]\nfrequency = \"0.1Hz\"\n").unwrap_err();
        assert!(error.contains("pulses.frequency: must be at least 0.5Hz"), "{error}");
    }

    #[test]
    fn partitions_are_read_and_checked() {
        let with = |text: &str| parse(GOOD, &[&format!("gdgem.partition={text}")]);
        let cut = with("{ regions = 2, overlap = 16, threads = 2 }").unwrap();
        let DetectorSettings::GdGem(settings) = &cut.detector else { panic!("another detector") };
        let partition = settings.partition.unwrap();
        assert_eq!((partition.regions, partition.overlap, partition.threads), (2, 16, 2));
        for (text, expected) in [
            ("{ regions = 0 }", "gdgem.partition.regions: 0 is not in 1..=16"),
            ("{ regions = 2, overlap = 0 }", "gdgem.partition.overlap: 0 is not in 1..=8191"),
            ("{ regions = 2, threads = 65 }", "gdgem.partition.threads: 65 is not in 1..=64"),
            ("{ overlap = 2 }", "missing field `regions`"),
        ] {
            let error = with(text).unwrap_err();
            assert!(error.contains(expected), "{error}\n  expected {expected}");
        }
    }

    #[test]
    fn a_configuration_has_exactly_one_detector() {
        let error = parse("name = \"none\"\n", &[]).unwrap_err();
        let names = SECTIONS.map(|name| format!("[{name}]")).join(", ");
        assert!(
            error.contains(&format!("no detector: a configuration has one section of {names}")),
            "{error}"
        );
    }

    #[test]
    fn todays_readout_needs_its_common_table_and_others_refuse_it() {
        let error = parse("name = \"none\"\n[ess_beam_monitors]\n", &[]).unwrap_err();
        assert!(error.contains("ess: [ess_beam_monitors] needs a table [ess] beside it"), "{error}");
        let error = parse(&format!("{GOOD}[ess]\ntype = 'nmx'\n"), &[]).unwrap_err();
        assert!(
            error.contains("ess: is for detectors of today's ESS readout, which [gdgem] is not"),
            "{error}"
        );
        let with = |ess: &str| parse(&format!("name = 'm'\n[ess]\n{ess}\n[ess_beam_monitors]\n"), &[]);
        for (ess, expected) in [
            ("type = 'cbn'", "test.toml:3:8: ess.type: found `cbn`, expected a number or one of "),
            ("type = 16\naccept = ['cookie']", "ess.accept: found `cookie`, expected one of output_queue"),
            ("type = 16\naccept = ['output_queue']", "ess.odd_output_queue: names the one queue above 11"),
            ("type = 16\noutput_queues = [12]", "ess.output_queues: 12 is not in 0..=11"),
            ("type = 16", "ess_beam_monitors.monitor: 0 monitors, expected 1 to 64"),
        ] {
            let error = with(ess).unwrap_err();
            assert!(error.contains(expected), "{error}\n  expected {expected}");
        }
    }

    #[test]
    fn errors_of_overrides_name_the_override() {
        let error = parse(GOOD, &["gdgem.sorting.leap=1us"]).unwrap_err();
        assert!(error.contains("with --set gdgem.sorting.leap=1us: gdgem.sorting.leap: must be"), "{error}");
        let error = parse(GOOD, &["gdgem.sortin.leap=1us"]).unwrap_err();
        assert!(error.contains("unknown field `sortin`"), "{error}");
    }

    /// Found by fuzzing: reading a configuration took the memory that it asked for.
    #[test]
    fn reading_a_configuration_takes_no_memory_for_its_detector() {
        let config = parse(GOOD, &["gdgem.sorting.max_held_hits=1073741824"]).unwrap();
        let DetectorSettings::GdGem(settings) = &config.detector else { panic!("another detector") };
        assert_eq!(settings.sorting.max_held_hits, 1 << 30);
        let error = parse(GOOD, &["gdgem.sorting.max_held_hits=1073741825"]).unwrap_err();
        assert!(error.contains("gdgem.sorting.max_held_hits: 1073741825 is not in 8192..=2^30"), "{error}");
    }

    #[test]
    fn a_clock_too_odd_for_64_bits_is_refused() {
        let error = parse(&GOOD.replace("marker_tick", "tac_range = \"60.001ns\"\nmarker_tick"), &[]);
        assert!(error.unwrap_err().contains("no common unit"), "1/255000 ns");
    }
}
