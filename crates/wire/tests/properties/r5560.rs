//! Encode then decode is identity; of arbitrary bytes every one is in a record or left; the quick check agrees with the
//! slow one.

use evforge_wire::ess::*;
use evforge_wire::recognise::{EssRecords, look_at_ess};
use proptest::collection::vec;
use proptest::prelude::*;

/// Numbers around the largest fibre and FEN, and any other.
fn address() -> impl Strategy<Value = u8> {
    prop_oneof![4 => 0..=23_u8, 1 => 22..=25_u8, 1 => any::<u8>()]
}

fn tube() -> impl Strategy<Value = R5560Fields> {
    let length = prop_oneof![4 => Just(24_u16), 1 => Just(192_u16), 1 => any::<u16>()];
    let time = any::<(u32, u32)>().prop_map(|(seconds, ticks)| EssTime { seconds, ticks });
    let rest = any::<(u8, u8, u16, [u16; 4])>();
    (address(), address(), length, time, rest).prop_map(
        |(fibre, fen, length, time, (flags, group, counter, charges))| R5560Fields {
            fibre,
            fen,
            length,
            time,
            flags,
            group,
            counter,
            charges,
        },
    )
}

/// The first of the rules that a record breaks, written down once more.
fn broken(fields: &R5560Fields, rules: &RecordRules) -> Option<R5560Fault> {
    let is_length = fields.length == 24 || rules.length_in_bits && fields.length == 192;
    let checks = [
        (fields.fibre < 24, R5560Fault::Fibre),
        (fields.fen < 24, R5560Fault::Fen),
        (is_length, R5560Fault::Length),
    ];
    checks.into_iter().find(|(holds, _)| !holds).map(|(_, fault)| fault)
}

proptest! {
    #[test]
    fn records_encode_then_decode_is_identity(
        sent in vec(tube(), 0..30), left in vec(any::<u8>(), 0..R5560_RECORD), length_in_bits: bool,
    ) {
        let rules = RecordRules { length_in_bits, ..RecordRules::default() };
        let mut bytes: Vec<u8> = sent.iter().flat_map(R5560Fields::encode).collect();
        bytes.extend(&left);
        let payload = R5560Payload::parse(&bytes);
        prop_assert_eq!((payload.len(), payload.bytes_left()), (sent.len(), left.len()));
        let received: Vec<_> = payload.readouts().map(R5560Readout::fields).collect();
        prop_assert_eq!(&received, &sent);
        for (readout, fields) in payload.readouts().zip(&sent) {
            prop_assert_eq!(readout.ring(), fields.fibre / 2);
            prop_assert_eq!(readout.length_is_in_bits(), fields.length == 192);
            prop_assert_eq!(readout.fault(&rules), broken(fields, &rules));
            prop_assert_eq!(readout.is_sound(&rules), broken(fields, &rules).is_none());
        }
    }

    #[test]
    fn of_arbitrary_bytes_every_one_is_in_a_record_or_left(bytes in vec(any::<u8>(), 0..200)) {
        let payload = R5560Payload::parse(&bytes);
        prop_assert!(payload.bytes_left() < R5560_RECORD);
        let mut again: Vec<u8> = payload.readouts().flat_map(|readout| readout.fields().encode()).collect();
        prop_assert_eq!(again.len() + payload.bytes_left(), bytes.len());
        again.extend(&bytes[again.len()..]);
        prop_assert_eq!(again, bytes);
    }

    /// As many records as a packet has room for, of any type: they are told from those of 20 bytes.
    #[test]
    fn packets_of_the_encoder_are_recognised(
        mut sent in vec(tube(), 1..60), at_once in 0..500_usize, detector_type: u8, seconds: u32,
    ) {
        sent.iter_mut().for_each(|fields| fields.length = 24);
        let records: Vec<_> = sent.iter().map(R5560Fields::encode).collect();
        let mut packets = Vec::new();
        let pulse = EssTime { seconds, ticks: 1 };
        EssEncoder::new(detector_type, 0, at_once).pulse(pulse, &records, &mut packets);
        let mut received = Vec::new();
        for packet in &packets {
            let look = look_at_ess(packet).expect("a sound packet");
            prop_assert_eq!(look.records, EssRecords::R5560);
            received.extend(R5560Payload::parse(look.packet.payload).readouts().map(R5560Readout::fields));
        }
        prop_assert_eq!(received, sent);
    }
}
