//! Several streams received over UDP: one thread each, and the management of all.
//!
//! In the paper one thread receives all streams of an instance and checks their identifiers, and a worker of each
//! stream counts the words. Here the worker of a stream does all of it: its packets are looked at on the core that
//! has just fetched them, and no queue between threads can lose any. By AF_XDP one thread has all streams, because a queue of
//! a card has one AF_XDP socket.

use super::account::StreamAccount;
use crate::receive_error::ReceiveRunError;
use evforge_core::packet::PacketSlab;
use evforge_net::affinity::pin_current_thread;
use evforge_net::live_receiver::{LiveReceiveError, LiveReceiver, ReceiveMethod, ReceivePlan};
use evforge_net::socket::{ReceiveBuffer, ReceiverOptions, SocketDrops};
use evforge_net::xdp::XdpOptions;
use evforge_wire::drop::{DropLayout, Order};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often threads and management look at each other.
const INTERVAL: Duration = Duration::from_millis(50);

/// In how many intervals the words are told once.
const WORDS_EVERY: u32 = 5;

/// How long a worker empties its buffer at the end, if a sender goes on.
const DRAIN: Duration = Duration::from_secs(1);

/// Packets and bytes of a worker's memory.
const SLAB: (usize, usize) = (4096, 8 << 20);

/// What to receive, and how long.
#[derive(Clone, Debug)]
pub struct ReceiveSettings {
    /// Address and port of each stream; port 0 lets the kernel choose. The address must be the same for all by AF_XDP.
    pub addresses: Vec<SocketAddr>,
    /// Which way to receive.
    pub method: ReceiveMethod,
    /// Network interface to receive from by AF_XDP. Then one thread receives all streams.
    pub interface: Option<String>,
    /// Layout of the packets.
    pub layout: DropLayout,
    /// Order of the identifiers.
    pub order: Order,
    /// Receive buffer of each stream to ask the kernel for, in bytes.
    pub receive_buffer: usize,
    /// Ask for UDP_GRO.
    pub coalesce: bool,
    /// Cores of the workers, taken in turn; none leaves them to the system.
    pub cores: Vec<usize>,
    /// Tell the words of each stream while it runs, some 4 times per second; costs a worker about 0.1 ms each time.
    pub shows_words: bool,
    /// Ends when no stream has had a packet for so long after the first; none does not.
    pub idle: Option<Duration>,
    /// Ends after so long; none does not.
    pub duration: Option<Duration>,
}

/// What the management says while it runs.
#[derive(Clone, Debug)]
pub enum ReceiveProgress {
    /// All ports are open: senders may start.
    Ready {
        /// Where each stream is received.
        addresses: Vec<SocketAddr>,
        /// The way in, and why it is this one.
        way: String,
        /// What the kernel did not grant, in sentences.
        warnings: Vec<String>,
    },
    /// Some 20 times per second.
    Running {
        /// Time since the ports were opened.
        elapsed: Duration,
        /// Packets of all streams so far.
        packets: u64,
        /// UDP payload bytes of all streams so far.
        bytes: u64,
        /// Jumps reported in all streams so far.
        jumps: u64,
    },
    /// What a stream has received so far, if asked for.
    Words {
        /// Number of the stream, from 0 in the order of the settings.
        stream: usize,
        /// Its packets and words.
        account: Box<StreamAccount>,
        /// What its socket dropped.
        drops: SocketDrops,
        /// What AF_XDP lost, of all streams together.
        lost_by_xdp: u64,
    },
}

/// What came in one stream.
#[derive(Clone, Debug)]
pub struct ReceivedStream {
    /// Where it was received.
    pub address: SocketAddr,
    /// The way in.
    pub way: String,
    /// Its packets and words.
    pub account: StreamAccount,
    /// What its socket dropped.
    pub drops: SocketDrops,
    /// What AF_XDP lost, of all streams together; with what the sockets beside it dropped.
    pub lost_by_xdp: u64,
    /// The receive buffer of a socket.
    pub buffer: Option<ReceiveBuffer>,
    /// What was wrong with receiving, in whole sentences.
    pub alarms: Vec<String>,
    /// Packets of all streams together that came while AF_XDP was being opened, and are no part of the measurement.
    pub before_start: u64,
}

/// What a worker tells while it runs.
#[derive(Debug, Default)]
struct Telling {
    packets: AtomicU64,
    bytes: AtomicU64,
    jumps: AtomicU64,
    /// The management wants to see the words.
    is_asked: AtomicBool,
    words: Mutex<Option<(Box<StreamAccount>, SocketDrops, u64)>>,
}

/// A stream while it is received.
struct Stream<'a> {
    address: SocketAddr,
    account: StreamAccount,
    telling: &'a Telling,
}

/// Receives all streams until the time is over, they have been idle for long enough or `stop` is set. `watch` is
/// called when all ports are open, and some 20 times per second from then on.
///
/// # Errors
/// The first failure of a stream; the others are stopped then.
pub fn receive(
    settings: &ReceiveSettings,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&ReceiveProgress),
) -> Result<Vec<ReceivedStream>, ReceiveRunError> {
    let receivers = open(settings)?;
    let warnings: Vec<String> =
        receivers.iter().flat_map(|receiver| receiver.warnings().iter().cloned()).collect();
    let addresses: Vec<SocketAddr> = receivers.iter().flat_map(LiveReceiver::local_addresses).collect();
    let tellings: Vec<Telling> = addresses.iter().map(|_| Telling::default()).collect();
    let way = receivers.first().map(|receiver| receiver.description().to_owned()).unwrap_or_default();
    watch(&ReceiveProgress::Ready { addresses, way, warnings });
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut left = tellings.iter();
        let mut threads = Vec::new();
        for (index, receiver) in receivers.into_iter().enumerate() {
            let new_stream = |(address, telling)| Stream {
                address,
                account: StreamAccount::new(settings.layout, settings.order),
                telling,
            };
            // As many as the receiver has addresses: the shorter one is asked first, so none is left out.
            let streams = receiver.local_addresses().into_iter().zip(left.by_ref()).map(new_stream).collect();
            let over = &over;
            let core = settings.cores.get(index % settings.cores.len().max(1)).copied();
            threads.push(scope.spawn(move || {
                let outcome = work(receiver, streams, core, over);
                over.fetch_or(outcome.is_err(), Ordering::Relaxed);
                outcome
            }));
        }
        manage(settings, &tellings, stop, &over, watch);
        over.store(true, Ordering::Relaxed);
        // All are joined before the first error is looked at.
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        let mut received = Vec::new();
        for outcome in outcomes {
            received.extend(outcome.unwrap_or(Err(ReceiveRunError::Thread))?);
        }
        Ok(received)
    })
}

/// The ways in: by AF_XDP one for all streams, else one for each.
fn open(settings: &ReceiveSettings) -> Result<Vec<LiveReceiver>, LiveReceiveError> {
    let plan = |address: SocketAddr, ports: Vec<u16>| {
        let socket = ReceiverOptions {
            receive_buffer: settings.receive_buffer,
            coalesce: settings.coalesce,
            // Any datagram fits.
            slot: 65_536,
            ..ReceiverOptions::new(address)
        };
        let xdp = settings.interface.as_ref().map(|interface| XdpOptions {
            receive_buffer: settings.receive_buffer,
            ..XdpOptions::new(interface, address)
        });
        ReceivePlan { method: settings.method, socket, xdp, ports, sockets_per_port: 1 }
    };
    if let (Some(_), Some((first, others))) = (&settings.interface, settings.addresses.split_first()) {
        return LiveReceiver::open(&plan(*first, others.iter().map(SocketAddr::port).collect()));
    }
    let mut receivers = Vec::new();
    for &address in &settings.addresses {
        receivers.extend(LiveReceiver::open(&plan(address, Vec::new()))?);
    }
    Ok(receivers)
}

/// Waits for the end.
fn manage(
    settings: &ReceiveSettings,
    tellings: &[Telling],
    stop: &AtomicBool,
    over: &AtomicBool,
    watch: &mut dyn FnMut(&ReceiveProgress),
) {
    let start = Instant::now();
    let (mut last_packets, mut last_change) = (0, start);
    let mut turn = 0_u32;
    while !stop.load(Ordering::Relaxed) && !over.load(Ordering::Relaxed) {
        let elapsed = start.elapsed();
        let sum = |what: fn(&Telling) -> &AtomicU64| -> u64 {
            tellings.iter().map(|telling| what(telling).load(Ordering::Relaxed)).sum()
        };
        let packets = sum(|telling| &telling.packets);
        let (bytes, jumps) = (sum(|telling| &telling.bytes), sum(|telling| &telling.jumps));
        if packets != last_packets {
            (last_packets, last_change) = (packets, Instant::now());
        }
        let is_idle = packets > 0 && settings.idle.is_some_and(|idle| last_change.elapsed() >= idle);
        if is_idle || settings.duration.is_some_and(|duration| elapsed >= duration) {
            return;
        }
        watch(&ReceiveProgress::Running { elapsed, packets, bytes, jumps });
        turn += 1;
        if settings.shows_words && turn.is_multiple_of(WORDS_EVERY) {
            tellings.iter().for_each(|telling| telling.is_asked.store(true, Ordering::Relaxed));
        }
        tell_words(tellings, watch);
        std::thread::sleep(INTERVAL);
    }
}

/// Hands on what workers have told about their words.
fn tell_words(tellings: &[Telling], watch: &mut dyn FnMut(&ReceiveProgress)) {
    for (stream, telling) in tellings.iter().enumerate() {
        let told = telling.words.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((account, drops, lost_by_xdp)) = told {
            watch(&ReceiveProgress::Words { stream, account, drops, lost_by_xdp });
        }
    }
}

/// What a stream's own socket dropped, and what AF_XDP lost of all streams together, the sockets beside it included.
fn losses(receiver: &LiveReceiver) -> (SocketDrops, u64) {
    let losses = receiver.losses();
    let by_socket = receiver.buffer().is_some();
    if by_socket {
        (losses.socket, 0)
    } else {
        (SocketDrops::default(), losses.by_xdp() + losses.socket.count)
    }
}

/// Receives the streams of one receiver.
fn work(
    mut receiver: LiveReceiver,
    mut streams: Vec<Stream<'_>>,
    core: Option<usize>,
    over: &AtomicBool,
) -> Result<Vec<ReceivedStream>, ReceiveRunError> {
    if let Some(core) = core {
        pin_current_thread(core).map_err(ReceiveRunError::Pin)?;
    }
    let mut slab = PacketSlab::new(SLAB.0, SLAB.1);
    let mut drained_by = None;
    loop {
        // Read before the packets are fetched: what was in the buffer by then is still taken.
        let is_over = over.load(Ordering::Relaxed);
        let now = Instant::now();
        let received = receiver.receive(&mut slab, if is_over { now } else { now + INTERVAL })?;
        for packet in slab.batch().iter() {
            let port = packet.origin.destination_port;
            // A receiver takes nothing but what is sent to its ports.
            if let Some(stream) = streams.iter_mut().find(|stream| stream.address.port() == port) {
                stream.account.take(&packet);
            }
        }
        slab.clear();
        for Stream { account, telling, .. } in &streams {
            if received > 0 {
                let counters = account.counters();
                telling.packets.store(counters.packets_received, Ordering::Relaxed);
                telling.bytes.store(counters.bytes_received, Ordering::Relaxed);
                telling.jumps.store(account.jumps().jumps(), Ordering::Relaxed);
            }
            if telling.is_asked.swap(false, Ordering::Relaxed) {
                let (drops, lost_by_xdp) = losses(&receiver);
                let told = (Box::new(account.clone()), drops, lost_by_xdp);
                *telling.words.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
            }
        }
        if is_over && (received == 0 || now >= *drained_by.get_or_insert(now + DRAIN)) {
            break;
        }
    }
    let (drops, lost_by_xdp) = losses(&receiver);
    let received = |stream: Stream<'_>| ReceivedStream {
        address: stream.address,
        way: receiver.description().to_owned(),
        account: stream.account,
        drops,
        lost_by_xdp,
        buffer: receiver.buffer(),
        alarms: receiver.alarms(),
        before_start: receiver.xdp_counters().map_or(0, |counters| counters.before_start),
    };
    Ok(streams.into_iter().map(received).collect())
}
