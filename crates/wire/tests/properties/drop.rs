//! Encode then decode is identity; late packets are told from lost ones. What holds for arbitrary bytes is in `fuzz/harness`.

use evforge_wire::drop::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn width() -> impl Strategy<Value = IdentifierWidth> {
    prop_oneof![Just(IdentifierWidth::Two), Just(IdentifierWidth::Four), Just(IdentifierWidth::Eight)]
}

fn layout() -> impl Strategy<Value = DropLayout> {
    let order = prop_oneof![Just(ByteOrder::Big), Just(ByteOrder::Little)];
    let any_layout = (0..20_usize, width(), order, 0..20_usize).prop_map(|(offset, width, order, rest)| {
        DropLayout::new(offset, width, order, offset + width.bytes() + rest).expect("it lies inside")
    });
    prop_oneof![Just(DropLayout::P1), Just(DropLayout::RAW64BE), any_layout]
}

proptest! {
    #[test]
    fn encode_then_decode_is_identity(
        layout in layout(), identifier: u64, stream: u16, flags: [bool; 3], payload in vec(any::<u8>(), 0..300),
    ) {
        let [first_of_block, last_of_block, is_pattern] = flags;
        let sent = DropHeader { identifier, stream, first_of_block, last_of_block, is_pattern };
        let mut packet = vec![0xEE; layout.header_bytes()];
        prop_assert_eq!(sent.write(&layout, payload.len(), &mut packet), Some(layout.header_bytes()));
        packet.extend(&payload);
        let parsed = DropPacket::parse(&layout, &packet).expect("an encoded packet");
        let cut = identifier & layout.width().largest();
        let expected = if layout == DropLayout::P1 {
            sent
        } else {
            DropHeader { identifier: cut, ..DropHeader::default() }
        };
        prop_assert_eq!(parsed, DropPacket { header: expected, payload: &payload, padding: 0 });
        prop_assert_eq!(layout.identifier(&packet), Some(cut));
        prop_assert_eq!(layout.to_string().parse(), Ok(layout));
    }

    #[test]
    fn arbitrary_text_is_a_layout_or_an_error(text in "[a-z0-9=, ]{0,40}") {
        let _ = text.parse::<DropLayout>();
        let _ = text.parse::<Order>();
    }

    /// Against the truth: packets of a stream are dropped, and one in a while comes a few packets late.
    #[test]
    fn late_packets_are_recognised_and_losses_stay(
        width in width(), start: u64, fates in vec(0..4_u8, 1..60),
    ) {
        let (mut arrivals, mut lost, mut late) = (vec![start], 0, 0);
        let mut next = start.wrapping_add(1);
        for fate in fates {
            // Groups of six: what happens in one is over before the next begins.
            let group: Vec<u64> = (0..6).map(|n| next.wrapping_add(n)).collect();
            next = next.wrapping_add(6);
            match fate {
                0 => { arrivals.extend([group[0], group[3], group[4], group[5]]); lost += 2; }
                1 => {
                    arrivals.extend([group[0], group[2], group[3], group[1], group[4], group[5]]);
                    late += 1;
                }
                _ => arrivals.extend(&group),
            }
        }
        let mut tracker = JumpTracker::new(width);
        for identifier in arrivals {
            tracker.observe(identifier);
        }
        let counts = tracker.counts();
        prop_assert_eq!((counts.reorderings, counts.reordered), (late, late));
        prop_assert_eq!((counts.lost_unexplained(), counts.additional_unexplained()), (lost, 0));
    }

    #[test]
    fn a_random_order_can_be_undone(width in width(), seed: u64, index: u64) {
        let scramble = Scramble::new(width, seed);
        let number = scramble.apply(index);
        prop_assert!(number <= width.largest());
        prop_assert_eq!(scramble.undo(number), index & width.largest());
    }
}
