//! Several streams received over UDP: one thread each, and the management of all.
//!
//! In the paper one thread receives all streams of an instance and checks their identifiers, and a worker of each
//! stream counts the words. Here the worker of a stream does all of it: its packets are looked at on the core that
//! has just fetched them, and no queue between threads can lose any. By AF_XDP one thread has all streams, because a queue of
//! a card has one AF_XDP socket.

use super::account::StreamAccount;
use crate::receive_error::{ReceiveRunError, whole};
use evforge_core::packet::PacketSlab;
use evforge_net::affinity::pin_current_thread;
use evforge_net::live_receiver::{LiveReceiveError, LiveReceiver, ReceiveLosses, ReceiveMethod, ReceivePlan};
use evforge_net::session::{
    Attend, PacketHandler, PacketReceiver, ReceivingThread, SessionClock, SessionLimits, receive_with_threads,
};
use evforge_net::socket::{ReceiveBuffer, ReceiverOptions, SocketDrops};
use evforge_net::xdp::XdpOptions;
use evforge_wire::drop::{DropLayout, Order};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the words are told.
const WORDS_INTERVAL: Duration = Duration::from_millis(250);

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
    /// Tell the words of each stream while it runs, 4 times per second at most; costs a worker about 0.1 ms each time.
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
        /// How packets are received, and why so.
        way: String,
        /// What the kernel did not grant, in sentences.
        warnings: Vec<String>,
    },
    /// Some 50 times per second.
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
        /// What was lost on the way to it.
        losses: StreamLosses,
    },
}

/// What this host lost of a stream before it was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamLosses {
    /// What its own socket dropped.
    pub socket: SocketDrops,
    /// What was lost of all streams together where they have one receiver, as by AF_XDP: in its rings, its memory and by its
    /// checks, and by the sockets beside it.
    pub shared: ReceiveLosses,
}

impl StreamLosses {
    /// Those of one stream, or of all streams together (`is_shared`).
    fn new(losses: ReceiveLosses, is_shared: bool) -> Self {
        if is_shared {
            Self { socket: SocketDrops::default(), shared: losses }
        } else {
            Self { socket: losses.socket, shared: ReceiveLosses::default() }
        }
    }
}

/// What came in one stream.
#[derive(Clone, Debug)]
pub struct ReceivedStream {
    /// Where it was received.
    pub address: SocketAddr,
    /// How it was received, and why so.
    pub way: String,
    /// Its packets and words.
    pub account: StreamAccount,
    /// What was lost on the way to it.
    pub losses: StreamLosses,
    /// The receive buffer of a socket.
    pub buffer: Option<ReceiveBuffer>,
    /// What was wrong with receiving, in whole sentences.
    pub alarms: Vec<String>,
    /// Packets of all streams together that came while AF_XDP was being opened, and are no part of the measurement.
    pub before_start: u64,
}

/// What is told of a stream while it is received.
#[derive(Debug, Default)]
struct Told {
    packets: AtomicU64,
    bytes: AtomicU64,
    jumps: AtomicU64,
    /// Somebody wants to see the words.
    is_asked: AtomicBool,
    words: Mutex<Option<(Box<StreamAccount>, StreamLosses)>>,
}

/// A stream while it is received.
struct Stream<'a> {
    address: SocketAddr,
    account: StreamAccount,
    told: &'a Told,
}

/// The streams of one receiver.
struct Streams<'a> {
    slab: PacketSlab,
    streams: Vec<Stream<'a>>,
    /// True if the receiver counts losses of all streams together.
    is_shared: bool,
}

impl PacketHandler for Streams<'_> {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        &mut self.slab
    }

    fn received(&mut self, packets: usize, receiver: &dyn PacketReceiver) {
        for packet in self.slab.batch().iter() {
            let port = packet.origin.destination_port;
            // A receiver takes nothing but what is sent to its ports.
            if let Some(stream) = self.streams.iter_mut().find(|stream| stream.address.port() == port) {
                stream.account.take(&packet);
            }
        }
        self.slab.clear();
        for Stream { account, told, .. } in &self.streams {
            if packets > 0 {
                let counters = account.counters();
                told.packets.store(counters.packets_received, Ordering::Relaxed);
                told.bytes.store(counters.bytes_received, Ordering::Relaxed);
                told.jumps.store(account.jumps().jumps(), Ordering::Relaxed);
            }
            if told.is_asked.swap(false, Ordering::Relaxed) {
                let words = (Box::new(account.clone()), StreamLosses::new(receiver.losses(), self.is_shared));
                *told.words.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
            }
        }
    }
}

/// Receives all streams until the time is over, they have been idle for long enough or `stop` is set. `watch` is
/// called when all ports are open, and some 50 times per second from then on.
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
    let told: Vec<Told> = addresses.iter().map(|_| Told::default()).collect();
    let way = receivers.first().map(|receiver| receiver.description().to_owned()).unwrap_or_default();
    watch(&ReceiveProgress::Ready { addresses, way, warnings });
    let limits = SessionLimits { stop, ends_after: settings.duration, idle_limit: settings.idle };
    let clock = SessionClock::start(limits);
    let place = |number: usize| {
        let core = settings.cores.get(number % settings.cores.len().max(1)).copied();
        core.map_or(Ok(()), pin_current_thread)
    };
    let mut asked = Instant::now();
    let received = receive_with_threads(clock, threads(receivers, settings, &told), &place, |progress| {
        let sum = |what: fn(&Told) -> &AtomicU64| -> u64 {
            told.iter().map(|told| what(told).load(Ordering::Relaxed)).sum()
        };
        watch(&ReceiveProgress::Running {
            elapsed: progress.elapsed,
            packets: sum(|told| &told.packets),
            bytes: sum(|told| &told.bytes),
            jumps: sum(|told| &told.jumps),
        });
        if settings.shows_words && asked.elapsed() >= WORDS_INTERVAL {
            asked = Instant::now();
            told.iter().for_each(|told| told.is_asked.store(true, Ordering::Relaxed));
        }
        tell_words(&told, watch);
        Attend::Pause
    })?;
    let mut streams = Vec::new();
    for thread in whole(received)? {
        let (receiver, state) = (&thread.receiver, &thread.state);
        let losses = StreamLosses::new(state.losses, thread.handler.is_shared);
        streams.extend(thread.handler.streams.into_iter().map(|stream| ReceivedStream {
            address: stream.address,
            way: receiver.description().to_owned(),
            account: stream.account,
            losses,
            buffer: receiver.buffer(),
            alarms: state.alarms.clone(),
            before_start: state.xdp.map_or(0, |counters| counters.before_start),
        }));
    }
    Ok(streams)
}

/// A thread for each receiver, with its streams.
fn threads<'a>(
    receivers: Vec<LiveReceiver>,
    settings: &ReceiveSettings,
    told: &'a [Told],
) -> Vec<ReceivingThread<LiveReceiver, Streams<'a>>> {
    let mut left = told.iter();
    let thread = |(number, receiver): (usize, LiveReceiver)| {
        // As many as the receiver has addresses: the shorter one is asked first, so none is left out.
        let of_receiver = receiver.local_addresses().into_iter().zip(left.by_ref());
        let account = || StreamAccount::new(settings.layout, settings.order);
        let streams =
            of_receiver.map(|(address, told)| Stream { address, account: account(), told }).collect();
        let is_shared = receiver.buffer().is_none();
        let handler = Streams { slab: PacketSlab::new(SLAB.0, SLAB.1), streams, is_shared };
        ReceivingThread { name: format!("stream {number}"), receiver, handler }
    };
    receivers.into_iter().enumerate().map(thread).collect()
}

/// The receivers: by AF_XDP one for all streams, else one for each.
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

/// Hands on what has been told about words.
fn tell_words(told: &[Told], watch: &mut dyn FnMut(&ReceiveProgress)) {
    for (stream, told) in told.iter().enumerate() {
        let words = told.words.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((account, losses)) = words {
            watch(&ReceiveProgress::Words { stream, account, losses });
        }
    }
}
