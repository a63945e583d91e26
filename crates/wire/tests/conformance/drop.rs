//! The rules of the XDP paper (arXiv 2208.07118), each with its place there, and our own header byte by byte.

use evforge_wire::drop::*;

/// The jumps of these identifiers, and what the tracker counts.
fn jumps(width: IdentifierWidth, identifiers: &[u64]) -> (Vec<Jump>, JumpCounts) {
    let mut tracker = JumpTracker::new(width);
    let seen = identifiers.iter().map(|&identifier| tracker.observe(identifier)).collect();
    assert_eq!(tracker.counts().imbalance(), 0, "{identifiers:?}");
    (seen, tracker.counts())
}

#[test]
fn chapter_udp_a_distance_of_exactly_1_is_no_report() {
    let (seen, counts) = jumps(IdentifierWidth::Eight, &[7, 8, 9, 10]);
    assert_eq!(seen, [Jump::None; 4]);
    assert_eq!((counts.packets, counts.jumps(), counts.advance), (4, 0, 3));
}

#[test]
fn chapter_udp_a_larger_distance_reports_the_packets_in_between_as_dropped() {
    let (seen, counts) = jumps(IdentifierWidth::Eight, &[7, 11, 12]);
    assert_eq!(seen, [Jump::None, Jump::Forward(3), Jump::None]);
    assert_eq!((counts.forward_jumps, counts.lost, counts.lost_unexplained()), (1, 3, 3));
}

#[test]
fn chapter_udp_a_distance_of_0_or_below_reports_additional_packets() {
    let (seen, counts) = jumps(IdentifierWidth::Eight, &[7, 7, 8, 6, 7, 8, 9]);
    assert_eq!(seen[1], Jump::Zero);
    assert_eq!(seen[3], Jump::Negative(2));
    // 7 once more, then 6, 7 and 8: of four additional packets, one for the zero jump and three for the other.
    assert_eq!((counts.zero_jumps, counts.negative_jumps, counts.additional), (1, 1, 4));
}

#[test]
fn chapter_udp_a_late_packet_gives_three_reports_and_is_one_reordering() {
    let (seen, counts) = jumps(IdentifierWidth::Eight, &[1, 3, 2, 4]);
    assert_eq!(seen, [Jump::None, Jump::Forward(1), Jump::Negative(1), Jump::Forward(1)]);
    assert_eq!((counts.jumps(), counts.lost, counts.additional), (3, 2, 2));
    assert_eq!((counts.reorderings, counts.reordered, counts.explained), (1, 1, 2));
    assert_eq!((counts.lost_unexplained(), counts.additional_unexplained()), (0, 0));
}

#[test]
fn chapter_udp_several_late_packets_together_are_one_reordering() {
    let (_, counts) = jumps(IdentifierWidth::Four, &[1, 5, 6, 2, 3, 4, 7, 8]);
    assert_eq!((counts.jumps(), counts.reorderings, counts.reordered), (3, 1, 3));
    assert_eq!((counts.lost_unexplained(), counts.additional_unexplained()), (0, 0));
    // The same with one of them (3) missing in truth, and another one (7) just after the early ones.
    let (_, counts) = jumps(IdentifierWidth::Four, &[1, 4, 5, 6, 2, 8, 9]);
    assert_eq!((counts.reorderings, counts.reordered), (1, 1));
    assert_eq!((counts.lost_unexplained(), counts.additional_unexplained()), (2, 0));
}

#[test]
fn three_jumps_that_are_no_late_packet_stay_what_they_are() {
    // A jump back to a packet that was there is no late packet.
    let (_, counts) = jumps(IdentifierWidth::Eight, &[1, 2, 3, 5, 2, 6]);
    assert_eq!((counts.reorderings, counts.lost_unexplained(), counts.additional_unexplained()), (0, 4, 4));
    // A run that goes on from the gap into what was there already.
    let (_, counts) = jumps(IdentifierWidth::Eight, &[1, 3, 4, 2, 3, 5]);
    assert_eq!(counts.reorderings, 0);
}

#[test]
fn chapter_long_duration_tests_another_stream_on_the_same_receiver_is_a_jump() {
    let (seen, _) = jumps(IdentifierWidth::Eight, &[100, 101, 102, 5_000_000, 5_000_001]);
    assert_eq!(seen[3], Jump::Forward(4_999_897));
    let (seen, _) = jumps(IdentifierWidth::Eight, &[5_000_000, 5_000_001, 0, 1]);
    assert_eq!(seen[2], Jump::Negative(5_000_001));
}

#[test]
fn identifiers_wrap_at_their_width_without_a_report() {
    for width in [IdentifierWidth::Two, IdentifierWidth::Four, IdentifierWidth::Eight] {
        let (_, counts) = jumps(width, &[width.largest() - 1, width.largest(), 0, 1]);
        assert_eq!(counts.jumps(), 0, "{width:?}");
        let (seen, _) = jumps(width, &[width.largest(), 2]);
        assert_eq!(seen[1], Jump::Forward(2), "{width:?}");
        let (seen, _) = jumps(width, &[1, width.largest()]);
        assert_eq!(seen[1], Jump::Negative(2), "{width:?}");
    }
}

#[test]
fn footnote_1_a_random_order_visits_every_identifier_once() {
    let scramble = Scramble::new(IdentifierWidth::Two, 42);
    let mut seen = vec![false; 1 << 16];
    let mut in_place = 0;
    for index in 0..1 << 16 {
        let number = scramble.apply(index);
        assert!(!std::mem::replace(&mut seen[number as usize], true), "{number} comes twice");
        assert_eq!(scramble.undo(number), index);
        in_place += u32::from(scramble.apply(index + 1) == number + 1);
    }
    assert!(in_place < 100, "{in_place} of 65536 successive numbers follow each other");
}

#[test]
fn a_header_of_p1_byte_by_byte() {
    let header = DropHeader {
        identifier: 0x0102_0304_0506_0708,
        stream: 0x1122,
        first_of_block: true,
        last_of_block: false,
        is_pattern: true,
    };
    let mut packet = [0xAA; 20];
    assert_eq!(header.write(&DropLayout::P1, 3, &mut packet), Some(16));
    let bytes = [0xD7, 0x09, 1, 0b101, 0x11, 0x22, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(packet[..16], bytes);
    let parsed = DropPacket::parse(&DropLayout::P1, &packet).unwrap();
    assert_eq!((parsed.header, parsed.payload, parsed.padding), (header, &[0xAA; 3][..], 1));
}

#[test]
fn a_packet_of_p1_is_rejected_with_its_reason_and_still_has_its_identifier() {
    let mut packet = [0; 24];
    let header = DropHeader { identifier: 99, ..DropHeader::default() };
    assert_eq!(header.write(&DropLayout::P1, 8, &mut packet), Some(16));
    let reject = |bytes: &[u8]| DropPacket::parse(&DropLayout::P1, bytes).unwrap_err();
    assert_eq!(reject(&packet[..15]), Rejection::TooShort);
    assert_eq!(reject(&packet[..23]), Rejection::CutPayload { announced: 8, found: 7 });
    assert_eq!(DropLayout::P1.identifier(&packet[..23]), Some(99));
    packet[2] = 2;
    assert_eq!(reject(&packet), Rejection::WrongVersion(2));
    packet[0] = 0;
    assert_eq!(reject(&packet), Rejection::WrongMagic(9));
    assert_eq!(header.write(&DropLayout::P1, 65_536, &mut packet), None);
    assert_eq!(header.write(&DropLayout::P1, 8, &mut packet[..15]), None);
}

#[test]
fn layouts_and_orders_are_read_from_text_and_faults_are_explained() {
    for text in ["P1", "raw64be", "offset=4,width=2,order=little,header=16"] {
        assert_eq!(text.parse::<DropLayout>().unwrap().to_string(), text);
    }
    for wrong in ["", "P2", "offset=4", "offset=4,width=3,order=big,header=16", "offset=1,offset=1"] {
        let error = wrong.parse::<DropLayout>().unwrap_err().to_string();
        assert!(error.contains("expected P1, raw64be"), "{wrong}: {error}");
    }
    let outside = "offset=10,width=8,order=big,header=16".parse::<DropLayout>().unwrap_err();
    assert!(outside.to_string().contains("does not lie in a header of 16 bytes"), "{outside}");
    let long = "offset=0,width=8,order=big,header=5000".parse::<DropLayout>().unwrap_err();
    assert!(long.to_string().contains("at most 256"), "{long}");
    for text in ["counting", "random:42"] {
        assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
    }
    assert!("random:x".parse::<Order>().unwrap_err().to_string().contains("as in random:42"));
}
