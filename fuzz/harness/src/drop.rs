//! Single packets of DROP.

use evforge_wire::drop::{ByteOrder, DropLayout, DropPacket, IdentifierWidth, JumpTracker, Rejection};

/// The layouts that the first byte of an input chooses from, by its remainder.
pub fn layouts() -> [DropLayout; 4] {
    let layout = |offset, width, order, header| {
        DropLayout::new(offset, width, order, header).expect("the identifier lies in the header")
    };
    [
        DropLayout::P1,
        DropLayout::RAW64BE,
        layout(2, IdentifierWidth::Two, ByteOrder::Little, 5),
        layout(3, IdentifierWidth::Four, ByteOrder::Big, 12),
    ]
}

/// Parses `bytes`, behind a byte that chooses the layout, as a packet. What parses is encoded and parsed again.
/// Then takes every eight bytes as an identifier.
///
/// # Panics
/// If the identifier is not found where the packet has one, if lengths do not add up, if a packet changes on the
/// way, or if the reports of jumps do not add up.
pub fn drop(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let layouts = layouts();
    let layout = layouts[usize::from(choice) % layouts.len()];
    drop_packet(&layout, bytes);
    let identifiers = bytes.chunks_exact(8);
    jumps(
        layout.width(),
        identifiers.map(|word| word.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))),
    );
}

/// Parses `bytes` as a packet of a layout. What parses is encoded and parsed again.
///
/// # Panics
/// As [`drop`].
pub fn drop_packet(layout: &DropLayout, bytes: &[u8]) {
    match DropPacket::parse(layout, bytes) {
        Ok(packet) => {
            assert_eq!(layout.identifier(bytes), Some(packet.header.identifier));
            let head = layout.header_bytes();
            assert_eq!(head + packet.payload.len() + packet.padding, bytes.len());
            if packet.payload.len() <= usize::from(u16::MAX) {
                let mut again = vec![0; head];
                assert_eq!(packet.header.write(layout, packet.payload.len(), &mut again), Some(head));
                again.extend(packet.payload);
                let read = DropPacket::parse(layout, &again).expect("an encoded packet");
                assert_eq!(read, DropPacket { padding: 0, ..packet }, "the packet changed on the way");
            }
        }
        Err(Rejection::TooShort) => assert!(bytes.len() < layout.header_bytes()),
        Err(_) => assert!(layout.identifier(bytes).is_some(), "a packet that is only damaged has a number"),
    }
}

/// Follows identifiers of this width.
///
/// # Panics
/// If the reports of jumps do not add up.
pub fn jumps(width: IdentifierWidth, identifiers: impl Iterator<Item = u64>) {
    let mut tracker = JumpTracker::new(width);
    for identifier in identifiers {
        tracker.observe(identifier);
        let counts = tracker.counts();
        assert_eq!(counts.imbalance(), 0);
        assert!(counts.explained <= counts.lost && counts.explained <= counts.additional, "{counts:?}");
    }
}
