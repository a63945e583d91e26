//! Where packets were lost: the sequence gaps joined with every counter that saw a packet vanish.
//!
//! The sequence says how many packets are missing; counters say where. They are joined so that nothing is
//! counted twice:
//!
//! * what our own queue, the rings and the memory of AF_XDP, and our checks of its frames dropped is known exactly;
//! * what the socket dropped is known exactly without UDP_GRO. With it, the kernel counts pieces of many
//!   datagrams, so a count that has moved says *where* but not how many: the rest of the gaps is then placed
//!   there and marked *inferred*;
//! * drops beyond the sequence gaps came after the last packet that arrived: a sequence cannot see them,
//!   the socket's exact count can;
//! * what is left is *unlocated*: lost before it reached this host's counters.

use evforge_net::live_receiver::ReceiveLosses;

/// Where packets were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPlace {
    /// They were not in the capture that was read.
    Input,
    /// The socket's receive buffer was full.
    SocketBuffer,
    /// The receive ring of an AF_XDP socket was full.
    XdpRing,
    /// An AF_XDP socket had no free memory, or too short pieces of it.
    XdpMemory,
    /// Our own checks of frames that came by AF_XDP: headers, checksums, packets merged by the kernel.
    FrameChecks,
    /// The kernel's backlog of a core was full.
    KernelBacklog,
    /// The queue between the receiving and the forming thread was full.
    OwnQueue,
}

impl LossPlace {
    /// The place as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            LossPlace::Input => "input",
            LossPlace::SocketBuffer => "socket buffer",
            LossPlace::XdpRing => "AF_XDP ring",
            LossPlace::XdpMemory => "AF_XDP memory",
            LossPlace::FrameChecks => "frame checks",
            LossPlace::KernelBacklog => "kernel backlog",
            LossPlace::OwnQueue => "own queue",
        }
    }
}

/// Packets lost at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedLoss {
    /// Where.
    pub place: LossPlace,
    /// How many.
    pub packets: u64,
    /// True if the place is known but the number follows from the sequence.
    pub inferred: bool,
}

/// All places, and what has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossPlaces {
    /// The places at which packets were lost.
    pub places: Vec<PlacedLoss>,
    /// Packets missing in the sequence for which no counter moved.
    pub unlocated: u64,
    /// Packets lost after the last one received: in `places`, but in no sequence gap.
    pub after_the_last: u64,
}

/// What the counters of a live input say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// Packets missing in the sequences of all sources.
    pub sequence: u64,
    /// Packets our own queue dropped.
    pub own_queue: u64,
    /// What the counters of the socket and of AF_XDP say.
    pub receiver: ReceiveLosses,
    /// What the kernel's backlog counters of all cores say; other traffic is in them as well.
    pub backlog: u64,
    /// True if the detector's packets carry numbers, so that `sequence` means something.
    pub numbered: bool,
}

impl LossPlaces {
    /// All losses were in the capture before it was read.
    pub fn in_the_input(lost: u64) -> Self {
        let places = if lost > 0 {
            vec![PlacedLoss { place: LossPlace::Input, packets: lost, inferred: false }]
        } else {
            Vec::new()
        };
        Self { places, ..Self::default() }
    }

    /// Joins what the counters of a live input say.
    pub fn join(counts: &LossCounts) -> Self {
        let mut result = Self::default();
        let mut place = |place, packets, inferred| {
            if packets > 0 {
                result.places.push(PlacedLoss { place, packets, inferred });
            }
        };
        let receiver = &counts.receiver;
        let counts_pieces = receiver.socket.is_lower_bound;
        let exact = [
            (LossPlace::OwnQueue, counts.own_queue),
            (LossPlace::XdpRing, receiver.xdp_ring),
            (LossPlace::XdpMemory, receiver.xdp_memory),
            (LossPlace::FrameChecks, receiver.frame_checks),
            (LossPlace::SocketBuffer, if counts_pieces { 0 } else { receiver.socket.count }),
        ];
        let mut located = 0;
        for (at, packets) in exact {
            place(at, packets, false);
            located += packets;
        }
        let mut missing = counts.sequence.saturating_sub(located);
        let beyond = located.saturating_sub(counts.sequence);
        if counts_pieces && receiver.socket.count > 0 {
            place(LossPlace::SocketBuffer, missing, true);
            missing = 0;
        }
        if counts.backlog > 0 && missing > 0 {
            // These counters are the host's: other traffic may be in them, so no more than is missing.
            let packets = missing.min(counts.backlog);
            place(LossPlace::KernelBacklog, packets, true);
            missing -= packets;
        }
        result.unlocated = missing;
        result.after_the_last = if counts.numbered { beyond } else { 0 };
        result
    }

    /// Packets at all places.
    pub fn placed(&self) -> u64 {
        self.places.iter().map(|loss| loss.packets).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_net::socket::SocketDrops;

    fn join(sequence: u64, own_queue: u64, socket: u64, pieces: bool) -> (LossPlaces, u64) {
        let socket = SocketDrops { count: socket, is_lower_bound: pieces };
        join_all(sequence, own_queue, ReceiveLosses { socket, ..ReceiveLosses::default() })
    }

    fn join_all(sequence: u64, own_queue: u64, receiver: ReceiveLosses) -> (LossPlaces, u64) {
        let counts = LossCounts { sequence, own_queue, receiver, backlog: 0, numbered: true };
        let places = LossPlaces::join(&counts);
        // The balance: every packet missing in the sequence, and every one after its end, has one place.
        assert_eq!(places.placed() + places.unlocated, sequence + places.after_the_last);
        (places.clone(), places.unlocated)
    }

    #[test]
    fn exact_counts_place_exactly() {
        assert_eq!(join(0, 0, 0, false).0, LossPlaces::default());
        let (places, unlocated) = join(100, 10, 80, false);
        assert_eq!((places.placed(), unlocated, places.after_the_last), (90, 10, 0));
        assert!(places.places.iter().all(|loss| !loss.inferred));
    }

    #[test]
    fn drops_after_the_last_packet_are_seen_by_the_socket_only() {
        let (places, unlocated) = join(100, 0, 182, false);
        assert_eq!((places.after_the_last, unlocated), (82, 0));
    }

    #[test]
    fn each_place_of_af_xdp_has_its_own_count() {
        let socket = SocketDrops { count: 4, is_lower_bound: false };
        let receiver = ReceiveLosses { socket, xdp_ring: 100, xdp_memory: 20, frame_checks: 3 };
        let (places, unlocated) = join_all(120, 1, receiver);
        assert_eq!((places.placed(), unlocated, places.after_the_last), (128, 0, 8));
        assert_eq!(places.places.len(), 5);
        assert_eq!(join_all(130, 1, receiver).1, 2);
    }

    #[test]
    fn counters_of_pieces_locate_and_infer() {
        let (places, unlocated) = join(5_000, 0, 80, true);
        let expected = PlacedLoss { place: LossPlace::SocketBuffer, packets: 5_000, inferred: true };
        assert_eq!((places.places, unlocated), (vec![expected], 0));
        assert_eq!(join(5_000, 0, 0, true).1, 5_000, "no counter moved: lost before this host");
    }
}
