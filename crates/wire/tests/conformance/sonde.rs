//! The reference's byte-level cases for SoNDe (vectors `sonde`), document "EFU formats of 2018", section 1.

use evforge_testkit::shared_file;
use evforge_wire::sonde::*;

fn vector(test: &str, name: &str) -> Option<Vec<u8>> {
    shared_file(test, &format!("vectors/sonde/{name}.bin"))
}

/// The code that the reference returns for a rejected packet (section 1.2).
fn reference_code(rejection: Rejection) -> i32 {
    match rejection {
        Rejection::TooShort | Rejection::NoRoomForAnEvent => -2,
        Rejection::WrongVersion(_) | Rejection::WrongLength | Rejection::WrongCount => -3,
        Rejection::UnknownType(_) => -4,
    }
}

/// Readouts and samples of a packet as the reference counts them, whether or not they have a pixel.
fn counts(packet: &SondePacket<'_>) -> (usize, usize) {
    match packet.content {
        Content::TriggerTimes(entries) => (entries.entries().count(), 0),
        Content::SingleEvent(event) => (1, event.samples().count()),
        Content::MultiEvent(multi) => {
            let samples = multi.events().map(|event| event.samples().count()).sum();
            (samples, samples)
        }
    }
}

#[test]
fn section_1_2_rejected_packets_and_what_the_reference_returns() {
    let test = "section_1_2_rejected_packets_and_what_the_reference_returns";
    for (name, code, reason) in [
        ("err_short_header", -2, Rejection::TooShort),
        ("err_version", -3, Rejection::WrongVersion(1)),
        ("err_length", -3, Rejection::WrongLength),
        ("err_datatype", -3, Rejection::WrongLength),
        ("err_unknown_data_format", -4, Rejection::UnknownType(0xDF)),
        ("err_nb_event_mismatch", -3, Rejection::WrongCount),
        ("type_0xd5_seph_err_hdr_len_mismatch", -3, Rejection::WrongCount),
        ("type_0xd4_meph_err_hdr_len", -2, Rejection::NoRoomForAnEvent),
        ("type_0xd4_meph_err_hdr_len_mismatch", -3, Rejection::WrongCount),
    ] {
        let Some(bytes) = vector(test, name) else { return };
        let rejection = SondePacket::parse(&bytes).unwrap_err();
        assert_eq!((rejection, reference_code(rejection)), (reason, code), "{name}");
    }
}

/// Section 1.2, step 4: a packet that is rejected for its length or type still moves the sequence.
#[test]
fn section_1_2_the_number_is_known_unless_size_or_version_are_wrong() {
    let test = "section_1_2_the_number_is_known_unless_size_or_version_are_wrong";
    let number = Some(Numbering { system: 1, packet_count: 0x304, time: 1 });
    for (name, expected) in [
        ("err_short_header", None),
        ("err_version", None),
        ("err_length", number),
        ("err_unknown_data_format", number),
        ("err_nb_event_mismatch", number),
        ("ok_events_3", number),
    ] {
        let Some(bytes) = vector(test, name) else { return };
        assert_eq!(SondePacket::numbering(&bytes), expected, "{name}");
    }
}

#[test]
fn section_1_3_to_1_5_accepted_packets_and_their_counts() {
    let test = "section_1_3_to_1_5_accepted_packets_and_their_counts";
    for (name, expected) in [
        ("ok_header_only", (0, 0)),
        ("ok_events_1", (1, 0)),
        ("ok_events_3", (3, 0)),
        ("err_invalid_geometry", (1, 0)),
        ("type_0xd5_seph_ok_1", (1, 1)),
        ("type_0xd5_seph_ok_3", (1, 3)),
        ("type_0xd4_meph_ok_1", (1, 1)),
        ("type_0xd4_meph_ok_n3m1", (3, 3)),
    ] {
        let Some(bytes) = vector(test, name) else { return };
        let packet = SondePacket::parse(&bytes).expect("an accepted packet");
        assert_eq!(counts(&packet), expected, "{name}");
        let header = Header { system: 1, sequence_flag: 0, packet_count: 0x304, time: 1 };
        assert_eq!(packet.header, header, "{name}");
    }
}

#[test]
fn section_1_3_entries_of_trigger_times() {
    let test = "section_1_3_entries_of_trigger_times";
    let Some(bytes) = vector(test, "ok_events_3") else { return };
    let Ok(SondePacket { content: Content::TriggerTimes(times), .. }) = SondePacket::parse(&bytes) else {
        panic!("no trigger times");
    };
    let entries: Vec<_> = times.entries().map(|e| (e.time, e.asic(), e.channel())).collect();
    assert_eq!(entries, [(1, 0, 10), (2, 1, 10), (3, 2, 10)]);
    assert_eq!(times.since(1).first(1).entries().next().map(|entry| entry.time), Some(2));
    assert!(times.since(3).is_empty() && times.since(4).is_empty() && times.first(9).len() == 3);
    let Some(bytes) = vector(test, "err_invalid_geometry") else { return };
    let Ok(SondePacket { content: Content::TriggerTimes(times), .. }) = SondePacket::parse(&bytes) else {
        panic!("no trigger times");
    };
    assert_eq!(times.entries().next().map(|e| (e.asic(), e.channel())), Some((3, 63)));
}

#[test]
fn section_1_4_fields_of_a_single_event() {
    let test = "section_1_4_fields_of_a_single_event";
    let Some(bytes) = vector(test, "type_0xd5_seph_ok_3") else { return };
    let Ok(SondePacket { content: Content::SingleEvent(event), .. }) = SondePacket::parse(&bytes) else {
        panic!("no single event");
    };
    assert_eq!((event.asic, event.trigger_type, event.channel, event.hold_delay), (1, 2, 3, 4));
    assert_eq!(event.samples().collect::<Vec<_>>(), [0xAAAA, 0xBBBB, 0xCCCC]);
}

#[test]
fn section_1_5_fields_of_many_events_and_a_longer_packet() {
    let test = "section_1_5_fields_of_many_events_and_a_longer_packet";
    let Some(mut bytes) = vector(test, "type_0xd4_meph_ok_n3m1") else { return };
    for surplus in [0, 3] {
        bytes.extend(std::iter::repeat_n(0xEE, surplus));
        bytes[9] += surplus as u8;
        let Ok(SondePacket { content: Content::MultiEvent(multi), .. }) = SondePacket::parse(&bytes) else {
            panic!("not many events");
        };
        assert_eq!((multi.len(), multi.samples_per_event(), multi.surplus()), (3, 1, surplus));
        let samples: Vec<_> = multi
            .events()
            .flat_map(|event| {
                event.samples().map(move |s| (event.time, s.trigger_type, s.asic, s.channel, s.amplitude))
            })
            .collect();
        assert_eq!(samples, [(1, 2, 0, 0, 0xAAAA), (5, 2, 1, 1, 0xBBBB), (9, 2, 2, 2, 0xCCCC)]);
    }
}

#[test]
fn section_1_3_the_generated_capture_has_65280_entries_in_256_packets() {
    let test = "section_1_3_the_generated_capture_has_65280_entries_in_256_packets";
    let Some(bytes) = shared_file(test, "captures/sonde/generated_255.pkts") else { return };
    let packets = evforge_testkit::pkts_payloads(&bytes);
    let readouts: usize =
        packets.iter().map(|packet| counts(&SondePacket::parse(packet).expect("a good packet")).0).sum();
    assert_eq!((packets.len(), readouts), (256, 65_280));
}
