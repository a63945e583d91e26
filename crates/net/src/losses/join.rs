//! Joins what is missing with what the counters say.

use super::counts::{LossCounts, SocketSplit};
use evforge_core::losses::{LossBreakdown, LossLocation, PIECE};

/// A breakdown while it is being made.
struct Join {
    result: LossBreakdown,
    /// Missing packets that have no place yet.
    missing: u64,
}

/// Joins what the counters of a live input say.
pub fn join(counts: &LossCounts) -> LossBreakdown {
    let receiver = &counts.receiver;
    let mut join = Join { result: LossBreakdown::default(), missing: counts.sequence };
    join.place(LossLocation::OwnQueue, counts.own_queue, false);
    join.place(LossLocation::XdpRing, receiver.xdp_ring, false);
    join.place(LossLocation::XdpMemory, receiver.xdp_memory, false);
    join.place(LossLocation::FrameChecks, receiver.frame_checks, false);
    let in_pieces = receiver.socket.is_lower_bound;
    let SocketSplit { full, wrong, inferred } = counts.split_socket();
    join.place(LossLocation::Checksum, wrong, inferred);
    if in_pieces {
        join.share_pieces(counts, full);
    } else {
        join.place(LossLocation::SocketBuffer, full, inferred);
        join.share(&counts.hints(true), true);
    }
    if !in_pieces || full + counts.backlog() == 0 {
        let packets = counts.driver_ring().min(join.missing);
        join.place(LossLocation::DriverRing, packets, true);
    }
    let Join { mut result, missing } = join;
    result.unlocated = missing;
    if in_pieces {
        let pieces = full.saturating_add(counts.backlog());
        result.unlocated_in_pieces = pieces.saturating_mul(PIECE - 1).min(missing);
    }
    if !counts.numbered {
        result.after_the_last = 0;
    }
    result.in_pieces = in_pieces;
    result
}

impl Join {
    fn place(&mut self, place: LossLocation, packets: u64, inferred: bool) {
        self.result.add(place, packets, inferred);
        self.result.after_the_last += packets.saturating_sub(self.missing);
        self.missing = self.missing.saturating_sub(packets);
    }

    /// Shares what is missing among counters that hold other traffic, too. If together they say more than is missing,
    /// each gets what the others cannot explain; nothing, if others are not `complete`.
    fn share(&mut self, hints: &[(LossLocation, u64)], complete: bool) {
        let (all, missing) = (hints.iter().map(|(_, count)| count).sum::<u64>(), self.missing);
        for &(place, count) in hints {
            let packets = match () {
                () if all <= missing => count,
                () if complete => missing.saturating_sub(all - count),
                () => 0,
            };
            self.place(place, packets, true);
        }
    }

    /// With UDP_GRO, the socket (which dropped `full` pieces) and the backlog count pieces: each places one packet of each.
    fn share_pieces(&mut self, counts: &LossCounts, full: u64) {
        let backlog = counts.backlog();
        // Of what the socket dropped at least as many are ours for certain.
        let others = self.missing.saturating_sub(full);
        let mut hints = Self { result: LossBreakdown::default(), missing: others };
        hints.share(&counts.hints(false), full + backlog == 0);
        let rest = hints.missing;
        for loss in hints.result.locations {
            self.place(loss.location, loss.packets, true);
        }
        self.place(LossLocation::SocketBuffer, full, true);
        self.place(LossLocation::KernelBacklog, backlog.min(rest), true);
    }
}
