//! Which packets a configuration is for: format, ESS type and records.

use evforge_config::{Config, DetectorSettings};
use evforge_detect::ess::EssSettings;
use evforge_detect::gdgem::settings::ReadoutFormat as SrsFormat;
use evforge_detect::multiblade::caen::settings::ReadoutFormat as CaenFormat;
use evforge_detect::multigrid::MultiGridSettings;
use evforge_inspect::content::Content;
use evforge_inspect::stream::Stream;
use evforge_wire::ess::HeaderRelaxations;
use evforge_wire::recognise::{EssRecords, Format};

/// What a configuration reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Whatever comes: a plugin decides for itself.
    Anything,
    /// Packets of this format.
    Format(Format),
    /// Packets of the ESS readout.
    Ess {
        /// With this type, or with any.
        detector_type: Option<u8>,
        /// With these records.
        records: EssRecords,
        /// With this type and records of beam monitors, alongside.
        monitors: Option<u8>,
    },
}

impl Expected {
    /// What `config` reads.
    pub fn by(config: &Config) -> Self {
        match &config.detector {
            DetectorSettings::GdGem(settings) => Self::Format(match settings.format {
                SrsFormat::Vmm2 => Format::SrsVmm2,
                SrsFormat::Vmm3Of2018 => Format::SrsVmm3Of2018,
                SrsFormat::Vmm3a | SrsFormat::Vmm3aTriggered => Format::SrsVmm3a,
            }),
            DetectorSettings::MultiBlade(settings) => Self::Format(match settings.format {
                CaenFormat::Records => Format::CaenRecords,
                CaenFormat::JadaqOfJune2018 => Format::JadaqOfJune2018,
                CaenFormat::Jadaq1_3 => Format::Jadaq1_3,
            }),
            DetectorSettings::MultiGrid(MultiGridSettings::Mesytec(_)) => Self::Format(Format::Mesytec),
            DetectorSettings::MultiGrid(MultiGridSettings::Cncs(_)) => Self::Format(Format::Cncs),
            DetectorSettings::Sonde(_) => Self::Format(Format::Sonde),
            DetectorSettings::AdcReadout(_) => Self::Format(Format::AdcReadout),
            DetectorSettings::Isis(_) => Self::Format(Format::Isis),
            DetectorSettings::BeamMonitors(settings) => ess(config, &settings.ess, EssRecords::BeamMonitors),
            DetectorSettings::EssMultiBlade(settings) => ess(config, &settings.ess, EssRecords::Vmm3a),
            DetectorSettings::EssMultiGrid(settings) => ess(config, &settings.ess, EssRecords::Vmm3a),
            DetectorSettings::EssGdGem(settings) => ess(config, &settings.ess, EssRecords::Vmm3a),
            DetectorSettings::Plugin(_) => Self::Anything,
        }
    }

    /// Whether a stream is what it reads. Heartbeats alone have no records that could be wrong.
    pub fn reads(self, stream: &Stream) -> bool {
        match (self, &stream.content) {
            (Self::Anything, _) => true,
            (Self::Format(format), _) => stream.key.format == Some(format),
            (Self::Ess { detector_type, records, monitors }, Content::Ess(content)) => {
                let found = content.records();
                let is_detector = detector_type.is_none_or(|expected| expected == content.detector_type())
                    && [records, EssRecords::None].contains(&found);
                let is_monitor = monitors == Some(content.detector_type())
                    && [EssRecords::BeamMonitors, EssRecords::None].contains(&found);
                is_detector || is_monitor
            }
            (Self::Ess { .. }, _) => false,
        }
    }

    /// In words: "ESS readout of type 0x48 with VMM3a records of 20 bytes".
    pub(crate) fn in_words(self) -> String {
        match self {
            Self::Anything => "anything".to_owned(),
            Self::Format(format) => format.name().to_owned(),
            Self::Ess { detector_type, records, monitors } => {
                let named =
                    detector_type.map_or_else(String::new, |number| format!(" of type {number:#04x}"));
                let alongside = monitors.map_or_else(String::new, |number| {
                    format!(", and beam monitors of type {number:#04x} alongside")
                });
                format!("ESS readout{named} with {}{alongside}", records.name())
            }
        }
    }
}

/// Packets of the ESS readout, with the beam monitors of the configuration.
fn ess(config: &Config, settings: &EssSettings, records: EssRecords) -> Expected {
    let any = settings.header.relaxed.contains(HeaderRelaxations::TYPE);
    let monitors = config.monitors.as_ref().and_then(|monitors| monitors.type_alongside().ok());
    Expected::Ess { detector_type: (!any).then_some(settings.header.detector_type), records, monitors }
}
