//! The breakdown of counters of every kind.

use proptest::prelude::*;
use serde_json::json;

use crate::host_counters::HostCounters;
use crate::interfaces::InterfaceCounters;
use crate::kernel_counters::KernelCounters;
use crate::live_receiver::ReceiveLosses;
use crate::socket::SocketDrops;

use super::*;

fn counts(sequence: u64, socket: u64, pieces: bool) -> LossCounts {
    let socket = SocketDrops { count: socket, is_lower_bound: pieces };
    let receiver = ReceiveLosses { socket, ..ReceiveLosses::default() };
    LossCounts { sequence, receiver, numbered: true, ..LossCounts::default() }
}

/// Joins, checks the balance, and gives the places as (name, packets, inferred) and what is unlocated.
fn joined(counts: &LossCounts) -> (Vec<(&'static str, u64, bool)>, u64) {
    let places = join(counts);
    // Every packet missing in the sequence, and every one after its end, has one place.
    assert_eq!(places.placed() + places.unlocated, counts.sequence + places.after_the_last, "{counts:?}");
    let list = places.locations.iter().map(|loss| (loss.location.name(), loss.packets, loss.inferred));
    (list.collect(), places.unlocated)
}

#[test]
fn exact_counts_place_exactly() {
    assert_eq!(joined(&counts(0, 0, false)), (vec![], 0));
    let counts = LossCounts { own_queue: 10, ..counts(100, 80, false) };
    assert_eq!(joined(&counts), (vec![("own queue", 10, false), ("socket buffer", 80, false)], 10));
}

#[test]
fn drops_after_the_last_packet_are_seen_by_the_socket_only() {
    let places = join(&counts(100, 182, false));
    assert_eq!((places.after_the_last, places.unlocated), (82, 0));
    // Of pieces there were at least as many.
    let places = join(&counts(100, 182, true));
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
    let places = join(&counts);
    assert_eq!((places.placed(), places.unlocated, places.after_the_last), (128, 0, 8));
    assert_eq!(places.locations.len(), 5);
    assert_eq!(joined(&LossCounts { sequence: 130, ..counts }).1, 2);
}

#[test]
fn a_counter_of_pieces_places_what_it_has_counted_and_no_more() {
    let lost = counts(5_875_782, 8_227, true);
    assert_eq!(joined(&lost), (vec![("socket buffer", 8_227, true)], 5_875_782 - 8_227));
    // 63 packets more in each piece, if all were full.
    assert_eq!(join(&lost).unlocated_in_pieces, 8_227 * 63);
    let few = join(&counts(5_000, 80, true));
    assert_eq!((few.unlocated, few.unlocated_in_pieces), (4_920, 4_920));
    let single = join(&counts(5_000, 80, false));
    assert_eq!((single.unlocated, single.unlocated_in_pieces), (4_920, 0));
    assert_eq!(joined(&counts(5_000, 0, true)), (vec![], 5_000), "no counter moved: lost before this host");
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
    assert_eq!(joined(&both), (expected, 4_890));
    let backlog_only = LossCounts { host: backlog(30, 30), ..counts(5_000, 0, true) };
    assert_eq!(joined(&backlog_only), (vec![("kernel backlog", 30, true)], 4_970));
    // Without UDP_GRO both count packets.
    let single = LossCounts { host: backlog(30, 30), ..counts(5_000, 80, false) };
    let expected = vec![("socket buffer", 80, false), ("kernel backlog", 30, true)];
    assert_eq!(joined(&single), (expected, 4_890));
}

#[test]
fn drops_of_other_interfaces_are_not_ours() {
    let elsewhere = LossCounts { host: backlog(30, 0), ..counts(10, 0, false) };
    assert_eq!(joined(&elsewhere), (vec![], 10));
    let unknown = HostCounters { interfaces: None, ..backlog(30, 0) };
    let cheap = LossCounts { host: unknown, ..counts(10, 0, false) };
    assert_eq!(joined(&cheap), (vec![("kernel backlog", 10, true)], 0));
}

#[test]
fn what_backlog_and_interface_both_count_is_counted_once_and_the_rest_is_the_drivers() {
    let counts = LossCounts { host: backlog(30, 50), ..counts(100, 0, false) };
    assert_eq!(joined(&counts), (vec![("kernel backlog", 30, true), ("driver ring", 20, true)], 50));
    // Frames of protocols that nobody knows are in it, too: never more than is missing.
    let counts = LossCounts { host: backlog(30, 5_000), ..counts };
    assert_eq!(joined(&counts), (vec![("kernel backlog", 30, true), ("driver ring", 70, true)], 0));
}

#[test]
fn counters_of_all_traffic_place_no_more_than_is_missing() {
    let kernel = KernelCounters { reassembly_failures: 40, header_errors: 5, ..Default::default() };
    let interfaces = InterfaceCounters { crc_errors: 20, missed: 8, fifo_errors: 8, ..Default::default() };
    let all = LossCounts { host: host(kernel, interfaces), ..counts(80, 0, false) };
    let expected = vec![
        ("link", 20, true),
        ("network card", 8, true),
        ("checksum", 5, true),
        ("fragment reassembly", 40, true),
    ];
    assert_eq!(joined(&all), (expected, 7));
    // 73 were counted, 60 are missing: of the 40 at least 27 must be ours, and of the 20 at least 7.
    let expected = vec![("link", 7, true), ("fragment reassembly", 27, true)];
    assert_eq!(joined(&LossCounts { sequence: 60, ..all }), (expected, 26));
    // With pieces of unknown size as well, they may all belong to others.
    let pieces = LossCounts { host: all.host, ..counts(60, 2, true) };
    assert_eq!(joined(&pieces), (vec![("socket buffer", 2, true)], 58));
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
    assert_eq!(joined(&of(0, 90, false)), (vec![buffer(50, false)], 50));
    assert_eq!(joined(&of(20, 30, false)), (vec![wrong(20, false), buffer(30, false)], 50));
    assert_eq!(joined(&of(50, 0, false)), (vec![wrong(50, false)], 50));
    // Other sockets have dropped as well.
    assert_eq!(joined(&of(20, 60, false)), (vec![wrong(20, true), buffer(30, true)], 50));
    // Packets with a wrong checksum are never put into pieces.
    assert_eq!(joined(&of(20, 30, true)), (vec![wrong(20, false), buffer(30, true)], 50));
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
        joined(&counts);
        let inferred: u64 = join(&counts)
            .locations
            .iter()
            .filter(|loss| loss.inferred && !matches!(loss.location, LossLocation::SocketBuffer | LossLocation::Checksum))
            .map(|loss| loss.packets)
            .sum();
        prop_assert!(inferred <= sequence);
        let places = join(&counts);
        prop_assert!(places.unlocated_in_pieces <= places.unlocated);
        // No place has more packets than its counter says.
        for loss in &places.locations {
            let counted = match loss.location {
                LossLocation::OwnQueue => own_queue,
                LossLocation::XdpRing => ring,
                LossLocation::XdpMemory => memory,
                LossLocation::FrameChecks => checks,
                LossLocation::SocketBuffer => socket.count,
                LossLocation::Checksum => checksum,
                LossLocation::KernelBacklog => backlog,
                LossLocation::Reassembly => reassembly,
                LossLocation::Link => crc,
                LossLocation::NetworkCard => full,
                LossLocation::DriverRing => dropped,
                LossLocation::Input | LossLocation::Sender | LossLocation::RecordQueue => 0,
            };
            prop_assert!(loss.packets <= counted, "{:?} of {:?}", loss, counts);
        }
    }
}

#[test]
fn what_others_say_explains_no_more_than_is_unlocated() {
    let mut breakdown = join(&counts(10, 4, false));
    assert_eq!(breakdown.explain(LossLocation::Sender, 4), 4);
    assert_eq!((breakdown.unlocated, breakdown.at(LossLocation::Sender)), (2, 4));
    assert_eq!((breakdown.explain(LossLocation::XdpRing, 30), breakdown.unlocated), (2, 0));
    assert_eq!((breakdown.explain(LossLocation::XdpMemory, 30), breakdown.placed()), (0, 10));
    // What the socket alone knows of came after the last packet, and nobody else explains it.
    let mut after = join(&counts(0, 5, false));
    assert_eq!((after.explain(LossLocation::Sender, 7), after.at(LossLocation::SocketBuffer)), (0, 5));
    // Of pieces that can have held any number, no more than is left is in them.
    let mut pieces = join(&counts(10, 1, true));
    assert_eq!((pieces.explain(LossLocation::Sender, 3), pieces.unlocated), (3, 6));
    assert_eq!(pieces.unlocated_in_pieces, 6);
}

#[test]
fn two_counters_of_one_place_are_one_number_of_it() {
    // Other sockets have dropped as well, so the checksums of UDP are inferred, as those of IP are.
    let kernel = KernelCounters {
        checksum_errors: 20,
        receive_buffer_errors: 60,
        header_errors: 5,
        ..Default::default()
    };
    let both = LossCounts { host: host(kernel, InterfaceCounters::default()), ..counts(100, 50, false) };
    assert_eq!(joined(&both), (vec![("checksum", 25, true), ("socket buffer", 30, true)], 45));
}

#[test]
fn every_report_has_the_same_keys() {
    let mut packets = json!({ "received": 90 });
    let mut breakdown = join(&LossCounts { own_queue: 1, ..counts(10, 4, false) });
    breakdown.explain(LossLocation::Sender, 3);
    add_to_json(&breakdown, &mut packets);
    let expected = json!({
        "received": 90,
        "locations": { "own queue": 1, "socket buffer": 4 },
        "places": { "own queue": 1, "socket buffer": 4 },
        "inferred_locations": { "sender": 3 },
        "inferred_places": { "sender": 3 },
        "unlocated": 2,
    });
    assert_eq!(packets, expected);
    let mut packets = json!({});
    add_to_json(&join(&counts(1, 3, true)), &mut packets);
    let expected = json!({
        "locations": {}, "inferred_locations": { "socket buffer": 3 }, "unlocated": 0, "lost_after_the_last": 2,
        "places": {}, "inferred_places": { "socket buffer": 3 },
    });
    assert_eq!(packets, expected);
}

#[test]
fn every_place_has_its_line() {
    let lines = |breakdown: &LossBreakdown| {
        let line = |line: LossLine| format!("{} {} {}", line.title, line.packets, line.location);
        breakdown.lines().into_iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(lines(&LossBreakdown::default()), [""; 0]);
    let mut breakdown = join(&LossCounts { own_queue: 1, ..counts(10, 4, false) });
    breakdown.explain(LossLocation::Sender, 3);
    let expected = [
        "lost 1 in the own queue",
        "lost 4 in the socket buffer",
        "lost 3 in the sender's host (inferred)",
        "lost 2 unlocated: no counter that was read has seen them",
    ];
    assert_eq!(lines(&breakdown), expected);
    let expected = [
        "lost 3 in the socket buffer (inferred, at least: the kernel counts pieces of up to 64 packets)",
        "lost 7 unlocated",
    ];
    assert_eq!(lines(&join(&counts(10, 3, true))), expected);
    let expected = ["lost 3 in the socket buffer", "of these 2 after the last received"];
    assert_eq!(lines(&join(&counts(1, 3, false))), expected);
    assert_eq!(lines(&LossBreakdown::in_the_input(2)), ["lost 2 in the input"]);
}
