//! One stream: the packets of one format, and one ESS type, from one source to one port.

use crate::content::Content;
use crate::expected::Expected;
use crate::report::{Line, line, named_counts};
use crate::shipped::ShippedConfiguration;
use evforge_core::packet::Packet;
use evforge_core::quantity::grouped;
use evforge_wire::recognise::{EssRecords, Format};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What makes a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamKey {
    /// The address of the sender; 0.0.0.0 where the input does not say.
    pub source: IpAddr,
    /// The UDP port that it sends to; 0 where the input does not say.
    pub port: u16,
    /// The format; none if it is unknown.
    pub format: Option<Format>,
    /// The type in the header of the ESS readout.
    pub ess_type: Option<u8>,
}

/// What a configuration made of the capture that a stream is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Which one, with what has to be set in it.
    pub configuration: String,
    /// Readouts that it found.
    pub readouts: u64,
    /// Those that it placed: hits, and values that went into histograms.
    pub placed: u64,
    /// Events that it formed.
    pub events: u64,
    /// For what reasons it has discarded the most readouts.
    pub reasons: Vec<(&'static str, u64)>,
}

/// From this share on a configuration fits, in percent.
const FITS: f64 = 75.0;

impl Tried {
    fn percent(&self) -> f64 {
        100.0 * self.placed as f64 / self.readouts.max(1) as f64
    }

    fn in_words(&self) -> String {
        let reasons = self.reasons.iter().map(|(reason, count)| format!("{} {reason}", grouped(*count)));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let discarded = if reasons.is_empty() { reasons } else { format!(" ({reasons})") };
        format!(
            "{}: places {:.1} % of {} readouts{discarded}, {} events",
            self.configuration,
            self.percent(),
            grouped(self.readouts),
            grouped(self.events)
        )
    }

    fn json(&self) -> Value {
        json!({
            "configuration": self.configuration,
            "readouts": self.readouts,
            "placed": self.placed,
            "events": self.events,
            "reasons": self.reasons.iter().copied().collect::<BTreeMap<_, _>>(),
        })
    }
}

/// A stream and what is in it.
#[derive(Debug)]
pub struct Stream {
    /// Which one it is.
    pub key: StreamKey,
    /// Its packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that the capture has cut.
    pub cut: u64,
    /// Packets that cannot be decoded, by the reason.
    pub faults: BTreeMap<&'static str, u64>,
    /// Packets of the same source and port that are not of this format, where it has no signature: by what they are like.
    pub disagreeing: BTreeMap<&'static str, u64>,
    /// What is in the packets.
    pub content: Content,
    /// The shipped configurations that there are.
    shipped: &'static [ShippedConfiguration],
    /// What those of them that may fit made of it, as far as they have been tried.
    pub tried: Vec<Tried>,
}

impl Stream {
    /// A stream without packets.
    pub(crate) fn new(key: StreamKey, shipped: &'static [ShippedConfiguration]) -> Self {
        Self {
            key,
            packets: 0,
            bytes: 0,
            cut: 0,
            faults: BTreeMap::new(),
            disagreeing: BTreeMap::new(),
            content: Content::new(key.format),
            shipped,
            tried: Vec::new(),
        }
    }

    /// Takes a packet, which cannot be decoded if there is a `fault`.
    pub(crate) fn take(&mut self, packet: &Packet<'_>, fault: Option<&'static str>) {
        self.packets += 1;
        self.bytes += packet.bytes.len() as u64;
        if packet.is_cut() {
            self.cut += 1;
        } else if let Some(fault) = fault {
            *self.faults.entry(fault).or_default() += 1;
        }
        self.content.take(packet);
    }

    /// Whence and whereto: "10.0.0.2 to port 9000".
    pub fn route(&self) -> String {
        if self.key.source.is_unspecified() && self.key.port == 0 {
            return "sender and port are not in the file".to_owned();
        }
        format!("{} to port {}", self.key.source, self.key.port)
    }

    /// What it is: "ESS readout, header version 1, type 0x44 NMX: VMM3a records of 20 bytes".
    pub fn title(&self) -> String {
        match (&self.content, self.key.format) {
            (Content::Ess(content), _) => format!("ESS readout, {}", content.title()),
            (_, Some(format)) => format.name().to_owned(),
            (Content::Unknown(content), None) => content.protocols().unwrap_or_else(|| "unknown".to_owned()),
            (_, None) => "unknown".to_owned(),
        }
    }

    /// Whether a configuration that reads `expected` reads it.
    pub fn is_read_as(&self, expected: Expected) -> bool {
        expected.reads(self.key.format, &self.content)
    }

    /// The shipped configurations that may read it, the likeliest first.
    pub fn shipped(&self) -> Vec<&'static ShippedConfiguration> {
        self.shipped.iter().filter(|shipped| shipped.fits(self.key.format, &self.content)).collect()
    }

    /// What to do with it: the configuration that fits, or why there is none.
    pub fn advice(&self) -> String {
        let shipped = self.shipped();
        if !shipped.is_empty() {
            let named: Vec<String> = shipped.into_iter().map(ShippedConfiguration::in_words).collect();
            return named.join(", or ");
        }
        match (&self.content, self.key.format) {
            (Content::Ess(content), _) if content.records().are_decoded() => {
                "no shipped configuration: set ess.type in one of a detector with the same front ends"
                    .to_owned()
            }
            (Content::Ess(content), _) if content.records() == EssRecords::None => {
                "none: there are heartbeats only".to_owned()
            }
            (Content::Ess(content), _) => {
                format!("none: evforge does not decode {}", content.records().name())
            }
            (_, Some(Format::Numbered)) => "no detector: `evforge receive` takes them".to_owned(),
            (_, Some(Format::DropP1)) => "no detector: `evforge drop receive` takes them".to_owned(),
            (Content::Unknown(content), _) if content.protocols().is_some() => {
                "none: it is no detector's, and is on every network".to_owned()
            }
            _ => "none: no format that evforge knows".to_owned(),
        }
    }

    /// For people: the title and what follows it.
    pub fn lines(&self) -> Vec<Line> {
        let mut packets = format!("{} ({} bytes)", grouped(self.packets), grouped(self.bytes));
        if self.cut > 0 {
            packets += &format!(", {} of them cut by the capture", grouped(self.cut));
        }
        let mut lines = vec![line("packets", packets)];
        if !self.faults.is_empty() {
            let faults = self.faults.iter().map(|(fault, count)| format!("{}: {fault}", grouped(*count)));
            lines.push(line("damaged", faults.collect::<Vec<_>>().join("; ")));
        }
        if !self.disagreeing.is_empty() {
            lines.push(line("not of this format", named_counts(&self.disagreeing)));
        }
        if matches!(self.key.format, Some(Format::CaenRecords)) {
            let text = "by its lengths and channels alone: this format has no signature";
            lines.push(line("recognised", text));
        }
        lines.extend(self.content.lines());
        lines.extend(self.fit_lines());
        lines
    }

    /// Which configurations fit: what they have made of the capture, the best first, if they have been tried.
    fn fit_lines(&self) -> Vec<Line> {
        let mut tried: Vec<&Tried> = self.tried.iter().collect();
        tried.sort_by(|one, other| other.percent().total_cmp(&one.percent()));
        let Some(best) = tried.first() else { return vec![line("fits", self.advice())] };
        let fits = best.percent() >= FITS;
        let titles = std::iter::once(if fits { "fits" } else { "nearest" }).chain(std::iter::repeat(""));
        let mut lines: Vec<Line> =
            titles.zip(&tried).map(|(title, tried)| line(title, tried.in_words())).collect();
        if !fits {
            let todo = "--config-skeleton NEW.toml writes a configuration with the front ends that have sent";
            lines.push(line("to do", todo));
        }
        lines
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "source": self.key.source.to_string(),
            "port": self.key.port,
            "format": self.key.format.map_or("unknown", Format::name),
            "title": self.title(),
            "packets": self.packets,
            "bytes": self.bytes,
            "cut": self.cut,
            "damaged": self.faults,
            "not_of_this_format": self.disagreeing,
            "content": self.content.json(),
            "configurations": self.shipped().iter().map(|shipped| &shipped.path).collect::<Vec<_>>(),
            "advice": self.advice(),
            "tried": self.tried.iter().map(Tried::json).collect::<Vec<_>>(),
        })
    }
}
