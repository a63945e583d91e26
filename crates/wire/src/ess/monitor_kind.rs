//! What records of beam monitors can tell.

/// What a monitor tells with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MonitorKind {
    /// A neutron, without a place.
    Event0D,
    /// A neutron and where it was.
    Event2D,
    /// The current over some time.
    Integrating,
}

impl MonitorKind {
    /// The byte on the wire.
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::Event0D => 1,
            Self::Event2D => 2,
            Self::Integrating => 3,
        }
    }

    /// The kind of a byte, none if there is no such kind.
    #[inline(always)]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Event0D),
            2 => Some(Self::Event2D),
            3 => Some(Self::Integrating),
            _ => None,
        }
    }
}
