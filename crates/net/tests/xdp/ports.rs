//! AF_XDP with several ports over a pair of virtual interfaces.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::Instant;

use evforge_core::packet::PacketSlab;
use evforge_net::xdp::{XdpMode, XdpOptions, XdpReceiver};
use evforge_testkit::patience::patience;
use evforge_testkit::veth::{self, RECEIVER, RECEIVER_ADDRESS, SENDER_ADDRESS, with_wire};

const PACKETS: usize = 100;

#[test]
fn one_receiver_takes_several_ports_and_leaves_the_others() {
    if !veth::is_possible("one_receiver_takes_several_ports_and_leaves_the_others") {
        return;
    }
    with_wire(1, 1500, |wire| {
        let address = |port: u16| SocketAddr::from((RECEIVER_ADDRESS, port));
        let options = XdpOptions {
            ports: vec![9001, 9005],
            modes: vec![XdpMode::Driver],
            ring: 1024,
            frames: 1024,
            ..XdpOptions::new(RECEIVER, address(9000))
        };
        let mut receiver = XdpReceiver::open(&options).unwrap();
        let others = UdpSocket::bind(address(9002)).unwrap();
        others.set_read_timeout(Some(patience())).unwrap();
        let sender = wire.at_sender(|| UdpSocket::bind(SocketAddr::from((SENDER_ADDRESS, 0))).unwrap());
        for _ in 0..PACKETS {
            for port in [9000, 9001, 9002, 9005] {
                sender.send_to(&port.to_string().into_bytes(), address(port)).unwrap();
            }
        }
        let mut slab = PacketSlab::new(4 * PACKETS, 1 << 20);
        let end = Instant::now() + patience();
        while slab.len() < 3 * PACKETS && Instant::now() < end {
            receiver.receive(&mut slab, end).unwrap();
        }
        let mut found = BTreeMap::<u16, usize>::new();
        for packet in slab.batch().iter() {
            assert_eq!(packet.bytes, packet.origin.destination_port.to_string().as_bytes());
            *found.entry(packet.origin.destination_port).or_default() += 1;
        }
        assert_eq!(found, BTreeMap::from([(9000, PACKETS), (9001, PACKETS), (9005, PACKETS)]));
        let counters = receiver.xdp_counters().unwrap();
        assert_eq!((counters.steered, counters.kernel_socket), (3 * PACKETS as u64, 0));
        assert_eq!(counters.other_port, PACKETS as u64);
        // What is not ours still reaches the kernel, and no other program can take a port of ours.
        let mut datagram = [0; 16];
        for _ in 0..PACKETS {
            assert_eq!(others.recv(&mut datagram).unwrap(), 4);
        }
        assert!(UdpSocket::bind(address(9005)).is_err());
    });
}
