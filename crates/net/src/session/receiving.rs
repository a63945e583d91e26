//! The one loop that receives.

use std::time::{Duration, Instant};

use crate::live_receiver::LiveReceiveError;

use super::handler::PacketHandler;
use super::limits::SessionClock;
use super::receiver::PacketReceiver;
use super::state::ReceiveState;

/// Longest wait for packets before a thread looks at anything else.
pub const PATIENCE: Duration = Duration::from_millis(20);
/// Longest time to fetch what the sockets still hold at the end, if senders go on.
pub const LONGEST_DRAIN: Duration = Duration::from_secs(1);
/// Bytes of the largest piece that the kernel hands over at once: room for that much is needed to receive.
pub const LARGEST_PIECE: usize = 1 << 16;

/// How receiving has ended.
#[derive(Debug)]
pub struct SessionEnd {
    /// What the receiving side knew then.
    pub state: ReceiveState,
    /// Why nothing could be received any more, if it did not end in good order. What came before has been handled.
    pub failure: Option<LiveReceiveError>,
}

/// Receives and handles in turn, in this thread, until the session is over and what the sockets hold has been fetched.
pub fn receive_in_turn<R: PacketReceiver, H: PacketHandler>(
    mut clock: SessionClock<'_>,
    receiver: &mut R,
    handler: &mut H,
) -> SessionEnd {
    receive(receiver, handler, |_, handler, packets| {
        clock.note(packets);
        clock.is_over() || handler.wants_end()
    })
}

/// Receives until it is over, and then what the sockets still hold. Before every attempt `is_over` is asked, and told how
/// many packets have come so far: what is in a socket's buffer when it reports it is still fetched.
pub(super) fn receive<R: PacketReceiver, H: PacketHandler>(
    receiver: &mut R,
    handler: &mut H,
    mut is_over: impl FnMut(&R, &H, u64) -> bool,
) -> SessionEnd {
    let mut so_far = 0;
    let mut draining: Option<Instant> = None;
    loop {
        let over = is_over(receiver, handler, so_far);
        if over && draining.is_none() {
            draining = Some(Instant::now());
        }
        let patience = if draining.is_some() || handler.has_work() { Duration::ZERO } else { PATIENCE };
        let slab = handler.slab_to_fill();
        let before = slab.len();
        let outcome = receiver.receive(slab, Instant::now() + patience);
        // Also if it has failed: those that came before are there.
        let packets = slab.len() - before;
        so_far += packets as u64;
        handler.received(packets, receiver);
        let failure = outcome.err();
        let is_drained = draining.is_some_and(|since| packets == 0 || since.elapsed() >= LONGEST_DRAIN);
        if failure.is_some() || is_drained {
            return SessionEnd { state: ReceiveState::of(receiver, handler.dropped()), failure };
        }
    }
}
