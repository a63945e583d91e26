//! The two ends of a measurement.

use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::affinity::{allowed_cores, pin_current_thread};
use evforge_net::pace::Pace;
use evforge_net::priority::set_real_time_priority;
use evforge_net::socket::{ReceiverOptions, SenderOptions, UdpReceiver, UdpSender};
use evforge_net::thread_time::processor_time;
use evforge_net::xdp::{XdpMode, XdpOptions, XdpReceiver};
use evforge_testkit::veth::{RECEIVER, RECEIVER_ADDRESS, SENDER_ADDRESS, Wire};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PORT: u16 = 9000;
/// The buffer of the paper.
const BUFFER: usize = 12_000_000;
/// With an application that works on each packet, little can wait: what is loss-free is then what is served, and not what waits until
/// the end of a measurement.
const SMALL_BUFFER: usize = 2_000_000;
const SMALL_RING: u32 = 2048;
/// A jumbo packet takes 16.6 kB of a socket's buffer and three frames of AF_XDP: so much more for the same number of packets.
const OF_JUMBO: usize = 4;
/// Of the receiver then, so that other programs do not hold it up: a small buffer does not bear it. Not of the sender, on whose core
/// the kernel has its own work to do.
const PRIORITY: u8 = 50;
/// Nothing comes any more if nothing has come for so long.
const SILENCE: Duration = Duration::from_millis(40);

/// How packets are sent.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sending {
    /// One call for each.
    Single,
    /// Runs of packets in one call, cut by the kernel.
    Segments,
}

/// How packets are received.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Receiving {
    /// One blocking call for each.
    Blocking,
    Socket,
    Coalescing,
    Xdp,
}

/// What was measured.
pub(crate) struct Measured {
    sent: u64,
    received: u64,
    sending: Duration,
    receiver_cpu: Duration,
    /// From the first packet received to the last.
    receiving: Duration,
}

impl Measured {
    pub(crate) fn is_whole(&self) -> bool {
        self.sent == self.received && self.sent > 0
    }

    pub(crate) fn rate(&self) -> f64 {
        self.sent as f64 / self.sending.as_secs_f64()
    }

    /// Packets per second received, until the buffers were empty.
    pub(crate) fn delivered(&self) -> f64 {
        self.received as f64 / self.receiving.as_secs_f64().max(1e-9)
    }

    pub(crate) fn receiver_ns(&self) -> f64 {
        self.receiver_cpu.as_nanos() as f64 / self.received.max(1) as f64
    }
}

enum Receiver {
    Blocking(UdpSocket),
    Socket(Box<UdpReceiver>),
    Xdp(Box<XdpReceiver>),
}

impl Receiver {
    fn open(receiving: Receiving, has_application: bool, size: usize) -> Self {
        let large = if size > 1472 { OF_JUMBO } else { 1 };
        let buffer = if has_application { large * SMALL_BUFFER } else { BUFFER };
        // A thread of high priority that never sleeps would be stopped by the system.
        let spin = if has_application { Duration::from_micros(50) } else { SILENCE };
        let address = SocketAddr::from((RECEIVER_ADDRESS, PORT));
        match receiving {
            Receiving::Blocking => {
                let socket = UdpSocket::bind(address).expect("a port in the namespace");
                force_buffer(&socket, buffer);
                socket.set_read_timeout(Some(SILENCE)).expect("a time to wait");
                Self::Blocking(socket)
            }
            Receiving::Socket | Receiving::Coalescing => {
                let options = ReceiverOptions {
                    receive_buffer: buffer,
                    coalesce: receiving == Receiving::Coalescing,
                    spin,
                    ..ReceiverOptions::new(address)
                };
                Self::Socket(Box::new(UdpReceiver::open(&options).expect("a port in the namespace")))
            }
            Receiving::Xdp => {
                let modes = vec![XdpMode::Driver];
                let usual = XdpOptions::new(RECEIVER, address);
                let ring = if has_application { large as u32 * SMALL_RING } else { usual.ring };
                let options = XdpOptions { modes, spin, ring, ..usual };
                Self::Xdp(Box::new(XdpReceiver::open(&options).expect("AF_XDP in the driver")))
            }
        }
    }

    /// Receives until the sender is done and nothing comes any more, with so much work for each packet: how many packets, the
    /// time of the core from the first to the last, and that of the clock.
    fn receive(&mut self, is_done: &AtomicBool, work: Duration) -> (u64, Duration, Duration) {
        let mut received = 0;
        let (mut first, mut last) = (None, (Duration::ZERO, Instant::now()));
        // An application takes few at once, or what it has taken would be a buffer of its own.
        let mut slab = PacketSlab::new(if work.is_zero() { 4096 } else { 64 }, 8 << 20);
        let mut datagram = vec![0; 65_536];
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            let before = processor_time();
            let count = match self {
                Self::Blocking(socket) => u64::from(socket.recv_from(&mut datagram).is_ok()),
                Self::Socket(receiver) => {
                    slab.clear();
                    receiver.receive(&mut slab, Instant::now() + SILENCE).expect("receiving") as u64
                }
                Self::Xdp(receiver) => {
                    slab.clear();
                    receiver.receive(&mut slab, Instant::now() + SILENCE).expect("receiving") as u64
                }
            };
            if count > 0 {
                received += count;
                first.get_or_insert((before, Instant::now()));
                (0..count).for_each(|_| work_for(work));
                last = (processor_time(), Instant::now());
            } else if is_done.load(Ordering::Acquire) {
                break;
            }
        }
        let first = first.unwrap_or(last);
        (received, last.0.saturating_sub(first.0), last.1 - first.1)
    }
}

fn take_core(core: usize, is_urgent: bool) {
    pin_current_thread(core).expect("a core of this process");
    if is_urgent {
        set_real_time_priority(PRIORITY).expect("root may have priority");
    }
}

/// Is busy for so long, as an application is with a packet.
fn work_for(time: Duration) {
    let begun = Instant::now();
    while !time.is_zero() && begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Sets the receive buffer beyond the limit of the host, as root may.
fn force_buffer(socket: &UdpSocket, bytes: usize) {
    let bytes = bytes as libc::c_int;
    // SAFETY: the number is valid for reads of its length.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            (&raw const bytes).cast(),
            size_of_val(&bytes) as libc::socklen_t,
        )
    };
    assert_eq!(status, 0, "a buffer of {bytes} bytes: {}", std::io::Error::last_os_error());
}

/// Frames that have reached the receiver's interface.
fn frames() -> u64 {
    let devices = std::fs::read_to_string("/proc/thread-self/net/dev").expect("the interfaces");
    let line = devices
        .lines()
        .find_map(|line| line.trim().strip_prefix(RECEIVER))
        .expect("the receiver's interface");
    line.split_whitespace().nth(2).and_then(|count| count.parse().ok()).expect("a count")
}

/// Sends packets of `size` bytes for so long, at a rate or as fast as can be, and receives them, with so much work for each.
pub(crate) fn run(
    wire: &Wire,
    sending: Sending,
    receiving: Receiving,
    size: usize,
    rate: Option<f64>,
    time: Duration,
    work: Duration,
) -> Measured {
    // As they were before the first thread was bound to one of them.
    static CORES: OnceLock<Vec<usize>> = OnceLock::new();
    let cores = CORES.get_or_init(|| allowed_cores().expect("cores"));
    let core = |index: usize| cores[index % cores.len()];
    let has_application = !work.is_zero();
    let mut receiver = Receiver::open(receiving, has_application, size);
    let destination = SocketAddr::from((RECEIVER_ADDRESS, PORT));
    let source = Some(SocketAddr::from((SENDER_ADDRESS, 0)));
    let pace = rate.map_or(Pace::Unpaced, Pace::PacketsPerSecond);
    let options = SenderOptions {
        source,
        pace,
        segment: true,
        send_buffer: Some(4_000_000),
        ..SenderOptions::new(destination)
    };
    enum Sender {
        Single(UdpSocket),
        Segments(Box<UdpSender>),
    }
    let sender = wire.at_sender(|| match sending {
        Sending::Single => {
            Sender::Single(UdpSocket::bind((std::net::Ipv4Addr::from(SENDER_ADDRESS), 0)).expect("a socket"))
        }
        Sending::Segments => Sender::Segments(Box::new(UdpSender::open(&options).expect("a socket"))),
    });
    let before = frames();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            take_core(core(0), false);
            let sent = match sender {
                Sender::Single(socket) => send_single(&socket, destination, size, rate, time),
                Sender::Segments(mut sender) => send_segments(&mut sender, size, time),
            };
            is_done.store(true, Ordering::Release);
            sent
        });
        take_core(core(1), has_application);
        let (received, receiver_cpu, receiving_time) = receiver.receive(&is_done, work);
        let (sent, sending) = thread.join().expect("the sender ends");
        if receiving == Receiving::Socket {
            let frames = frames() - before;
            assert!(
                frames >= sent,
                "{frames} frames of {sent} packets: segments are not cut before the wire"
            );
        }
        if let (Receiver::Socket(receiver), Receiving::Coalescing, None, true) =
            (&receiver, receiving, rate, work.is_zero())
        {
            let coalesced = receiver.counters().coalesced;
            assert!(
                size > 1472 || coalesced * 2 > received,
                "only {coalesced} of {received} packets coalesced"
            );
        }
        Measured { sent, received, sending, receiver_cpu, receiving: receiving_time }
    })
}

fn send_single(
    socket: &UdpSocket,
    destination: SocketAddr,
    size: usize,
    rate: Option<f64>,
    time: Duration,
) -> (u64, Duration) {
    let packet = vec![0x5A; size];
    let (begun, mut sent) = (Instant::now(), 0_u64);
    loop {
        let elapsed = begun.elapsed();
        if elapsed >= time {
            return (sent, elapsed);
        }
        if rate.is_some_and(|rate| sent as f64 > elapsed.as_secs_f64() * rate) {
            std::hint::spin_loop();
            continue;
        }
        socket.send_to(&packet, destination).expect("a packet");
        sent += 1;
    }
}

fn send_segments(sender: &mut UdpSender, size: usize, time: Duration) -> (u64, Duration) {
    let mut slab = PacketSlab::new(1024, 1024 * size);
    while slab.push(&vec![0x5A; size], size, PacketOrigin::default()) {}
    let begun = Instant::now();
    while begun.elapsed() < time {
        let mut next = 0;
        while next < slab.len() && begun.elapsed() < time {
            next = sender.send(&slab.batch(), next, begun + time).expect("packets");
        }
    }
    (sender.report().packets, begun.elapsed())
}
