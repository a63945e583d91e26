//! Whole streams of packets, for simulations and tests.

use super::{EssHeader, EssTime, LARGEST_PACKET, RECORD};

/// Makes the packets of one output queue, pulse by pulse, and numbers them. Records have `SIZE` bytes.
#[derive(Clone, Debug)]
pub struct EssEncoder<const SIZE: usize = RECORD> {
    header: EssHeader,
    records_per_packet: usize,
}

impl<const SIZE: usize> EssEncoder<SIZE> {
    /// A queue that has not sent anything yet. Packets have at most `records_per_packet` records, and at least one
    /// and no more than there is room for.
    pub fn new(detector_type: u8, output_queue: u8, records_per_packet: usize) -> Self {
        let header = EssHeader { detector_type, output_queue, ..EssHeader::default() };
        let room = (LARGEST_PACKET - header.size()) / SIZE;
        Self { header, records_per_packet: records_per_packet.clamp(1, room) }
    }

    /// Appends the packets that tell a pulse, with these records: a single one without records (a heartbeat) if
    /// there are none. The previous pulse is the one of the call before; the first pulse is its own.
    pub fn pulse(&mut self, pulse: EssTime, records: &[[u8; SIZE]], packets: &mut Vec<Vec<u8>>) {
        let header = &mut self.header;
        let is_first = header.pulse == EssTime::default();
        header.previous_pulse = if is_first { pulse } else { header.pulse };
        header.pulse = pulse;
        let without = records.is_empty().then_some(&[][..]);
        for content in records.chunks(self.records_per_packet).chain(without) {
            let mut packet = Vec::new();
            header.write_packet(content.as_flattened(), &mut packet);
            packets.push(packet);
            header.sequence = header.sequence.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ess::{EssPacket, HeaderRules, Vmm3aFields, detector_type};

    #[test]
    fn packets_are_numbered_and_tell_both_pulses() {
        let rules = HeaderRules::strict(detector_type::TREX, 100);
        let [first, second] = [40, 140].map(|ticks| EssTime { seconds: 7, ticks });
        let records = [Vmm3aFields::default().encode(); 5];
        let mut encoder = EssEncoder::new(detector_type::TREX, 3, 2);
        let mut packets = Vec::new();
        encoder.pulse(first, &records, &mut packets);
        encoder.pulse(second, &[], &mut packets);
        let parsed = packets.iter().map(|packet| EssPacket::parse(packet, &rules).unwrap());
        let told = parsed.map(|packet| {
            let records = packet.payload.len() / RECORD;
            (packet.sequence, packet.output_queue, packet.previous_pulse, packet.pulse, records)
        });
        let expected = [
            (0, 3, first, first, 2),
            (1, 3, first, first, 2),
            (2, 3, first, first, 1),
            (3, 3, first, second, 0),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
