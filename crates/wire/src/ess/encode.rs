//! Encoders: headers and records to bytes. Every field can be given a value that the rules forbid, for tests of
//! the rules; what is wider than its field is cut to it.

use super::monitor_kind::MonitorKind;
use super::{COOKIE, EssTime, HEADER_0, HEADER_1, LENGTH, R5560_LENGTH, R5560_RECORD, RECORD};

/// The fields of a packet header that are not fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EssHeader {
    /// 0 or 1; version 1 has two unused bytes more.
    pub version: u8,
    /// Which detector the packet is from ([`super::detector_type`]).
    pub detector_type: u8,
    /// The output queue, 0..=11.
    pub output_queue: u8,
    /// Flags of the time source.
    pub time_source: u8,
    /// When the latest pulse was.
    pub pulse: EssTime,
    /// When the pulse before that was.
    pub previous_pulse: EssTime,
    /// Number of the packet in its queue.
    pub sequence: u32,
}

impl EssHeader {
    /// Bytes of this header.
    pub fn size(&self) -> usize {
        if self.version == 1 { HEADER_1 } else { HEADER_0 }
    }

    /// Makes `packet` the packet of this header and payload. The length field is that of the whole, which is
    /// to be at most [`super::LARGEST_PACKET`].
    pub fn write_packet(&self, payload: &[u8], packet: &mut Vec<u8>) {
        let length = self.size() + payload.len();
        packet.clear();
        packet.extend([0, self.version]);
        packet.extend(COOKIE);
        packet.push(self.detector_type);
        packet.extend((length as u16).to_le_bytes());
        packet.extend([self.output_queue, self.time_source]);
        for time in [self.pulse, self.previous_pulse] {
            packet.extend(time.seconds.to_le_bytes());
            packet.extend(time.ticks.to_le_bytes());
        }
        packet.extend(self.sequence.to_le_bytes());
        packet.resize(self.size(), 0);
        packet.extend(payload);
    }
}

/// The fields of a VMM3a record: see [`super::Vmm3aReadout`] for their ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vmm3aFields {
    /// Optical fibre.
    pub fibre: u8,
    /// Front end on its ring.
    pub fen: u8,
    /// The length field.
    pub length: u16,
    /// When it was.
    pub time: EssTime,
    /// Bunch crossing.
    pub bc: u16,
    /// Whether the channel itself was over its threshold.
    pub over_threshold: bool,
    /// Amplitude, 15 bits.
    pub adc: u16,
    /// The GEO byte; bit 7 marks a calibration readout.
    pub geo: u8,
    /// Fine time.
    pub tdc: u8,
    /// VMM on its front end.
    pub vmm: u8,
    /// Channel of the VMM.
    pub channel: u8,
}

impl Default for Vmm3aFields {
    /// A sound record: the length is 20, all else is 0.
    fn default() -> Self {
        Self {
            fibre: 0,
            fen: 0,
            length: LENGTH,
            time: EssTime::default(),
            bc: 0,
            over_threshold: false,
            adc: 0,
            geo: 0,
            tdc: 0,
            vmm: 0,
            channel: 0,
        }
    }
}

impl Vmm3aFields {
    /// The record.
    pub fn encode(&self) -> [u8; RECORD] {
        let mut record = start(self.fibre, self.fen, self.length, self.time);
        let adc = self.adc & 0x7FFF | u16::from(self.over_threshold) << 15;
        record[12..14].copy_from_slice(&self.bc.to_le_bytes());
        record[14..16].copy_from_slice(&adc.to_le_bytes());
        record[16..].copy_from_slice(&[self.geo, self.tdc, self.vmm, self.channel]);
        record
    }
}

/// The fields of a beam-monitor record: see [`super::beam_monitor::MonitorReadout`] for their ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorFields {
    /// Optical fibre.
    pub fibre: u8,
    /// Front end on its ring.
    pub fen: u8,
    /// The length field.
    pub length: u16,
    /// When it was.
    pub time: EssTime,
    /// What it tells: the byte of a [`super::beam_monitor::MonitorKind`].
    pub kind: u8,
    /// Channel of the front end.
    pub channel: u8,
    /// Amplitude.
    pub adc: u16,
    /// The last four bytes: 0, [`MonitorFields::place`] or [`MonitorFields::sum`].
    pub value: u32,
}

impl Default for MonitorFields {
    /// A sound record of a neutron without a place: the length is 20, the kind 1, all else is 0.
    fn default() -> Self {
        Self {
            fibre: 0,
            fen: 0,
            length: LENGTH,
            time: EssTime::default(),
            kind: MonitorKind::Event0D.to_byte(),
            channel: 0,
            adc: 0,
            value: 0,
        }
    }
}

impl MonitorFields {
    /// The last four bytes of a neutron with a place.
    pub fn place(x: u16, y: u16) -> u32 {
        u32::from(y) << 16 | u32::from(x)
    }

    /// The last four bytes of an integrating monitor: a sum of 24 bits and the number of samples in it.
    pub fn sum(summed_adc: u32, samples: u8) -> u32 {
        u32::from(samples) << 24 | summed_adc & 0x00FF_FFFF
    }

    /// The record.
    pub fn encode(&self) -> [u8; RECORD] {
        let mut record = start(self.fibre, self.fen, self.length, self.time);
        record[12..14].copy_from_slice(&[self.kind, self.channel]);
        record[14..16].copy_from_slice(&self.adc.to_le_bytes());
        record[16..].copy_from_slice(&self.value.to_le_bytes());
        record
    }
}

/// The fields of a CAEN R5560 record: see [`super::R5560Readout`] for their ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct R5560Fields {
    /// Optical fibre.
    pub fibre: u8,
    /// Front end on its ring.
    pub fen: u8,
    /// The length field.
    pub length: u16,
    /// When it was.
    pub time: EssTime,
    /// Flags, or the mode of operation.
    pub flags: u8,
    /// Tube, or group of tubes.
    pub group: u8,
    /// Nothing; a number or an amplitude where firmware is debugged.
    pub counter: u16,
    /// Charges A, B, C and D.
    pub charges: [u16; 4],
}

impl Default for R5560Fields {
    /// A sound record: the length is 24, all else is 0.
    fn default() -> Self {
        Self {
            fibre: 0,
            fen: 0,
            length: R5560_LENGTH,
            time: EssTime::default(),
            flags: 0,
            group: 0,
            counter: 0,
            charges: [0; 4],
        }
    }
}

impl R5560Fields {
    /// The record.
    pub fn encode(&self) -> [u8; R5560_RECORD] {
        let mut record = start(self.fibre, self.fen, self.length, self.time);
        record[12..14].copy_from_slice(&[self.flags, self.group]);
        record[14..16].copy_from_slice(&self.counter.to_le_bytes());
        record[16..].copy_from_slice(self.charges.map(u16::to_le_bytes).as_flattened());
        record
    }
}

/// A record that has what all records have at their start.
fn start<const SIZE: usize>(fibre: u8, fen: u8, length: u16, time: EssTime) -> [u8; SIZE] {
    let mut record = [0; SIZE];
    record[..2].copy_from_slice(&[fibre, fen]);
    record[2..4].copy_from_slice(&length.to_le_bytes());
    record[4..8].copy_from_slice(&time.seconds.to_le_bytes());
    record[8..12].copy_from_slice(&time.ticks.to_le_bytes());
    record
}
