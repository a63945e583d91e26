//! The recorded dumps of October and November 2018 (EFU formats of 2018, section 12).
#![allow(clippy::unwrap_used)]

use crate::shared::{Counted, packets, read, recorded, write};
use evforge_dump::packets::{CaenFormat, PacketFormats, open};
use evforge_dump::rows::{CaenReadout, SrsHit};
use evforge_testkit::{pkts_payloads, shared_file};
use evforge_wire::caen::{ElementType, JadaqPacket, JadaqVersion, RecordPacket};
use evforge_wire::srs_vmm::{Vmm3Packet, Vmm3Variant, VmmReadout, Word};
use std::collections::BTreeMap;

#[test]
fn the_recorded_multi_blade_dump_has_the_readouts_of_the_recorded_packets() {
    let test = "the_recorded_multi_blade_dump_has_the_readouts_of_the_recorded_packets";
    let Some(path) = recorded(test, "captures/multiblade/recorded_2018.h5") else { return };
    let Some(capture) = shared_file(test, "captures/multiblade/recorded_2018.pkts") else { return };
    let rows = read::<CaenReadout>(&path);
    assert_eq!(rows.len(), 116_887);
    let first = CaenReadout {
        global_time: 1_540_382_919_850,
        digitizer: 143,
        local_time: 181_742,
        channel: 47,
        adc: 284,
    };
    assert_eq!(rows[0], first);

    let mut expected = Vec::new();
    for payload in pkts_payloads(&capture) {
        let packet = RecordPacket::parse(&payload).unwrap();
        let records = packet.records().filter(|record| !record.is_end_of_run());
        expected.extend(
            records.map(|r| (u32::from(r.digitizer), u16::from(r.channel), r.adc, u64::from(r.time))),
        );
    }
    let all = Counted { rows: 116_887, readouts: 116_887, ..Counted::default() };
    for (element_type, version) in
        [(ElementType::OfJune2018, JadaqVersion::OfJune2018), (ElementType::List422, JadaqVersion::V1_3)]
    {
        let formats = PacketFormats { caen: CaenFormat::Jadaq(element_type), ..PacketFormats::default() };
        let (packets, counted) = packets(open(&path, &formats).unwrap());
        assert_eq!(
            (counted, packets.len()),
            (all, 9983),
            "one packet for each stretch of one time and digitizer"
        );
        let mut found = Vec::new();
        let mut global_times = Vec::new();
        for packet in &packets {
            let packet = JadaqPacket::parse(packet, version).unwrap();
            found.extend(packet.elements().map(|e| (packet.digitizer, e.channel, e.charge, e.time)));
            global_times.extend(packet.elements().map(|_| packet.global_time));
        }
        assert!(found == expected, "digitizer, channel, amplitude and time of all readouts, in their order");
        assert!(
            global_times.iter().eq(rows.iter().map(|row| { row.global_time }).collect::<Vec<_>>().iter())
        );
    }
}

/// A readout with the time of its marker and offset, in nanoseconds, in the place of the offset.
type TimedReadout = (u64, VmmReadout);

/// The readouts of each card, in order.
fn timed_readouts(packets: &[Vec<u8>]) -> BTreeMap<u16, Vec<TimedReadout>> {
    let mut readouts: BTreeMap<u16, Vec<_>> = BTreeMap::new();
    let mut markers = BTreeMap::new();
    for packet in packets {
        let packet = Vmm3Packet::parse(packet, Vmm3Variant::Of2018).unwrap();
        for word in packet.words() {
            match word {
                Word::Marker(marker) => {
                    markers.insert((packet.fec, marker.chip), marker.stamp);
                }
                Word::Readout(readout) => {
                    let offset = u64::from(readout.trigger_offset) * 204_750;
                    let time = markers[&(packet.fec, readout.chip)] * 25 + offset;
                    let readout = (time, VmmReadout { trigger_offset: 0, ..readout });
                    readouts.entry(packet.fec).or_default().push(readout);
                }
            }
        }
    }
    readouts
}

#[test]
fn the_recorded_gem_dump_has_the_readouts_and_times_of_the_recorded_packets() {
    let test = "the_recorded_gem_dump_has_the_readouts_and_times_of_the_recorded_packets";
    let Some(path) = recorded(test, "captures/gdgem/vmm3_recorded_2018.h5") else { return };
    let Some(capture) = shared_file(test, "captures/gdgem/vmm3_recorded_2018.pkts") else { return };
    assert_eq!(read::<SrsHit>(&path).len(), 109_480);
    let (packets, counted) = packets(open(&path, &PacketFormats::default()).unwrap());
    assert_eq!(counted, Counted { rows: 109_480, readouts: 109_480, ..Counted::default() });
    assert!(timed_readouts(&packets) == timed_readouts(&pkts_payloads(&capture)));
}

#[test]
fn a_recorded_dump_that_is_written_again_is_the_same() {
    let test = "a_recorded_dump_that_is_written_again_is_the_same";
    let Some(path) = recorded(test, "captures/gdgem/vmm3_recorded_2018.h5") else { return };
    let folder = tempfile::tempdir().unwrap();
    let again = folder.path().join("again.h5");
    let rows = read::<SrsHit>(&path);
    write(&again, &rows);
    assert!(read::<SrsHit>(&again) == rows);
}
