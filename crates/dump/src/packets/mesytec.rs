//! `mgmesytec_hits` to datagrams of the SIS3153.

use super::{PacketQueue, RowEncoder};
use crate::counters::DumpCounters;
use crate::rows::MesytecHit;
use evforge_wire::mesytec::{
    DatagramEncoder, HIGH_TIME_BITS, LARGEST_ADC, LOW_TIME_BITS, TriggerEnd, VmmrReadout, Word, trigger_words,
};

/// Readouts of one trigger that always fit into a datagram, each with a module of its own at worst: six words.
const MOST_READOUTS: usize = 370;

/// The channels of a bus: 12 bits.
const CHANNELS: u16 = 1 << 12;

/// Buses: 4 bits.
const BUSES: u8 = 1 << 4;

/// What all rows of a trigger have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    count: u64,
    time: u64,
}

/// Makes datagrams of `mgmesytec_hits`: rows of one trigger become a trigger, and a datagram takes as many
/// triggers as fit.
///
/// Triggers without hits left no row, so they are not there. The time is `total_time`: its upper part becomes
/// the extended time stamp of the trigger.
#[derive(Debug, Default)]
pub struct MesytecPackets {
    datagram: DatagramEncoder,
    begun: bool,
    trigger: Option<Key>,
    external: bool,
    readouts: Vec<VmmrReadout>,
}

impl MesytecPackets {
    /// Completes the trigger that has been begun.
    fn finish_trigger(&mut self, queue: &mut PacketQueue) {
        let Some(Key { count, time }) = self.trigger.take() else { return };
        let end = TriggerEnd { time, external_trigger: std::mem::take(&mut self.external) };
        let mut words: Vec<Word> = Vec::new();
        let mut difference = 0;
        for readouts in self.readouts.chunk_by(|one, next| one.module == next.module) {
            let [first, ..] = readouts else { continue };
            let mut of_module = trigger_words(first.module, readouts, end);
            if first.time_difference == 0 && difference != 0 {
                set_time_difference_to_0(&mut of_module, first.bus);
            }
            difference = readouts.last().map_or(0, |readout| readout.time_difference);
            words.extend(of_module);
        }
        if self.readouts.is_empty() {
            words = trigger_words(0, &[], end);
        }
        self.readouts.clear();
        // The electronics count the same way: 24 bits.
        let counter = (count & 0xFF_FFFF) as u32;
        if self.begun && self.datagram.push(counter, &words) {
            return;
        }
        self.finish_datagram(queue);
        self.datagram.begin(0, 0);
        self.datagram.push(counter, &words);
        self.begun = true;
    }

    fn finish_datagram(&mut self, queue: &mut PacketQueue) {
        if std::mem::take(&mut self.begun) {
            queue.push(self.datagram.packet());
        }
    }
}

/// The time difference holds until the next one, also from module to module: what a module begins with must be
/// said if it is 0 again.
fn set_time_difference_to_0(words: &mut Vec<Word>, bus: u8) {
    const BEHIND_HEADER: usize = 1;
    words.insert(BEHIND_HEADER, Word::TimeDifference { bus, difference: 0 });
    if let Some(Word::Header { words, .. }) = words.first_mut() {
        *words += 1;
    }
}

impl RowEncoder for MesytecPackets {
    type Row = MesytecHit;

    fn push(&mut self, row: &MesytecHit, queue: &mut PacketQueue, counters: &mut DumpCounters) {
        let MesytecHit { trigger_count, total_time, module, bus, channel, adc, time_diff, .. } = *row;
        let external = row.external_trigger != 0;
        let readout = VmmrReadout { module, bus, channel, adc, time_difference: time_diff };
        let fits = total_time >> (LOW_TIME_BITS + HIGH_TIME_BITS) == 0
            && (external || (bus < BUSES && channel < CHANNELS && adc <= LARGEST_ADC));
        if !fits {
            counters.out_of_range += 1;
            return;
        }
        let key = Key { count: trigger_count, time: total_time };
        let full = self.readouts.len() == MOST_READOUTS;
        if self.trigger != Some(key) || full {
            counters.triggers_split += u64::from(self.trigger == Some(key));
            self.finish_trigger(queue);
            self.trigger = Some(key);
        }
        if external {
            counters.external_triggers += 1;
            self.external = true;
        } else {
            counters.readouts += 1;
            self.readouts.push(readout);
        }
    }

    fn finish(&mut self, queue: &mut PacketQueue, _: &mut DumpCounters) {
        self.finish_trigger(queue);
        self.finish_datagram(queue);
    }
}
