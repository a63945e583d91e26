//! Packets lost at each place where loss can be provoked, with the real program: its report names the place and number
//! of every one ("Done when" 2 of the work on receiving). Needs root.
//!
//! A full socket buffer is provoked in `live/loopback.rs`, full rings of AF_XDP in `wire/xdp.rs`, each of its rings in the tests of
//! `evforge-net`.

mod common;

use common::{
    LiveProgram, PROGRAM, evforge, wait_until, wait_until_idle, wait_until_taken, while_stopped, workspace,
};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::affinity::pin_current_thread;
use evforge_net::capture::CaptureReader;
use evforge_net::socket::{SenderOptions, UdpSender};
use evforge_testkit::held_thread::HeldThread;
use evforge_testkit::patience::patience;
use evforge_testkit::veth::{self, FrameSocket, RECEIVER, Wire, with_wire};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{OnceLock, PoisonError, RwLock};
use std::time::Instant;

/// A live run at the receiver's end of a wire, and packets of a simulated detector to be sent to it.
struct Scene<'a> {
    wire: &'a Wire,
    live: LiveProgram,
    port: u16,
    frames: FrameSocket,
    packets: &'static [Vec<u8>],
    sent: usize,
}

/// Lays a wire with so many queues, starts a run with further arguments, lets `act` send, and gives the report's stream
/// and the number of packets sent.
fn scene(queues: u32, further: &[&str], act: impl FnOnce(&mut Scene<'_>) + Send) -> (Value, u64) {
    let _beside_others = SLOW_CORE.read().unwrap_or_else(PoisonError::into_inner);
    scene_beside(queues, further, act)
}

/// The same with a core that is slow, which would hold up the other tests.
fn scene_alone(further: &[&str], act: impl FnOnce(&mut Scene<'_>) + Send) -> (Value, u64) {
    let _alone = SLOW_CORE.write().unwrap_or_else(PoisonError::into_inner);
    scene_beside(1, further, |scene| {
        receive_on_a_slow_core();
        act(scene);
    })
}

/// Held by the tests that make a core slow.
static SLOW_CORE: RwLock<()> = RwLock::new(());

fn scene_beside(queues: u32, further: &[&str], act: impl FnOnce(&mut Scene<'_>) + Send) -> (Value, u64) {
    let mut outcome = None;
    with_wire(queues, 9000, |wire| {
        let folder = tempfile::tempdir().expect("a folder");
        let config = workspace().join("configs/gdgem-srs.toml");
        let packets = simulated(config.to_str().expect("text"));
        let further = [&["--address", "10.9.0.2"], further].concat();
        let live = LiveProgram::start_by(Command::new(PROGRAM), &config, folder.path(), &further);
        let port = live.address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let mut scene = Scene { wire, live, port, frames: wire.frames(), packets, sent: 0 };
        act(&mut scene);
        let Scene { live, sent, .. } = scene;
        outcome = Some((live.finish().0, sent as u64));
    });
    outcome.expect("the run has ended")
}

/// Packets of a simulated Gd-GEM, which have numbers; made once.
fn simulated(config: &str) -> &'static [Vec<u8>] {
    static PACKETS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    PACKETS.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("simulated.pcapng").to_str().expect("text").to_owned();
        evforge(&["simulate", "--config", config, "--pulses", "800", "--output", &path]);
        let mut slab = PacketSlab::new(50_000, 128 << 20);
        CaptureReader::open(path.as_ref()).expect("a capture").fill(&mut slab).expect("packets");
        slab.batch().iter().map(|packet| packet.bytes.to_vec()).collect()
    })
}

impl Scene<'_> {
    /// Sends the next packets, each in the frames that `made` makes of its number and bytes.
    fn send_as(&mut self, count: usize, made: impl Fn(usize, &[u8]) -> Vec<Vec<u8>>) {
        for number in self.sent..self.sent + count {
            for frame in made(number, &self.packets[number]) {
                // One that the receiving end drops is sent all the same.
                self.frames.offer(&frame);
            }
        }
        self.sent += count;
    }

    fn send_at_once(&mut self, count: usize) {
        let port = self.port;
        self.send_as(count, |_, bytes| vec![veth::udp(1000, port, bytes)]);
    }

    /// Sends so slowly that nothing is lost.
    fn send_slowly(&mut self, count: usize) {
        let port = self.port;
        self.send_slowly_as(count, |_, bytes| vec![veth::udp(1000, port, bytes)]);
    }

    fn send_slowly_as(&mut self, count: usize, made: impl Fn(usize, &[u8]) -> Vec<Vec<u8>>) {
        for _ in 0..count / 10 {
            self.send_as(10, &made);
            self.wait();
        }
    }

    /// Until the program has done all that it has to.
    fn wait(&self) {
        wait_until_idle(self.live.id());
    }

    /// Sends the next packets in pieces, which stay whole on a virtual wire.
    fn send_in_pieces(&mut self, sender: &mut UdpSender, count: usize) {
        let mut slab = PacketSlab::new(count, 128 << 20);
        for packet in &self.packets[self.sent..self.sent + count] {
            assert!(slab.push(packet, packet.len(), PacketOrigin::default()));
        }
        self.sent += count;
        let mut next = 0;
        while next < count {
            let deadline = Instant::now() + patience();
            next += sender.send(&slab.batch(), next, deadline).expect("sending");
        }
    }

    /// Holds the whole program up while packets are sent.
    fn stopped(&mut self, send: impl FnOnce(&mut Self)) {
        while_stopped(self.live.id(), || send(self));
        self.wait();
    }
}

fn number(stream: &Value, pointer: &str) -> u64 {
    stream.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {stream:#}"))
}

/// Packets at a place, exact or inferred; 0 if the place is not there.
fn at(stream: &Value, kind: &str, place: &str) -> u64 {
    stream["packets"][kind].get(place).and_then(Value::as_u64).unwrap_or(0)
}

/// Every packet that was sent was received or has a place, except those that are to be unlocated. Says how many are lost.
fn check_balance(stream: &Value, sent: u64, unlocated: u64) -> u64 {
    let sum = |kind: &str| -> u64 {
        let places = stream["packets"][kind].as_object().expect("locations");
        places.values().filter_map(Value::as_u64).sum()
    };
    let lost = number(stream, "/packets/lost");
    assert_eq!(number(stream, "/packets/received") + lost, sent, "{stream:#}");
    assert_eq!(number(stream, "/packets/unlocated"), unlocated, "{stream:#}");
    assert_eq!(sum("locations") + sum("inferred_locations") + unlocated, lost, "{stream:#}");
    assert_eq!(number(stream, "/unaccounted"), 0, "{stream:#}");
    lost
}

/// Packets of which fragments were missing for too long, in the namespace of this thread.
fn given_up() -> u64 {
    let counters = std::fs::read_to_string("/proc/thread-self/net/snmp").expect("counters of the kernel");
    let mut lines = counters.lines().filter(|line| line.starts_with("Ip:")).map(str::split_whitespace);
    let (Some(names), Some(mut values)) = (lines.next(), lines.next()) else { panic!("{counters}") };
    let place = { names }.position(|name| name == "ReasmFails").expect("a counter");
    values.nth(place).and_then(|value| value.parse().ok()).expect("a number")
}

/// Without UDP_GRO.
const SINGLE: [&str; 2] = ["--set", "receive.coalesce=false"];

#[test]
fn packets_with_a_wrong_checksum_are_placed_there() {
    if !veth::is_possible("packets_with_a_wrong_checksum_are_placed_there") {
        return;
    }
    let (stream, sent) = scene(1, &SINGLE, |scene| {
        let port = scene.port;
        scene.send_slowly(100);
        scene.send_slowly_as(100, |number, bytes| {
            let mut frame = veth::udp(1000, port, bytes);
            let last = frame.len() - 1;
            // Of every third packet in UDP, of every third in IP.
            match number % 3 {
                0 => frame[last] ^= 1,
                1 => frame[24] ^= 1,
                _ => {}
            }
            vec![frame]
        });
        scene.send_slowly(100);
    });
    assert_eq!(check_balance(&stream, sent, 0), 67);
    // The socket counts those of UDP alone, the host those of IP.
    assert_eq!(
        (at(&stream, "locations", "checksum"), at(&stream, "inferred_locations", "checksum")),
        (33, 34)
    );
}

#[test]
fn packets_whose_fragments_do_not_all_arrive_are_placed_there() {
    if !veth::is_possible("packets_whose_fragments_do_not_all_arrive_are_placed_there") {
        return;
    }
    let (stream, sent) = scene(1, &SINGLE, |scene| {
        // Seconds that the kernel waits for fragments, in this namespace.
        std::fs::write("/proc/sys/net/ipv4/ipfrag_time", "1").expect("a setting of the kernel");
        let port = scene.port;
        scene.send_slowly(100);
        scene.send_slowly_as(60, |number, bytes| {
            let mut fragments = veth::fragments(number as u16, port, bytes).to_vec();
            fragments.truncate(2 - usize::from(number % 2 == 0));
            fragments
        });
        wait_until("the kernel waits for the others no longer", || given_up() == 30);
        scene.send_slowly(100);
    });
    assert_eq!(check_balance(&stream, sent, 0), 30);
    assert_eq!(at(&stream, "inferred_locations", "fragment reassembly"), 30, "{stream:#}");
}

#[test]
fn packets_dropped_by_our_own_queue_are_placed_there() {
    if !veth::is_possible("packets_dropped_by_our_own_queue_are_placed_there") {
        return;
    }
    let small = ["--set", "input.threads=2", "--set", "input.queue=1MiB"];
    let settings = [&SINGLE[..], &small].concat();
    let (stream, sent) = scene(1, &settings, |scene| {
        scene.send_slowly(100);
        // The first thread forms, the other one goes on receiving.
        let held = HeldThread::first_of(scene.live.id());
        for _ in 0..36 {
            scene.send_at_once(100);
            wait_until_taken(scene.live.id());
        }
        drop(held);
        scene.wait();
        scene.send_slowly(100);
    });
    let lost = check_balance(&stream, sent, 0);
    assert!(lost > 100, "the hold-up must cost packets: {stream:#}");
    assert_eq!(at(&stream, "locations", "own queue"), lost, "{stream:#}");
}

#[test]
fn packets_in_a_queue_without_socket_are_lost_beside_and_the_others_in_the_ring() {
    let test = "packets_in_a_queue_without_socket_are_lost_beside_and_the_others_in_the_ring";
    if !veth::is_possible(test) {
        return;
    }
    let by_xdp = ["--receive", "xdp", "--interface", RECEIVER, "--set", "receive.ring=1024"];
    let one_queue = ["--set", "receive.queues=[0]", "--set", "receive.buffer=2MB"];
    let (stream, sent) = scene(2, &[&by_xdp[..], &one_queue].concat(), |scene| {
        let port = scene.port;
        scene.send_slowly(100);
        scene.stopped(|scene| {
            // Many senders, whose packets the wire spreads over its queues.
            scene.send_as(6000, |number, bytes| vec![veth::udp(1000 + number as u16 % 64, port, bytes)]);
        });
        scene.send_slowly(100);
    });
    let lost = check_balance(&stream, sent, 0);
    let of_xdp = at(&stream, "locations", "AF_XDP ring") + at(&stream, "locations", "AF_XDP memory");
    let of_kernel = at(&stream, "locations", "socket buffer");
    assert_eq!(of_xdp + of_kernel, lost, "{stream:#}");
    assert!(of_xdp > 50 && of_kernel > 50, "{of_xdp} and {of_kernel}: {stream:#}");
}

/// True if there is a core for the sender and another one for the kernel's part of receiving.
fn has_two_cores(test: &str) -> bool {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        evforge_testkit::skip(test, "one core cannot overload another");
    }
    cores >= 2
}

/// Lets the second core receive what the first sends (RPS), and slowly: each packet is compared with so many addresses
/// that a burst overflows the core's queue, which holds 1000 (`net.core.netdev_max_backlog`).
fn receive_on_a_slow_core() {
    const RULES: u32 = 10_000;
    pin_current_thread(0).expect("the first core");
    // The files of an interface are those of the namespace in which they are mounted.
    let queue = format!("/sys/class/net/{RECEIVER}/queues/rx-0");
    let script = format!(
        "mount -t sysfs none /sys && echo 2 > {queue}/rps_cpus && tc qdisc add dev {RECEIVER} ingress && tc -batch -"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).stdin(Stdio::piped());
    let mut child = command.spawn().expect("the command unshare (util-linux)");
    let rule = |number: u32| {
        let address = std::net::Ipv4Addr::from(0xc633_6400 + number);
        format!("filter add dev {RECEIVER} parent ffff: protocol ip prio 1 u32 match ip src {address}\n")
    };
    let rules: String = (0..RULES).map(rule).collect();
    child.stdin.take().expect("piped").write_all(rules.as_bytes()).expect("the rules");
    assert!(child.wait().expect("it ends").success(), "the core cannot be made slow");
}

#[test]
fn packets_dropped_by_the_kernels_backlog_are_placed_there() {
    let test = "packets_dropped_by_the_kernels_backlog_are_placed_there";
    if !veth::is_possible(test) || !has_two_cores(test) {
        return;
    }
    let (stream, sent) = scene_alone(&SINGLE, |scene| {
        scene.send_slowly(100);
        scene.send_at_once(6000);
        scene.wait();
        scene.send_slowly(100);
    });
    let lost = check_balance(&stream, sent, 0);

    assert!(lost > 50, "the burst must cost packets: {stream:#}");
    assert_eq!(at(&stream, "inferred_locations", "kernel backlog"), lost, "{stream:#}");
}

#[test]
fn where_backlog_and_socket_drop_pieces_of_packets_the_rest_is_unlocated() {
    let test = "where_backlog_and_socket_drop_pieces_of_packets_the_rest_is_unlocated";
    if !veth::is_possible(test) || !has_two_cores(test) {
        return;
    }
    let (stream, sent) = scene_alone(&["--set", "receive.buffer=2MB"], |scene| {
        let to = format!("10.9.0.2:{}", scene.port).parse().expect("an address");
        // So large that the sender never waits for the receiving core.
        let send_buffer = Some(1 << 28);
        let options = SenderOptions { segment: true, send_buffer, ..SenderOptions::new(to) };
        let mut sender = scene.wire.at_sender(|| UdpSender::open(&options)).expect("a sender");
        scene.send_slowly(100);
        scene.stopped(|scene| scene.send_in_pieces(&mut sender, 3000));
        scene.send_slowly(50);
        scene.send_in_pieces(&mut sender, 18_000);
        scene.wait();
        scene.send_slowly(100);
    });
    let counted = at(&stream, "inferred_locations", "socket buffer")
        + at(&stream, "inferred_locations", "kernel backlog");
    let lost = number(&stream, "/packets/lost");
    assert!(at(&stream, "inferred_locations", "socket buffer") > 0, "{stream:#}");
    assert!(at(&stream, "inferred_locations", "kernel backlog") > 0, "{stream:#}");
    assert!(counted < lost, "nothing came in pieces: {stream:#}");
    check_balance(&stream, sent, lost - counted);
}

#[test]
fn where_the_socket_drops_pieces_its_place_has_what_the_kernel_counted_and_no_more() {
    let test = "where_the_socket_drops_pieces_its_place_has_what_the_kernel_counted_and_no_more";
    if !veth::is_possible(test) {
        return;
    }
    let (stream, sent) = scene(1, &["--set", "receive.buffer=2MB"], |scene| {
        let to = format!("10.9.0.2:{}", scene.port).parse().expect("an address");
        let options = SenderOptions { segment: true, ..SenderOptions::new(to) };
        let mut sender = scene.wire.at_sender(|| UdpSender::open(&options)).expect("a sender");
        scene.send_slowly(100);
        scene.stopped(|scene| scene.send_in_pieces(&mut sender, 6000));
        scene.send_slowly(100);
    });
    let counted = at(&stream, "inferred_locations", "socket buffer");
    let lost = number(&stream, "/packets/lost");
    assert!(counted > 0 && counted < lost, "nothing came in pieces: {stream:#}");
    // Every packet that is missing was in one of the pieces, each of which has 64 at most.
    assert!(lost <= 64 * counted, "{stream:#}");
    check_balance(&stream, sent, lost - counted);
    let hints = stream["hints"].as_array().expect("hints");
    let expected = format!("up to {0} of the {0} unlocated", lost - counted);
    assert!(
        hints.iter().any(|hint| hint.as_str().is_some_and(|hint| hint.starts_with(&expected))),
        "{hints:?}"
    );
}

#[test]
fn frames_of_unknown_protocols_are_no_lost_packets() {
    if !veth::is_possible("frames_of_unknown_protocols_are_no_lost_packets") {
        return;
    }
    let (stream, sent) = scene(1, &[], |scene| {
        scene.send_slowly(100);
        for _ in 0..50 {
            let mut frame = veth::arp_request();
            frame[12..14].copy_from_slice(&[0x88, 0xb5]); // for experiments
            scene.frames.send(&frame);
        }
        scene.send_slowly(100);
    });
    assert_eq!(check_balance(&stream, sent, 0), 0);
}

#[test]
fn without_the_counters_of_the_host_the_places_of_our_own_are_known() {
    if !veth::is_possible("without_the_counters_of_the_host_the_places_of_our_own_are_known") {
        return;
    }
    let off = ["--set", "receive.loss_counters=\"off\"", "--set", "receive.buffer=2MB"];
    let (stream, sent) = scene(1, &[&SINGLE[..], &off].concat(), |scene| {
        let port = scene.port;
        scene.send_slowly(100);
        scene.stopped(|scene| scene.send_at_once(3000));
        scene.send_as(10, |_, bytes| {
            let mut frame = veth::udp(1000, port, bytes);
            frame[24] ^= 1;
            vec![frame]
        });
        scene.send_slowly(100);
    });
    let lost = check_balance(&stream, sent, 10);
    assert_eq!(at(&stream, "locations", "socket buffer"), lost - 10, "{stream:#}");
}
