//! How fast loads are made and sent, beside how fast they are formed.
//!
//! The first table is about single cores: readouts per second from truth to packets, and what the pipeline under test
//! forms of the same packets. Where the first is less than the second, packets are built before they are sent.
//!
//! Moved is how fast a load that was built before gets the times and numbers of its next pass.
//!
//! The second is about sending packets that were built before, into a pair of virtual interfaces in a network
//! namespace of its own, whose other end throws everything away: our sender beside a plain loop of single sends, in
//! turns. It needs root.
//!
//! `cargo bench -p evforge-lab --bench simulated_load`; EVFORGE_BENCH_SECONDS sets the time per line.

use evforge_config::Config;
use evforge_core::packet::PacketSlab;
use evforge_lab::benchmark::measure;
use evforge_lab::simulation::{simulation, slab_of};
use evforge_net::pace::Pace;
use evforge_net::socket::{SenderOptions, UdpSender};
use evforge_sim::repeated::RepeatedLoad;
use evforge_testkit::bench_history::{Figure, keep};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Set in the process that runs in the namespace.
const INSIDE: &str = "EVFORGE_BENCH_INSIDE";
/// Pulses of a load that are formed, and moved in time.
const PULSES: usize = 8;
const DESTINATION: &str = "10.199.0.2:9000";

/// What the namespace needs. Frames for the other end carry the address of nobody, so that it drops them at once.
const SET_UP: &str = "set -e
ip link set lo up
ip link add sender type veth peer name sink
ip link set sender mtu 9000
ip link set sink mtu 9000
ip address add 10.199.0.1/24 dev sender
ip link set sender up
ip link set sink up
ip neighbour add 10.199.0.2 lladdr 02:00:00:00:00:99 dev sender nud permanent
exec \"$0\"";

fn main() {
    if std::env::var_os(INSIDE).is_some() {
        return send_all();
    }
    make_all();
    let program = std::env::current_exe().expect("this program has a file");
    let inside =
        Command::new("unshare").args(["--net", "sh", "-c", SET_UP]).arg(program).env(INSIDE, "1").status();
    match inside {
        Ok(status) if status.success() => {}
        Ok(_) => {
            println!("sending was not measured: a network namespace needs root and the program ip (iproute2)")
        }
        Err(error) => println!("sending was not measured: unshare (util-linux) cannot be started: {error}"),
    }
}

fn seconds() -> f64 {
    std::env::var("EVFORGE_BENCH_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3.0)
}

fn config(name: &str, neutrons: &str) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    Config::read(&path, &[format!("simulation.beam.neutrons={neutrons}")])
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Truth to packets and packets to events, each on one core.
fn make_all() {
    println!(
        "{:<20} {:>10} {:>10} {:>12} {:>12} {:>8} {:>13} {:>10}",
        "configuration",
        "neutrons/s",
        "readouts",
        "made Mread/s",
        "form Mread/s",
        "made/form",
        "moved Mread/s",
        "moved/form"
    );
    for (name, neutrons) in [
        ("sonde.toml", "20MHz"),
        ("multigrid.toml", "2MHz"),
        ("trex.toml", "5MHz"),
        ("multiblade.toml", "100kHz"),
        ("freia.toml", "5MHz"),
        ("gdgem-srs.toml", "100kHz"),
        ("nmx.toml", "1MHz"),
    ] {
        let config = config(name, neutrons);
        let mut simulation = simulation(&config).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (mut readouts, mut slabs) = (0, Vec::new());
        let (mut kept, mut kept_readouts) = (Vec::new(), 0);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs_f64(seconds()) || slabs.is_empty() {
            let pulse = simulation.next_pulse();
            readouts += pulse.readouts;
            slabs.push(slab_of(&pulse.packets));
            if slabs.len() <= PULSES {
                kept_readouts += pulse.readouts;
                kept.extend(pulse.packets);
            }
        }
        let made = readouts as f64 / begun.elapsed().as_secs_f64();
        // Passes must be alike: those of some pulses, which begin with a fresh detector each time.
        slabs.truncate(PULSES);
        let measured =
            measure(&config, &slabs, None, &[], seconds()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let formed = measured.readouts_per_second();
        for (figure, value, unit) in
            [("readouts made", made / 1e6, "M/s"), ("made / formed", made / formed, "ratio")]
        {
            keep(&Figure {
                bench: "simulating",
                case: &format!("{name} at {neutrons}"),
                figure,
                value,
                unit,
                keys_per_second: Some(measured.keys_per_second),
            });
        }
        let length_ns = PULSES as u64 * 71_428_571;
        let moved = simulation.repeated(kept, length_ns).map(|load| moved(load, kept_readouts));
        if let Some(moved) = moved {
            keep(&Figure {
                bench: "simulating",
                case: &format!("{name} at {neutrons}"),
                figure: "moved / formed",
                value: moved / formed,
                unit: "ratio",
                keys_per_second: Some(measured.keys_per_second),
            });
        }
        println!(
            "{name:<20} {neutrons:>10} {readouts:>10} {:>12.2} {:>12.2} {:>8.2} {:>13.1} {:>10.1}",
            made / 1e6,
            formed / 1e6,
            made / formed,
            moved.unwrap_or(f64::NAN) / 1e6,
            moved.unwrap_or(f64::NAN) / formed
        );
    }
}

/// Readouts per second of a load that was built before and is moved in time.
fn moved(mut load: RepeatedLoad, readouts: u64) -> f64 {
    let (begun, mut passes) = (Instant::now(), 0_u64);
    while passes < 3 || begun.elapsed() < Duration::from_secs_f64(seconds() / 3.0) {
        load.move_on();
        passes += 1;
    }
    (readouts * passes) as f64 / begun.elapsed().as_secs_f64()
}

/// Sends packets that were built before, and others of the sizes of the measurements that ours are compared with.
fn send_all() {
    println!(
        "\n{:<34} {:>8} {:>12} {:>12} {:>8} {:>8} {:>14}",
        "packets built before", "bytes", "single kp/s", "ours kp/s", "Gbit/s", "ratio", "segmented kp/s"
    );
    let of_size = |size: usize| {
        let mut slab = PacketSlab::new(1024, 1024 * size);
        while slab.push(&vec![0x5A; size], size, evforge_core::packet::PacketOrigin::default()) {}
        (format!("{size} bytes each"), slab)
    };
    let of_detector = |(name, neutrons): (&str, &str)| {
        let config = config(name, neutrons);
        let mut simulation = simulation(&config).unwrap_or_else(|error| panic!("{name}: {error}"));
        (format!("{name} at {neutrons}"), slab_of(&simulation.next_pulse().packets))
    };
    let sizes = [64, 512, 1472, 8972].map(of_size);
    let detectors = [("sonde.toml", "20MHz"), ("freia.toml", "5MHz"), ("nmx.toml", "1MHz")].map(of_detector);
    for (name, slab) in sizes.into_iter().chain(detectors) {
        let share = Duration::from_secs_f64(seconds() / 6.0);
        let (mut single, mut ours, mut segmented) = (Vec::new(), Vec::new(), Vec::new());
        // In turns: what else the machine does meets all alike.
        for _ in 0..3 {
            single.push(single_sends(&slab, share));
            ours.push(our_sends(&slab, share, false));
            segmented.push(our_sends(&slab, share, true));
        }
        let [single, ours, segmented] = [single, ours, segmented].map(median);
        let bytes = slab.batch().iter().map(|packet| packet.bytes.len()).sum::<usize>() as f64;
        let size = bytes / slab.batch().len() as f64;
        for (figure, value) in [("single sends", single), ("our sender", ours)] {
            keep(&Figure {
                bench: "sending",
                case: &name,
                figure,
                value: value / 1e3,
                unit: "kp/s",
                keys_per_second: None,
            });
        }
        println!(
            "{name:<34} {size:>8.0} {:>12.0} {:>12.0} {:>8.2} {:>8.2} {:>14.0}",
            single / 1e3,
            ours / 1e3,
            ours * size * 8e-9,
            ours / single,
            segmented / 1e3
        );
    }
    println!("segmented: runs of packets of one size travel as one (UDP_SEGMENT), which no wire does");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Packets per second of a loop of single sends on a connected socket.
fn single_sends(slab: &PacketSlab, time: Duration) -> f64 {
    let socket = UdpSocket::bind("10.199.0.1:0").expect("a socket in the namespace");
    socket.connect(DESTINATION).expect("a way to the other end");
    let (begun, mut sent) = (Instant::now(), 0_u64);
    while begun.elapsed() < time {
        for packet in slab.batch().iter().take(1024) {
            socket.send(packet.bytes).expect("a packet");
            sent += 1;
        }
    }
    sent as f64 / begun.elapsed().as_secs_f64()
}

/// Packets per second of our sender.
fn our_sends(slab: &PacketSlab, time: Duration, segment: bool) -> f64 {
    let destination: SocketAddr = DESTINATION.parse().expect("an address");
    let options = SenderOptions { pace: Pace::Unpaced, segment, ..SenderOptions::new(destination) };
    let mut sender = UdpSender::open(&options).expect("a socket in the namespace");
    let begun = Instant::now();
    while begun.elapsed() < time {
        let mut next = 0;
        while next < slab.batch().len().min(1024) {
            next = sender.send(&slab.batch(), next, begun + time).expect("packets");
            if begun.elapsed() >= time {
                break;
            }
        }
    }
    sender.report().packets as f64 / begun.elapsed().as_secs_f64()
}
