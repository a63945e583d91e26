//! Which faults are to happen: tables `[[simulation.fault]]`, or `--fault "lose:probability=1e-3"`.

use evforge_core::quantity::{SignedTime, TimeSpan};
use schemars::JsonSchema;
use serde::Deserialize;
use std::str::FromStr;

/// What goes wrong, without its particulars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A packet is never sent.
    Lose,
    /// A packet is sent more than once.
    Repeat,
    /// A packet is sent behind later ones of its source.
    Reorder,
    /// The end of a packet is missing; it is a shorter datagram, not one that was cut on receipt.
    Truncate,
    /// One bit of a packet is the other way round.
    Corrupt,
    /// A packet is sent later.
    Delay,
    /// Packets are kept back and then sent all at once.
    Burst,
    /// Nothing is sent for a while, then everything at once.
    Pause,
    /// The electronics' counter of packets is shortly before its wrap.
    CounterWrap,
    /// The electronics restart: the counter of packets begins where it began first.
    Restart,
    /// The electronics' clock steps.
    ClockStep,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Lose,
        Self::Repeat,
        Self::Reorder,
        Self::Truncate,
        Self::Corrupt,
        Self::Delay,
        Self::Burst,
        Self::Pause,
        Self::CounterWrap,
        Self::Restart,
        Self::ClockStep,
    ];

    /// The name in configurations and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lose => "lose",
            Self::Repeat => "repeat",
            Self::Reorder => "reorder",
            Self::Truncate => "truncate",
            Self::Corrupt => "corrupt",
            Self::Delay => "delay",
            Self::Burst => "burst",
            Self::Pause => "pause",
            Self::CounterWrap => "counter-wrap",
            Self::Restart => "restart",
            Self::ClockStep => "clock-step",
        }
    }

    /// The keys that belong to this kind, beside those that say who is hit.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Lose | Self::Restart => &[],
            Self::Repeat => &["times", "behind"],
            Self::Reorder => &["behind"],
            Self::Truncate => &["bytes"],
            Self::Corrupt => &["bit", "part"],
            Self::Delay | Self::Pause | Self::ClockStep => &["by"],
            Self::Burst | Self::CounterWrap => &["count"],
        }
    }

    /// The keys that say who is hit.
    fn selectors(self) -> &'static [&'static str] {
        if self.is_of_electronics() {
            &["probability", "pulses", "source"]
        } else {
            &["probability", "packets", "pulses", "of_pulse", "source"]
        }
    }

    /// True for what happens to electronics before a pulse, and not to a packet.
    pub fn is_of_electronics(self) -> bool {
        matches!(self, Self::CounterWrap | Self::Restart | Self::ClockStep)
    }
}

/// A part of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Its header.
    Header,
    /// What follows the header.
    Data,
}

/// A packet's place among those of its pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// The first one; of the source, if the fault names one.
    First,
    /// The last one.
    Last,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// See [`Kind::Lose`].
    Lose,
    /// So many copies more, sent behind this many later packets of the source (0: at once).
    Repeat {
        /// Copies beside the packet itself.
        times: u32,
        /// Packets between the packet and its copies.
        behind: u32,
    },
    /// Sent behind this many later packets of the source.
    Reorder {
        /// Packets that pass it.
        behind: u32,
    },
    /// Only so many bytes are left; none: a random number of them. Shorter packets stay as they are.
    Truncate {
        /// Bytes that are left.
        bytes: Option<usize>,
    },
    /// A bit is flipped.
    Corrupt {
        /// The bit: byte times 8, and 0 for the least significant one. None: any. Packets that have no such bit stay
        /// as they are.
        bit: Option<usize>,
        /// Where, if the bit is any.
        part: Option<Part>,
    },
    /// Sent later by so much.
    Delay {
        /// Nanoseconds.
        by_ns: u64,
    },
    /// So many packets, from this one on, are sent when the last of them is.
    Burst {
        /// Packets.
        count: u32,
    },
    /// From this packet on nothing is sent for so long.
    Pause {
        /// Nanoseconds.
        by_ns: u64,
    },
    /// The counter is 0 again after so many packets.
    CounterWrap {
        /// Packets.
        count: u32,
    },
    /// See [`Kind::Restart`].
    Restart,
    /// The clock steps by so much; below 0: back.
    ClockStep {
        /// Picoseconds.
        by_ps: i64,
    },
}

/// Who is hit. All that is given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Packets (pulses, for faults of electronics) are hit with this probability; none: always.
    pub probability: Option<f64>,
    /// Only these packets, by number.
    pub packets: Option<Vec<u64>>,
    /// Only in these pulses.
    pub pulses: Option<Vec<u64>>,
    /// Only the first or the last packet of a pulse.
    pub of_pulse: Option<Edge>,
    /// Only this source, by the name that it has in the ledger. Packets are then counted for it alone.
    pub source: Option<String>,
}

/// A fault that is to happen.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "Entry")]
#[schemars(with = "Entry")]
pub struct Fault {
    /// Its kind.
    pub kind: Kind,
    /// What happens.
    pub action: Action,
    /// To whom.
    pub selection: Selection,
}

/// A time that may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SignedDuration {
    picoseconds: i64,
}

impl FromStr for SignedDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let (sign, length) = trimmed.strip_prefix('-').map_or((1, trimmed), |length| (-1, length));
        let length: TimeSpan = length.parse().map_err(|error| format!("{error}"))?;
        let picoseconds = i64::try_from(length.picoseconds).map_err(|_| format!("`{text}` is too long"))?;
        Ok(Self { picoseconds: sign * picoseconds })
    }
}

impl<'de> Deserialize<'de> for SignedDuration {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A fault as it is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// What goes wrong.
    kind: Kind,
    /// Packets (pulses, for faults of electronics) are hit with this probability; always without it.
    probability: Option<f64>,
    /// Only these packets, by number.
    packets: Option<Vec<u64>>,
    /// Only in these pulses.
    pulses: Option<Vec<u64>>,
    /// Only the first or the last packet of a pulse.
    of_pulse: Option<Edge>,
    /// Only this source, by the name that it has in the ledger. Packets are then counted for it alone.
    source: Option<String>,
    /// Copies beside the packet itself: of `repeat`.
    times: Option<u32>,
    /// Packets of the source that pass it: of `repeat` and `reorder`.
    behind: Option<u32>,
    /// Bytes that are left: of `truncate`; a random number without it.
    bytes: Option<usize>,
    /// The bit that is flipped, byte times 8, and 0 for the least significant one: of `corrupt`; any without it.
    bit: Option<usize>,
    /// Where the bit is, if it is any: of `corrupt`.
    part: Option<Part>,
    /// By how much, or how long: of `delay`, `pause` and `clock-step`.
    #[schemars(with = "Option<SignedTime>")]
    by: Option<SignedDuration>,
    /// Packets: of `burst` and `counter-wrap`.
    count: Option<u32>,
}

impl Entry {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            probability: None,
            packets: None,
            pulses: None,
            of_pulse: None,
            source: None,
            times: None,
            behind: None,
            bytes: None,
            bit: None,
            part: None,
            by: None,
            count: None,
        }
    }

    /// The keys that are there.
    fn present(&self) -> impl Iterator<Item = &'static str> {
        let keys = [
            ("probability", self.probability.is_some()),
            ("packets", self.packets.is_some()),
            ("pulses", self.pulses.is_some()),
            ("of_pulse", self.of_pulse.is_some()),
            ("source", self.source.is_some()),
            ("times", self.times.is_some()),
            ("behind", self.behind.is_some()),
            ("bytes", self.bytes.is_some()),
            ("bit", self.bit.is_some()),
            ("part", self.part.is_some()),
            ("by", self.by.is_some()),
            ("count", self.count.is_some()),
        ];
        keys.into_iter().filter_map(|(key, is_there)| is_there.then_some(key))
    }

    /// `by` in nanoseconds, which must be above 0.
    fn by_ns(&self) -> Result<u64, String> {
        let by = self.by.ok_or_else(|| self.needs("by, a time such as \"5ms\""))?;
        match u64::try_from(by.picoseconds / 1000) {
            Ok(nanoseconds) if nanoseconds > 0 => Ok(nanoseconds),
            _ => Err(format!("`by` of a fault `{}` must be at least 1ns", self.kind.name())),
        }
    }

    fn needs(&self, what: &str) -> String {
        format!("a fault `{}` needs {what}", self.kind.name())
    }

    /// A number of packets, which must be above 0.
    fn above_zero(&self, key: &str, value: Option<u32>, default: u32) -> Result<u32, String> {
        match value.unwrap_or(default) {
            0 => Err(format!("`{key}` of a fault `{}` must be above 0", self.kind.name())),
            count => Ok(count),
        }
    }

    fn action(&self) -> Result<Action, String> {
        Ok(match self.kind {
            Kind::Lose => Action::Lose,
            Kind::Repeat => Action::Repeat {
                times: self.above_zero("times", self.times, 1)?,
                behind: self.behind.unwrap_or(0),
            },
            Kind::Reorder => Action::Reorder { behind: self.above_zero("behind", self.behind, 1)? },
            Kind::Truncate => Action::Truncate { bytes: self.bytes },
            Kind::Corrupt if self.bit.is_some() && self.part.is_some() => {
                return Err("a fault `corrupt` has either `bit` or `part`: take one of them out".into());
            }
            Kind::Corrupt => Action::Corrupt { bit: self.bit, part: self.part },
            Kind::Delay => Action::Delay { by_ns: self.by_ns()? },
            Kind::Burst => {
                let count = self.count.ok_or_else(|| self.needs("count, a number of packets"))?;
                Action::Burst { count: self.above_zero("count", Some(count), 1)? }
            }
            Kind::Pause => Action::Pause { by_ns: self.by_ns()? },
            Kind::CounterWrap => Action::CounterWrap { count: self.above_zero("count", self.count, 1)? },
            Kind::Restart => Action::Restart,
            Kind::ClockStep => {
                let by = self.by.ok_or_else(|| self.needs("by, a time such as \"-5ms\""))?;
                Action::ClockStep { by_ps: by.picoseconds }
            }
        })
    }
}

impl TryFrom<Entry> for Fault {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Self, String> {
        let kind = entry.kind;
        let (keys, selectors) = (kind.keys(), kind.selectors());
        if let Some(key) = entry.present().find(|key| !keys.contains(key) && !selectors.contains(key)) {
            let all = selectors.iter().chain(keys).copied().collect::<Vec<_>>().join(", ");
            return Err(format!("a fault `{}` has no `{key}`: it has {all}", kind.name()));
        }
        if let Some(probability) = entry.probability
            && !(0.0..=1.0).contains(&probability)
        {
            return Err(format!("`probability` is {probability} and must be from 0 to 1"));
        }
        let says_who = ["probability", "packets", "pulses", "of_pulse"];
        if !entry.present().any(|key| says_who.contains(&key)) {
            let ways: Vec<_> = says_who.into_iter().filter(|key| selectors.contains(key)).collect();
            return Err(format!("a fault `{}` must say when: {}", kind.name(), ways.join(" or ")));
        }
        let action = entry.action()?;
        let Entry { probability, packets, pulses, of_pulse, source, .. } = entry;
        let sorted = |numbers: Option<Vec<u64>>| {
            numbers.map(|mut numbers| {
                numbers.sort_unstable();
                numbers
            })
        };
        let (packets, pulses) = (sorted(packets), sorted(pulses));
        Ok(Self { kind, action, selection: Selection { probability, packets, pulses, of_pulse, source } })
    }
}

/// Reads what `[[simulation.fault]]` says from one line: `KIND:KEY=VALUE,…`. Several packets or pulses have `+` between
/// them: `lose:packets=17+99,source=FEC 1`. Names can have commas: `source=group 45, system 2`.
impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name.trim()).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            format!("found no kind of fault in `{text}`, expected KIND:KEY=VALUE,… with one of {names}")
        })?;
        let mut entry = Entry::new(kind);
        let mut assignments: Vec<String> = Vec::new();
        for piece in rest.split(',').filter(|piece| !piece.trim().is_empty()) {
            match assignments.last_mut() {
                Some(last) if !piece.contains('=') => *last = format!("{last},{piece}"),
                _ => assignments.push(piece.to_owned()),
            }
        }
        for assignment in &assignments {
            let (key, value) = assignment
                .split_once('=')
                .ok_or_else(|| format!("found `{assignment}` in `{text}`, expected KEY=VALUE"))?;
            let (key, value) = (key.trim(), value.trim());
            set(&mut entry, key, value).map_err(|problem| format!("{problem} for `{key}` in `{text}`"))?;
        }
        Self::try_from(entry)
    }
}

/// Sets a key of an entry from text.
fn set(entry: &mut Entry, key: &str, value: &str) -> Result<(), String> {
    match key {
        "probability" => entry.probability = Some(number(value, "a number from 0 to 1")?),
        "packets" => entry.packets = Some(numbers(value)?),
        "pulses" => entry.pulses = Some(numbers(value)?),
        "of_pulse" => {
            entry.of_pulse = Some(one_of(value, &[("first", Edge::First), ("last", Edge::Last)])?);
        }
        "source" => entry.source = Some(value.to_owned()),
        "times" => entry.times = Some(number(value, "a number of copies")?),
        "behind" => entry.behind = Some(number(value, "a number of packets")?),
        "bytes" => entry.bytes = Some(number(value, "a number of bytes")?),
        "bit" => entry.bit = Some(number(value, "the number of a bit")?),
        "part" => entry.part = Some(one_of(value, &[("header", Part::Header), ("data", Part::Data)])?),
        "by" => entry.by = Some(value.parse()?),
        "count" => entry.count = Some(number(value, "a number of packets")?),
        _ => {
            let all = entry.kind.selectors().iter().chain(entry.kind.keys());
            let all = all.copied().collect::<Vec<_>>().join(", ");
            return Err(format!("found an unknown key, expected one of {all}"));
        }
    }
    Ok(())
}

fn number<N: FromStr>(value: &str, expected: &str) -> Result<N, String> {
    value.parse().map_err(|_| format!("found `{value}`, expected {expected}"))
}

fn numbers(value: &str) -> Result<Vec<u64>, String> {
    value.split('+').map(|part| number(part.trim(), "numbers with + between them, such as 17+99")).collect()
}

fn one_of<T: Copy>(value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    choices.iter().find(|(name, _)| *name == value).map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        format!("found `{value}`, expected {}", names.join(" or "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(text: &str) -> Fault {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn every_kind_can_be_written_in_a_line() {
        assert_eq!(fault("lose:probability=1e-3").selection.probability, Some(1e-3));
        let named = fault("lose: packets = 99+17, source = FEC 1").selection;
        assert_eq!((named.packets, named.source), (Some(vec![17, 99]), Some("FEC 1".to_owned())));
        for (text, action) in [
            ("repeat:packets=1", Action::Repeat { times: 1, behind: 0 }),
            ("repeat:packets=1,times=3,behind=2", Action::Repeat { times: 3, behind: 2 }),
            ("reorder:of_pulse=last", Action::Reorder { behind: 1 }),
            ("truncate:packets=1,bytes=17", Action::Truncate { bytes: Some(17) }),
            ("corrupt:packets=1,bit=9", Action::Corrupt { bit: Some(9), part: None }),
            ("corrupt:probability=0.5,part=data", Action::Corrupt { bit: None, part: Some(Part::Data) }),
            ("delay:packets=1,by=5ms", Action::Delay { by_ns: 5_000_000 }),
            ("burst:packets=1,count=9", Action::Burst { count: 9 }),
            ("pause:pulses=4,of_pulse=first,by=1us", Action::Pause { by_ns: 1_000 }),
            ("counter-wrap:pulses=2,count=5", Action::CounterWrap { count: 5 }),
            ("restart:pulses=2", Action::Restart),
            ("clock-step:pulses=20,by=-5ms", Action::ClockStep { by_ps: -5_000_000_000 }),
        ] {
            assert_eq!(fault(text).action, action, "{text}");
        }
    }

    #[test]
    fn names_of_sources_can_have_commas() {
        let fault: Fault = "lose:source=group 45, system 2,probability=0.5".parse().unwrap();
        assert_eq!(fault.selection.source.as_deref(), Some("group 45, system 2"));
        assert_eq!(fault.selection.probability, Some(0.5));
    }

    #[test]
    fn errors_say_what_was_found_and_what_is_expected() {
        for (text, expected) in [
            ("", "expected KIND:KEY=VALUE"),
            ("explode:packets=1", "one of lose, repeat"),
            ("lose", "must say when: probability or packets"),
            ("restart", "must say when: probability or pulses"),
            ("restart:packets=4", "has no `packets`: it has probability, pulses, source"),
            ("lose:packets=1,bit=4", "has no `bit`"),
            ("lose:packets", "expected KEY=VALUE"),
            ("lose:packets=1;2", "such as 17+99"),
            ("lose:probability=2", "from 0 to 1"),
            ("lose:probability=nan", "from 0 to 1"),
            ("lose:who=me", "expected one of probability, packets"),
            ("delay:packets=1", "needs by"),
            ("delay:packets=1,by=-5ms", "at least 1ns"),
            ("clock-step:pulses=1,by=5", "found `5`"),
            ("burst:packets=1", "needs count"),
            ("reorder:packets=1,behind=0", "above 0"),
            ("corrupt:packets=1,bit=1,part=data", "either `bit` or `part`"),
            ("corrupt:packets=1,part=tail", "expected header or data"),
        ] {
            let error = text.parse::<Fault>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[a-z-]{0,12}:?[a-z_]{0,12}=?.{0,20}", other: String) {
            let _ = text.parse::<Fault>();
            let _ = other.parse::<Fault>();
        }
    }
}
