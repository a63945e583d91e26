//! Encode then decode is identity. What holds for arbitrary bytes is in `fuzz/harness`.

use evforge_wire::srs_vmm::*;
use proptest::prelude::*;

fn readout(chips: u8) -> impl Strategy<Value = VmmReadout> {
    (0..chips, 0..64_u8, 0..4096_u16, any::<u8>(), 0..1024_u16, any::<bool>(), 0..32_u8).prop_map(
        |(chip, channel, bunch_crossing, tdc, adc, over_threshold, trigger_offset)| VmmReadout {
            chip,
            channel,
            bunch_crossing,
            tdc,
            adc,
            over_threshold,
            trigger_offset,
        },
    )
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        4 => readout(32).prop_map(Word::Readout),
        1 => (0..32_u8, 0..1_u64 << MARKER_BITS)
            .prop_map(|(chip, stamp)| Word::Marker(TimeMarker { chip, stamp })),
    ]
}

fn trigger_marker() -> impl Strategy<Value = TriggerMarker> {
    prop_oneof![
        (0..16_u8, any::<u16>()).prop_map(|(chip, count)| TriggerMarker::EventCounter { chip, count }),
        (0..16_u8, 0..0xF000_0000_u64)
            .prop_map(|(chip, time)| TriggerMarker::TriggerTime { chip, stamp: time << 10 }),
        (0..16_u8, 0..4096_u16).prop_map(|(chip, ticks)| TriggerMarker::RelativeTime { chip, ticks }),
        (0..16_u8, RELATIVE_TIME_LIMIT..1 << MARKER_BITS)
            .prop_map(|(chip, stamp)| TriggerMarker::Meaningless { chip, stamp }),
    ]
}

proptest! {
    #[test]
    fn markers_of_the_triggered_mode_encode_then_decode_is_identity(
        markers in proptest::collection::vec(trigger_marker(), 1..100),
    ) {
        let mut encoder = Vmm3Encoder::new(Vmm3Variant::Vmm3a);
        encoder.begin(1, 1, 0);
        for &marker in &markers {
            prop_assert!(encoder.push_marker(&marker.into()));
        }
        let packet = Vmm3Packet::parse(encoder.packet(), Vmm3Variant::Vmm3a).unwrap();
        let found: Vec<TriggerMarker> = packet
            .words()
            .filter_map(|word| match word {
                Word::Marker(marker) => Some(marker.into()),
                Word::Readout(_) => None,
            })
            .collect();
        prop_assert_eq!(found, markers);
    }

    #[test]
    fn vmm2_encode_then_decode_is_identity(
        frame_counter in 0..END_OF_FRAME, chip in 0..16_u8, trigger_stamp: u32,
        readouts in proptest::collection::vec(readout(1), 1..50),
    ) {
        let mut encoder = Vmm2Encoder::default();
        encoder.begin(frame_counter, chip, trigger_stamp);
        let sent: Vec<_> =
            readouts.into_iter().map(|r| VmmReadout { chip, trigger_offset: 0, ..r }).collect();
        for readout in &sent {
            prop_assert!(encoder.push(readout));
        }
        let Ok(Vmm2Content::Readouts(packet)) = Vmm2Packet::parse(encoder.packet()) else {
            panic!("an encoded packet is rejected");
        };
        prop_assert_eq!((packet.frame_counter, packet.trigger_stamp), (frame_counter, trigger_stamp));
        prop_assert_eq!(packet.readouts().collect::<Vec<_>>(), sent);
    }

    #[test]
    fn vmm3_encode_then_decode_is_identity(
        frame_counter in 0..END_OF_FRAME, fec in 1..16_u16, send_stamp: u32, old: bool,
        words in proptest::collection::vec(word(), 1..200),
    ) {
        let variant = if old { Vmm3Variant::Of2018 } else { Vmm3Variant::Vmm3a };
        let mut encoder = Vmm3Encoder::new(variant);
        encoder.begin(frame_counter, fec, send_stamp);
        for word in &words {
            let fits = match word {
                Word::Readout(readout) => encoder.push_readout(readout),
                Word::Marker(marker) => encoder.push_marker(marker),
            };
            prop_assert!(fits);
        }
        let packet = Vmm3Packet::parse(encoder.packet(), variant).unwrap();
        prop_assert_eq!((packet.frame_counter, packet.fec, packet.send_stamp), (frame_counter, fec, send_stamp));
        prop_assert_eq!(packet.words().collect::<Vec<_>>(), words);
        prop_assert_eq!(
            Vmm3Packet::numbering(encoder.packet(), variant),
            Some(Numbering { fec, frame_counter, time: Some(send_stamp) })
        );
    }

    #[test]
    fn a_full_packet_refuses_and_stays_within_the_largest_payload(word in word()) {
        let mut encoder = Vmm3Encoder::new(Vmm3Variant::Vmm3a);
        encoder.begin(1, 1, 0);
        let push = |encoder: &mut Vmm3Encoder| match &word {
            Word::Readout(readout) => encoder.push_readout(readout),
            Word::Marker(marker) => encoder.push_marker(marker),
        };
        while push(&mut encoder) {}
        prop_assert!(encoder.packet().len() <= LARGEST_PACKET && encoder.packet().len() + 6 > LARGEST_PACKET);
        prop_assert_eq!(encoder.len(), 1492);
    }
}
