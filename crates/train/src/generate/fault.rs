//! Faults of packets and trains, as they are asked for.

use std::fmt;
use std::str::FromStr;

/// A fault of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketFault {
    /// It is not sent.
    Lost,
    /// It is sent twice, one right behind the other.
    Repeated,
    /// It is sent behind the packet that is so many after it (at least 1), or as the last of its train if that has not as many.
    Displaced {
        /// How many packets overtake it.
        by: u32,
    },
    /// The datagram is cut at its end, trailer first.
    Truncated {
        /// Bytes that are left of it.
        bytes: usize,
    },
    /// Its data are cut; the trailer is whole.
    Shortened {
        /// Bytes of data that are left.
        bytes: usize,
    },
}

/// A fault of one train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainFault {
    /// Its first packet is not sent.
    MissingFirst,
    /// Its last packet is not sent.
    MissingLast,
    /// It does not begin with its magic number: every bit of that is inverted.
    WrongBegin,
    /// It does not end with its magic number: every bit of that is inverted.
    WrongEnd,
    /// Its header has another number.
    WrongNumber {
        /// Which one.
        number: u64,
    },
    /// It is sent behind the next train.
    Late,
    /// Its packets take turns with those of the next train.
    Interleaved,
}

/// A fault and its place. Trains are counted from 0, as they are made; packets of a train from 0.
///
/// | text | what happens |
/// |---|---|
/// | `lost:train=3,packet=17` | Packet 17 of train 3 is not sent. |
/// | `repeated:train=3,packet=17` | It is sent twice. |
/// | `displaced:train=3,packet=17,by=4` | It is sent behind packet 21. |
/// | `truncated:train=3,packet=17,bytes=5` | 5 bytes are left of its datagram. |
/// | `shortened:train=3,packet=17,bytes=100` | 100 bytes are left of its data, and its trailer follows. |
/// | `missing-first:train=3` | The first packet is not sent. |
/// | `missing-last:train=3` | The last packet is not sent. |
/// | `wrong-begin:train=3` | The magic number at the beginning is wrong. |
/// | `wrong-end:train=3` | The magic number at the end is wrong. |
/// | `wrong-number:train=3,number=7` | The header says 7. |
/// | `late:train=3` | It is sent behind train 4. |
/// | `interleaved:train=3` | Its packets take turns with those of train 4. |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Of a packet.
    Packet {
        /// Index of the train.
        train: u64,
        /// Number of the packet.
        packet: u32,
        /// What happens to it.
        fault: PacketFault,
    },
    /// Of a train.
    Train {
        /// Index of the train.
        train: u64,
        /// What happens to it.
        fault: TrainFault,
    },
}

/// A text is no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no fault: expected lost:train=T,packet=N, repeated:train=T,packet=N, displaced:train=T,packet=N,by=K, \
     truncated:train=T,packet=N,bytes=B, shortened:train=T,packet=N,bytes=B, wrong-number:train=T,number=N, or one of \
     missing-first, missing-last, wrong-begin, wrong-end, late, interleaved with :train=T"
)]
pub struct FaultTextError(String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Packet { train, packet, fault } => {
                let (name, more) = match fault {
                    PacketFault::Lost => ("lost", String::new()),
                    PacketFault::Repeated => ("repeated", String::new()),
                    PacketFault::Displaced { by } => ("displaced", format!(",by={by}")),
                    PacketFault::Truncated { bytes } => ("truncated", format!(",bytes={bytes}")),
                    PacketFault::Shortened { bytes } => ("shortened", format!(",bytes={bytes}")),
                };
                write!(f, "{name}:train={train},packet={packet}{more}")
            }
            Self::Train { train, fault } => {
                let (name, more) = match fault {
                    TrainFault::MissingFirst => ("missing-first", String::new()),
                    TrainFault::MissingLast => ("missing-last", String::new()),
                    TrainFault::WrongBegin => ("wrong-begin", String::new()),
                    TrainFault::WrongEnd => ("wrong-end", String::new()),
                    TrainFault::WrongNumber { number } => ("wrong-number", format!(",number={number}")),
                    TrainFault::Late => ("late", String::new()),
                    TrainFault::Interleaved => ("interleaved", String::new()),
                };
                write!(f, "{name}:train={train}{more}")
            }
        }
    }
}

impl FromStr for Fault {
    type Err = FaultTextError;

    fn from_str(text: &str) -> Result<Self, FaultTextError> {
        read(text).ok_or_else(|| FaultTextError(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Fault> {
    let (kind, values) = text.split_once(':')?;
    let mut values = values.split(',');
    let mut value = |key: &str| -> Option<u64> {
        let (found, number) = values.next()?.split_once('=')?;
        (found.trim() == key).then(|| number.trim().parse().ok())?
    };
    let train = value("train")?;
    let of_train = |fault| Fault::Train { train, fault };
    let fault = match kind.trim() {
        "missing-first" => of_train(TrainFault::MissingFirst),
        "missing-last" => of_train(TrainFault::MissingLast),
        "wrong-begin" => of_train(TrainFault::WrongBegin),
        "wrong-end" => of_train(TrainFault::WrongEnd),
        "wrong-number" => of_train(TrainFault::WrongNumber { number: value("number")? }),
        "late" => of_train(TrainFault::Late),
        "interleaved" => of_train(TrainFault::Interleaved),
        kind => {
            let packet = u32::try_from(value("packet")?).ok()?;
            let fault = match kind {
                "lost" => PacketFault::Lost,
                "repeated" => PacketFault::Repeated,
                "displaced" => {
                    let by = u32::try_from(value("by")?).ok().filter(|&by| by > 0)?;
                    PacketFault::Displaced { by }
                }
                "truncated" => PacketFault::Truncated { bytes: usize::try_from(value("bytes")?).ok()? },
                "shortened" => PacketFault::Shortened { bytes: usize::try_from(value("bytes")?).ok()? },
                _ => return None,
            };
            Fault::Packet { train, packet, fault }
        }
    };
    values.next().is_none().then_some(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_from_text_and_others_are_explained() {
        for text in [
            "lost:train=3,packet=17",
            "repeated:train=3,packet=17",
            "displaced:train=3,packet=17,by=4",
            "truncated:train=3,packet=17,bytes=5",
            "shortened:train=3,packet=17,bytes=100",
            "missing-first:train=3",
            "missing-last:train=3",
            "wrong-begin:train=3",
            "wrong-end:train=3",
            "wrong-number:train=3,number=18446744073709551615",
            "late:train=3",
            "interleaved:train=3",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "lost",
            "lost:train=3",
            "lost:packet=17,train=3",
            "lost:train=3,packet=17,by=4",
            "displaced:train=3,packet=17,by=0",
            "lost:train=3,packet=4294967296",
            "late:train=x",
            "late:train=3,",
            "flipped:train=3,packet=17",
        ] {
            let error = wrong.parse::<Fault>().unwrap_err().to_string();
            assert!(error.contains("expected lost:train=T"), "{wrong}: {error}");
        }
    }
}
