//! The detectors that there are: this list, and for each of them how its section is read and what is built from it.
//!
//! To add one, see `CONTRIBUTING.md`; its settings, and what they say in a configuration, are in its folder of
//! `evforge_detect`.

mod adc_readout;
mod beam_monitors;
mod configured;
mod gdgem;
mod helium3;
mod isis;
mod multiblade;
mod multigrid;
pub mod plugin;
mod sonde;

use crate::document::{ReadFile, TableError, Tables};
use crate::side_file;
pub(crate) use configured::send_alongside;
pub use configured::{ConfiguredDetector, Parts, PartsByOrigin, SideFile};
use evforge_core::counter::CountedStage;
use evforge_core::settings::SettingsError;
use evforge_detect::adc_readout::AdcReadoutSettings;
use evforge_detect::beam_monitors::BeamMonitorSettings;
use evforge_detect::gdgem::GdGemSettings;
use evforge_detect::gdgem::ess::EssGdGemSettings;
use evforge_detect::helium3::Helium3Settings;
use evforge_detect::isis::IsisSettings;
use evforge_detect::multiblade::{EssMultiBladeSettings, MultiBladeSettings};
use evforge_detect::multigrid::{EssMultiGridSettings, MultiGridSettings};
use evforge_detect::sonde::SondeSettings;
use plugin::PluginSettings;
use schemars::{Schema, SchemaGenerator};
use std::ops::{Deref, DerefMut};
use std::path::Path;

/// From the list: the settings of all detectors in one type.
macro_rules! detectors {
    ($($(#[$doc:meta])* $name:ident($settings:ty) = $section:literal,)+) => {
        /// Names of the detectors' sections.
        pub const SECTIONS: [&str; [$($section),+].len()] = [$($section),+];

        /// The settings of one of the detectors, which answer as [`ConfiguredDetector`].
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum DetectorSettings {
            $($(#[$doc])* $name($settings),)+
        }

        /// Sets of counters of all detectors, beside those of the ESS readout and of packets.
        pub fn counted_stages() -> Vec<CountedStage> {
            [$(<$settings>::counted_stages()),+].concat()
        }

        /// Names of all shipped configurations, of a detector the likeliest first, and again with each key that has the last
        /// of a detector read another format.
        pub(crate) fn shipped() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
            let of_detectors = [$((<$settings>::shipped(), <$settings>::other_formats())),+];
            of_detectors.into_iter().flat_map(|(names, keys)| {
                let with_keys = names.last().into_iter().flat_map(|&last| keys.iter().map(move |&key| (last, Some(key))));
                names.iter().map(|&name| (name, None)).chain(with_keys)
            })
        }

        /// The schemas of all detectors' sections, by name.
        pub(crate) fn section_schemas(generator: &mut SchemaGenerator) -> [(&'static str, Schema); SECTIONS.len()] {
            [$(($section, generator.subschema_for::<$settings>())),+]
        }

        impl DetectorSettings {
            /// Reads the section of this name, which is one of [`SECTIONS`], and the table `[ess]` if it belongs to it.
            pub(crate) fn read(section: &'static str, tables: &mut Tables<'_>) -> Result<Self, TableError> {
                let mut settings = match section {
                    $($section => tables.require(section).map(Self::$name)?,)+
                    _ => return Ok(SettingsError::refuse(section, "is no detector")?),
                };
                if let Some(ess) = settings.ess_mut() {
                    *ess = tables.require("ess")?;
                    ess.check()?;
                }
                Ok(settings)
            }
        }

        impl Deref for DetectorSettings {
            type Target = dyn ConfiguredDetector;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$name(settings) => settings,)+
                }
            }
        }

        impl DerefMut for DetectorSettings {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$name(settings) => settings,)+
                }
            }
        }
    };
}

impl DetectorSettings {
    /// Reads the files that the section names, which lie in `folder`; notes are for people.
    pub(crate) fn read_files(
        &mut self,
        section: &str,
        (folder, read_file): (&Path, ReadFile),
        notes: &mut Vec<String>,
    ) -> Result<(), SettingsError> {
        self.lies_in(folder).map_err(|error| error.within(section))?;
        for file in self.side_files() {
            let take = |text: &str| self.take_file(file.key, text);
            notes.extend(
                side_file::read(folder, &file, read_file, take).map_err(|error| error.within(section))?,
            );
        }
        notes.extend(self.notes(section));
        Ok(())
    }
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
    /// Helium-3 tubes in the ESS readout.
    EssHelium3(Helium3Settings) = "ess_helium3",
    /// Boards of the streaming readout of ISIS.
    Isis(IsisSettings) = "isis",
    /// A detector in a library.
    Plugin(PluginSettings) = "plugin",
}
