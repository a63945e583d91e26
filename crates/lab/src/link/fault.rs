//! Faults that a sender provokes, so that it can be seen that the receiver sees them.

use std::fmt;
use std::str::FromStr;

/// A fault of one packet of a stream. Packets are numbered from 0, as they are made.
///
/// A fault happens *behind* the sender's report, as if on the wire: a lost packet is one that the sender says it
/// has sent.
///
/// | text | what happens |
/// |---|---|
/// | `jump:packet=1000,distance=5` | The identifier of packet 1000 is 5, not 1, from that of the packet before, and counts on from there. 0 repeats an identifier, -3 goes back. No data are lost. |
/// | `lose:packet=1000` | It is not sent. |
/// | `twice:packet=1000` | It is sent twice. |
/// | `late:packet=1000,by=3` | It is sent behind the third packet after it. |
/// | `flip:packet=1000,bit=77` | Bit 77 of its payload (bit 0 is the most significant one of the first byte) is inverted. |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The identifiers jump.
    Jump {
        /// The first packet after the jump.
        packet: u64,
        /// Distance of its identifier from that of the packet before; 1 would be no jump.
        distance: i64,
    },
    /// A packet gets lost.
    Lose {
        /// Which one.
        packet: u64,
    },
    /// A packet comes twice.
    Twice {
        /// Which one.
        packet: u64,
    },
    /// A packet comes late.
    Late {
        /// Which one.
        packet: u64,
        /// How many packets overtake it, 1 or more.
        by: u64,
    },
    /// One bit is inverted.
    Flip {
        /// In which packet.
        packet: u64,
        /// Which bit of its payload; beyond the payload there is none.
        bit: u64,
    },
}

impl Fault {
    /// The packet that it happens to.
    fn packet(&self) -> u64 {
        match *self {
            Self::Jump { packet, .. }
            | Self::Lose { packet }
            | Self::Twice { packet }
            | Self::Late { packet, .. }
            | Self::Flip { packet, .. } => packet,
        }
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// True if a fault happens to it.
    pub(super) is_touched: bool,
    /// By how much its number is another one.
    pub(super) jump: i64,
    /// How often it is sent.
    pub(super) copies: usize,
    /// It is sent behind the packet with this index.
    pub(super) after: Option<u64>,
}

impl Fate {
    /// That of the packet with this index. Bits that are inverted are for whoever makes it.
    pub(super) fn of(packet: u64, faults: &[Fault]) -> Self {
        let mut fate = Self { is_touched: false, jump: 0, copies: 1, after: None };
        for fault in faults.iter().filter(|fault| fault.packet() == packet) {
            fate.is_touched = true;
            match *fault {
                Fault::Jump { distance, .. } => {
                    fate.jump = fate.jump.wrapping_add(distance.wrapping_sub(1));
                }
                Fault::Lose { .. } => fate.copies = 0,
                Fault::Twice { .. } => fate.copies *= 2,
                Fault::Late { by, .. } => fate.after = Some(packet.saturating_add(by)),
                Fault::Flip { .. } => {}
            }
        }
        fate
    }
}

/// The bits of a packet that faults invert.
pub(super) fn flipped(packet: u64, faults: &[Fault]) -> impl Iterator<Item = u64> {
    faults.iter().filter_map(move |fault| match *fault {
        Fault::Flip { packet: of, bit } if of == packet => Some(bit),
        _ => None,
    })
}

/// A text is no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no fault: expected jump:packet=N,distance=D, lose:packet=N, twice:packet=N, late:packet=N,by=K or \
     flip:packet=N,bit=B"
)]
pub struct FaultError(String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jump { packet, distance } => write!(f, "jump:packet={packet},distance={distance}"),
            Self::Lose { packet } => write!(f, "lose:packet={packet}"),
            Self::Twice { packet } => write!(f, "twice:packet={packet}"),
            Self::Late { packet, by } => write!(f, "late:packet={packet},by={by}"),
            Self::Flip { packet, bit } => write!(f, "flip:packet={packet},bit={bit}"),
        }
    }
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let wrong = || FaultError(text.to_owned());
        let (kind, values) = text.split_once(':').ok_or_else(wrong)?;
        let (first, second) = values.split_once(',').map_or((values, None), |(a, b)| (a, Some(b)));
        let packet = first.trim().strip_prefix("packet=").and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
        let second = |key: &str| second.and_then(|value| value.trim().strip_prefix(key)).ok_or_else(wrong);
        match (kind.trim(), values.contains(',')) {
            ("lose", false) => Ok(Self::Lose { packet }),
            ("twice", false) => Ok(Self::Twice { packet }),
            ("jump", true) => {
                let distance = second("distance=")?.parse().map_err(|_| wrong())?;
                Ok(Self::Jump { packet, distance })
            }
            ("late", true) => {
                let by = second("by=")?.parse().ok().filter(|&by| by > 0).ok_or_else(wrong)?;
                Ok(Self::Late { packet, by })
            }
            ("flip", true) => Ok(Self::Flip { packet, bit: second("bit=")?.parse().map_err(|_| wrong())? }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_from_text_and_wrong_ones_explained() {
        for text in [
            "jump:packet=10,distance=-3",
            "lose:packet=0",
            "twice:packet=5",
            "late:packet=7,by=2",
            "flip:packet=8,bit=15999",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for wrong in
            ["", "lose", "lose:packet=x", "lose:packet=1,by=2", "late:packet=1,by=0", "jump:packet=1"]
        {
            assert!(wrong.parse::<Fault>().unwrap_err().to_string().contains("expected jump:packet=N"));
        }
    }
}
