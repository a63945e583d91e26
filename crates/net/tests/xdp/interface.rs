//! AF_XDP while its interface is being opened, goes down, is removed or changed. Needs root.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::mixture::{PORT, payload};
use evforge_core::packet::PacketSlab;
use evforge_net::xdp::{XdpMode, XdpOptions, XdpReceiver};
use evforge_testkit::patience::wait_until;
use evforge_testkit::veth::{self, RECEIVER, SENDER, ip, with_wire};

fn options() -> XdpOptions {
    let modes = vec![XdpMode::Driver];
    XdpOptions { modes, ring: 4096, frames: 4096, ..XdpOptions::new(RECEIVER, ([0, 0, 0, 0], PORT).into()) }
}

/// Numbers of all packets that come until the one with this number is there.
fn numbers_until(receiver: &mut XdpReceiver, last: u32) -> Vec<u32> {
    let (mut numbers, mut slab) = (Vec::new(), PacketSlab::new(512, 1 << 20));
    wait_until(format!("packet {last}"), || {
        slab.clear();
        while receiver.receive(&mut slab, Instant::now()).expect("receiving") > 0 {
            for packet in slab.batch().iter() {
                numbers.push(u32::from_be_bytes(packet.bytes[..4].try_into().expect("a number")));
            }
            slab.clear();
        }
        numbers.contains(&last)
    });
    numbers
}

/// Lets the receiver look at its interface, where no packets come, until something is as expected.
fn until(receiver: &mut XdpReceiver, what: &str, is_so: impl Fn(&XdpReceiver) -> bool) {
    let mut slab = PacketSlab::new(512, 1 << 20);
    wait_until(what, || {
        let _ = receiver.receive(&mut slab, Instant::now() + Duration::from_millis(20)).expect("receiving");
        is_so(receiver)
    });
}

#[test]
fn what_comes_while_af_xdp_is_being_opened_is_counted_and_nothing_is_out_of_order() {
    let test = "what_comes_while_af_xdp_is_being_opened_is_counted_and_nothing_is_out_of_order";
    if !veth::is_possible(test) {
        return;
    }
    with_wire(4, 1500, |wire| {
        let (frames, over, next) = (wire.frames(), AtomicBool::new(false), AtomicU32::new(0));
        let (received, counters, sent) = std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                for number in 0..200_000 {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    // One source: its packets have an order.
                    frames.send(&veth::udp(1000, PORT, &payload(number, 100)));
                    next.store(number + 1, Ordering::Relaxed);
                    // So few in a second that the rings hold them.
                    std::thread::sleep(Duration::from_micros(100));
                }
            });
            let more_are_sent = || {
                let before = next.load(Ordering::Relaxed);
                wait_until("more packets", || next.load(Ordering::Relaxed) >= before + 200);
            };
            more_are_sent();
            let options = XdpOptions { ring: 32_768, frames: 32_768, ..options() };
            let mut receiver = XdpReceiver::open(&options).expect("AF_XDP on a virtual wire");
            // There are packets in the rings while the kernel's are still there.
            more_are_sent();
            over.store(true, Ordering::Relaxed);
            sending.join().expect("the sender");
            let sent = next.load(Ordering::Relaxed);
            let received = numbers_until(&mut receiver, sent - 1);
            (received, receiver.xdp_counters().expect("counters"), sent)
        });
        assert!(counters.before_start > 0 && received.len() > 100, "{counters:?}");
        // What came before the port was taken has reached nobody: the first ones, all in a row.
        let first = received[0];
        let expected: Vec<u32> = (first..sent).collect();
        assert!(received == expected, "{} of {} from {first} on", received.len(), expected.len());
        assert!(u64::from(first) >= counters.before_start, "{first} {counters:?}");
    });
}

#[test]
fn what_the_kernel_had_taken_when_steering_began_comes_before_what_is_in_the_rings() {
    let test = "what_the_kernel_had_taken_when_steering_began_comes_before_what_is_in_the_rings";
    if !veth::is_possible(test) {
        return;
    }
    with_wire(1, 1500, |wire| {
        let mut receiver = XdpReceiver::open(&options()).expect("AF_XDP on a virtual wire");
        let frames = wire.frames();
        // Fragments are the kernel's to put together: this one is in its socket when the others are in the ring.
        veth::fragments(7, PORT, &payload(0, 900)).iter().for_each(|fragment| frames.send(fragment));
        (1..20).for_each(|number| frames.send(&veth::udp(1000, PORT, &payload(number, 100))));
        wait_until("all frames are with the receiver", || {
            receiver.xdp_counters().expect("counters").steered == 19
        });
        assert_eq!(numbers_until(&mut receiver, 19), Vec::from_iter(0..20));
    });
}

#[test]
fn an_interface_that_was_down_is_told_of_and_received_from_again() {
    if !veth::is_possible("an_interface_that_was_down_is_told_of_and_received_from_again") {
        return;
    }
    with_wire(1, 1500, |wire| {
        let mut receiver = XdpReceiver::open(&options()).expect("AF_XDP on a virtual wire");
        assert!(receiver.alarms().is_empty());
        // Shorter than any look at the interface could notice.
        ip(&format!("link set {RECEIVER} down"));
        ip(&format!("link set {RECEIVER} up"));
        until(&mut receiver, "a flap", |receiver| {
            receiver.alarms().iter().any(|alarm| alarm.contains("down") && alarm.contains("again"))
        });
        let counters = receiver.xdp_counters().expect("counters");
        assert!(counters.interface_down >= 1 && counters.interface_gone == 0, "{counters:?}");
        let frames = wire.frames();
        (0..100).for_each(|number| frames.send(&veth::udp(1000, PORT, &payload(number, 100))));
        assert_eq!(numbers_until(&mut receiver, 99), Vec::from_iter(0..100));
        // The other end, which takes the carrier with it.
        wire.at_sender(|| ip(&format!("link set {SENDER} down")));
        until(&mut receiver, "no carrier", |receiver| {
            receiver.alarms().iter().any(|alarm| alarm.contains("is not back yet"))
        });
    });
}

#[test]
fn an_interface_that_was_removed_is_attached_to_again_when_it_returns() {
    if !veth::is_possible("an_interface_that_was_removed_is_attached_to_again_when_it_returns") {
        return;
    }
    with_wire(1, 1500, |wire| {
        let mut receiver = XdpReceiver::open(&options()).expect("AF_XDP on a virtual wire");
        let send = |wire: &veth::Wire, numbers: std::ops::Range<u32>| {
            let frames = wire.frames();
            numbers.for_each(|number| frames.send(&veth::udp(1000, PORT, &payload(number, 100))));
        };
        send(wire, 0..100);
        assert_eq!(numbers_until(&mut receiver, 99).len(), 100);
        wire.remove_cable();
        until(&mut receiver, "removed", |receiver| receiver.mode().is_none());
        let alarms = receiver.alarms().join(" ");
        assert!(alarms.contains("removed once") && alarms.contains("is not back yet"), "{alarms}");
        wire.lay_cable(1, 1500);
        until(&mut receiver, "back", |receiver| receiver.mode().is_some());
        send(wire, 100..200);
        assert_eq!(numbers_until(&mut receiver, 199), Vec::from_iter(100..200));
        let counters = receiver.xdp_counters().expect("counters");
        // What was counted before is still there.
        assert_eq!((counters.frames, counters.steered, counters.interface_gone), (200, 200, 1));
        assert!(receiver.alarms()[0].contains("it is received from again"), "{:?}", receiver.alarms());
    });
}

#[test]
fn an_mtu_that_was_changed_is_named_and_longer_packets_are_taken() {
    if !veth::is_possible("an_mtu_that_was_changed_is_named_and_longer_packets_are_taken") {
        return;
    }
    with_wire(1, 1500, |wire| {
        let mut receiver = XdpReceiver::open(&options()).expect("AF_XDP on a virtual wire");
        assert!(receiver.notes().is_empty());
        ip(&format!("link set {RECEIVER} mtu 3000"));
        wire.at_sender(|| ip(&format!("link set {SENDER} mtu 3000")));
        until(&mut receiver, "the MTU", |receiver| !receiver.notes().is_empty());
        let note = receiver.notes().join(" ");
        assert!(
            note.contains("The MTU of wire-r was changed") && note.contains("from 1500 to 3000"),
            "{note}"
        );
        let frames = wire.frames();
        (0..10).for_each(|number| frames.send(&veth::udp(1000, PORT, &payload(number, 2900))));
        assert_eq!(numbers_until(&mut receiver, 9).len(), 10);
        assert_eq!(receiver.xdp_counters().expect("counters").merged, 0);
    });
}
