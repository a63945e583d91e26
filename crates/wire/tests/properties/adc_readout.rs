//! Encode then decode is identity. What holds for arbitrary bytes is in `fuzz/harness`.

use evforge_wire::adc_readout::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn header() -> impl Strategy<Value = Header> {
    (any::<u16>(), any::<u16>(), any::<u16>()).prop_map(|(global_count, readout_count, reserved)| Header {
        global_count,
        readout_count,
        reserved,
    })
}

fn time() -> impl Strategy<Value = RawTime> {
    (any::<u32>(), any::<u32>()).prop_map(|(seconds, fraction)| RawTime { seconds, fraction })
}

proptest! {
    #[test]
    fn data_encode_then_decode_is_identity(
        header in header(), filler in 0..60_usize,
        modules in vec((any::<u16>(), any::<u16>(), time(), vec(any::<u16>(), 0..200)), 0..6),
    ) {
        let mut encoder = AdcEncoder::default();
        encoder.begin(&header);
        for (channel, oversampling, time, samples) in &modules {
            prop_assert!(encoder.push_module(*channel, *oversampling, *time, samples));
        }
        encoder.finish(filler);
        let packet = AdcPacket::parse(encoder.packet()).expect("an encoded packet");
        prop_assert_eq!(packet.header, header);
        let Content::Data(data) = packet.content else { panic!("a sign of life") };
        let found: Vec<_> = data
            .modules()
            .map(|item| item.map(|m| (m.channel, m.oversampling, m.time, m.samples().collect::<Vec<_>>())))
            .collect::<Result<_, _>>()
            .expect("no fault");
        prop_assert_eq!(found, modules);
        let global_count = header.global_count;
        prop_assert_eq!(AdcPacket::numbering(encoder.packet()), Some(Numbering { global_count }));
    }

    #[test]
    fn idle_encode_then_decode_is_identity(header in header(), time in time()) {
        let mut encoder = AdcEncoder::default();
        encoder.idle(&header, time);
        let packet = AdcPacket::parse(encoder.packet()).expect("an encoded packet");
        prop_assert_eq!(packet.header, header);
        let Content::Idle(idle) = packet.content else { panic!("data") };
        prop_assert_eq!(idle.time, time);
    }
}
