//! The detectors that there are: this list, and for each of them how its section is read and what is built from it.
//!
//! To add one, see `CONTRIBUTING.md`; its settings, and what they say in a configuration, are in its folder of
//! `evforge_detect`.

mod adc_readout;
mod beam_monitors;
mod configured;
mod ess_files;
mod gdgem;
mod isis;
mod multiblade;
mod multigrid;
pub mod plugin;
mod sonde;

use crate::document::{TableError, Tables};
use configured::ConfiguredDetector;
pub(crate) use configured::Parts;
use evforge_core::detector::Detector;
use evforge_core::pulse::PulseChannel;
use evforge_core::settings::SettingsError;
use evforge_detect::adc_readout::AdcReadoutSettings;
use evforge_detect::beam_monitors::BeamMonitorSettings;
use evforge_detect::gdgem::GdGemSettings;
use evforge_detect::gdgem::ess::EssGdGemSettings;
use evforge_detect::isis::IsisSettings;
use evforge_detect::multiblade::{EssMultiBladeSettings, MultiBladeSettings};
use evforge_detect::multigrid::{EssMultiGridSettings, MultiGridSettings};
use evforge_detect::settings::HeldHits;
use evforge_detect::sonde::SondeSettings;
use plugin::PluginSettings;
use std::path::Path;

/// From the list: the settings of all detectors in one type, and what is asked of them.
macro_rules! detectors {
    ($($(#[$doc:meta])* $name:ident($settings:ty) = $section:literal,)+) => {
        /// Names of the detectors' sections.
        pub const SECTIONS: [&str; [$($section),+].len()] = [$($section),+];

        /// The settings of one of the detectors.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum DetectorSettings {
            $($(#[$doc])* $name($settings),)+
        }

        impl DetectorSettings {
            /// Reads the section of this name, which is one of [`SECTIONS`].
            pub(crate) fn read(
                section: &'static str,
                tables: &mut Tables<'_>,
                folder: &Path,
            ) -> Result<Self, TableError> {
                match section {
                    $($section => ConfiguredDetector::read(section, tables, folder).map(Self::$name),)+
                    _ => Ok(SettingsError::refuse(section, "is no detector")?),
                }
            }

            /// Checks everything that can be checked without taking memory.
            ///
            /// # Errors
            /// The first invalid setting; never for a configuration that was read.
            pub fn check(&self) -> Result<(), SettingsError> {
                match self {
                    $(Self::$name(settings) => ConfiguredDetector::check(settings),)+
                }
            }

            /// Takes pulses from a channel of this detector, whose section is called `section`.
            pub(crate) fn set_pulse_channel(
                &mut self,
                section: &str,
                channel: PulseChannel,
            ) -> Result<(), SettingsError> {
                let taken = match self {
                    $(Self::$name(settings) => ConfiguredDetector::set_pulse_channel(settings, channel),)+
                };
                if taken {
                    return Ok(());
                }
                let problem = format!(
                    "pulses are taken from a channel of [adc_readout] only: [{section}] has none for them, leave it out"
                );
                SettingsError::refuse("pulses.channel", problem)
            }

            pub(crate) fn check_alongside(&self, monitors: &BeamMonitorSettings) -> Result<(), SettingsError> {
                match self {
                    $(Self::$name(settings) => ConfiguredDetector::check_alongside(settings, monitors),)+
                }
            }

            /// How the detector forms events, by the name in the configuration, if it offers a choice.
            pub fn strategy(&self) -> Option<&'static str> {
                match self {
                    $(Self::$name(settings) => ConfiguredDetector::strategy(settings),)+
                }
            }

            /// What may wait for its time, if the detector puts hits or events into order.
            pub(crate) fn held_hits(&self) -> Option<HeldHits> {
                match self {
                    $(Self::$name(settings) => ConfiguredDetector::held_hits(settings),)+
                }
            }

            /// True if several threads can share the forming of its events.
            pub(crate) fn shares_forming(&self) -> bool {
                match self {
                    $(Self::$name(settings) => ConfiguredDetector::shares_forming(settings),)+
                }
            }

            pub(crate) fn makes_averages(&self) -> bool {
                match self {
                    $(Self::$name(settings) => ConfiguredDetector::makes_averages(settings),)+
                }
            }

            pub(crate) fn build(&self, parts: Parts<'_>) -> Result<Box<dyn Detector>, SettingsError> {
                match self {
                    $(Self::$name(settings) => ConfiguredDetector::build(settings, parts),)+
                }
            }
        }
    };
}

detectors! {
    /// A Gd-GEM.
    GdGem(GdGemSettings) = "gdgem",
    /// A Multi-Grid.
    MultiGrid(MultiGridSettings) = "multigrid",
    /// A SoNDe.
    Sonde(SondeSettings) = "sonde",
    /// A Multi-Blade.
    MultiBlade(MultiBladeSettings) = "multiblade",
    /// Sampled channels.
    AdcReadout(AdcReadoutSettings) = "adc_readout",
    /// Beam monitors in the ESS readout.
    BeamMonitors(BeamMonitorSettings) = "ess_beam_monitors",
    /// A Multi-Blade in the ESS readout.
    EssMultiBlade(EssMultiBladeSettings) = "ess_multiblade",
    /// A Multi-Grid in the ESS readout.
    EssMultiGrid(EssMultiGridSettings) = "ess_multigrid",
    /// A Gd-GEM in the ESS readout.
    EssGdGem(EssGdGemSettings) = "ess_gdgem",
    /// Boards of the streaming readout of ISIS.
    Isis(IsisSettings) = "isis",
    /// A detector in a library.
    Plugin(PluginSettings) = "plugin",
}
