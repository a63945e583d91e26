//! Packets that are sent again, later: of every format that can be moved.

use evforge_wire::later::{Movable, Step};

/// Moves a packet as every format, behind 8 bytes with the ticks (40 bits) and the number of packets (24 bits) to move it by.
///
/// # Panics
/// If the packet gets another length, or has more numbers or times than bytes; if a packet that has neither is changed.
pub fn later(bytes: &[u8]) {
    let Some((by, packet)) = bytes.split_first_chunk::<8>() else { return };
    let by = u64::from_le_bytes(*by);
    let step = Step { ticks: by >> 24, nanoseconds: by >> 20, count: by & 0xFF_FFFF };
    for movable in Movable::ALL {
        let (before, times) = (seen(movable, packet), movable.time_bits());
        assert!(before.0 + before.1 <= 2 * packet.len(), "{movable:?}: {before:?} of {} bytes", packet.len());
        let mut moved = packet.to_vec();
        movable.move_on(&mut moved, step);
        assert_eq!(moved.len(), packet.len());
        if before == (0, 0) && movable != Movable::JadaqOfJune2018 {
            assert!(moved == packet, "{movable:?}: what is no packet was changed");
        }
        movable.visit_times(&moved, &mut |_, time| {
            assert!(times == 64 || time >> times == 0, "{movable:?}: {time}")
        });
        let mut same = packet.to_vec();
        movable.move_on(&mut same, Step::default());
        let after = seen(movable, &same);
        assert_eq!(after, before, "{movable:?}: moved by nothing");
    }
}

/// How many numbers and times are in a packet.
fn seen(movable: Movable, bytes: &[u8]) -> (usize, usize) {
    let (mut numbers, mut times) = (0, 0);
    movable.visit_numbers(bytes, &mut |_, _| numbers += 1);
    movable.visit_times(bytes, &mut |_, _| times += 1);
    (numbers, times)
}
