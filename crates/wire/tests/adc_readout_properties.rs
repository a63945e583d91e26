//! Encode then decode is identity; arbitrary bytes never panic.

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

    /// One byte anywhere in the body is changed: never a panic, and never more samples than bytes.
    #[test]
    fn damaged_packets_never_panic(
        lengths in vec(0..40_usize, 1..5), filler in 0..40_usize, at: prop::sample::Index, byte: u8,
    ) {
        let mut encoder = AdcEncoder::default();
        encoder.begin(&Header::default());
        for length in lengths {
            prop_assert!(encoder.push_module(1, 1, RawTime::default(), &vec![7; length]));
        }
        encoder.finish(filler);
        let mut bytes = encoder.packet().to_vec();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        if let Ok(AdcPacket { content: Content::Data(data), .. }) = AdcPacket::parse(&bytes) {
            let samples: usize = data.modules().flatten().map(|module| 20 + 2 * module.len()).sum();
            prop_assert!(samples + 14 <= bytes.len());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in vec(any::<u8>(), 0..300), data: bool) {
        let length = (bytes.len() as u16).wrapping_sub(2).to_be_bytes();
        let packet_type = if data { [0x11; 2] } else { [0x22; 2] };
        if let Some(place) = bytes.get_mut(2..6) {
            place.copy_from_slice(&[packet_type, length].concat());
        }
        AdcPacket::numbering(&bytes);
        if let Ok(AdcPacket { content: Content::Data(data), .. }) = AdcPacket::parse(&bytes) {
            prop_assert!(data.modules().count() <= bytes.len() / 20 + 1);
        }
    }
}
