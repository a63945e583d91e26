//! Encode then decode is identity. What holds for arbitrary bytes is in `fuzz/harness`.

use evforge_wire::sonde::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn header() -> impl Strategy<Value = Header> {
    (0..32_u8, 0..4_u8, 0..1_u16 << PACKET_COUNT_BITS, any::<u32>()).prop_map(
        |(system, sequence_flag, packet_count, time)| Header { system, sequence_flag, packet_count, time },
    )
}

fn sample() -> impl Strategy<Value = AmplitudeSample> {
    (any::<u8>(), any::<u8>(), any::<u8>(), any::<u16>()).prop_map(
        |(trigger_type, asic, channel, amplitude)| AmplitudeSample { trigger_type, asic, channel, amplitude },
    )
}

proptest! {
    #[test]
    fn trigger_times_encode_then_decode_is_identity(
        header in header(), entries in vec((any::<u32>(), any::<u8>()), 0..=255),
    ) {
        let sent: Vec<_> =
            entries.into_iter().map(|(time, asic_channel)| TriggerTime { time, asic_channel }).collect();
        let mut encoder = SondeEncoder::default();
        encoder.begin_trigger_times(&header);
        for entry in &sent {
            prop_assert!(encoder.push_trigger_time(entry));
        }
        let packet = SondePacket::parse(encoder.packet()).expect("an encoded packet");
        let Content::TriggerTimes(times) = packet.content else { panic!("another type") };
        prop_assert_eq!(packet.header, header);
        prop_assert_eq!((times.len(), times.is_empty()), (sent.len(), sent.is_empty()));
        prop_assert_eq!(times.entries().collect::<Vec<_>>(), sent);
        let Header { system, packet_count, time, .. } = header;
        prop_assert_eq!(SondePacket::numbering(encoder.packet()), Some(Numbering { system, packet_count, time }));
    }

    #[test]
    fn a_single_event_encode_then_decode_is_identity(
        header in header(), asic: u8, channel: u8, trigger_type: u8, hold_delay: u16,
        samples in vec(any::<u16>(), 0..300),
    ) {
        let mut encoder = SondeEncoder::default();
        prop_assert!(encoder.single_event(&header, (asic, channel), trigger_type, hold_delay, &samples));
        let packet = SondePacket::parse(encoder.packet()).expect("an encoded packet");
        let Content::SingleEvent(event) = packet.content else { panic!("another type") };
        prop_assert_eq!(packet.header, header);
        prop_assert_eq!((event.asic, event.channel), (asic, channel));
        prop_assert_eq!((event.trigger_type, event.hold_delay), (trigger_type, hold_delay));
        prop_assert_eq!(event.samples().collect::<Vec<_>>(), samples);
    }

    #[test]
    fn many_events_encode_then_decode_is_identity(
        header in header(), (times, samples) in (1..40_usize, 1..20_usize)
            .prop_flat_map(|(n, m)| (vec(any::<u32>(), n), vec(vec(sample(), m), n))),
    ) {
        let mut encoder = SondeEncoder::default();
        encoder.begin_multi_event(&header, samples[0].len() as u16);
        prop_assert!(!encoder.push_event(0, &[]), "an event of another length");
        for (&time, samples) in times.iter().zip(&samples) {
            prop_assert!(encoder.push_event(time, samples));
        }
        let packet = SondePacket::parse(encoder.packet()).expect("an encoded packet");
        let Content::MultiEvent(multi) = packet.content else { panic!("another type") };
        prop_assert_eq!((packet.header, multi.len(), multi.surplus()), (header, times.len(), 0));
        for ((event, time), samples) in multi.events().zip(times).zip(samples) {
            prop_assert_eq!(event.time, time);
            prop_assert_eq!(event.samples().collect::<Vec<_>>(), samples);
        }
    }
}

#[test]
fn full_packets_refuse_and_an_encoder_without_a_packet_too() {
    let mut encoder = SondeEncoder::default();
    let entry = TriggerTime::default();
    assert!(!encoder.push_trigger_time(&entry) && !encoder.push_event(0, &[]));
    encoder.begin_trigger_times(&Header::default());
    assert_eq!((0..300).filter(|_| encoder.push_trigger_time(&entry)).count(), LARGEST_ENTRY_COUNT);
    assert_eq!(encoder.packet().len(), 1286);
    encoder.begin_multi_event(&Header::default(), 64);
    let samples = [AmplitudeSample::default(); 64];
    assert_eq!((0..300).filter(|_| encoder.push_event(0, &samples)).count(), 27);
    assert!(!encoder.single_event(&Header::default(), (0, 0), 0, 0, &[0; 5000]));
    assert!(SondePacket::parse(encoder.packet()).is_ok());
}
