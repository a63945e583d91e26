//! `mbcaen_readouts` to packets of CAEN digitizers.

use super::{PacketQueue, RowEncoder};
use crate::counters::DumpCounters;
use crate::rows::CaenReadout;
use evforge_detect::multiblade::MultiBladeSettings;
use evforge_detect::multiblade::caen::settings::ReadoutFormat;
use evforge_wire::caen::{CHANNELS, Element, ElementType, JadaqEncoder, Record, RecordEncoder};
use std::collections::BTreeMap;

/// Digitizers that are numbered each for itself; more are no file of a detector.
const MOST_DIGITIZERS: usize = 256;

/// The packets that `mbcaen_readouts` are put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaenFormat {
    /// Records of 8 bytes, which have no room for the clock of the PC, nor for digitizers above 255.
    Records,
    /// jadaq with elements of this type. List8222 has no use: the dump has neither its baseline nor its longer
    /// time.
    Jadaq(ElementType),
}

impl CaenFormat {
    /// jadaq 1.3, with List422.
    pub const JADAQ_1_3: Self = Self::Jadaq(ElementType::List422);

    /// What a detector with these settings reads.
    pub fn of(settings: &MultiBladeSettings) -> Self {
        match settings.format {
            ReadoutFormat::Records => Self::Records,
            ReadoutFormat::JadaqOfJune2018 => Self::Jadaq(ElementType::OfJune2018),
            ReadoutFormat::Jadaq1_3 => Self::JADAQ_1_3,
        }
    }
}

/// The encoder of the format, with what the packet begun says already.
#[derive(Debug)]
enum Encoder {
    /// Whether a packet has been begun.
    Records(RecordEncoder, bool),
    /// Clock of the PC and digitizer of the packet, none before the first.
    Jadaq(JadaqEncoder, Option<(u64, u32)>),
}

/// Makes packets of `mbcaen_readouts`: for jadaq, rows that follow one another and have the same `global_time`
/// and digitizer become one packet, as they came; its number counts per digitizer.
#[derive(Debug)]
pub struct CaenPackets {
    encoder: Encoder,
    /// Number of the next packet of each digitizer.
    sequences: BTreeMap<u32, u32>,
}

impl CaenPackets {
    /// Packets of a format.
    pub fn new(format: CaenFormat) -> Self {
        let encoder = match format {
            CaenFormat::Records => Encoder::Records(RecordEncoder::default(), false),
            CaenFormat::Jadaq(element_type) => Encoder::Jadaq(JadaqEncoder::new(element_type), None),
        };
        Self { encoder, sequences: BTreeMap::new() }
    }

    /// The number of the next packet of a digitizer; none for one digitizer too many.
    fn next_sequence(&mut self, digitizer: u32) -> Option<u32> {
        if self.sequences.len() == MOST_DIGITIZERS && !self.sequences.contains_key(&digitizer) {
            return None;
        }
        let next = self.sequences.entry(digitizer).or_default();
        let sequence = *next;
        *next = next.wrapping_add(1);
        Some(sequence)
    }

    /// Puts a row into a packet; false if that is not possible.
    fn put(&mut self, row: &CaenReadout, queue: &mut PacketQueue, counters: &mut DumpCounters) -> bool {
        let CaenReadout { global_time, digitizer, local_time, channel, adc } = *row;
        if usize::from(channel) >= CHANNELS {
            return false;
        }
        match &mut self.encoder {
            Encoder::Records(encoder, begun) => {
                let Ok(digitizer) = u8::try_from(digitizer) else { return false };
                let record = Record { digitizer, channel: channel as u8, adc, time: local_time };
                if !(*begun && encoder.push(&record)) {
                    if *begun {
                        queue.push(encoder.packet());
                    }
                    encoder.begin();
                    encoder.push(&record);
                    *begun = true;
                }
            }
            Encoder::Jadaq(encoder, begun) => {
                let element = Element { time: local_time.into(), channel, charge: adc, baseline: 0 };
                if *begun == Some((global_time, digitizer)) && encoder.push(&element) {
                    return true;
                }
                let Some(sequence) = self.next_sequence(digitizer) else { return false };
                self.finish(queue, counters);
                if let Encoder::Jadaq(encoder, begun) = &mut self.encoder {
                    encoder.begin(0, global_time, digitizer, sequence);
                    encoder.push(&element);
                    *begun = Some((global_time, digitizer));
                }
            }
        }
        true
    }
}

impl RowEncoder for CaenPackets {
    type Row = CaenReadout;

    fn push(&mut self, row: &CaenReadout, queue: &mut PacketQueue, counters: &mut DumpCounters) {
        if self.put(row, queue, counters) {
            counters.readouts += 1;
        } else {
            counters.out_of_range += 1;
        }
    }

    fn finish(&mut self, queue: &mut PacketQueue, _: &mut DumpCounters) {
        match &mut self.encoder {
            Encoder::Records(encoder, begun) => {
                if std::mem::take(begun) {
                    queue.push(encoder.packet());
                }
            }
            Encoder::Jadaq(encoder, begun) => {
                if begun.take().is_some() {
                    queue.push(encoder.packet());
                }
            }
        }
    }
}
