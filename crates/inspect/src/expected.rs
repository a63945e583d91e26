//! Which packets a configuration is for: format, ESS type and records.

use crate::content::Content;
use evforge_wire::recognise::{EssRecords, Format};

/// What a configuration reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Whatever comes: a plugin decides for itself.
    Anything,
    /// Packets of this format.
    Format(Format),
    /// The streaming readout of ISIS in one of its versions.
    Isis {
        /// Version 2, not 1.
        is_v2: bool,
    },
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
    /// Whether it reads packets of this format with this content. Heartbeats alone have no records that could be wrong.
    pub(crate) fn reads(self, format: Option<Format>, content: &Content) -> bool {
        match (self, content) {
            (Self::Anything, _) => true,
            (Self::Format(expected), _) => format == Some(expected),
            (Self::Isis { is_v2 }, Content::Isis(content)) => {
                let seen = content.versions();
                seen[usize::from(is_v2)] || seen == [false; 2]
            }
            (Self::Ess { detector_type, records, monitors }, Content::Ess(content)) => {
                let found = content.records();
                let is_detector = detector_type.is_none_or(|expected| expected == content.detector_type())
                    && [records, EssRecords::None].contains(&found);
                let is_monitor = monitors == Some(content.detector_type())
                    && [EssRecords::BeamMonitors, EssRecords::None].contains(&found);
                is_detector || is_monitor
            }
            (Self::Ess { .. } | Self::Isis { .. }, _) => false,
        }
    }

    /// In words: "ESS readout of type 0x48 with VMM3a records of 20 bytes".
    pub fn in_words(self) -> String {
        match self {
            Self::Anything => "anything".to_owned(),
            Self::Format(format) => format.name().to_owned(),
            Self::Isis { is_v2 } => format!("{}, version {}", Format::Isis.name(), 1 + u8::from(is_v2)),
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
