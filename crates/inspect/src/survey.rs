//! Packets in, streams out.
//!
//! A packet with a signature belongs to one stream. One without is given to the streams of all formats that it may have;
//! at the end those with the most packets stay, weighed by how certain each packet was, and the others are told as what
//! did not agree. So a capture is read once.

use crate::content::Content;
use crate::shipped::ShippedConfiguration;
use crate::stream::{Stream, StreamKey};
use evforge_core::packet::Packet;
use evforge_core::quantity::grouped;
use evforge_wire::recognise::{Candidate, Candidates, Certainty, Format, network_protocol, recognise};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

/// Streams that are told apart.
pub const MOST_STREAMS: usize = 256;

/// How certain a packet is of each format, two bits for each in the order of [`Format::ALL`]; 0 if it is of none.
type Code = u32;

/// Packets of one source and port by their codes.
type Flow = BTreeMap<Code, u64>;

/// A look at packets.
#[derive(Debug, Default)]
pub struct Survey {
    packets: u64,
    bytes: u64,
    cut: u64,
    flows: BTreeMap<(IpAddr, u16), Flow>,
    streams: BTreeMap<StreamKey, Stream>,
    /// Packets of streams that are not told apart any more, and their bytes.
    not_told_apart: (u64, u64),
    shipped: &'static [ShippedConfiguration],
}

/// What the packets were.
#[derive(Debug)]
pub struct Findings {
    /// All packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that the capture has cut.
    pub cut: u64,
    /// The streams, the one with most packets first.
    pub streams: Vec<Stream>,
    /// Packets of more streams than are told apart, and their bytes.
    pub not_told_apart: (u64, u64),
}

impl Survey {
    /// A survey that names those of these configurations which fit.
    pub fn naming(shipped: &'static [ShippedConfiguration]) -> Self {
        Self { shipped, ..Self::default() }
    }

    /// Takes a packet.
    pub fn take(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        self.bytes += packet.bytes.len() as u64;
        self.cut += u64::from(packet.is_cut());
        let candidates = match network_protocol(packet.bytes, packet.origin.destination_port) {
            Some(_) => Candidates::default(),
            None => recognise(packet.bytes),
        };
        let route = (packet.origin.source.ip(), packet.origin.destination_port);
        if self.flows.len() >= MOST_STREAMS && !self.flows.contains_key(&route) {
            self.leave_out(packet);
            return;
        }
        let mut code = 0;
        let mut told = false;
        // What nothing but its length speaks for may turn out to be nothing of ours.
        if possible(&candidates).all(|candidate| candidate.certainty == Certainty::Weak) {
            told = self.give(packet, route, None);
        }
        for candidate in possible(&candidates) {
            code |= code_of(candidate);
            told |= self.give(packet, route, Some(candidate));
        }
        if told {
            *self.flows.entry(route).or_default().entry(code).or_default() += 1;
        } else {
            self.leave_out(packet);
        }
    }

    fn leave_out(&mut self, packet: &Packet<'_>) {
        self.not_told_apart.0 += 1;
        self.not_told_apart.1 += packet.bytes.len() as u64;
    }

    /// Gives a packet to its stream; false if there is no room for another stream.
    fn give(&mut self, packet: &Packet<'_>, route: (IpAddr, u16), candidate: Option<Candidate>) -> bool {
        let format = candidate.map(|candidate| candidate.format);
        let ess_type = (format == Some(Format::Ess)).then(|| packet.bytes.get(5).copied()).flatten();
        let key = StreamKey { source: route.0, port: route.1, format, ess_type };
        if self.streams.len() >= MOST_STREAMS && !self.streams.contains_key(&key) {
            return false;
        }
        let stream = self.streams.entry(key).or_insert_with(|| Stream::new(key, self.shipped));
        stream.take(packet, candidate.and_then(|candidate| candidate.fault));
        true
    }

    /// Packets so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The streams.
    pub fn finish(self) -> Findings {
        let mut streams = self.streams;
        for ((source, port), flow) in &self.flows {
            settle(&mut streams, *source, *port, flow);
        }
        let mut streams: Vec<Stream> = streams.into_values().collect();
        // Streams with as many packets stay in the order of their keys.
        streams.sort_by_key(|stream| std::cmp::Reverse(stream.packets));
        Findings {
            packets: self.packets,
            bytes: self.bytes,
            cut: self.cut,
            streams,
            not_told_apart: self.not_told_apart,
        }
    }
}

/// The formats that a packet is given to.
fn possible(candidates: &Candidates) -> impl Iterator<Item = Candidate> + use<> {
    let signed = candidates.best().is_some_and(|best| best.certainty == Certainty::Strong);
    // VMM2 and VMM3 of 2018 share their signature.
    let shared = |format| matches!(format, Format::SrsVmm2 | Format::SrsVmm3Of2018);
    candidates.iter().filter(move |candidate| {
        !signed || candidate.certainty == Certainty::Strong || shared(candidate.format)
    })
}

fn shift(format: Format) -> u32 {
    2 * Format::ALL.iter().position(|other| *other == format).unwrap_or(0) as u32
}

fn code_of(candidate: Candidate) -> Code {
    let certainty = match candidate.certainty {
        Certainty::Weak => 1,
        Certainty::Fair => 2,
        Certainty::Strong => 3,
    };
    certainty << shift(candidate.format)
}

fn certainty(code: Code, format: Format) -> u32 {
    code >> shift(format) & 3
}

fn without(code: Code, format: Format) -> Code {
    code & !(3 << shift(format))
}

/// Whether anything speaks for CAEN records in what a source sends to a port.
fn is_evident(streams: &BTreeMap<StreamKey, Stream>, source: IpAddr, port: u16) -> bool {
    let key = StreamKey { source, port, format: Some(Format::CaenRecords), ess_type: None };
    matches!(streams.get(&key).map(|stream| &stream.content), Some(Content::Caen(content)) if content.is_evident())
}

/// Decides which formats a source sends to a port, and takes the streams of all others away.
fn settle(streams: &mut BTreeMap<StreamKey, Stream>, source: IpAddr, port: u16, flow: &Flow) {
    let mut left = flow.clone();
    if !is_evident(streams, source, port) {
        // Nothing speaks for records without a signature.
        left = left.into_iter().map(|(code, count)| (without(code, Format::CaenRecords), count)).fold(
            Flow::new(),
            |mut sum, (code, count)| {
                *sum.entry(code).or_default() += count;
                sum
            },
        );
    }
    let mut kept: Vec<Format> = Vec::new();
    let mut disagreeing: BTreeMap<&'static str, u64> = BTreeMap::new();
    loop {
        // A signature is worth as much as ten packets without one.
        let weight = |code: Code, format| [0, 1, 3, 10][certainty(code, format) as usize];
        let score = |format| left.iter().map(|(code, count)| count * weight(*code, format)).sum::<u64>();
        let best = Format::ALL.into_iter().rev().max_by_key(|format| score(*format));
        let Some(best) = best.filter(|format| score(*format) > 0) else { break };
        let is_signed = left.keys().any(|code| certainty(*code, best) == 3);
        let packets: u64 = left.iter().filter(|(code, _)| certainty(**code, best) > 0).map(|(_, n)| n).sum();
        if kept.is_empty() || is_signed {
            kept.push(best);
        } else {
            *disagreeing.entry(like(best)).or_default() += packets;
        }
        left.retain(|code, _| certainty(*code, best) == 0);
    }
    let has_signature =
        kept.first().is_some_and(|format| flow.keys().any(|code| certainty(*code, *format) == 3));
    let unknown = left.values().sum::<u64>();
    // Next to a format without a signature what is unknown speaks against it.
    let keep_unknown = kept.is_empty() || has_signature;
    if unknown > 0 && !keep_unknown {
        disagreeing.insert("of no known format", unknown);
    }
    streams.retain(|key, _| {
        (key.source, key.port) != (source, port)
            || key.format.map_or(keep_unknown, |format| kept.contains(&format))
    });
    let main = kept.first().copied();
    let of_main =
        streams.iter_mut().find(|(key, _)| (key.source, key.port, key.format) == (source, port, main));
    if let Some((_, stream)) = of_main {
        stream.disagreeing = disagreeing;
    }
}

/// "like …": what a packet that did not agree is like.
fn like(format: Format) -> &'static str {
    match format {
        Format::SrsVmm2 => "like SRS with VMM2",
        Format::SrsVmm3Of2018 => "like SRS with VMM3 (layout of 2018)",
        Format::CaenRecords => "like CAEN records",
        Format::JadaqOfJune2018 => "like jadaq of June 2018",
        Format::Jadaq1_3 => "like jadaq 1.3",
        Format::Sonde => "like SoNDe, of a type that carries no readouts",
        Format::Mesytec => "like Mesytec, without a sound trigger",
        _ => "damaged",
    }
}

impl Findings {
    /// True if nothing is of a format that evforge knows.
    pub fn is_foreign(&self) -> bool {
        self.streams.iter().all(|stream| stream.key.format.is_none())
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "packets   {} ({} bytes) in {} stream{}\n",
            grouped(self.packets),
            grouped(self.bytes),
            self.streams.len(),
            if self.streams.len() == 1 { "" } else { "s" }
        );
        for stream in &self.streams {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{}: {}", stream.route(), stream.title());
            let lines = stream.lines();
            let width = lines.iter().map(|(title, _)| title.chars().count()).max().unwrap_or(0);
            for (title, content) in lines {
                let _ = writeln!(text, "  {title:width$}  {content}");
            }
        }
        if self.not_told_apart.0 > 0 {
            let (packets, bytes) = self.not_told_apart;
            let _ = writeln!(
                text,
                "\nnot told apart: {} packets ({} bytes) of more than {MOST_STREAMS} streams",
                grouped(packets),
                grouped(bytes)
            );
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "packets": self.packets,
            "bytes": self.bytes,
            "cut": self.cut,
            "streams": self.streams.iter().map(Stream::json).collect::<Vec<_>>(),
            "not_told_apart": { "packets": self.not_told_apart.0, "bytes": self.not_told_apart.1 },
        })
    }
}
