//! A pulse in a socket that nobody reads meanwhile: what fits is kept whole, and of what does not, exactly the rest is lost.

use evforge_core::packet::PacketSlab;
use evforge_core::quantity::{Frequency, Rate};
use evforge_lab::link::numbered::*;
use evforge_lab::link::{Pulses, Schedule};
use evforge_net::socket::{ReceiverOptions, UdpReceiver};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Asked for; Linux doubles it.
const BUFFER: usize = 100_000;

fn receiver() -> UdpReceiver {
    let options = ReceiverOptions {
        receive_buffer: BUFFER,
        coalesce: false,
        ..ReceiverOptions::new(([127, 0, 0, 1], 0).into())
    };
    UdpReceiver::open(&options).expect("a port of loopback")
}

/// Sends one pulse of so many packets.
fn send_pulse(receiver: &UdpReceiver, size: usize, packets: usize) -> SentReport {
    let pulses = Pulses { frequency: Frequency { millihertz: 14_000 }, peak_factor: 50.0 };
    let rate = Rate::Packets(14 * packets as u64);
    let traffic = Traffic::new(TrafficSettings {
        layout: evforge_wire::numbered::NumberedLayout::Evforge,
        flows: 1,
        sizes: Sizes::all(size).expect("a size"),
        schedule: Some(Schedule::new(rate, Some(pulses)).expect("a schedule")),
        largest_packets: Some(packets as u64),
        largest_bytes: None,
        faults: Vec::new(),
    });
    let settings = SendSettings::new(receiver.local_address());
    send(traffic.expect("traffic"), &settings, &AtomicBool::new(false)).expect("packets over loopback")
}

/// Reads everything: an account of it.
fn read(receiver: &mut UdpReceiver) -> Account {
    let mut slab = PacketSlab::new(4096, 64 << 20);
    let mut account = Account::default();
    while receiver.receive(&mut slab, Instant::now()).expect("packets") > 0 {
        slab.batch().iter().for_each(|packet| account.take(&packet));
        slab.clear();
    }
    account
}

#[test]
fn a_pulse_that_fits_is_kept_whole_and_one_twice_as_large_loses_exactly_the_rest() {
    for size in [64, 1472, 8972] {
        let mut trial = receiver();
        send_pulse(&trial, size, 4);
        let each = trial.buffer_used().unwrap() / 4;
        assert!(each > size, "{size} bytes take {each} bytes of the buffer");
        assert_eq!(read(&mut trial).counters().packets_counted, 4);

        let doubled = 2 * trial.buffer().granted;
        let fits = doubled / each;
        let mut one = receiver();
        let sent = send_pulse(&one, size, fits);
        assert_eq!(sent.pulses.map(|pulses| pulses.count), Some(1));
        assert_eq!(one.buffer_used().unwrap(), fits * each, "every packet takes the same");
        let account = read(&mut one);
        assert_eq!((account.counters().packets_counted, account.lost()), (fits as u64, 0));
        assert_eq!(one.drops().unwrap().count, 0);

        let mut other = receiver();
        let sent = send_pulse(&other, size, 2 * fits);
        let account = read(&mut other);
        let kept = account.counters().packets_counted;
        // Kernels differ by one packet: whether the last one may begin or must end inside the buffer.
        assert!((fits as u64..=fits as u64 + 1).contains(&kept), "{kept} of {fits} packets of {size} bytes");
        assert_eq!(other.drops().unwrap().count, 2 * fits as u64 - kept);
        // The rest is what came last: nothing is missing between the packets kept, and only the sender knows.
        assert_eq!((account.lost(), account.flows()[0].sequence().sent), (0, kept));
        assert_eq!(sent.packets, 2 * fits as u64);
    }
}
