//! What each check sees and what it cannot see, with provoked faults and without a network.
//!
//! Sections are those of the XDP paper (arXiv 2208.07118).

use evforge_core::counter::{CounterSnapshot, Law};
use evforge_core::packet::{Packet, PacketOrigin, PacketSlab};
use evforge_core::quantity::Rate;
use evforge_lab::link::drop::*;
use evforge_testkit::properties::cases;
use evforge_wire::drop::{ByteOrder, DropLayout, IdentifierWidth, Order};
use proptest::prelude::*;
use std::sync::Arc;

fn generator(packet_bytes: usize) -> GeneratorSettings {
    let block_bytes = 2 * BLOCK_UNIT;
    GeneratorSettings { block_bytes, packet_bytes, blocks: None, pause_per_word: 0, pause_per_packet: 0 }
}

fn settings(generators: u32, packet_bytes: usize, largest_bytes: u64, faults: &[&str]) -> StreamSettings {
    StreamSettings {
        layout: DropLayout::P1,
        order: Order::Counting,
        number: 1,
        first_identifier: 1000,
        pattern: Arc::new(WordPattern::new(Order::Counting)),
        generators: vec![generator(packet_bytes); generators as usize],
        rate: None,
        largest_bytes: Some(largest_bytes),
        faults: faults.iter().map(|fault| fault.parse().expect("a fault")).collect(),
    }
}

/// All packets of a stream, with the times at which they are due.
fn packets(stream: &mut SendStream) -> Vec<(u64, Vec<u8>)> {
    let mut slab = PacketSlab::new(7, 1 << 20);
    let mut packets = Vec::new();
    while !stream.is_finished() {
        slab.clear();
        stream.fill(&mut slab, u64::MAX);
        packets.extend(slab.batch().iter().map(|packet| (packet.origin.arrival_ns, packet.bytes.to_vec())));
    }
    packets
}

/// The verdict on these packets of a stream with these settings, and the reports of jumps.
struct Received {
    verification: Verification,
    account: StreamAccount,
    jumps: u64,
}

impl Received {
    /// Names of the checks that failed; "identifiers" if jumps were reported.
    fn seen_by(&self) -> Vec<&'static str> {
        let failed = self.verification.checks.iter().filter(|check| check.outcome == Outcome::Failed);
        let mut seen: Vec<_> = failed.map(|check| check.name).collect();
        seen.extend((self.jumps > 0).then_some("identifiers"));
        seen
    }
}

fn receive(settings: StreamSettings, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Received {
    let (layout, order, pattern) = (settings.layout, settings.order, settings.pattern.clone());
    let generators = settings.generators.len() as u32;
    let mut stream = SendStream::new(settings).expect("possible settings");
    let mut sent: Vec<Vec<u8>> = packets(&mut stream).into_iter().map(|(_, bytes)| bytes).collect();
    change(&mut sent);
    let mut account = StreamAccount::new(layout, order);
    for bytes in &sent {
        let original_length = bytes.len() as u32;
        account.take(&Packet { bytes, original_length, origin: PacketOrigin::default() });
    }
    assert_eq!(CounterSnapshot::of(account.counters()).imbalance(Law::Packets), 0);
    let expected = Expectation {
        pattern: &pattern,
        generators,
        sent_bytes: Some(stream.payload_bytes()),
        sent_packets: Some(stream.packets()),
    };
    let counted = account.counters().packets_counted;
    let verification = Verification::new(account.histogram().expect("words"), counted, &expected);
    Received { verification, jumps: account.jumps().jumps(), account }
}

/// Checks that see these faults of one generator that stops 50 packets of 2000 bytes after three blocks.
fn seen(faults: &[&str]) -> Vec<&'static str> {
    receive(settings(1, 2000, 6 * BLOCK_UNIT + 100_000, faults), |_| {}).seen_by()
}

/// The same with packets of 2048 bytes, of which 64 are one turn.
fn seen_in_turns(faults: &[&str]) -> Vec<&'static str> {
    receive(settings(1, 2048, 6 * BLOCK_UNIT + 102_400, faults), |_| {}).seen_by()
}

#[test]
fn section_long_duration_tests_a_lossless_transfer_has_at_most_two_areas_off_by_one() {
    let received = receive(settings(1, 2000, 6 * BLOCK_UNIT + 100_000, &[]), |_| {});
    assert_eq!(received.seen_by(), [""; 0]);
    let Verification { smallest, largest, ref areas, .. } = received.verification;
    assert_eq!((smallest, largest), (6, 7));
    let expected =
        [Area { first: 0, last: 49_999, count: 7 }, Area { first: 50_000, last: 65_535, count: 6 }];
    assert_eq!(areas, &expected);
}

#[test]
fn section_results_a_flipped_bit_is_seen_in_the_histogram_and_by_nothing_else() {
    assert_eq!(seen(&["flip:packet=10,bit=77"]), ["spread", "areas"]);
}

#[test]
fn section_results_a_lost_packet_is_seen_by_all_checks() {
    // The words of packet 60 are among those that occur six times only: that is more spread than there can be.
    assert_eq!(seen(&["lose:packet=60"]), ["spread", "areas", "sum", "packets", "identifiers"]);
    // One whose words are among the more frequent ones does not show in the spread.
    assert_eq!(seen(&["lose:packet=10"]), ["areas", "sum", "packets", "identifiers"]);
}

#[test]
fn figure_9_the_area_of_a_lost_packet_is_a_little_less_than_four_rows() {
    let received = receive(settings(1, 2000, 6 * BLOCK_UNIT, &["lose:packet=30"]), |_| {});
    assert_eq!(received.verification.odd_areas, [Area { first: 30_000, last: 30_999, count: 5 }]);
    let reason = &received.verification.check("areas").unwrap().reason;
    assert!(reason.contains("0x7530 to 0x7917 (5 times)"), "{reason}");
}

#[test]
fn the_loss_of_the_last_packet_is_seen_only_with_the_senders_report() {
    let last = (6 * BLOCK_UNIT + 102_400) / 2048 - 1;
    assert_eq!(seen_in_turns(&[&format!("lose:packet={last}")]), ["sum", "packets"]);
}

#[test]
fn the_loss_of_a_whole_turn_leaves_the_histogram_flat() {
    let faults: Vec<String> = (64..128).map(|packet| format!("lose:packet={packet}")).collect();
    let faults: Vec<&str> = faults.iter().map(String::as_str).collect();
    assert_eq!(seen_in_turns(&faults), ["sum", "packets", "identifiers"]);
}

#[test]
fn a_loss_and_a_repetition_of_equal_payload_are_seen_by_the_identifiers_alone() {
    assert_eq!(seen_in_turns(&["lose:packet=70", "twice:packet=134"]), ["identifiers"]);
    assert_eq!(seen_in_turns(&["lose:packet=70", "twice:packet=140"]), ["spread", "areas", "identifiers"]);
}

#[test]
fn another_order_of_packets_is_seen_by_the_identifiers_alone() {
    let received = receive(settings(1, 2000, BLOCK_UNIT, &["late:packet=5,by=3"]), |_| {});
    assert_eq!(received.seen_by(), ["identifiers"]);
    let jumps = received.account.jumps();
    assert_eq!((jumps.jumps(), jumps.reorderings, jumps.reordered), (3, 1, 1));
    assert_eq!((jumps.lost_unexplained(), jumps.additional_unexplained()), (0, 0));
    assert_eq!(received.account.sequence().reordered, 1);
}

#[test]
fn a_late_packet_at_the_very_end_is_not_lost() {
    assert_eq!(seen(&["late:packet=440,by=1000000"]), ["identifiers"]);
}

#[test]
fn jumps_of_the_identifiers_alone_leave_the_words_as_they_are() {
    for (fault, lost, additional) in [
        ("jump:packet=9,distance=5", 4, 0),
        ("jump:packet=9,distance=0", 0, 1),
        ("jump:packet=9,distance=-3", 0, 4),
    ] {
        let received = receive(settings(2, 2000, 4 * BLOCK_UNIT, &[fault]), |_| {});
        assert_eq!(received.seen_by(), ["identifiers"], "{fault}");
        let jumps = received.account.jumps();
        assert_eq!((jumps.jumps(), jumps.lost, jumps.additional), (1, lost, additional), "{fault}");
    }
}

#[test]
fn the_spread_of_several_generators_hides_a_flipped_bit_and_the_areas_show_it() {
    let received = receive(settings(4, 2000, 8 * BLOCK_UNIT, &["flip:packet=10,bit=77"]), |_| {});
    assert_eq!(received.seen_by(), ["areas"]);
}

#[test]
fn a_flipped_bit_between_two_steps_is_seen_by_nothing() {
    // Two generators, stopped behind the words 5 and 7. Word 7 turns into word 6: as if both had stopped at 6.
    let mut histogram = WordHistogram::default();
    for word in 0..8_u16 {
        let word = if word == 7 { 6 } else { word };
        histogram.count(&word.to_be_bytes());
    }
    (0..6_u16).for_each(|word| histogram.count(&word.to_be_bytes()));
    let pattern = WordPattern::new(Order::Counting);
    let expected =
        Expectation { pattern: &pattern, generators: 2, sent_bytes: Some(28), sent_packets: Some(2) };
    assert!(Verification::new(&histogram, 2, &expected).passed());
}

#[test]
fn words_in_another_order_inside_a_packet_are_seen_by_nothing() {
    let received = receive(settings(1, 2000, BLOCK_UNIT, &[]), |sent| sent[3][16..20].rotate_left(2));
    assert_eq!(received.seen_by(), [""; 0]);
}

#[test]
fn footnote_6_a_receiver_that_began_late_shows_a_second_step() {
    let received = receive(settings(1, 2000, 2 * BLOCK_UNIT, &[]), |sent| drop(sent.drain(..3)));
    assert_eq!(received.seen_by(), ["areas", "sum", "packets"]);
}

#[test]
fn without_the_senders_report_sum_and_packets_are_unknown() {
    let pattern = WordPattern::new(Order::Counting);
    let expected = Expectation { pattern: &pattern, generators: 1, sent_bytes: None, sent_packets: None };
    let verification = Verification::new(&WordHistogram::default(), 0, &expected);
    assert!(verification.passed());
    for name in ["sum", "packets"] {
        assert_eq!(verification.check(name).unwrap().outcome, Outcome::Unknown);
    }
}

#[test]
fn packets_of_no_use_are_counted_by_reason_and_not_taken_for_lost() {
    let received = receive(settings(1, 2000, BLOCK_UNIT, &[]), |sent| {
        sent[3].truncate(100);
        sent[4][2] = 9;
        sent[5].extend([0; 6]);
        sent.push(vec![1, 2, 3]);
        sent.push(vec![0; 60]);
    });
    let counters = *received.account.counters();
    assert_eq!((counters.packets_cut_payload, counters.packets_wrong_version), (1, 1));
    assert_eq!((counters.packets_too_short, counters.packets_wrong_magic), (1, 1));
    assert_eq!((counters.padding_bytes, counters.packets_counted), (6, counters.packets_received - 4));
    // The packet that is only cut has its number; the one of another version does not.
    assert_eq!(received.account.jumps().lost, 1);
}

#[test]
fn section_test_setup_a_block_ends_with_a_short_packet_and_has_its_flags() {
    let mut stream = SendStream::new(settings(1, 2000, 2 * BLOCK_UNIT, &[])).unwrap();
    let sent = packets(&mut stream);
    let flags: Vec<u8> = sent.iter().map(|(_, bytes)| bytes[3]).collect();
    assert_eq!((sent.len(), sent[131].1.len() - 16), (132, 2 * BLOCK_UNIT as usize - 131 * 2000));
    assert_eq!((flags[0], flags[1], flags[131]), (0b101, 0b100, 0b110));
}

#[test]
fn section_test_setup_generators_of_different_sizes_share_the_identifiers_of_a_stream() {
    let mut mixed = settings(2, 2000, 4 * BLOCK_UNIT, &[]);
    mixed.generators[1].packet_bytes = 350;
    let received = receive(mixed.clone(), |_| {});
    assert_eq!(received.seen_by(), [""; 0]);
    let lengths: Vec<_> =
        packets(&mut SendStream::new(mixed).unwrap()).iter().map(|(_, bytes)| bytes.len() - 16).collect();
    assert_eq!(lengths[..4], [2000, 350, 2000, 350]);
}

#[test]
fn section_test_setup_pauses_and_rates_say_when_packets_are_due() {
    let due = |settings: StreamSettings| -> Vec<u64> {
        packets(&mut SendStream::new(settings).unwrap()).iter().map(|(due, _)| *due).collect()
    };
    let mut paused = settings(1, 2000, 8000, &[]);
    (paused.generators[0].pause_per_word, paused.generators[0].pause_per_packet) = (2500, 1_000_000);
    // 1000 words with 2.5 ns each, and 1 us.
    assert_eq!(due(paused), [0, 3500, 7000, 10_500]);
    let rate = |rate| due(StreamSettings { rate: Some(rate), ..settings(1, 2000, 8000, &[]) });
    assert_eq!(rate(Rate::Packets(1_000_000)), [0, 1000, 2000, 3000]);
    // 2016 bytes with the header.
    assert_eq!(rate(Rate::Bits(16_128_000_000)), [0, 1000, 2000, 3000]);
    assert_eq!(due(settings(1, 2000, 8000, &[])), [0; 4]);
    // The slow generator of two has its turn when it is ready.
    let mut two = settings(2, 2000, 12_000, &[]);
    two.generators[0].pause_per_packet = 1_000_000;
    two.generators[1].pause_per_packet = 3_000_000;
    assert_eq!(due(two), [0, 0, 1000, 2000, 3000, 3000]);
}

#[test]
fn packets_that_are_not_due_are_not_made() {
    let stream = StreamSettings { rate: Some(Rate::Packets(1000)), ..settings(1, 2000, 8000, &[]) };
    let mut stream = SendStream::new(stream).unwrap();
    let mut slab = PacketSlab::new(100, 1 << 20);
    stream.fill(&mut slab, 1_500_000_000);
    assert_eq!((slab.len(), stream.packets(), stream.next_due()), (2, 2, Some(2_000_000_000)));
}

#[test]
fn impossible_streams_are_refused_with_what_would_be_possible() {
    let refuse = |change: fn(&mut StreamSettings)| {
        let mut settings = settings(1, 2000, 1, &[]);
        change(&mut settings);
        SendStream::new(settings).unwrap_err().to_string()
    };
    for (change, expected) in [
        (refuse(|s| s.generators[0].block_bytes = 100_000), "multiple of 131072"),
        (refuse(|s| s.generators[0].block_bytes = 0), "multiple of 131072"),
        (refuse(|s| s.generators[0].packet_bytes = 333), "an even number from 2 to 65490"),
        (refuse(|s| s.generators[0].packet_bytes = 65_492), "an even number from 2 to 65490"),
        (refuse(|s| s.generators.clear()), "at least 1"),
        (refuse(|s| s.rate = Some(Rate::Bits(0))), "must be above 0"),
    ] {
        assert!(change.contains(expected), "{change}");
    }
}

fn layouts() -> impl Strategy<Value = DropLayout> {
    let small = DropLayout::new(1, IdentifierWidth::Two, ByteOrder::Little, 3).expect("it lies inside");
    prop_oneof![Just(DropLayout::P1), Just(DropLayout::RAW64BE), Just(small)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(10)))]

    /// Whenever the sender stops, whatever it sends: a transfer without loss passes.
    #[test]
    fn a_lossless_transfer_always_passes(
        layout in layouts(), sizes in proptest::collection::vec(1..2000_usize, 1..4),
        bytes in 1..1_500_000_u64, seeds: [u64; 2], random: [bool; 2], first: u64,
    ) {
        let order = |n: usize| if random[n] { Order::Random(seeds[n]) } else { Order::Counting };
        let stream = StreamSettings {
            layout,
            order: order(0),
            pattern: Arc::new(WordPattern::new(order(1))),
            generators: sizes.iter().map(|size| generator(32 + 2 * size)).collect(),
            first_identifier: first,
            ..settings(1, 2000, bytes, &[])
        };
        prop_assert_eq!(receive(stream, |_| {}).seen_by(), [""; 0]);
    }

    /// A packet lost in the middle is always seen by identifiers, sum and packets.
    #[test]
    fn a_lost_packet_is_always_seen(lost in 1..100_u64, size in 200..1000_usize, generators in 1..4_u32) {
        let fault = format!("lose:packet={lost}");
        let seen = receive(settings(generators, 2 * size, 500_000, &[&fault]), |_| {}).seen_by();
        for name in ["sum", "packets", "identifiers"] {
            prop_assert!(seen.contains(&name), "{} not by {}: {:?}", fault, name, seen);
        }
    }

    /// A flipped bit of a single generator is always seen in the areas.
    #[test]
    fn a_flipped_bit_is_always_seen_in_the_areas(packet in 0..100_u64, bit in 0..8000_u64) {
        let fault = format!("flip:packet={packet},bit={bit}");
        let seen = receive(settings(1, 1000, 300_000, &[&fault]), |_| {}).seen_by();
        prop_assert!(seen.contains(&"areas"), "{}: {:?}", fault, seen);
    }

    #[test]
    fn arbitrary_packets_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), layout in layouts()) {
        let mut account = StreamAccount::new(layout, Order::Random(1));
        for length in [bytes.len() as u32, u32::MAX] {
            account.take(&Packet { bytes: &bytes, original_length: length, origin: PacketOrigin::default() });
        }
        prop_assert_eq!(CounterSnapshot::of(account.counters()).imbalance(Law::Packets), 0);
    }
}
