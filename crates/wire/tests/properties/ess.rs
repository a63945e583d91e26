//! Encode then decode is identity; arbitrary bytes never panic; the quick checks agree with the slow ones.

use evforge_wire::ess::beam_monitor::{MonitorPayload, MonitorReadout};
use evforge_wire::ess::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Times around the ends of a second, and any other.
fn time() -> impl Strategy<Value = EssTime> {
    let ticks =
        prop_oneof![0..3_u32, TICKS_PER_SECOND - 2..TICKS_PER_SECOND + 2, 0..TICKS_PER_SECOND, any::<u32>()];
    (prop_oneof![0..3_u32, any::<u32>()], ticks).prop_map(|(seconds, ticks)| EssTime { seconds, ticks })
}

fn header() -> impl Strategy<Value = EssHeader> {
    let numbers =
        (0..2_u8, prop_oneof![Just(0x44_u8), Just(0x10_u8), any::<u8>()], prop_oneof![0..13_u8, any::<u8>()]);
    let time_source = prop_oneof![Just(0_u8), any::<u8>()];
    (numbers, time_source, time(), time(), any::<bool>(), any::<u32>()).prop_map(
        |((version, detector_type, output_queue), time_source, pulse, other, same, sequence)| EssHeader {
            version,
            detector_type,
            output_queue,
            time_source,
            pulse,
            previous_pulse: if same { pulse } else { other },
            sequence,
        },
    )
}

fn rules() -> impl Strategy<Value = HeaderRules> {
    let distance = prop_oneof![Just(31_447_320_u64), 0..5_u64, any::<u64>()];
    let relaxed = prop_oneof![Just(0_u16), any::<u16>()].prop_map(HeaderRelaxations::from_bits);
    let monitor_type = prop_oneof![Just(None), Just(Some(0x10))];
    (distance, relaxed, monitor_type).prop_map(|(max_pulse_distance, relaxed, monitor_type)| HeaderRules {
        monitor_type,
        relaxed,
        ..HeaderRules::strict(0x44, max_pulse_distance)
    })
}

/// Numbers around a limit, and any other.
fn around(limit: u8) -> impl Strategy<Value = u8> {
    prop_oneof![limit - 1..=limit + 1, 0..=limit, any::<u8>()]
}

fn length() -> impl Strategy<Value = u16> {
    prop_oneof![4 => Just(20_u16), 1 => Just(160_u16), 1 => any::<u16>()]
}

fn vmm3a() -> impl Strategy<Value = Vmm3aFields> {
    let address = (around(23), around(23), length(), time());
    let bc = prop_oneof![0..4096_u16, 4094..4098_u16, any::<u16>()];
    let adc = prop_oneof![0..1024_u16, 1022..1026_u16, 0..0x8000_u16];
    let rest = (any::<u8>(), any::<u8>(), around(15), around(63));
    (address, bc, any::<bool>(), adc, rest).prop_map(
        |((fibre, fen, length, time), bc, over_threshold, adc, (geo, tdc, vmm, channel))| Vmm3aFields {
            fibre,
            fen,
            length,
            time,
            bc,
            over_threshold,
            adc,
            geo,
            tdc,
            vmm,
            channel,
        },
    )
}

fn monitor() -> impl Strategy<Value = MonitorFields> {
    let address = (around(23), around(23), length(), time());
    (address, around(3), any::<u8>(), any::<u16>(), any::<u32>()).prop_map(
        |((fibre, fen, length, time), kind, channel, adc, value)| MonitorFields {
            fibre,
            fen,
            length,
            time,
            kind,
            channel,
            adc,
            value,
        },
    )
}

fn record_rules() -> impl Strategy<Value = RecordRules> {
    any::<[bool; 2]>().prop_map(|[length_in_bits, any_adc]| RecordRules {
        length_in_bits,
        any_adc,
        ..RecordRules::default()
    })
}

/// The rules of section 1 that an encoded header breaks, in the order of their checks, written down once more.
fn broken(
    header: &EssHeader,
    counts_udp: bool,
    rules: &HeaderRules,
) -> Vec<(HeaderRelaxations, HeaderFault)> {
    let bit = |number: u8| header.time_source & 1 << number != 0;
    let (pulse, previous) = (header.pulse, header.previous_pulse);
    let distance = i128::from(pulse.total_ticks()) - i128::from(previous.total_ticks());
    let time_source = [
        (HeaderRelaxations::TIMING, bit(1) && !bit(0)),
        (HeaderRelaxations::TIME_STATUS, bit(3) && !bit(0)),
        (HeaderRelaxations::EVEN_FIBRE_SYNC, bit(5)),
        (HeaderRelaxations::ODD_FIBRE_SYNC, bit(7)),
    ];
    let not_relaxed = time_source
        .iter()
        .filter(|(rule, broken)| *broken && !rules.relaxed.contains(*rule))
        .fold(HeaderRelaxations::NONE, |all, (rule, _)| all.union(*rule));
    let mut found = vec![
        (HeaderRelaxations::LENGTH, HeaderFault::Length, counts_udp),
        (
            HeaderRelaxations::TYPE,
            HeaderFault::Type,
            header.detector_type != rules.detector_type && rules.monitor_type != Some(header.detector_type),
        ),
        (HeaderRelaxations::OUTPUT_QUEUE, HeaderFault::OutputQueue, header.output_queue >= 12),
    ];
    found
        .extend(time_source.map(|(rule, is_broken)| (rule, HeaderFault::TimeSource(not_relaxed), is_broken)));
    found.push((
        HeaderRelaxations::TIME_FRACTION,
        HeaderFault::TimeFraction,
        pulse.ticks.max(previous.ticks) >= TICKS_PER_SECOND,
    ));
    found.push((
        HeaderRelaxations::PULSE_DISTANCE,
        HeaderFault::PulseDistance,
        distance < 0 || distance > i128::from(rules.max_pulse_distance),
    ));
    found.into_iter().filter(|(.., is_broken)| *is_broken).map(|(rule, fault, _)| (rule, fault)).collect()
}

proptest! {
    #[test]
    fn a_header_encode_then_decode_is_identity(
        header in header(), counts_udp: bool, rules in rules(), payload in vec(any::<u8>(), 0..100),
    ) {
        let mut bytes = vec![1, 2, 3];
        header.write_packet(&payload, &mut bytes);
        prop_assert_eq!(bytes.len(), header.size() + payload.len());
        if counts_udp {
            let length = bytes.len() as u16 + 8;
            bytes[6..8].copy_from_slice(&length.to_le_bytes());
        }
        let lax = HeaderRules { relaxed: HeaderRelaxations::ALL, ..rules };
        let packet = EssPacket::parse(&bytes, &lax).expect("all rules are relaxed");
        prop_assert_eq!(packet.header(), header);
        prop_assert_eq!(packet.payload, &payload);
        prop_assert_eq!(packet.is_heartbeat(), payload.is_empty());

        // Under any rules: the first one that is broken and not relaxed, or all that are relaxed.
        let broken = broken(&header, counts_udp, &rules);
        let all = broken.iter().fold(HeaderRelaxations::NONE, |all, (rule, _)| all.union(*rule));
        prop_assert_eq!(packet.relaxed, all);
        let fault = broken.iter().find(|(rule, _)| !rules.relaxed.contains(*rule)).map(|(_, fault)| *fault);
        match EssPacket::parse(&bytes, &rules) {
            Ok(packet) => prop_assert_eq!((fault, packet.relaxed), (None, all)),
            Err(found) => prop_assert_eq!(Some(found), fault),
        }
        let EssHeader { detector_type, output_queue, sequence, pulse, .. } = header;
        let numbering = Numbering { detector_type, output_queue, sequence, pulse };
        let numbered = !matches!(fault, Some(HeaderFault::Length | HeaderFault::Type | HeaderFault::OutputQueue));
        prop_assert_eq!(EssPacket::numbering(&bytes, &rules), numbered.then_some(numbering));
    }

    #[test]
    fn a_damaged_packet_is_never_a_panic(
        header in header(), rules in rules(), payload in vec(any::<u8>(), 0..60),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = Vec::new();
        header.write_packet(&payload, &mut bytes);
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let numbering = EssPacket::numbering(&bytes, &rules);
        match EssPacket::parse(&bytes, &rules) {
            Ok(packet) => {
                let EssPacket { detector_type, output_queue, sequence, pulse, .. } = packet;
                let expected = Numbering { detector_type, output_queue, sequence, pulse };
                prop_assert_eq!(numbering, Some(expected));
                prop_assert!(rules.relaxed.contains(packet.relaxed));
                let mut again = Vec::new();
                packet.header().write_packet(packet.payload, &mut again);
                // The two unused bytes of version 1, and a length that also counts the UDP header, are all that a header
                // may lose.
                let counts_udp = packet.relaxed.contains(HeaderRelaxations::LENGTH);
                if packet.version == 1 {
                    bytes[30..32].fill(0);
                }
                if counts_udp {
                    let length = u16::from_le_bytes([bytes[6], bytes[7]]) - 8;
                    bytes[6..8].copy_from_slice(&length.to_le_bytes());
                }
                prop_assert_eq!(again, bytes);
            }
            Err(fault) => {
                let late = matches!(
                    fault,
                    HeaderFault::TimeSource(_) | HeaderFault::TimeFraction | HeaderFault::PulseDistance
                );
                prop_assert_eq!(numbering.is_some(), late, "{:?}", fault);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200), rules in rules()) {
        let numbered = EssPacket::numbering(&bytes, &rules).is_some();
        prop_assert!(!numbered || bytes[2..].starts_with(b"ESS"));
        prop_assert_eq!(bytes.is_empty(), EssPacket::parse(&bytes, &rules) == Err(HeaderFault::Empty));
        prop_assert_eq!(Vmm3aPayload::parse(&bytes).is_ok(), bytes.len().is_multiple_of(RECORD));
        prop_assert_eq!(MonitorPayload::parse(&bytes).is_ok(), bytes.len().is_multiple_of(RECORD));
    }

    #[test]
    fn vmm3a_records_encode_then_decode_is_identity(sent in vec(vmm3a(), 0..30), rules in record_rules()) {
        let bytes: Vec<u8> = sent.iter().flat_map(Vmm3aFields::encode).collect();
        let payload = Vmm3aPayload::parse(&bytes).expect("whole records");
        prop_assert_eq!((payload.len(), payload.is_empty()), (sent.len(), sent.is_empty()));
        prop_assert_eq!(payload.readouts().len(), sent.len());
        let received: Vec<_> = payload.readouts().map(Vmm3aReadout::fields).collect();
        prop_assert_eq!(&received, &sent);
        for (readout, fields) in payload.readouts().zip(&sent) {
            prop_assert_eq!((readout.ring(), readout.hybrid()), (fields.fibre / 2, fields.vmm / 2));
            prop_assert_eq!(readout.asic(), fields.vmm % 2);
            prop_assert_eq!(readout.is_calibration(), fields.geo >= 128);
            prop_assert_eq!(readout.length_is_in_bits(), fields.length == 160);
            prop_assert_eq!(readout.is_sound(&rules), readout.fault(&rules).is_none());
        }
    }

    #[test]
    fn monitor_records_encode_then_decode_is_identity(sent in vec(monitor(), 0..30), rules in record_rules()) {
        let bytes: Vec<u8> = sent.iter().flat_map(MonitorFields::encode).collect();
        let payload = MonitorPayload::parse(&bytes).expect("whole records");
        prop_assert_eq!((payload.len(), payload.is_empty()), (sent.len(), sent.is_empty()));
        prop_assert_eq!(payload.readouts().len(), sent.len());
        let received: Vec<_> = payload.readouts().map(MonitorReadout::fields).collect();
        prop_assert_eq!(&received, &sent);
        for (readout, fields) in payload.readouts().zip(&sent) {
            prop_assert_eq!(MonitorFields::place(readout.x(), readout.y()), fields.value);
            prop_assert_eq!(MonitorFields::sum(readout.summed_adc(), readout.samples()), fields.value);
            prop_assert_eq!(readout.kind().map(|kind| kind.to_byte()).unwrap_or(fields.kind), fields.kind);
            prop_assert_eq!(readout.kind().is_some(), (1..=3).contains(&fields.kind));
            prop_assert_eq!(readout.is_sound(&rules), readout.fault(&rules).is_none());
        }
    }

    /// Every byte of a record is part of a field, and the quick check agrees with the slow one.
    #[test]
    fn arbitrary_records_keep_every_bit(record: [u8; RECORD], rules in record_rules()) {
        let vmm3a = Vmm3aReadout::from(&record);
        prop_assert_eq!(vmm3a.fields().encode(), record);
        prop_assert_eq!(vmm3a.is_sound(&rules), vmm3a.fault(&rules).is_none());
        let monitor = MonitorReadout::from(&record);
        prop_assert_eq!(monitor.fields().encode(), record);
        prop_assert_eq!(monitor.is_sound(&rules), monitor.fault(&rules).is_none());
    }

    #[test]
    fn times_are_found_again(seconds: u32, ticks in 0..TICKS_PER_SECOND) {
        let time = EssTime { seconds, ticks };
        prop_assert_eq!(EssTime::from_total_ticks(time.total_ticks()), Some(time));
        prop_assert_eq!(EssTime::nearest(time.nanoseconds()), Some(time));
    }

    /// No tick is nearer to the nanoseconds than the one that is found.
    #[test]
    fn the_nearest_tick_is_at_most_half_a_tick_away(nanoseconds in 0..4_000_000_000_000_000_000_u64) {
        let found = EssTime::nearest(nanoseconds).expect("before 2106");
        prop_assert!(found.ticks < TICKS_PER_SECOND);
        // In units of 1/35221 ns a tick is 400 000.
        let exact = i128::from(found.total_ticks()) * 400_000;
        prop_assert!((exact - i128::from(nanoseconds) * 35_221).abs() <= 200_000);
    }
}
