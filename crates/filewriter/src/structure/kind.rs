//! The writer modules.

use std::fmt;
use std::str::FromStr;

/// A writer module by its name in a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum ModuleKind {
    Ev44,
    F144,
    Al00,
    Ep01,
    Da00,
    Se00,
    Tdct,
    Ad00,
    /// From here on evforge's own: the file writer of the ESS has no such modules.
    Ev42,
    F142,
    Hs01,
    Ar51,
    Senv,
    Pu00,
    /// The ledger of an event formation unit: da00 messages of `docs/kafka.md`, "The ledger".
    Ledger,
}

impl ModuleKind {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Ev44,
        Self::F144,
        Self::Al00,
        Self::Ep01,
        Self::Da00,
        Self::Se00,
        Self::Tdct,
        Self::Ad00,
        Self::Ev42,
        Self::F142,
        Self::Hs01,
        Self::Ar51,
        Self::Senv,
        Self::Pu00,
        Self::Ledger,
    ];

    /// The name in a structure, and in the attribute `writer_module`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ev44 => "ev44",
            Self::F144 => "f144",
            Self::Al00 => "al00",
            Self::Ep01 => "ep01",
            Self::Da00 => "da00",
            Self::Se00 => "se00",
            Self::Tdct => "tdct",
            Self::Ad00 => "ad00",
            Self::Ev42 => "ev42",
            Self::F142 => "f142",
            Self::Hs01 => "hs01",
            Self::Ar51 => "ar51",
            Self::Senv => "senv",
            Self::Pu00 => "pu00",
            Self::Ledger => "evforge_ledger",
        }
    }

    /// The NeXus class of the group that it writes into, if the structure does not say another one.
    pub fn nexus_class(self) -> &'static str {
        match self {
            Self::Ev44 | Self::Ev42 => "NXevent_data",
            Self::Da00 => "NXdata",
            Self::Hs01 => "NXmonitor",
            Self::Ar51 | Self::Pu00 | Self::Ledger => "NXcollection",
            _ => "NXlog",
        }
    }

    /// True for those whose sources number their messages.
    pub fn has_numbers(self) -> bool {
        matches!(self, Self::Ev44 | Self::Ev42 | Self::Pu00)
    }

    /// True for those that the file writer of the ESS does not have.
    pub fn is_own(self) -> bool {
        self >= Self::Ev42
    }
}

impl fmt::Display for ModuleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ModuleKind {
    type Err = ();

    /// Reads the name, or the long one of the reference where it has two (`alarm_info`, `epics_con_info`).
    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "alarm_info" => Ok(Self::Al00),
            "epics_con_info" => Ok(Self::Ep01),
            _ => Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(()),
        }
    }
}
