//! What is in the packets of a stream, by format.

mod adc;
mod caen;
mod ess;
mod ess_readouts;
mod isis;
mod link;
mod multigrid;
mod pulses;
mod r5560;
mod sonde;
mod srs;
mod unknown;

pub use adc::AdcContent;
pub use caen::CaenContent;
pub use ess::EssContent;
pub use ess_readouts::{EssReadouts, MonitorPlace, MonitorSeen, VmmPlace, VmmSeen};
pub use isis::IsisContent;
pub use link::LinkContent;
pub use multigrid::{CncsContent, MesytecContent};
pub use r5560::{Tubes, TubesSeen};
pub use sonde::SondeContent;
pub use srs::{Chip, Fec, SrsContent};
pub use unknown::UnknownContent;

use crate::report::Line;
use evforge_core::packet::Packet;
use evforge_wire::recognise::Format;
use serde_json::Value;

/// Front ends, chips, channels and numbers of a stream.
#[derive(Debug)]
pub enum Content {
    /// ESS readout of one type.
    Ess(Box<EssContent>),
    /// SRS.
    Srs(SrsContent),
    /// Mesytec.
    Mesytec(MesytecContent),
    /// CNCS.
    Cncs(CncsContent),
    /// CAEN records and jadaq.
    Caen(CaenContent),
    /// SoNDe.
    Sonde(SondeContent),
    /// Sampled channels of 2018.
    Adc(Box<AdcContent>),
    /// Streaming readout of ISIS.
    Isis(Box<IsisContent>),
    /// Packets of link tests.
    Link(LinkContent),
    /// No format that is known.
    Unknown(UnknownContent),
}

impl Content {
    /// Nothing has been seen yet.
    pub fn new(format: Option<Format>) -> Self {
        match format {
            Some(Format::Ess) => Self::Ess(Box::default()),
            Some(format @ (Format::SrsVmm2 | Format::SrsVmm3Of2018 | Format::SrsVmm3a)) => {
                Self::Srs(SrsContent::new(format))
            }
            Some(Format::Mesytec) => Self::Mesytec(MesytecContent::default()),
            Some(Format::Cncs) => Self::Cncs(CncsContent::default()),
            Some(format @ (Format::CaenRecords | Format::JadaqOfJune2018 | Format::Jadaq1_3)) => {
                Self::Caen(CaenContent::new(format))
            }
            Some(Format::Sonde) => Self::Sonde(SondeContent::default()),
            Some(Format::AdcReadout) => Self::Adc(Box::default()),
            Some(Format::Isis) => Self::Isis(Box::default()),
            Some(format @ (Format::Numbered | Format::DropP1)) => Self::Link(LinkContent::new(format)),
            None => Self::Unknown(UnknownContent::default()),
        }
    }

    /// Takes a packet of the stream, damaged or not.
    pub fn take(&mut self, packet: &Packet<'_>) {
        let (bytes, arrival) = (packet.bytes, packet.origin.arrival_ns);
        match self {
            Self::Ess(content) => content.take(bytes, arrival),
            Self::Srs(content) => content.take(bytes, arrival),
            Self::Mesytec(content) => content.take(bytes),
            Self::Cncs(content) => content.take(bytes),
            Self::Caen(content) => content.take(bytes, arrival),
            Self::Sonde(content) => content.take(bytes, arrival),
            Self::Adc(content) => content.take(bytes, arrival),
            Self::Isis(content) => content.take(bytes, arrival),
            Self::Link(content) => content.take(bytes, arrival),
            Self::Unknown(content) => content.take(packet),
        }
    }

    /// For people, below the title of the stream.
    pub fn lines(&self) -> Vec<Line> {
        match self {
            Self::Ess(content) => content.lines(),
            Self::Srs(content) => content.lines(),
            Self::Mesytec(content) => content.lines(),
            Self::Cncs(content) => content.lines(),
            Self::Caen(content) => content.lines(),
            Self::Sonde(content) => content.lines(),
            Self::Adc(content) => content.lines(),
            Self::Isis(content) => content.lines(),
            Self::Link(content) => content.lines(),
            Self::Unknown(content) => content.lines(),
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        match self {
            Self::Ess(content) => content.json(),
            Self::Srs(content) => content.json(),
            Self::Mesytec(content) => content.json(),
            Self::Cncs(content) => content.json(),
            Self::Caen(content) => content.json(),
            Self::Sonde(content) => content.json(),
            Self::Adc(content) => content.json(),
            Self::Isis(content) => content.json(),
            Self::Link(content) => content.json(),
            Self::Unknown(content) => content.json(),
        }
    }

    /// Readouts found, with those that have a fault.
    pub fn readouts(&self) -> u64 {
        match self {
            Self::Ess(content) => content.readouts(),
            Self::Srs(content) => content.readouts(),
            Self::Mesytec(content) => content.readouts(),
            Self::Cncs(content) => content.readouts(),
            Self::Caen(content) => content.readouts(),
            Self::Sonde(content) => content.readouts(),
            Self::Adc(content) => content.readouts(),
            Self::Isis(content) => content.readouts(),
            Self::Link(_) | Self::Unknown(_) => 0,
        }
    }

    /// The front ends that sent, in a few words; empty where there is no such thing.
    pub fn places(&self) -> String {
        match self {
            Self::Ess(content) => content.places(),
            Self::Srs(content) => content.places(),
            Self::Mesytec(content) => content.places(),
            Self::Cncs(content) => content.places(),
            Self::Caen(content) => content.places(),
            Self::Sonde(content) => content.places(),
            Self::Adc(content) => content.places(),
            Self::Isis(content) => content.places(),
            Self::Link(_) | Self::Unknown(_) => String::new(),
        }
    }
}
