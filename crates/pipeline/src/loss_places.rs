//! Where packets were lost: the sequence gaps joined with every counter that saw a packet vanish.
//!
//! The sequence says how many packets are missing; counters say where. They are joined so that nothing is
//! counted twice:
//!
//! * what our own queue, the rings and the memory of AF_XDP, and our checks of its frames dropped is known exactly;
//! * what the socket dropped is known exactly without UDP_GRO: because its buffer was full, or the checksum wrong.
//!   With UDP_GRO, the kernel counts pieces of many datagrams: the count is a lower bound;
//! * counters of the host and of the interfaces hold other traffic as well. They place no more than is missing, and are
//!   marked *inferred*. If together they say more than is missing, each gets only what the others cannot explain;
//! * a counter of pieces says *where*, and that at least as many packets were lost there. No place ever gets more than its
//!   counter says: how many packets a lost piece had, up to 64 ([`PIECE`]), nobody has counted, and the missing ones may as well
//!   have been lost elsewhere. They are unlocated; how many of them the pieces can have held is told beside;
//! * what the interface dropped and nothing else explains was lost behind the driver's ring, if packets are still missing;
//! * drops beyond the sequence gaps came after the last packet that arrived: a sequence cannot see them,
//!   the socket's count can;
//! * what is left is *unlocated*: lost before it reached this host's counters.

use evforge_net::host_counters::HostCounters;
use evforge_net::live_receiver::ReceiveLosses;

/// Where packets were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPlace {
    /// They were not in the capture that was read.
    Input,
    /// The wire: frames with a wrong checksum of Ethernet, or out of shape.
    Link,
    /// The network card: the host had given it no memory, or its own overflowed.
    NetworkCard,
    /// Between driver and protocols, where nothing else explains what the interface dropped.
    DriverRing,
    /// The kernel's backlog of a core was full.
    KernelBacklog,
    /// Wrong checksums or headers of IP or UDP, found by the kernel.
    Checksum,
    /// Fragments of IP packets that did not all arrive.
    Reassembly,
    /// The socket's receive buffer was full.
    SocketBuffer,
    /// The receive ring of an AF_XDP socket was full.
    XdpRing,
    /// An AF_XDP socket had no free memory, or too short pieces of it.
    XdpMemory,
    /// Our own checks of frames that came by AF_XDP: headers, checksums, packets merged by the kernel.
    FrameChecks,
    /// The queue between the receiving and the forming thread was full.
    OwnQueue,
}

impl LossPlace {
    /// The place as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            LossPlace::Input => "input",
            LossPlace::Link => "link",
            LossPlace::NetworkCard => "network card",
            LossPlace::DriverRing => "driver ring",
            LossPlace::KernelBacklog => "kernel backlog",
            LossPlace::Checksum => "checksum",
            LossPlace::Reassembly => "fragment reassembly",
            LossPlace::SocketBuffer => "socket buffer",
            LossPlace::XdpRing => "AF_XDP ring",
            LossPlace::XdpMemory => "AF_XDP memory",
            LossPlace::FrameChecks => "frame checks",
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
    /// True if the counter of the place is not exact: it counts pieces of several packets, or other traffic as well.
    pub inferred: bool,
}

/// All places, and what has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossPlaces {
    /// The places at which packets were lost.
    pub places: Vec<PlacedLoss>,
    /// Packets missing in the sequence that no counter locates.
    pub unlocated: u64,
    /// At most so many of the unlocated packets were in pieces (UDP_GRO) that the socket or the backlog dropped: beside the one
    /// of each piece that is in `places`.
    pub unlocated_in_pieces: u64,
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
    /// What the counters of the host and of its interfaces say; other traffic is in them as well.
    pub host: HostCounters,
    /// True if the detector's packets carry numbers, so that `sequence` means something.
    pub numbered: bool,
}

/// Places while they are being found.
struct Join {
    result: LossPlaces,
    /// Missing packets that have no place yet.
    missing: u64,
}

impl Join {
    fn place(&mut self, place: LossPlace, packets: u64, inferred: bool) {
        if packets > 0 {
            self.result.places.push(PlacedLoss { place, packets, inferred });
        }
        self.result.after_the_last += packets.saturating_sub(self.missing);
        self.missing = self.missing.saturating_sub(packets);
    }
}

/// Most packets that the kernel joins into one piece for UDP_GRO (`UDP_GRO_CNT_MAX`).
pub const PIECE: u64 = 64;

/// What the socket's count of drops is made of.
struct SocketSplit {
    /// Dropped because the buffer was full.
    full: u64,
    /// Dropped for a wrong checksum.
    wrong: u64,
    /// True if other sockets may have a part in it.
    inferred: bool,
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
        let receiver = &counts.receiver;
        let mut join = Join { result: Self::default(), missing: counts.sequence };
        join.place(LossPlace::OwnQueue, counts.own_queue, false);
        join.place(LossPlace::XdpRing, receiver.xdp_ring, false);
        join.place(LossPlace::XdpMemory, receiver.xdp_memory, false);
        join.place(LossPlace::FrameChecks, receiver.frame_checks, false);
        let in_pieces = receiver.socket.is_lower_bound;
        let SocketSplit { full, wrong, inferred } = counts.split_socket();
        join.place(LossPlace::Checksum, wrong, inferred);
        if in_pieces {
            counts.share_pieces(&mut join, full);
        } else {
            join.place(LossPlace::SocketBuffer, full, inferred);
            join.share(&counts.hints(true), true);
        }
        if !in_pieces || full + counts.backlog() == 0 {
            let packets = counts.driver_ring().min(join.missing);
            join.place(LossPlace::DriverRing, packets, true);
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
        result
    }

    /// Packets at all places.
    pub fn placed(&self) -> u64 {
        self.places.iter().map(|loss| loss.packets).sum()
    }
}

impl Join {
    /// Shares what is missing among counters that hold other traffic, too. If together they say more than is missing,
    /// each gets what the others cannot explain; nothing, if others are not `complete`.
    fn share(&mut self, hints: &[(LossPlace, u64)], complete: bool) {
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
}

impl LossCounts {
    /// The kernel counts drops of a socket for both reasons together, and each reason for the whole host.
    fn split_socket(&self) -> SocketSplit {
        let (drops, kernel) = (self.receiver.socket.count, &self.host.kernel);
        let wrong = kernel.checksum_errors.min(drops);
        let of_the_host = kernel.checksum_errors + kernel.receive_buffer_errors + kernel.memory_errors;
        SocketSplit { full: drops - wrong, wrong, inferred: wrong > 0 && of_the_host > drops }
    }

    /// Frames that the backlog dropped: of all interfaces, but no more than those in use have dropped.
    fn backlog(&self) -> u64 {
        let drops = self.host.kernel.backlog_drops;
        self.host.interfaces.map_or(drops, |interfaces| drops.min(interfaces.dropped))
    }

    /// What the interfaces dropped and no other counter explains: theirs holds the drops of backlog and XDP, too.
    fn driver_ring(&self) -> u64 {
        let dropped = self.host.interfaces.map_or(0, |interfaces| interfaces.dropped);
        dropped
            .saturating_sub(self.host.kernel.backlog_drops)
            .saturating_sub(self.receiver.xdp_ring + self.receiver.xdp_memory)
    }

    /// Counters of single packets that hold other traffic, too; and the backlog's, if it counts single ones.
    fn hints(&self, with_backlog: bool) -> Vec<(LossPlace, u64)> {
        let (kernel, interfaces) = (&self.host.kernel, self.host.interfaces.unwrap_or_default());
        vec![
            (LossPlace::Link, interfaces.lost_on_the_link()),
            (LossPlace::NetworkCard, interfaces.lost_in_the_card()),
            (LossPlace::KernelBacklog, if with_backlog { self.backlog() } else { 0 }),
            (LossPlace::Checksum, kernel.header_errors),
            (LossPlace::Reassembly, kernel.reassembly_failures),
        ]
    }

    /// With UDP_GRO, the socket (which dropped `full` pieces) and the backlog count pieces: each places one packet of each.
    fn share_pieces(&self, join: &mut Join, full: u64) {
        let backlog = self.backlog();
        // Of what the socket dropped at least as many are ours for certain.
        let others = join.missing.saturating_sub(full);
        let mut hints = Join { result: LossPlaces::default(), missing: others };
        hints.share(&self.hints(false), full + backlog == 0);
        let rest = hints.missing;
        for loss in hints.result.places {
            join.place(loss.place, loss.packets, true);
        }
        join.place(LossPlace::SocketBuffer, full, true);
        join.place(LossPlace::KernelBacklog, backlog.min(rest), true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_net::interfaces::InterfaceCounters;
    use evforge_net::kernel_counters::KernelCounters;
    use evforge_net::socket::SocketDrops;
    use proptest::prelude::*;

    fn counts(sequence: u64, socket: u64, pieces: bool) -> LossCounts {
        let socket = SocketDrops { count: socket, is_lower_bound: pieces };
        let receiver = ReceiveLosses { socket, ..ReceiveLosses::default() };
        LossCounts { sequence, receiver, numbered: true, ..LossCounts::default() }
    }

    /// Joins, checks the balance, and gives the places as (name, packets, inferred) and what is unlocated.
    fn join(counts: &LossCounts) -> (Vec<(&'static str, u64, bool)>, u64) {
        let places = LossPlaces::join(counts);
        // Every packet missing in the sequence, and every one after its end, has one place.
        assert_eq!(places.placed() + places.unlocated, counts.sequence + places.after_the_last, "{counts:?}");
        let list = places.places.iter().map(|loss| (loss.place.name(), loss.packets, loss.inferred));
        (list.collect(), places.unlocated)
    }

    #[test]
    fn exact_counts_place_exactly() {
        assert_eq!(join(&counts(0, 0, false)), (vec![], 0));
        let counts = LossCounts { own_queue: 10, ..counts(100, 80, false) };
        assert_eq!(join(&counts), (vec![("own queue", 10, false), ("socket buffer", 80, false)], 10));
    }

    #[test]
    fn drops_after_the_last_packet_are_seen_by_the_socket_only() {
        let places = LossPlaces::join(&counts(100, 182, false));
        assert_eq!((places.after_the_last, places.unlocated), (82, 0));
        // Of pieces there were at least as many.
        let places = LossPlaces::join(&counts(100, 182, true));
        assert_eq!((places.after_the_last, places.unlocated), (82, 0));
    }

    #[test]
    fn each_place_of_af_xdp_has_its_own_count() {
        let socket = SocketDrops { count: 4, is_lower_bound: false };
        let receiver = ReceiveLosses { socket, xdp_ring: 100, xdp_memory: 20, frame_checks: 3 };
        // The interface has counted what the rings dropped, too.
        let host = HostCounters {
            interfaces: Some(InterfaceCounters { dropped: 120, ..InterfaceCounters::default() }),
            ..HostCounters::default()
        };
        let counts = LossCounts { own_queue: 1, receiver, host, ..counts(120, 0, false) };
        let places = LossPlaces::join(&counts);
        assert_eq!((places.placed(), places.unlocated, places.after_the_last), (128, 0, 8));
        assert_eq!(places.places.len(), 5);
        assert_eq!(join(&LossCounts { sequence: 130, ..counts }).1, 2);
    }

    #[test]
    fn a_counter_of_pieces_places_what_it_has_counted_and_no_more() {
        let lost = counts(5_875_782, 8_227, true);
        assert_eq!(join(&lost), (vec![("socket buffer", 8_227, true)], 5_875_782 - 8_227));
        // 63 packets more in each piece, if all were full.
        assert_eq!(LossPlaces::join(&lost).unlocated_in_pieces, 8_227 * 63);
        let few = LossPlaces::join(&counts(5_000, 80, true));
        assert_eq!((few.unlocated, few.unlocated_in_pieces), (4_920, 4_920));
        let single = LossPlaces::join(&counts(5_000, 80, false));
        assert_eq!((single.unlocated, single.unlocated_in_pieces), (4_920, 0));
        assert_eq!(join(&counts(5_000, 0, true)), (vec![], 5_000), "no counter moved: lost before this host");
    }

    fn host(kernel: KernelCounters, interfaces: InterfaceCounters) -> HostCounters {
        HostCounters { kernel, interfaces: Some(interfaces) }
    }

    fn backlog(drops: u64, dropped: u64) -> HostCounters {
        host(
            KernelCounters { backlog_drops: drops, ..Default::default() },
            InterfaceCounters { dropped, ..Default::default() },
        )
    }

    /// "Done when" 2 of the work on receiving: where two counters of pieces move, the rest is unlocated.
    #[test]
    fn where_two_counters_of_pieces_move_each_has_its_count_and_the_rest_is_unlocated() {
        let both = LossCounts { host: backlog(30, 30), ..counts(5_000, 80, true) };
        let expected = vec![("socket buffer", 80, true), ("kernel backlog", 30, true)];
        assert_eq!(join(&both), (expected, 4_890));
        let backlog_only = LossCounts { host: backlog(30, 30), ..counts(5_000, 0, true) };
        assert_eq!(join(&backlog_only), (vec![("kernel backlog", 30, true)], 4_970));
        // Without UDP_GRO both count packets.
        let single = LossCounts { host: backlog(30, 30), ..counts(5_000, 80, false) };
        let expected = vec![("socket buffer", 80, false), ("kernel backlog", 30, true)];
        assert_eq!(join(&single), (expected, 4_890));
    }

    #[test]
    fn drops_of_other_interfaces_are_not_ours() {
        let elsewhere = LossCounts { host: backlog(30, 0), ..counts(10, 0, false) };
        assert_eq!(join(&elsewhere), (vec![], 10));
        let unknown = HostCounters { interfaces: None, ..backlog(30, 0) };
        let cheap = LossCounts { host: unknown, ..counts(10, 0, false) };
        assert_eq!(join(&cheap), (vec![("kernel backlog", 10, true)], 0));
    }

    #[test]
    fn what_backlog_and_interface_both_count_is_counted_once_and_the_rest_is_the_drivers() {
        let counts = LossCounts { host: backlog(30, 50), ..counts(100, 0, false) };
        assert_eq!(join(&counts), (vec![("kernel backlog", 30, true), ("driver ring", 20, true)], 50));
        // Frames of protocols that nobody knows are in it, too: never more than is missing.
        let counts = LossCounts { host: backlog(30, 5_000), ..counts };
        assert_eq!(join(&counts), (vec![("kernel backlog", 30, true), ("driver ring", 70, true)], 0));
    }

    #[test]
    fn counters_of_all_traffic_place_no_more_than_is_missing() {
        let kernel = KernelCounters { reassembly_failures: 40, header_errors: 5, ..Default::default() };
        let interfaces =
            InterfaceCounters { crc_errors: 20, missed: 8, fifo_errors: 8, ..Default::default() };
        let all = LossCounts { host: host(kernel, interfaces), ..counts(80, 0, false) };
        let expected = vec![
            ("link", 20, true),
            ("network card", 8, true),
            ("checksum", 5, true),
            ("fragment reassembly", 40, true),
        ];
        assert_eq!(join(&all), (expected, 7));
        // 73 were counted, 60 are missing: of the 40 at least 27 must be ours, and of the 20 at least 7.
        let expected = vec![("link", 7, true), ("fragment reassembly", 27, true)];
        assert_eq!(join(&LossCounts { sequence: 60, ..all }), (expected, 26));
        // With pieces of unknown size beside, they may all belong to others.
        let pieces = LossCounts { host: all.host, ..counts(60, 2, true) };
        assert_eq!(join(&pieces), (vec![("socket buffer", 2, true)], 58));
    }

    #[test]
    fn what_a_socket_drops_is_split_by_reason() {
        let of = |checksum_errors, receive_buffer_errors, pieces| LossCounts {
            host: host(
                KernelCounters { checksum_errors, receive_buffer_errors, ..Default::default() },
                InterfaceCounters::default(),
            ),
            ..counts(100, 50, pieces)
        };
        let buffer = |packets, inferred| ("socket buffer", packets, inferred);
        let wrong = |packets, inferred| ("checksum", packets, inferred);
        assert_eq!(join(&of(0, 90, false)), (vec![buffer(50, false)], 50));
        assert_eq!(join(&of(20, 30, false)), (vec![wrong(20, false), buffer(30, false)], 50));
        assert_eq!(join(&of(50, 0, false)), (vec![wrong(50, false)], 50));
        // Other sockets have dropped as well.
        assert_eq!(join(&of(20, 60, false)), (vec![wrong(20, true), buffer(30, true)], 50));
        // Packets with a wrong checksum are never put into pieces.
        assert_eq!(join(&of(20, 30, true)), (vec![wrong(20, false), buffer(30, true)], 50));
    }

    proptest! {
        #[test]
        fn the_balance_closes_whatever_the_counters_say(
            numbers in proptest::array::uniform12(0_u64..200), pieces: bool, known: bool,
        ) {
            let [sequence, own_queue, socket, ring, memory, checks, backlog, checksum, full, reassembly, crc, dropped] =
                numbers;
            let kernel = KernelCounters {
                backlog_drops: backlog,
                checksum_errors: checksum,
                receive_buffer_errors: full,
                reassembly_failures: reassembly,
                ..Default::default()
            };
            let interfaces = InterfaceCounters { crc_errors: crc, dropped, missed: full, ..Default::default() };
            let socket = SocketDrops { count: socket, is_lower_bound: pieces };
            let receiver =
                ReceiveLosses { socket, xdp_ring: ring, xdp_memory: memory, frame_checks: checks };
            let host = HostCounters { kernel, interfaces: known.then_some(interfaces) };
            let counts = LossCounts { sequence, own_queue, receiver, host, numbered: true };
            join(&counts);
            let inferred: u64 = LossPlaces::join(&counts)
                .places
                .iter()
                .filter(|loss| loss.inferred && !matches!(loss.place, LossPlace::SocketBuffer | LossPlace::Checksum))
                .map(|loss| loss.packets)
                .sum();
            prop_assert!(inferred <= sequence);
            let places = LossPlaces::join(&counts);
            prop_assert!(places.unlocated_in_pieces <= places.unlocated);
            // No place has more packets than its counter says.
            for loss in &places.places {
                let counted = match loss.place {
                    LossPlace::OwnQueue => own_queue,
                    LossPlace::XdpRing => ring,
                    LossPlace::XdpMemory => memory,
                    LossPlace::FrameChecks => checks,
                    LossPlace::SocketBuffer => socket.count,
                    LossPlace::Checksum => checksum,
                    LossPlace::KernelBacklog => backlog,
                    LossPlace::Reassembly => reassembly,
                    LossPlace::Link => crc,
                    LossPlace::NetworkCard => full,
                    LossPlace::DriverRing => dropped,
                    LossPlace::Input => 0,
                };
                prop_assert!(loss.packets <= counted, "{:?} of {:?}", loss, counts);
            }
        }
    }
}
