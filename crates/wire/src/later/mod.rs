//! The same packet, later: its number goes on and its times are moved, so that a capture, or a simulation, is sent again and again
//! and looks like one that lasts.
//!
//! | format | number | times, and how wide they are in ticks |
//! |---|---|---|
//! | ESS readout with VMM3a or R5560 records | of the output queue, 32 bits | pulse, pulse before and records, 32 bits of seconds; bunch crossings |
//! | SRS with VMM2 | frame counter, 32 bits | trigger stamp, 32 bits |
//! | SRS with VMM3, VMM3a | frame counter of the FEC, 32 bits | markers of chips, 42 bits; send stamp, 32 bits |
//! | Mesytec | triggers of the readout, 24 bits | time of the event, 30 bits, or 46 with its upper part |
//! | CAEN records | none | of each record, 32 bits |
//! | jadaq 1.3, of June 2018 | of the digitiser, 32 bits; none | of each element, 32 or 64 bits; clock of the PC |
//! | streaming readout of ISIS | of the frame, and of the frame among those sent, 32 bits | of the frame, in nanoseconds |
//! | SoNDe, trigger times | of the system, 14 bits | header and triggers, 32 bits |
//!
//! Nothing else changes: what times are relative to (bunch crossings of the SRS, time differences) stays, so that each pass has the
//! neutrons of the first one. Bytes that are no sound packet stay as they are.

mod caen;
mod ess;
mod isis;
mod mesytec;
mod sonde;
mod srs;
mod step;

pub use ess::{EssStep, move_records, moved, pulse, pulse_period};
pub use isis::LONGEST_FRAME_NS;
pub use sonde::move_triggers;
pub use step::Step;

use crate::recognise::Format;

/// A format whose packets can be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movable {
    /// ESS readout with VMM3a or R5560 records.
    Ess,
    /// SRS with VMM2.
    SrsVmm2,
    /// SRS with VMM3 of 2018 or VMM3a.
    SrsVmm3,
    /// Mesytec VMMR behind an SIS3153.
    Mesytec,
    /// CAEN records without a header.
    CaenRecords,
    /// jadaq of June 2018.
    JadaqOfJune2018,
    /// jadaq 1.3.
    Jadaq1_3,
    /// Trigger times of a SoNDe.
    Sonde,
    /// Streaming readout of ISIS, either version.
    Isis,
}

impl Movable {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Ess,
        Self::SrsVmm2,
        Self::SrsVmm3,
        Self::Mesytec,
        Self::CaenRecords,
        Self::JadaqOfJune2018,
        Self::Jadaq1_3,
        Self::Sonde,
        Self::Isis,
    ];

    /// The movable format, if this is one.
    pub fn of(format: Format) -> Option<Self> {
        Some(match format {
            Format::Ess => Self::Ess,
            Format::SrsVmm2 => Self::SrsVmm2,
            Format::SrsVmm3Of2018 | Format::SrsVmm3a => Self::SrsVmm3,
            Format::Mesytec => Self::Mesytec,
            Format::CaenRecords => Self::CaenRecords,
            Format::JadaqOfJune2018 => Self::JadaqOfJune2018,
            Format::Jadaq1_3 => Self::Jadaq1_3,
            Format::Sonde => Self::Sonde,
            Format::Isis => Self::Isis,
            Format::Cncs | Format::AdcReadout | Format::Numbered | Format::DropP1 => return None,
        })
    }

    /// Width of the times that [`Movable::visit_times`] shows, in bits: beyond that they begin anew.
    pub fn time_bits(self) -> u32 {
        match self {
            // 32 bits of seconds, each of 88 052 500 ticks.
            Self::Ess => 59,
            // Nanoseconds since 1970, until 2255.
            Self::Isis => 64,
            Self::SrsVmm3 => crate::srs_vmm::MARKER_BITS,
            Self::Mesytec => crate::mesytec::LOW_TIME_BITS + crate::mesytec::HIGH_TIME_BITS,
            Self::SrsVmm2 | Self::CaenRecords | Self::JadaqOfJune2018 | Self::Jadaq1_3 | Self::Sonde => 32,
        }
    }

    /// Width of the numbers that [`Movable::visit_numbers`] shows, in bits.
    pub fn number_bits(self) -> u32 {
        match self {
            Self::Mesytec => 24,
            Self::Sonde => crate::sonde::PACKET_COUNT_BITS,
            _ => 32,
        }
    }

    /// Shows the numbers in a packet, each with the number of the source that counts so: one, but those of all triggers of a Mesytec
    /// datagram and of all messages of one of ISIS, and none of CAEN records.
    pub fn visit_numbers(self, bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
        match self {
            Self::Mesytec => mesytec::visit_numbers(bytes, visit),
            Self::Isis => isis::visit_numbers(bytes, visit),
            Self::CaenRecords | Self::JadaqOfJune2018 => {}
            _ => {
                let number = match self {
                    Self::Ess => ess::number(bytes),
                    Self::SrsVmm2 | Self::SrsVmm3 => srs::number(self == Self::SrsVmm3, bytes),
                    Self::Jadaq1_3 => caen::number(bytes),
                    _ => sonde::number(bytes),
                };
                if let Some((source, number)) = number {
                    visit(source, number.into());
                }
            }
        }
    }

    /// Shows the times in a packet, in ticks, each with the number of the clock that it is of.
    pub fn visit_times(self, bytes: &[u8], visit: &mut dyn FnMut(u32, u64)) {
        match self {
            Self::Ess => ess::visit_times(bytes, visit),
            Self::SrsVmm2 | Self::SrsVmm3 => srs::visit_times(self == Self::SrsVmm3, bytes, visit),
            Self::Mesytec => mesytec::visit_times(bytes, visit),
            Self::CaenRecords => caen::visit_record_times(bytes, visit),
            Self::JadaqOfJune2018 | Self::Jadaq1_3 => {
                caen::visit_element_times(self == Self::Jadaq1_3, bytes, visit);
            }
            Self::Sonde => sonde::visit_times(bytes, visit),
            Self::Isis => isis::visit_times(bytes, visit),
        }
    }

    /// Moves a packet.
    pub fn move_on(self, bytes: &mut [u8], step: Step) {
        match self {
            Self::Ess => ess::move_on(bytes, step),
            Self::SrsVmm2 | Self::SrsVmm3 => srs::move_on(self == Self::SrsVmm3, bytes, step),
            Self::Mesytec => mesytec::move_on(bytes, step),
            Self::CaenRecords => caen::move_records(bytes, step),
            Self::JadaqOfJune2018 | Self::Jadaq1_3 => {
                caen::move_elements(self == Self::Jadaq1_3, bytes, step);
            }
            Self::Sonde => sonde::move_on(bytes, step),
            Self::Isis => isis::move_on(bytes, step),
        }
    }
}

#[cfg(test)]
mod tests;
