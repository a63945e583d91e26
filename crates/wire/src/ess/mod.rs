//! The readout of the ESS, in use since 2021: a common packet header and fixed-size records of each kind of
//! front end behind it.
//!
//! Source: ESS readout formats (event formation unit of the ESS, release 2.2.2 of March 2026), sections 1
//! (header and time), 2.1 (VMM3a) and 2.4 (beam monitors), and section 1.1 of its other instruments (R5560). All
//! numbers are little-endian.
//!
//! | | type | bytes of a record | detectors |
//! |---|---|---|---|
//! | VMM3a | [`Vmm3aPayload`] | 20 | FREIA, ESTIA, AMOR, TBLMB, TREX, NMX |
//! | beam monitors | [`beam_monitor::MonitorPayload`] | 20 | CBM, BEER |
//! | CAEN R5560 | [`R5560Payload`] | 24 | LOKI, BIFROST, MIRACLES, CSPEC, TBL3HE |
//!
//! [`EssPacket::parse`] checks the header, and the payload is then given to the type of its detector, which
//! checks the length and hands out records. A record has faults of its own ([`Vmm3aReadout::fault`]): one that
//! has is skipped by its fixed size, and its neighbours stay. [`EssPacket::numbering`] finds the sequence
//! number even in a packet that is then rejected for its times, so that it is not taken for a lost one.
//!
//! Recordings from the years of development break rules of the current version. Each such rule can be relaxed by
//! itself: [`HeaderRelaxations`], [`RecordRules`].

pub mod beam_monitor;
pub mod detector_type;
mod encode;
mod encoder;
mod header;
mod monitor_kind;
mod payload;
mod r5560;
mod record;
mod record_rules;
mod relaxations;
mod time;
mod vmm3a;

pub use encode::{EssHeader, MonitorFields, R5560Fields, Vmm3aFields};
pub use encoder::EssEncoder;
pub use header::{EssPacket, HeaderFault, HeaderRules, Numbering};
pub use payload::{RaggedPayload, RecordPayload};
pub use r5560::{R5560Fault, R5560Payload, R5560Readout};
pub use record::RecordWords;
pub use record_rules::RecordRules;
pub use relaxations::HeaderRelaxations;
pub use time::{EssClock, EssTime};
pub use vmm3a::{RecordFault, Vmm3aPayload, Vmm3aReadout};

/// Ticks of the ESS clock per second: 88.0525 MHz, 11.3568… ns each (section 1).
pub const TICKS_PER_SECOND: u32 = 88_052_500;

/// Largest UDP payload in bytes (section 1, rule 2).
pub const LARGEST_PACKET: usize = 8972;

/// Width of the sequence number in bits (section 1).
pub const SEQUENCE_BITS: u32 = 32;

/// Output queues of a readout master, each with sequence numbers of its own (section 1, rule 10).
pub const OUTPUT_QUEUES: usize = 12;

/// Bytes of the header in version 0.
const HEADER_0: usize = 30;
/// Bytes of the header in version 1: two unused bytes more, which align the payload.
const HEADER_1: usize = 32;
/// The letters behind padding and version.
const COOKIE: [u8; 3] = *b"ESS";

/// Bytes of a VMM3a or beam-monitor record (sections 2.1 and 2.4).
pub const RECORD: usize = 20;

/// Bytes of a record of a CAEN R5560 (section 1.1 of the other instruments).
pub const R5560_RECORD: usize = 24;

/// Largest fibre number: twelve rings of two fibres (sections 2.1 and 2.4).
pub const LARGEST_FIBRE: u8 = 23;

/// Largest number of a front end on its ring (sections 2.1 and 2.4).
pub const LARGEST_FEN: u8 = 23;

/// Largest tick within a second.
const LARGEST_TICK: u32 = TICKS_PER_SECOND - 1;

/// The length field of a record, in bytes.
const LENGTH: u16 = RECORD as u16;

/// The length field of a record of a CAEN R5560, in bytes.
const R5560_LENGTH: u16 = R5560_RECORD as u16;

/// What a header's length field has more than the packet has bytes, on boards that give the lengths of records in bits:
/// the header of UDP (section 7).
const UDP_HEADER: usize = 8;

/// The length field of a record as some boards of 2021 to 2024 wrote it: in bits.
const LENGTH_IN_BITS: u16 = 8 * LENGTH;
