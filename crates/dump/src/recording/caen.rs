//! Readouts of CAEN digitizers to `mbcaen_readouts`.

use super::Recorder;
use crate::counters::RecordingCounters;
use crate::packets::CaenFormat;
use crate::rows::CaenReadout;
use evforge_core::packet::Packet;
use evforge_wire::caen::{ElementType, JadaqPacket, JadaqVersion, RecordPacket};

/// Takes the readouts out of packets of CAEN digitizers. Records know no clock of the PC: their `global_time`
/// is 0. Of the longer times of List8222 the dump has the lower 32 bits.
#[derive(Debug)]
pub struct CaenRecorder {
    format: CaenFormat,
}

impl CaenRecorder {
    /// A recorder for packets of one format; which elements jadaq 1.3 sends is told by the packets themselves.
    pub fn new(format: CaenFormat) -> Self {
        Self { format }
    }
}

impl Recorder for CaenRecorder {
    type Row = CaenReadout;

    fn take(&mut self, packet: &Packet<'_>, rows: &mut Vec<CaenReadout>, counters: &mut RecordingCounters) {
        let before = rows.len();
        let version = match self.format {
            CaenFormat::Records => None,
            CaenFormat::Jadaq(ElementType::OfJune2018) => Some(JadaqVersion::OfJune2018),
            CaenFormat::Jadaq(_) => Some(JadaqVersion::V1_3),
        };
        let taken = !packet.is_cut()
            && match version {
                None => RecordPacket::parse(packet.bytes).is_ok_and(|packet| {
                    let records = packet.records().filter(|record| !record.is_end_of_run());
                    rows.extend(records.map(|record| CaenReadout {
                        global_time: 0,
                        digitizer: record.digitizer.into(),
                        local_time: record.time,
                        channel: record.channel.into(),
                        adc: record.adc,
                    }));
                    true
                }),
                Some(version) => JadaqPacket::parse(packet.bytes, version).is_ok_and(|packet| {
                    rows.extend(packet.elements().map(|element| CaenReadout {
                        global_time: packet.global_time,
                        digitizer: packet.digitizer,
                        local_time: element.time as u32,
                        channel: element.channel,
                        adc: element.charge,
                    }));
                    true
                }),
            };
        counters.packets_rejected += u64::from(!taken);
        counters.readouts_in += (rows.len() - before) as u64;
    }
}
