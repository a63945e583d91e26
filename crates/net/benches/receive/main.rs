//! The highest rate at which no packet is lost, over a pair of virtual interfaces between two namespaces: ours beside the
//! method of *Reliable UDP at 10 Gb/s* (one `sendto`, one blocking `recvfrom` for each packet, 12 MB of buffer), in turns.
//!
//! | column | sends | receives |
//! |---|---|---|
//! | baseline | one `sendto` a packet | one blocking `recvfrom` a packet |
//! | receiver | one `sendto` a packet | [`UdpReceiver`], spinning, packet by packet |
//! | receiver (XDP) | one `sendto` a packet | [`XdpReceiver`] in the driver, spinning |
//! | sockets | [`UdpSender`] in segments, which are cut before the wire | the same |
//! | GRO | the same | [`UdpReceiver`] with UDP_GRO |
//! | AF_XDP | the same | [`XdpReceiver`] in the driver |
//!
//! On a virtual wire the sender's core does most of the work of receiving, so the rates are those of the *system*; how much
//! of its core the receiver itself needs stands beside, in nanoseconds for each packet. Sender and receiver have a core each.
//!
//! Then each system is overloaded, with an application that spends 5 us on each packet: what of its loss-free rate still arrives when
//! twice as much is sent.
//!
//! `cargo bench -p evforge-net --bench receive` needs root, `ip` and `ethtool`; EVFORGE_BENCH_SECONDS sets the time of a
//! measurement (0.3), EVFORGE_BENCH_OVERLOAD=1 leaves the rest out.

mod ends;
mod overload;

use ends::{Receiving, Sending, run};
use evforge_testkit::bench_history::{Figure, keep};
use evforge_testkit::veth::{self, RECEIVER, SENDER, Wire, with_wire};
use std::time::Duration;

/// Bytes of payload.
const SIZES: [usize; 4] = [64, 512, 1472, 8972];
/// Steps of the search between a rate that is loss-free and one that is not.
const STEPS: usize = 6;
/// Measurements of each kind, of which the median counts.
const ROUNDS: usize = 3;

/// What is measured.
#[derive(Clone, Copy)]
struct System {
    name: &'static str,
    sending: Sending,
    receiving: Receiving,
}

const SYSTEMS: [System; 6] = [
    System { name: "baseline", sending: Sending::Single, receiving: Receiving::Blocking },
    System { name: "receiver", sending: Sending::Single, receiving: Receiving::Socket },
    System { name: "receiver (XDP)", sending: Sending::Single, receiving: Receiving::Xdp },
    System { name: "sockets", sending: Sending::Segments, receiving: Receiving::Socket },
    System { name: "GRO", sending: Sending::Segments, receiving: Receiving::Coalescing },
    System { name: "AF_XDP", sending: Sending::Segments, receiving: Receiving::Xdp },
];

/// The highest loss-free rate found, in packets per second, and what the receiver needed for a packet there.
#[derive(Clone, Copy, Default)]
struct Best {
    rate: f64,
    receiver_ns: f64,
    /// The sender could not send faster.
    is_senders: bool,
}

fn main() {
    // `cargo test --benches` asks for nothing to be measured.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    if !veth::is_possible("the bench of receiving") {
        return;
    }
    let seconds =
        std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(0.3);
    let time = Duration::from_secs_f64(seconds);
    if std::env::var_os("EVFORGE_BENCH_OVERLOAD").is_some_and(|value| value == "1") {
        return overload::measure(time);
    }
    println!(
        "highest loss-free rate in thousand packets per second (its ratio to the baseline; ns of the receiver's core)"
    );
    print!("{:>6}", "bytes");
    SYSTEMS.iter().for_each(|system| print!("{:>26}", system.name));
    println!();
    for size in SIZES {
        let mut found: [Vec<Best>; SYSTEMS.len()] = Default::default();
        // In turns: what else the machine does meets all alike.
        for _ in 0..ROUNDS {
            for (system, found) in SYSTEMS.iter().zip(&mut found) {
                with_wire(1, 9000, |wire| {
                    prepare(wire, system.receiving);
                    found.push(search(wire, *system, size, time, Duration::ZERO));
                });
            }
        }
        print!("{size:>6}");
        let best = found.map(median);
        for (system, best) in SYSTEMS.iter().zip(&best) {
            keep(&Figure {
                bench: "receiving",
                case: &format!("{size} bytes, {}", system.name),
                figure: "highest loss-free rate",
                value: best.rate / 1e3,
                unit: "kp/s",
                keys_per_second: None,
            });
        }
        for system in best {
            let mark = if system.is_senders { "=" } else { " " };
            let ratio = system.rate / best[0].rate.max(1.0);
            print!("{:>9.0}{mark}{ratio:>7.2} x{:>5.0} ns", system.rate / 1e3, system.receiver_ns);
        }
        println!();
    }
    println!("= the sender could not send faster");
    overload::measure(time);
}

/// Lets segments be cut before the wire, as a network card does it, and frames be coalesced behind it where that is measured.
fn prepare(wire: &Wire, receiving: Receiving) {
    wire.at_sender(|| veth::ethtool(SENDER, "tx-udp-segmentation off"));
    if receiving == Receiving::Coalescing {
        veth::ethtool(RECEIVER, "gro on rx-udp-gro-forwarding on");
    }
}

/// The highest rate without loss, by halving.
fn search(wire: &Wire, system: System, size: usize, time: Duration, work: Duration) -> Best {
    let measure = |rate| run(wire, system.sending, system.receiving, size, rate, time, work);
    let unpaced = measure(None);
    let mut best = Best::default();
    if unpaced.is_whole() {
        return Best { rate: unpaced.rate(), receiver_ns: unpaced.receiver_ns(), is_senders: true };
    }
    // What arrives of too much is near to what can be received.
    let (mut low, mut high) = (0.0, if work.is_zero() { unpaced.rate() } else { 1.3 * unpaced.delivered() });
    for _ in 0..STEPS {
        let rate = (low + high) / 2.0;
        let measured = measure(Some(rate));
        if measured.is_whole() {
            low = rate;
            best = Best { rate: measured.rate(), receiver_ns: measured.receiver_ns(), is_senders: false };
        } else {
            high = rate;
        }
    }
    best
}

/// The median by rate.
fn median(mut found: Vec<Best>) -> Best {
    found.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    found.get(found.len() / 2).copied().unwrap_or_default()
}
