//! Several sockets of one thread, and several threads, over real loopback sockets.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::loopback::local;
use evforge_core::packet::PacketSlab;
use evforge_net::live_receiver::{LiveReceiver, ReceiveMethod, ReceivePlan};
use evforge_net::receiver_group::ReceiverGroup;
use evforge_net::socket::{ReceiverOptions, UdpReceiver};
use evforge_testkit::patience::patience;

const FLOWS: usize = 64;
const PACKETS: u32 = 20;

fn plan(options: ReceiverOptions, ports: Vec<u16>, sockets_per_port: usize) -> ReceivePlan {
    ReceivePlan { method: ReceiveMethod::Socket, socket: options, xdp: None, ports, sockets_per_port }
}

/// Packets of many senders: each has its number in its first bytes.
fn send(address: SocketAddr) -> Vec<UdpSocket> {
    let senders: Vec<_> = (0..FLOWS).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a socket")).collect();
    for number in 0..PACKETS {
        for sender in &senders {
            sender.send_to(&number.to_le_bytes(), address).expect("a packet");
        }
    }
    senders
}

/// Receives so many packets: the numbers of each sender and port, in the order of their arrival.
fn collect(group: &mut ReceiverGroup, count: usize) -> BTreeMap<(SocketAddr, u16), Vec<u32>> {
    let mut slab = PacketSlab::new(4096, 8 << 20);
    let deadline = Instant::now() + patience();
    let (mut flows, mut found) = (BTreeMap::<_, Vec<u32>>::new(), 0);
    while found < count {
        slab.clear();
        let received = group.receive(&mut slab, deadline).expect("receiving");
        assert!(received > 0, "{found} of {count} packets came in time");
        found += received;
        for packet in slab.batch().iter() {
            let number = u32::from_le_bytes(packet.bytes.try_into().expect("4 bytes"));
            let flow = (packet.origin.source, packet.origin.destination_port);
            flows.entry(flow).or_default().push(number);
        }
    }
    flows
}

/// Every sender's packets are there once and in order.
fn check(flows: &BTreeMap<(SocketAddr, u16), Vec<u32>>, senders: usize) {
    assert_eq!(flows.len(), senders);
    for numbers in flows.values() {
        assert_eq!(*numbers, Vec::from_iter(0..PACKETS));
    }
}

#[test]
fn one_thread_receives_from_several_ports() {
    // A port that is free, most likely still when it is taken again.
    let second = UdpReceiver::open(&local()).unwrap().local_address().port();
    for spin in [Duration::ZERO, patience()] {
        let receivers = LiveReceiver::open(&plan(local(), vec![second], 1)).unwrap();
        let addresses: Vec<_> = receivers.iter().map(LiveReceiver::local_address).collect();
        assert_eq!((addresses.len(), addresses[1].port()), (2, second));
        let mut groups = ReceiverGroup::spread(receivers, 1, spin);
        assert_eq!(groups.len(), 1);
        let _senders: Vec<_> = addresses.iter().map(|address| send(*address)).collect();
        let flows = collect(&mut groups[0], 2 * FLOWS * PACKETS as usize);
        check(&flows, 2 * FLOWS);
        assert_eq!(groups[0].counters().packets, 2 * FLOWS as u64 * u64::from(PACKETS));
    }
}

#[test]
fn the_senders_of_one_port_are_spread_over_its_sockets() {
    let receivers = LiveReceiver::open(&plan(local(), Vec::new(), 4)).unwrap();
    let address = receivers[0].local_address();
    assert!(receivers.iter().all(|receiver| receiver.local_address() == address));
    let mut groups = ReceiverGroup::spread(receivers, 4, Duration::from_micros(50));
    let _senders = send(address);
    let mut flows = BTreeMap::new();
    let mut shares = Vec::new();
    // Everything is there already: what is sent over loopback is in a socket when the sender goes on.
    let mut slab = PacketSlab::new(4096, 8 << 20);
    for group in &mut groups {
        let mut taken = 0;
        while group.receive(&mut slab, Instant::now()).unwrap() > 0 {
            taken = slab.len();
        }
        for packet in slab.batch().iter() {
            let number = u32::from_le_bytes(packet.bytes.try_into().unwrap());
            flows
                .entry((packet.origin.source, packet.origin.destination_port))
                .or_insert_with(Vec::new)
                .push(number);
        }
        shares.push(taken);
        slab.clear();
    }
    check(&flows, FLOWS);
    // 64 senders leave one of four sockets without any once in 25 million times.
    assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
}

#[test]
fn losses_of_all_sockets_are_told_together() {
    let options = ReceiverOptions { coalesce: false, receive_buffer: 20_000, ..local() };
    let receivers = LiveReceiver::open(&plan(options, Vec::new(), 2)).unwrap();
    let address = receivers[0].local_address();
    let mut groups = ReceiverGroup::spread(receivers, 1, Duration::ZERO);
    let _senders: Vec<_> = (0..4).map(|_| send(address)).collect();
    let mut slab = PacketSlab::new(100_000, 64 << 20);
    while groups[0].receive(&mut slab, Instant::now()).unwrap() > 0 {}
    let losses = groups[0].losses();
    assert!(losses.socket.count > 0 && !losses.socket.is_lower_bound);
    assert_eq!(slab.len() as u64 + losses.socket.count, 4 * FLOWS as u64 * u64::from(PACKETS));
}

#[test]
fn a_port_can_only_be_shared_by_those_who_say_so() {
    let alone = UdpReceiver::open(&local()).unwrap();
    let sharing = ReceiverOptions { share_port: true, ..ReceiverOptions::new(alone.local_address()) };
    assert!(UdpReceiver::open(&sharing).is_err());
}

#[test]
fn busy_polling_is_had_or_comes_with_what_is_missing() {
    let options = ReceiverOptions { busy_poll: Duration::from_micros(50), ..local() };
    let receiver = UdpReceiver::open(&options).unwrap();
    for warning in receiver.warnings() {
        assert!(warning.contains("cap_net_admin") || warning.contains("rmem_max"), "{warning}");
    }
}

#[test]
fn threads_get_their_share_and_can_move() {
    fn moves<T: Send>() {}
    moves::<ReceiverGroup>();
    let receivers = LiveReceiver::open(&plan(local(), Vec::new(), 3)).unwrap();
    let groups = ReceiverGroup::spread(receivers, 8, Duration::ZERO);
    assert_eq!(groups.len(), 3, "no thread without a socket");
}
