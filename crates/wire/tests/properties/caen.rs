//! Encode then decode is identity. What holds for arbitrary bytes is in `fuzz/harness`.

use evforge_wire::caen::*;
use proptest::prelude::*;

const TYPES: [ElementType; 3] = [ElementType::OfJune2018, ElementType::List422, ElementType::List8222];

fn version_of(element_type: ElementType) -> JadaqVersion {
    if element_type == ElementType::OfJune2018 { JadaqVersion::OfJune2018 } else { JadaqVersion::V1_3 }
}

fn record() -> impl Strategy<Value = Record> {
    let any = any::<(u8, u8, u16, u32)>().prop_map(|(digitizer, channel, adc, time)| Record {
        digitizer,
        channel,
        adc,
        time,
    });
    prop_oneof![9 => any, 1 => Just(Record::END_OF_RUN)]
}

fn element() -> impl Strategy<Value = Element> {
    any::<(u64, u16, u16, u16)>().prop_map(|(time, channel, charge, baseline)| Element {
        time,
        channel,
        charge,
        baseline,
    })
}

proptest! {
    #[test]
    fn records_encode_then_decode_is_identity(records in proptest::collection::vec(record(), 1..=200)) {
        let mut encoder = RecordEncoder::default();
        encoder.begin();
        for record in &records {
            prop_assert!(encoder.push(record));
        }
        let packet = RecordPacket::parse(encoder.packet()).unwrap();
        prop_assert_eq!(packet.len(), records.len());
        prop_assert_eq!(packet.records().collect::<Vec<_>>(), records);
    }

    #[test]
    fn jadaq_encode_then_decode_is_identity(
        header: (u64, u64, u32, u32), choice in 0..3_usize,
        elements in proptest::collection::vec(element(), 0..200),
    ) {
        let (run, global_time, digitizer, sequence) = header;
        let element_type = TYPES[choice];
        let version = version_of(element_type);
        let wide = element_type == ElementType::List8222;
        let elements: Vec<_> = elements
            .into_iter()
            .map(|e| if wide { e } else { Element { time: e.time & 0xFFFF_FFFF, baseline: 0, ..e } })
            .collect();
        let mut encoder = JadaqEncoder::new(element_type);
        encoder.begin(run, global_time, digitizer, sequence);
        for element in &elements {
            prop_assert!(encoder.push(element));
        }
        let packet = JadaqPacket::parse(encoder.packet(), version).unwrap();
        prop_assert_eq!((packet.run, packet.global_time, packet.digitizer), (run, global_time, digitizer));
        prop_assert_eq!(packet.element_type, element_type);
        prop_assert_eq!(packet.elements().len(), elements.len());
        prop_assert_eq!(packet.elements().collect::<Vec<_>>(), elements);
        let numbering = JadaqPacket::numbering(encoder.packet(), version);
        if version == JadaqVersion::V1_3 {
            prop_assert_eq!(numbering, Some(Numbering { digitizer, sequence, global_time }));
        } else {
            prop_assert_eq!(numbering, None);
        }
    }

    #[test]
    fn a_full_packet_refuses_and_stays_within_the_largest_payload(
        record in record(), element in element(), choice in 0..3_usize,
    ) {
        let mut encoder = RecordEncoder::default();
        encoder.begin();
        while encoder.push(&record) {}
        prop_assert_eq!(encoder.packet().len(), LARGEST_RECORD_PACKET);

        let mut encoder = JadaqEncoder::new(TYPES[choice]);
        encoder.begin(0, 0, 0, 0);
        while encoder.push(&element) {}
        let length = encoder.packet().len();
        prop_assert!(length <= LARGEST_PACKET && length + TYPES[choice].size() > LARGEST_PACKET);
        prop_assert!(JadaqPacket::parse(encoder.packet(), version_of(TYPES[choice])).is_ok());
    }
}
