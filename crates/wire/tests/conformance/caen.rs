//! The reference's byte-level cases for CAEN digitisers (vectors `multiblade_records` and
//! `multiblade_jadaq_2018-06`), document "EFU formats of 2018", sections 3.1 and 3.2. What the reference
//! counts as "error bytes" is here the length of a rejected packet.

use evforge_testkit::shared_file;
use evforge_wire::caen::*;

/// The rows of the reference's test: wire channel, strip channel, amplitude, time.
fn rows(test: &str) -> Option<Vec<[u32; 4]>> {
    let text = shared_file(test, "vectors/multiblade_records/rows.csv")?;
    let text = String::from_utf8(text).expect("rows are text");
    let row = |line: &str| {
        let columns: Vec<u32> = line.split(',').map(|column| column.parse().expect("a number")).collect();
        columns[..4].try_into().expect("four columns")
    };
    Some(text.lines().skip(1).map(row).collect())
}

#[test]
fn section_3_1_records_are_the_rows_they_were_made_of_and_are_made_of_them_again() {
    let test = "section_3_1_records_are_the_rows_they_were_made_of_and_are_made_of_them_again";
    let Some(rows) = rows(test) else { return };
    for (name, count) in [("all22", 22), ("first16", 16)] {
        let Some(bytes) = shared_file(test, &format!("vectors/multiblade_records/clustering_{name}.bin"))
        else {
            return;
        };
        let packet = RecordPacket::parse(&bytes).unwrap();
        let expected: Vec<_> = rows[..count]
            .iter()
            .flat_map(|&[wire, strip, adc, time]| {
                [wire, strip].map(|channel| Record {
                    digitizer: 137,
                    channel: channel as u8,
                    adc: adc as u16,
                    time,
                })
            })
            .collect();
        assert_eq!(packet.len(), 2 * count);
        assert_eq!(packet.records().collect::<Vec<_>>(), expected);
        let mut encoder = RecordEncoder::default();
        assert!(expected.iter().all(|record| encoder.push(record)));
        assert_eq!(encoder.packet(), bytes);
    }
}

#[test]
fn section_3_1_all_bits_set_end_a_run() {
    let test = "section_3_1_all_bits_set_end_a_run";
    let Some(bytes) = shared_file(test, "vectors/multiblade_records/end_of_run_marker.bin") else { return };
    let records: Vec<_> = RecordPacket::parse(&bytes).unwrap().records().collect();
    assert_eq!(records, [Record::END_OF_RUN]);
    assert!(records[0].is_end_of_run());
    assert!(!Record { time: 0, ..Record::END_OF_RUN }.is_end_of_run());
}

/// The reference reads one record from beyond an empty datagram, and the last one of a ragged datagram partly
/// from beyond it. Here such datagrams are rejected, by the rule that nothing is invented.
#[test]
fn section_3_1_empty_and_ragged_datagrams_are_rejected() {
    assert_eq!(RecordPacket::parse(&[]).unwrap_err(), Rejection::Empty);
    for length in (1..64).filter(|length| length % 8 != 0) {
        assert_eq!(RecordPacket::parse(&vec![0; length]).unwrap_err(), Rejection::RaggedLength);
    }
}

#[test]
fn section_3_2_a_packet_of_june_2018_as_captured() {
    let test = "section_3_2_a_packet_of_june_2018_as_captured";
    let Some(bytes) = shared_file(test, "vectors/multiblade_jadaq_2018-06/pkt13.bin") else { return };
    let packet = JadaqPacket::parse(&bytes, JadaqVersion::OfJune2018).unwrap();
    assert_eq!((packet.len(), packet.digitizer, packet.version), (958, 137, 1));
    // The first two elements, read off the bytes; the last channels of a digitizer come first.
    let first: Vec<_> = packet.elements().take(2).collect();
    assert_eq!(first[0], Element { time: 0x0D_5CB4, charge: 0x4804, channel: 60, baseline: 0 });
    assert_eq!(first[1], Element { time: 0x0D_68E9, charge: 0x47F5, channel: 60, baseline: 0 });
    assert!(packet.elements().all(|element| usize::from(element.channel) < CHANNELS));
    assert_eq!(JadaqPacket::parse(&bytes, JadaqVersion::V1_3).unwrap_err(), Rejection::WrongVersion(0x0001));
    assert_eq!(JadaqPacket::numbering(&bytes, JadaqVersion::OfJune2018), None);
    // Every other length is rejected: "size must equal 32 + 8 n".
    for length in 0..bytes.len() {
        let reason = if length < 32 { Rejection::TooShort } else { Rejection::RaggedLength };
        assert_eq!(JadaqPacket::parse(&bytes[..length], JadaqVersion::OfJune2018).unwrap_err(), reason);
    }
}

#[test]
fn section_3_2_zeroes_are_an_empty_packet_of_june_2018_from_32_bytes_on() {
    let test = "section_3_2_zeroes_are_an_empty_packet_of_june_2018_from_32_bytes_on";
    let Some(bytes) = shared_file(test, "vectors/multiblade_jadaq_2018-06/all_zeroes.bin") else { return };
    for length in 0..32 {
        let rejection = JadaqPacket::parse(&bytes[..length], JadaqVersion::OfJune2018).unwrap_err();
        assert_eq!(rejection, Rejection::TooShort);
    }
    let packet = JadaqPacket::parse(&bytes[..32], JadaqVersion::OfJune2018).unwrap();
    assert_eq!((packet.len(), packet.is_empty()), (0, true));
}

/// A header of jadaq 1.3, written out byte by byte.
fn header_of_1_3(element_type: u16, elements: u16) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0, 0x83, 0x05, 0x59, 0xD9, 0x63, 0x01, 0, 0, 137, 0, 0, 0];
    bytes.extend(element_type.to_le_bytes());
    bytes.extend(elements.to_le_bytes());
    bytes.extend([0x01, 0x03, 0x0D, 0x0C, 0x0B, 0x0A, 0, 0]);
    bytes
}

#[test]
fn section_3_2_jadaq_1_3_header_and_the_elements_of_both_types() {
    let mut bytes = header_of_1_3(1, 1);
    bytes.extend([1, 2, 3, 4, 5, 0, 7, 8]);
    let packet = JadaqPacket::parse(&bytes, JadaqVersion::V1_3).unwrap();
    assert_eq!((packet.run, packet.global_time, packet.version), (1, 0x0163_D959_0583, 0x0301));
    let numbering = Numbering { digitizer: 137, sequence: 0x0A0B_0C0D, global_time: packet.global_time };
    assert_eq!((packet.digitizer, packet.sequence), (numbering.digitizer, numbering.sequence));
    assert_eq!(JadaqPacket::numbering(&bytes, JadaqVersion::V1_3), Some(numbering));
    let element = Element { time: 0x0403_0201, channel: 5, charge: 0x0807, baseline: 0 };
    assert_eq!(packet.elements().collect::<Vec<_>>(), [element]);

    let mut bytes = header_of_1_3(2, 1);
    bytes.extend([1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 11, 12, 13, 14]);
    let packet = JadaqPacket::parse(&bytes, JadaqVersion::V1_3).unwrap();
    let element = Element { time: 0x0807_0605_0403_0201, channel: 9, charge: 0x0C0B, baseline: 0x0E0D };
    assert_eq!(packet.elements().collect::<Vec<_>>(), [element]);
}

#[test]
fn section_3_2_jadaq_1_3_refuses_other_versions_types_and_lengths() {
    let parse = |bytes: &[u8]| JadaqPacket::parse(bytes, JadaqVersion::V1_3).map(|packet| packet.len());
    for number in [3, 0x100, 0x101, 0x102, 0xFFFF] {
        assert_eq!(parse(&header_of_1_3(number, 0)), Err(Rejection::Waveform(number)));
        assert!(JadaqPacket::numbering(&header_of_1_3(number, 0), JadaqVersion::V1_3).is_some());
    }
    for number in [0, 4, 0x80] {
        assert_eq!(parse(&header_of_1_3(number, 0)), Err(Rejection::UnknownElementType(number)));
    }
    assert_eq!(parse(&header_of_1_3(1, 1)), Err(Rejection::RaggedLength));
    let mut other = header_of_1_3(1, 0);
    assert_eq!(parse(&other), Ok(0));
    other[24] = 2;
    assert_eq!(parse(&other), Err(Rejection::WrongVersion(0x0302)));
    assert_eq!(JadaqPacket::numbering(&other, JadaqVersion::V1_3), None);
    // A packet of 1.3 is not read as one of June 2018, whose fields mean something else.
    let of_1_3 = header_of_1_3(1, 0);
    let rejection = JadaqPacket::parse(&of_1_3, JadaqVersion::OfJune2018).unwrap_err();
    assert_eq!(rejection, Rejection::WrongVersion(0x0301));
}

#[test]
fn section_3_2_a_full_packet_has_1117_elements() {
    let mut encoder = JadaqEncoder::new(ElementType::List422);
    encoder.begin(0, 0, 137, 0);
    while encoder.push(&Element::default()) {}
    let packet = JadaqPacket::parse(encoder.packet(), JadaqVersion::V1_3).unwrap();
    assert_eq!(packet.len(), 1117);
}
