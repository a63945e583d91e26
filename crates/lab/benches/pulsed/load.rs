//! One load over the wire: pulses of numbered packets to a receiver that works for a stated time on each.

use evforge_core::packet::PacketSlab;
use evforge_core::quantity::{Frequency, Rate};
use evforge_lab::link::numbered::*;
use evforge_lab::link::{Pulses, Schedule, work_for};
use evforge_net::affinity::{allowed_cores, pin_current_thread};
use evforge_net::priority::set_real_time_priority;
use evforge_net::socket::{ReceiverOptions, SenderOptions, UdpReceiver, UdpSender};
use evforge_net::thread_time::processor_time;
use evforge_testkit::veth::{RECEIVER_ADDRESS, SENDER_ADDRESS, Wire};
use evforge_wire::numbered::NumberedHeader;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PORT: u16 = 9000;
/// Packets that the receiver fetches at once, and so takes out of the buffer: few, so that they do not count.
const BATCH: usize = 16;
/// Both ends are to be held up by other programs as little as may be.
const PRIORITY: u8 = 50;

/// The pulses of the source.
pub(crate) const FREQUENCY: Frequency = Frequency { millihertz: 14_000 };

/// The receiver.
#[derive(Clone, Copy)]
pub(crate) struct Receiving {
    /// Bytes of payload of each packet.
    pub(crate) size: usize,
    /// Receive buffer to ask for, which Linux doubles.
    pub(crate) buffer: usize,
    /// Spent on each packet.
    pub(crate) work: Duration,
}

/// What is sent.
#[derive(Clone, Copy)]
pub(crate) struct Sending {
    /// Packets in each pulse; none: as many as can be, without pulses.
    pub(crate) pulse: Option<u64>,
    /// The period over the time of a pulse.
    pub(crate) factor: f64,
    pub(crate) time: Duration,
}

/// One pulse as it was received.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReceivedPulse {
    pub(crate) packets: u64,
    first_ns: u64,
    last_ns: u64,
}

impl ReceivedPulse {
    /// How long its packets took to be sent.
    pub(crate) fn seconds(&self) -> f64 {
        (self.last_ns - self.first_ns) as f64 / 1e9
    }
}

/// What happened to a load.
pub(crate) struct Outcome {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// The pulses, whose packets were all sent.
    pub(crate) pulses: Vec<ReceivedPulse>,
    /// Processor time of the receiver for each packet, in nanoseconds.
    pub(crate) packet_ns: f64,
}

/// True if runs of packets of this size are given to the kernel in one piece, and cut before the wire as a card does it. Jumbo
/// packets are not: out of a piece they take less of the buffer than by themselves, and a pulse has both.
fn is_segmented(size: usize) -> bool {
    size <= 1472
}

fn options(receiving: &Receiving) -> ReceiverOptions {
    ReceiverOptions {
        receive_buffer: receiving.buffer,
        coalesce: false,
        batch: BATCH,
        ..ReceiverOptions::new((RECEIVER_ADDRESS, PORT).into())
    }
}

/// Bytes that one packet of this size takes of the receive buffer.
pub(crate) fn bytes_in_buffer(wire: &Wire, size: usize) -> usize {
    const PACKETS: usize = 8;
    let receiving = Receiving { size, buffer: 1_000_000, work: Duration::ZERO };
    let receiver = UdpReceiver::open(&options(&receiving)).expect("a port in the namespace");
    let options =
        SenderOptions { segment: is_segmented(size), ..SenderOptions::new(receiver.local_address()) };
    let mut slab = PacketSlab::new(PACKETS, PACKETS * size);
    while slab.push(&vec![0; size], size, Default::default()) {}
    let mut sender = wire.at_sender(|| UdpSender::open(&options).expect("a socket"));
    let mut next = 0;
    while next < slab.len() {
        next = sender.send(&slab.batch(), next, Instant::now()).expect("packets");
    }
    // The kernel of the sender puts them there before it returns; if it is interrupted, a little later.
    std::thread::sleep(Duration::from_millis(50));
    receiver.buffer_used().expect("a count") / PACKETS
}

/// Sends a load, and receives it, while another thread does `beside` until it is told that it is over.
pub(crate) fn run(
    wire: &Wire,
    receiving: &Receiving,
    sending: &Sending,
    beside: &(dyn Fn(&AtomicBool) + Sync),
) -> Outcome {
    let cores = allowed_cores().expect("cores");
    let core = |index: usize| cores[index % cores.len()];
    let receiver = UdpReceiver::open(&options(receiving)).expect("a port in the namespace");
    let schedule = sending.pulse.map(|packets| {
        let pulses = Pulses { frequency: FREQUENCY, peak_factor: sending.factor };
        let rate = packets * FREQUENCY.millihertz / 1000;
        Schedule::new(Rate::Packets(rate), Some(pulses)).expect("a possible schedule")
    });
    let traffic = Traffic::new(TrafficSettings {
        layout: evforge_wire::numbered::NumberedLayout::Evforge,
        flows: 1,
        sizes: Sizes::all(receiving.size).expect("a possible size"),
        schedule,
        largest_packets: None,
        largest_bytes: None,
        faults: Vec::new(),
    });
    let traffic = traffic.expect("possible traffic");
    let settings = SendSettings {
        source: Some(SocketAddr::from((SENDER_ADDRESS, 0))),
        segment: Some(is_segmented(receiving.size)),
        send_buffer: Some(4_000_000),
        core: Some(core(0)),
        duration: Some(sending.time),
        ..SendSettings::new((RECEIVER_ADDRESS, PORT).into())
    };
    let over = AtomicBool::new(false);
    let (outcome, drops, sent) = std::thread::scope(|scope| {
        // Not on the receiver's core.
        scope.spawn(|| {
            pin_current_thread(core(0)).expect("a core of this process");
            beside(&over);
        });
        let thread = scope.spawn(|| {
            take_core(core(1));
            receive(receiver, receiving, sending.pulse, &over)
        });
        // The other thread is on its core by then.
        std::thread::sleep(Duration::from_millis(20));
        let sender = scope.spawn(|| {
            take_core(core(0));
            wire.at_sender(|| send(traffic, &settings, &AtomicBool::new(false)).expect("sending"))
        });
        let sent = sender.join().expect("the sender ends");
        std::thread::sleep(Duration::from_millis(20));
        over.store(true, Ordering::Relaxed);
        let (outcome, drops) = thread.join().expect("the receiver ends");
        (outcome, drops, sent)
    });
    assert_eq!(
        sent.packets,
        outcome.received + drops,
        "packets were lost somewhere else than in the socket's buffer"
    );
    let whole = sending.pulse.map_or(0, |packets| sent.packets / packets);
    let mut pulses = outcome.pulses;
    pulses.resize(whole as usize, ReceivedPulse::default());
    Outcome { sent: sent.packets, pulses, ..outcome }
}

fn take_core(core: usize) {
    pin_current_thread(core).expect("a core of this process");
    // As root. Without it, the figures are those of a machine that does other things as well.
    if let Err(error) = set_real_time_priority(PRIORITY) {
        eprintln!("warning: {error}");
    }
}

/// Receives until it is over and nothing is left: the outcome, and what the socket dropped.
fn receive(
    mut receiver: UdpReceiver,
    receiving: &Receiving,
    pulse: Option<u64>,
    over: &AtomicBool,
) -> (Outcome, u64) {
    let mut slab = PacketSlab::new(BATCH, BATCH << 16);
    let mut outcome = Outcome { sent: 0, received: 0, pulses: Vec::with_capacity(4096), packet_ns: 0.0 };
    let mut begun = None;
    let mut ended = Duration::ZERO;
    loop {
        let is_over = over.load(Ordering::Relaxed);
        let before = processor_time();
        let count =
            receiver.receive(&mut slab, Instant::now() + Duration::from_millis(10)).expect("receiving");
        for packet in slab.batch().iter() {
            let header = NumberedHeader::parse(packet.bytes).expect("a numbered packet");
            if let Some(packets) = pulse {
                let number = (header.number / packets) as usize;
                if outcome.pulses.len() <= number {
                    outcome.pulses.resize(number + 1, ReceivedPulse::default());
                }
                let pulse = &mut outcome.pulses[number];
                pulse.packets += 1;
                pulse.last_ns = header.sent_ns;
                if pulse.first_ns == 0 {
                    pulse.first_ns = header.sent_ns;
                }
            }
            work_for(receiving.work);
        }
        outcome.received += slab.len() as u64;
        slab.clear();
        if count > 0 {
            begun.get_or_insert(before);
            ended = processor_time();
        } else if is_over {
            break;
        }
    }
    let time = ended.saturating_sub(begun.unwrap_or(ended));
    outcome.packet_ns = time.as_nanos() as f64 / outcome.received.max(1) as f64;
    (outcome, receiver.drops().expect("a count").count)
}
