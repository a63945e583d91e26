//! What each detector says of itself to the configuration.

use evforge_core::counter::CountedStage;
use evforge_core::detector::Detector;
use evforge_core::pulse::{PulseChannel, PulseTrain};
use evforge_core::settings::SettingsError;
use evforge_detect::adc_readout::SampleSink;
use evforge_detect::beam_monitors::BeamMonitorSettings;
use evforge_detect::dumped_readouts::DumpedReadouts;
use evforge_detect::ess::EssSettings;
use evforge_detect::helium3::Helium3Settings;
use evforge_detect::measured_windows::MeasuredWindows;
use evforge_detect::settings::HeldHits;
use evforge_detect::vmm_files::FileContent;
use evforge_detect::workers::Workers;
use evforge_inspect::expected::Expected;
use evforge_sim::simulation::{Simulated, SimulationError, SimulationSettings};
use evforge_wire::ess::HeaderRelaxations;
use evforge_wire::recognise::EssRecords;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a detector can be given when it is built.
#[derive(Default)]
pub struct Parts<'a> {
    /// Where averaged waveforms go.
    pub averages: Option<Box<dyn SampleSink>>,
    /// Beam monitors that send to the same ports.
    pub monitors: Option<&'a BeamMonitorSettings>,
    /// Threads that share the forming of events, if there are several.
    pub workers: Option<Arc<dyn Workers>>,
}

/// A file that the section of a detector names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideFile {
    /// The key that names it.
    pub key: &'static str,
    /// Where it lies, from the folder of the configuration.
    pub path: PathBuf,
    /// The key of entries of the same kind in the section itself.
    pub entries: &'static str,
    /// True if there are such entries, which is one too many.
    pub has_entries: bool,
}

impl SideFile {
    /// The file of this key, if the section names one.
    pub(super) fn named(
        key: &'static str,
        path: Option<&PathBuf>,
        entries: &'static str,
        has_entries: bool,
    ) -> Option<Self> {
        path.map(|path| Self { key, path: path.clone(), entries, has_entries })
    }

    /// The files of wiring and calibration that a section names. `entries` of wiring and `has_lines` of calibration are those in
    /// the section itself.
    pub(super) fn of_vmms(
        (wiring, entries, has_entries): (Option<&PathBuf>, &'static str, bool),
        (calibration, has_lines): (Option<&PathBuf>, bool),
    ) -> Vec<Self> {
        let wiring = Self::named("mapping_file", wiring, entries, has_entries);
        let calibration = Self::named("calibration_file", calibration, "calibration", has_lines);
        wiring.into_iter().chain(calibration).collect()
    }
}

/// Parts of a detector that are told apart by where packets come from or go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartsByOrigin {
    /// What they are, in words: "the groups of \[sonde\]".
    pub what: &'static str,
    /// What a packet of none of them is of: an unknown "module".
    pub one: &'static str,
    /// Whether the address counts that packets come from.
    pub by_source: bool,
}

/// What each detector says of itself. Its settings are read by `serde` from its section.
pub trait ConfiguredDetector {
    /// The table `[ess]`, of a detector of the ESS readout.
    fn ess_mut(&mut self) -> Option<&mut EssSettings> {
        None
    }

    /// Its configuration lies in `folder`, where it finds what it loads later.
    ///
    /// # Errors
    /// If a path is no good.
    fn lies_in(&mut self, _folder: &Path) -> Result<(), SettingsError> {
        Ok(())
    }

    /// Files that its section names, to be read now.
    fn side_files(&self) -> Vec<SideFile> {
        Vec::new()
    }

    /// Takes the text of the file that `key` names, one of [`Self::side_files`]; notes are for people.
    ///
    /// # Errors
    /// What is wrong in the file, in words.
    fn take_file(&mut self, key: &str, _text: &str) -> Result<FileContent<()>, String> {
        Err(format!("no file belongs to {key}"))
    }

    /// What somebody should know of the section `section`: what in it has no effect.
    fn notes(&self, _section: &str) -> Vec<String> {
        Vec::new()
    }

    /// Checks everything that can be checked without taking memory.
    ///
    /// # Errors
    /// The first invalid setting; never for a configuration that was read.
    fn check(&self) -> Result<(), SettingsError>;

    /// A fresh detector, given what it can use of `parts`.
    ///
    /// # Errors
    /// The first invalid setting, or what is missing on this host.
    fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError>;

    /// The packets that it reads, next to beam monitors with packets of this type of the ESS readout.
    fn expected(&self, monitors: Option<u8>) -> Expected;

    /// Its simulation.
    ///
    /// # Errors
    /// If it cannot be simulated, or not so.
    fn simulated(
        &self,
        settings: &SimulationSettings,
        pulses: PulseTrain,
    ) -> Result<Simulated, SimulationError>;

    /// Neutrons per second, and pulses, that keep it busy while nearly all neutrons can still be told apart.
    fn busy_beam(&self) -> (u64, usize) {
        // A panel of a Gd-GEM is a single module, and so is a demonstrator.
        (84_000, 14)
    }

    /// Gaps and matching windows that a capture can tell; none if it has none.
    ///
    /// # Errors
    /// If its wiring is no good.
    fn measured_windows(&self) -> Result<Option<MeasuredWindows<'_>>, SettingsError>;

    /// Its tubes, if it has some whose charge division can be calibrated.
    fn tubes(&self) -> Option<&Helium3Settings> {
        None
    }

    /// Names of its shipped configurations, the likeliest first.
    fn shipped() -> &'static [&'static str]
    where
        Self: Sized;

    /// Keys that have the last of them read another format, each as `key=value`.
    fn other_formats() -> &'static [&'static str]
    where
        Self: Sized,
    {
        &[]
    }

    /// Sets of counters that are its own, beside those of the ESS readout and of packets.
    fn counted_stages() -> Vec<CountedStage>
    where
        Self: Sized;

    /// Its readouts as a dump has them; none if no dump can hold them.
    fn dumped_readouts(&self) -> Option<DumpedReadouts<'_>> {
        None
    }

    /// Its parts that are told apart by where packets come from or go to, if there are some.
    fn parts_by_origin(&self) -> Option<PartsByOrigin> {
        None
    }

    /// Takes the source's pulses from this channel. False if it has no channels for them.
    fn set_pulse_channel(&mut self, _channel: PulseChannel) -> bool {
        false
    }

    /// How it forms events, by the name in the configuration, if it offers a choice.
    fn strategy(&self) -> Option<&'static str> {
        None
    }

    /// What may wait for its time, if it puts hits or events into order.
    fn held_hits(&self) -> Option<HeldHits> {
        None
    }

    /// True if several threads can share the forming of its events.
    fn shares_forming(&self) -> bool {
        false
    }

    /// True if it makes averaged waveforms.
    fn makes_averages(&self) -> bool {
        false
    }
}

/// Packets of the ESS readout with these records.
pub(super) fn ess_packets(ess: &EssSettings, records: EssRecords, monitors: Option<u8>) -> Expected {
    let any = ess.header.relaxed.contains(HeaderRelaxations::TYPE);
    Expected::Ess { detector_type: (!any).then_some(ess.header.detector_type), records, monitors }
}

/// Has beam monitors send alongside a detector with this table `[ess]`.
///
/// # Errors
/// If both have the same type.
pub(crate) fn send_alongside(
    ess: &mut EssSettings,
    monitors: &BeamMonitorSettings,
) -> Result<(), SettingsError> {
    ess.header.monitor_type = Some(monitors.type_alongside()?);
    ess.check()
}
