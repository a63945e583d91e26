//! Packets of the ESS readout with VMM3a records, taken apart plainly (ESS readout formats, sections 1 and 2.1). Shares no
//! code with production.

/// A VMM3a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) ring: u8,
    pub(crate) fen: u8,
    /// Ticks of 88.0525 MHz since 1970.
    pub(crate) ticks: u64,
    pub(crate) over_threshold: bool,
    pub(crate) adc: u16,
    pub(crate) tdc: u8,
    pub(crate) vmm: u8,
    pub(crate) channel: u8,
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The number that output queue `packet[8]` has given a packet.
pub(crate) fn sequence(packet: &[u8]) -> (u8, u64) {
    (packet[8], number(&packet[26..30]))
}

/// The records of packets, in order.
pub(crate) fn records(packets: &[Vec<u8>]) -> Vec<Record> {
    packets.iter().flat_map(|packet| of_packet(packet)).collect()
}

fn of_packet(packet: &[u8]) -> Vec<Record> {
    assert_eq!(&packet[2..5], b"ESS");
    assert_eq!(number(&packet[6..8]), packet.len() as u64);
    let header = if packet[1] == 0 { 30 } else { 32 };
    assert_eq!((packet.len() - header) % 20, 0);
    packet[header..]
        .chunks(20)
        .map(|record| {
            assert_eq!((number(&record[2..4]), record[16] >> 7), (20, 0), "a record of data");
            let amplitude = number(&record[14..16]) as u16;
            Record {
                ring: record[0] / 2,
                fen: record[1],
                ticks: number(&record[4..8]) * 88_052_500 + number(&record[8..12]),
                over_threshold: amplitude >> 15 == 1,
                adc: amplitude & 0x7FFF,
                tdc: record[17],
                vmm: record[18],
                channel: record[19],
            }
        })
        .collect()
}
