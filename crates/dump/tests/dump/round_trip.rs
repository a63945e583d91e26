//! What is written is read back: as rows, and as packets that carry the same readouts.
#![allow(clippy::unwrap_used)]

use crate::shared::{Counted, packets, read, write};
use evforge_dump::packets::{CaenFormat, PacketFormats, SrsFormat, open};
use evforge_dump::rows::{CaenReadout, MesytecHit, SrsHit};
use evforge_testkit::properties::cases;
use evforge_wire::caen::{ElementType, JadaqPacket, JadaqVersion, RecordPacket};
use evforge_wire::mesytec::{Datagram, TriggerClock, VmmrReadout};
use evforge_wire::srs_vmm::{Vmm2Content, Vmm2Packet, Vmm3Packet, Vmm3Variant, Word};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

prop_compose! {
    /// A hit as the electronics can send it, its time stamp a multiple of 25 ns.
    fn srs_hit()(fec in 1..=15_u8, chip_id in 0..16_u8, tick in prop_oneof![0..4_u64, 0..1_u64 << 42],
                 channel in 0..64_u16, bcid in 0..4096_u16, tdc in 0..256_u16, adc in 0..1024_u16,
                 over_threshold in 0..2_u8) -> SrsHit {
        SrsHit { fec, chip_id, srs_timestamp: tick * 25, channel, bcid, tdc, adc, over_threshold, chiptime: 1.5 }
    }
}

prop_compose! {
    fn caen_readout()(global_time in 0..3_u64, digitizer in 0..4_u32, local_time: u32, channel in 0..64_u16,
                      adc: u16) -> CaenReadout {
        CaenReadout { global_time, digitizer, local_time, channel, adc }
    }
}

prop_compose! {
    fn mesytec_hit()(external in 0..8_u8, module in 0..3_u8, bus in 0..16_u8, channel in 0..4096_u16,
                     adc in 0..4096_u16, time_diff in prop_oneof![Just(0), any::<u16>()]) -> MesytecHit {
        MesytecHit { external_trigger: i8::from(external == 0), module, bus, channel, adc, time_diff,
                     ..MesytecHit::default() }
    }
}

/// Triggers with their own number and time, as the event formation unit counts them.
fn triggers() -> impl Strategy<Value = Vec<MesytecHit>> {
    let trigger = (0..1_u64 << 46, proptest::collection::vec(mesytec_hit(), 1..12));
    proptest::collection::vec(trigger, 0..20).prop_map(|triggers| {
        let mut rows = Vec::new();
        for (count, (time, hits)) in triggers.into_iter().enumerate() {
            rows.extend(hits.into_iter().map(|hit| MesytecHit {
                trigger_count: count as u64 + 1,
                high_time: (time >> 30) as u32,
                low_time: (time & 0x3FFF_FFFF) as u32,
                total_time: time,
                ..hit
            }));
        }
        rows
    })
}

/// Rows from packets with VMM3, each with the time of the marker before it in the same packet.
fn rows_of_vmm3(packets: &[Vec<u8>], variant: Vmm3Variant, tick_ns: u64) -> Vec<SrsHit> {
    let mut frames = BTreeMap::new();
    let mut rows = Vec::new();
    for packet in packets {
        let packet = Vmm3Packet::parse(packet, variant).expect("a packet of our encoder");
        let before = frames.insert(packet.fec, packet.frame_counter).unwrap_or(0);
        assert_eq!(packet.frame_counter, before + 1, "numbered without gaps");
        let mut markers = [None; 32];
        for word in packet.words() {
            match word {
                Word::Marker(marker) => markers[usize::from(marker.chip)] = Some(marker.stamp),
                Word::Readout(readout) => rows.push(SrsHit {
                    fec: packet.fec as u8,
                    chip_id: readout.chip,
                    srs_timestamp: markers[usize::from(readout.chip)].expect("a marker in the packet")
                        * tick_ns,
                    channel: readout.channel.into(),
                    bcid: readout.bunch_crossing,
                    tdc: readout.tdc.into(),
                    adc: readout.adc,
                    over_threshold: readout.over_threshold.into(),
                    chiptime: 1.5,
                }),
            }
        }
    }
    rows
}

fn rows_of_jadaq(packets: &[Vec<u8>], version: JadaqVersion) -> Vec<CaenReadout> {
    let mut rows = Vec::new();
    let mut sequences = BTreeMap::new();
    for packet in packets {
        let packet = JadaqPacket::parse(packet, version).expect("a packet of our encoder");
        if version == JadaqVersion::V1_3 {
            let next = sequences.entry(packet.digitizer).or_insert(0);
            assert_eq!(packet.sequence, *next, "numbered without gaps");
            *next += 1;
        }
        rows.extend(packet.elements().map(|element| CaenReadout {
            global_time: packet.global_time,
            digitizer: packet.digitizer,
            local_time: element.time as u32,
            channel: element.channel,
            adc: element.charge,
        }));
    }
    rows
}

/// Time, mark of a trigger from outside, and readouts of every trigger.
type Triggers = Vec<(u64, bool, Vec<VmmrReadout>)>;

fn triggers_of(packets: &[Vec<u8>]) -> Triggers {
    let mut clock = TriggerClock::extended();
    let mut triggers = Vec::new();
    for packet in packets {
        let datagram = Datagram::parse(packet).expect("a datagram of our encoder");
        for trigger in datagram.triggers() {
            let take = |readouts: &mut Vec<_>, word, context| readouts.extend(VmmrReadout::of(word, context));
            let (readouts, end) = trigger.expect("a whole trigger").read(&mut clock, Vec::new(), take);
            let end = end.expect("a sound trigger");
            triggers.push((end.time, end.external_trigger, readouts));
        }
    }
    triggers
}

fn triggers_of_rows(rows: &[MesytecHit]) -> Triggers {
    rows.chunk_by(|one, next| one.trigger_count == next.trigger_count)
        .map(|rows| {
            let hits = rows.iter().filter(|row| row.external_trigger == 0);
            let readout = |row: &MesytecHit| VmmrReadout {
                module: row.module,
                bus: row.bus,
                channel: row.channel,
                adc: row.adc,
                time_difference: row.time_diff,
            };
            let external = rows.iter().any(|row| row.external_trigger != 0);
            (rows[0].total_time, external, hits.map(readout).collect())
        })
        .collect()
}

fn with_srs(format: SrsFormat) -> PacketFormats {
    PacketFormats { srs: format, ..PacketFormats::default() }
}

fn with_caen(format: CaenFormat) -> PacketFormats {
    PacketFormats { caen: format, ..PacketFormats::default() }
}

fn counted(rows: usize) -> Counted {
    Counted { rows: rows as u64, readouts: rows as u64, ..Counted::default() }
}

fn through_file<T>(look: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    look(&folder.path().join("dump.h5"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(8)))]

    #[test]
    fn srs_hits_come_back_as_rows_and_as_packets(rows in proptest::collection::vec(srs_hit(), 0..3000)) {
        through_file(|path| {
            write(path, &rows);
            prop_assert_eq!(&read::<SrsHit>(path), &rows);
            for variant in [Vmm3Variant::Of2018, Vmm3Variant::Vmm3a] {
                let formats = with_srs(SrsFormat::Vmm3 { variant, marker_tick: 25_000 });
                let (packets, found) = packets(open(path, &formats).unwrap());
                prop_assert_eq!(found, counted(rows.len()));
                prop_assert_eq!(&rows_of_vmm3(&packets, variant, 25), &rows);
            }
            Ok(())
        })?;
    }

    #[test]
    fn caen_readouts_come_back_as_rows_and_as_packets(rows in proptest::collection::vec(caen_readout(), 0..2000)) {
        through_file(|path| {
            write(path, &rows);
            prop_assert_eq!(&read::<CaenReadout>(path), &rows);
            for (element_type, version) in
                [(ElementType::OfJune2018, JadaqVersion::OfJune2018), (ElementType::List422, JadaqVersion::V1_3)]
            {
                let formats = with_caen(CaenFormat::Jadaq(element_type));
                let (packets, found) = packets(open(path, &formats).unwrap());
                prop_assert_eq!(found, counted(rows.len()));
                prop_assert_eq!(&rows_of_jadaq(&packets, version), &rows);
            }
            let (packets, found) = packets(open(path, &with_caen(CaenFormat::Records)).unwrap());
            prop_assert_eq!(found, counted(rows.len()));
            let records = packets.iter().flat_map(|packet| RecordPacket::parse(packet).unwrap().records());
            let records: Vec<_> = records.map(|r| (u32::from(r.digitizer), u16::from(r.channel), r.adc, r.time)).collect();
            let expected: Vec<_> = rows.iter().map(|r| (r.digitizer, r.channel, r.adc, r.local_time)).collect();
            prop_assert_eq!(records, expected);
            Ok(())
        })?;
    }

    #[test]
    fn mesytec_hits_come_back_as_rows_and_as_triggers(rows in triggers()) {
        through_file(|path| {
            write(path, &rows);
            prop_assert_eq!(&read::<MesytecHit>(path), &rows);
            let (packets, found) = packets(open(path, &PacketFormats::default()).unwrap());
            let external = rows.iter().filter(|row| row.external_trigger != 0).count() as u64;
            let readouts = rows.len() as u64 - external;
            let expected = Counted { readouts, external_triggers: external, ..counted(rows.len()) };
            prop_assert_eq!(found, expected);
            prop_assert_eq!(triggers_of(&packets), triggers_of_rows(&rows));
            Ok(())
        })?;
    }

    /// Whatever the numbers in a table: every row is in a packet or counted.
    #[test]
    fn any_row_is_encoded_or_counted(bytes in proptest::collection::vec(any::<[u8; 33]>(), 1..200)) {
        through_file(|path| {
            let u16_at = |row: &[u8; 33], at: usize| u16::from_le_bytes([row[at], row[at + 1]]);
            let u64_at = |row: &[u8; 33], at: usize| u64::from_le_bytes(std::array::from_fn(|n| row[at + n]));
            let srs: Vec<_> = bytes.iter().map(|row| SrsHit {
                fec: row[0], chip_id: row[1] % 20, srs_timestamp: u64_at(row, 2), channel: u16_at(row, 10) % 70,
                bcid: u16_at(row, 12) % 4200, tdc: u16_at(row, 14) % 300, adc: u16_at(row, 16) % 1200,
                over_threshold: row[18], chiptime: f32::NAN,
            }).collect();
            write(path, &srs);
            for format in [SrsFormat::VMM3_2018, SrsFormat::Vmm2 { trigger_tick: 3125 },
                           SrsFormat::Vmm3 { variant: Vmm3Variant::Vmm3a, marker_tick: 22_500 }] {
                let (packets, found) = packets(open(path, &with_srs(format)).unwrap());
                prop_assert_eq!(found.rows, srs.len() as u64);
                prop_assert_eq!(packets.is_empty(), found.readouts == 0);
            }
            let caen: Vec<_> = bytes.iter().map(|row| CaenReadout {
                global_time: u64_at(row, 0), digitizer: u16_at(row, 8).into(), local_time: 0,
                channel: u16_at(row, 16) % 70, adc: u16_at(row, 18),
            }).collect();
            write(path, &caen);
            for format in [CaenFormat::Records, CaenFormat::JADAQ_1_3] {
                let (packets, found) = packets(open(path, &with_caen(format)).unwrap());
                prop_assert_eq!(packets.is_empty(), found.readouts == 0);
            }
            let mesytec: Vec<_> = bytes.iter().map(|row| MesytecHit {
                trigger_count: row[0].into(), external_trigger: (row[8] % 3) as i8, module: row[9], high_time: 0,
                low_time: 0, total_time: u64_at(row, 18) >> (row[10] % 64), bus: row[26] % 20,
                channel: u16_at(row, 27) % 5000, adc: u16_at(row, 29) % 5000, time_diff: u16_at(row, 31),
            }).collect();
            write(path, &mesytec);
            packets(open(path, &PacketFormats::default()).unwrap());
            Ok(())
        })?;
    }
}

/// VMM2 stamps count 3.125 ns, the dump whole nanoseconds: the nearest tick is the right one.
#[test]
fn vmm2_stamps_come_back_from_whole_nanoseconds() {
    let stamps: Vec<u32> = (0..2000).map(|n| n * n * 37).chain([u32::MAX]).collect();
    let rows: Vec<_> = stamps
        .iter()
        .map(|&stamp| SrsHit {
            fec: 1,
            chip_id: (stamp % 16) as u8,
            srs_timestamp: u64::from(stamp) * 3125 / 1000,
            channel: 7,
            ..SrsHit::default()
        })
        .collect();
    through_file(|path| {
        write(path, &rows);
        let (packets, found) =
            packets(open(path, &with_srs(SrsFormat::Vmm2 { trigger_tick: 3125 })).unwrap());
        assert!(found.rounded > 1000 && found.readouts == rows.len() as u64, "{found:?}");
        let mut back = Vec::new();
        for packet in &packets {
            let Vmm2Content::Readouts(packet) = Vmm2Packet::parse(packet).unwrap() else {
                panic!("no readouts")
            };
            assert!(packet.readouts().all(|readout| readout.chip == packet.chip && readout.channel == 7));
            back.extend(packet.readouts().map(|_| packet.trigger_stamp));
        }
        assert_eq!(back, stamps);
    });
}

/// What the documentation says of a stamp between two ticks: the nearest one, and it is counted. With ticks of a
/// nanosecond nothing is rounded.
#[test]
fn a_stamp_between_two_ticks_goes_to_the_nearest() {
    let row = |srs_timestamp| SrsHit { fec: 1, srs_timestamp, chiptime: 1.5, ..SrsHit::default() };
    let rows = [row(100), row(112), row(113), row(125)];
    through_file(|path| {
        write(path, &rows);
        let (found, counters) = packets(open(path, &PacketFormats::default()).unwrap());
        let back = rows_of_vmm3(&found, Vmm3Variant::Of2018, 25);
        assert_eq!(back, [row(100), row(100), row(125), row(125)]);
        assert_eq!(counters.rounded, 2);
        let formats = with_srs(SrsFormat::Vmm3 { variant: Vmm3Variant::Of2018, marker_tick: 1000 });
        let (found, counters) = packets(open(path, &formats).unwrap());
        assert_eq!(rows_of_vmm3(&found, Vmm3Variant::Of2018, 1), rows);
        assert_eq!(counters.rounded, 0);
    });
}

/// A trigger that no datagram has room for is continued, and none of its hits is lost.
#[test]
fn a_trigger_too_large_for_a_datagram_is_continued() {
    let hit = |n: u16| MesytecHit {
        trigger_count: 1,
        total_time: 99,
        module: (n % 2) as u8,
        channel: n,
        time_diff: n,
        ..MesytecHit::default()
    };
    let rows: Vec<_> = (0..1500).map(hit).collect();
    through_file(|path| {
        write(path, &rows);
        let (packets, found) = packets(open(path, &PacketFormats::default()).unwrap());
        assert_eq!((found.split, found.readouts), (4, 1500));
        let triggers = triggers_of(&packets);
        assert!(triggers.iter().all(|(time, ..)| *time == 99));
        let channels: Vec<u16> = triggers
            .iter()
            .flat_map(|(.., readouts)| readouts.iter().map(|readout| readout.channel))
            .collect();
        assert_eq!(channels, (0..1500).collect::<Vec<_>>());
    });
}

#[test]
fn an_existing_file_is_replaced_only_by_a_finished_one() {
    through_file(|path| {
        write(path, &[SrsHit::default()]);
        let mut writer = evforge_dump::table_writer::TableWriter::create(path).unwrap();
        writer.write(&[SrsHit::default(); 2]).unwrap();
        drop(writer);
        assert_eq!(read::<SrsHit>(path).len(), 1);
        assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 1, "nothing is left behind");
    });
}
