//! A payload received: a thread for each receiver, and what is known of each link.

use super::error::LinkReceiveError;
use evforge_core::packet::{Packet, PacketSlab};
use evforge_net::affinity::pin_current_thread;
use evforge_net::host_counters::{CountersRead, HostCounterReader, HostCounters};
use evforge_net::live_receiver::{LiveReceiver, ReceiveLosses};
use evforge_net::session::{
    Attend, PacketHandler, PacketReceiver, ReceiveState, ReceivingThread, SessionClock, SessionLimits,
    receive_with_threads,
};
use evforge_net::socket::{ReceiveBuffer, SocketDrops};
use evforge_net::thread_time::processor_time;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often accounts are shown.
const SHOWN_EVERY: Duration = Duration::from_millis(250);

/// Bytes of a receiver's memory.
const SLAB_BYTES: usize = 8 << 20;

/// What a receiver keeps about the packets of one address.
pub trait LinkAccount: Clone + Send {
    /// Takes the next packet. One of no use is counted under its reason.
    fn take(&mut self, packet: &Packet<'_>);

    /// UDP datagrams so far.
    fn packets(&self) -> u64;

    /// Their UDP payload bytes.
    fn bytes(&self) -> u64;

    /// When they came.
    fn arrivals(&self) -> Arrivals;

    /// What is told besides while it runs: how much is missing, or not in order, so far.
    fn irregularities(&self) -> u64;
}

/// When the first packet and the last one came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals(Option<(u64, u64)>);

impl Arrivals {
    /// Takes the next packet.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet<'_>) {
        let arrival = packet.origin.arrival_ns;
        let (first, last) = self.0.unwrap_or((arrival, arrival));
        self.0 = Some((first.min(arrival), last.max(arrival)));
    }

    /// With those of another account.
    pub(super) fn with(self, other: Self) -> Self {
        let both = self.0.zip(other.0).map(|(one, two)| (one.0.min(two.0), one.1.max(two.1)));
        Self(both.or(self.0).or(other.0))
    }

    /// Seconds from the first to the last; 0 before the second.
    pub fn seconds(&self) -> f64 {
        self.0.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9)
    }
}

/// How to receive, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkReceiving {
    /// Cores of the receiving threads, taken in turn; none leaves them to the system.
    pub cores: Vec<usize>,
    /// Time to spend on each packet, to be as slow as an application.
    pub work: Duration,
    /// Packets that are fetched at once at most; they wait in memory of this program, beside the kernel's buffer.
    pub batch: usize,
    /// Counters of the host that are read alongside.
    pub counters: CountersRead,
    /// Show the accounts while it runs, 4 times per second at most: that copies them.
    pub shows_accounts: bool,
    /// Ends when no packet has come for so long after the first; none does not.
    pub idle: Option<Duration>,
    /// Ends after so long; none does not.
    pub duration: Option<Duration>,
}

impl Default for LinkReceiving {
    fn default() -> Self {
        Self {
            cores: Vec::new(),
            work: Duration::ZERO,
            batch: 1024,
            counters: CountersRead::default(),
            shows_accounts: false,
            idle: None,
            duration: None,
        }
    }
}

/// How receiving goes, some 50 times per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkProgress {
    /// Time since the start.
    pub elapsed: Duration,
    /// Packets of all links so far.
    pub packets: u64,
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// What is missing or not in order so far, as the accounts say.
    pub irregularities: u64,
}

/// What this host lost of a link before it was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamLosses {
    /// What its own socket dropped.
    pub socket: SocketDrops,
    /// What was lost of all links together where they have one receiver, as by AF_XDP: in its rings, its memory and by its
    /// checks, and by the sockets beside it.
    pub shared: ReceiveLosses,
}

impl StreamLosses {
    fn of(losses: ReceiveLosses, is_shared: bool) -> Self {
        if is_shared {
            Self { socket: SocketDrops::default(), shared: losses }
        } else {
            Self { socket: losses.socket, shared: ReceiveLosses::default() }
        }
    }
}

/// The processor time of a receiving thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorUse {
    /// From the first packet to the last, spinning for packets included.
    pub used: Duration,
    /// The time that is the measure of it.
    pub of: Duration,
}

/// What came.
#[derive(Clone, Debug)]
pub struct ReceivedLink<A> {
    /// Number of the thread that received it, from 0; several links may have the same.
    pub thread: usize,
    /// Where.
    pub address: SocketAddr,
    /// How, and why so.
    pub way: String,
    /// The packets.
    pub account: A,
    /// What was lost on the way to it, of what its receiver lost.
    pub losses: StreamLosses,
    /// The receive buffer of a socket.
    pub buffer: Option<ReceiveBuffer>,
    /// What its receiver has counted, with other links where they share it.
    pub state: ReceiveState,
    /// What this host and its interfaces counted meanwhile; other traffic is in it as well.
    pub host: HostCounters,
    /// Time spent on each packet.
    pub work: Duration,
    /// Processor time of its thread.
    pub processor: ProcessorUse,
}

impl<A: LinkAccount> ReceivedLink<A> {
    /// UDP datagrams per second between the first packet and the last; 0 before the second.
    pub fn packets_per_second(&self) -> f64 {
        self.per_second(self.account.packets())
    }

    /// Bits of UDP payload per second; 0 before the second packet.
    pub fn bits_per_second(&self) -> f64 {
        self.per_second(self.account.bytes()) * 8.0
    }

    fn per_second(&self, count: u64) -> f64 {
        let seconds = self.account.arrivals().seconds();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }
}

/// What is told of a link while it is received.
#[derive(Debug)]
struct Told<A> {
    packets: AtomicU64,
    bytes: AtomicU64,
    irregularities: AtomicU64,
    /// Somebody wants to see the account.
    is_asked: AtomicBool,
    shown: Mutex<Option<(Box<A>, StreamLosses)>>,
}

impl<A> Default for Told<A> {
    fn default() -> Self {
        Self {
            packets: AtomicU64::default(),
            bytes: AtomicU64::default(),
            irregularities: AtomicU64::default(),
            is_asked: AtomicBool::default(),
            shown: Mutex::new(None),
        }
    }
}

/// A link while it is received.
struct Link<'a, A> {
    address: SocketAddr,
    account: A,
    told: &'a Told<A>,
}

/// The links of one receiver.
struct Links<'a, A> {
    slab: PacketSlab,
    links: Vec<Link<'a, A>>,
    /// True if the receiver counts losses of all links together.
    is_shared: bool,
    work: Duration,
    /// Processor time, and the time it is of, when the first packet was waited for.
    begun: Option<(Duration, Instant)>,
    /// The same behind the last packet.
    ended: (Duration, Instant),
    has_packets: bool,
}

impl<A> Links<'_, A> {
    fn processor(&self) -> ProcessorUse {
        let (processor, at) = self.begun.unwrap_or(self.ended);
        ProcessorUse {
            used: self.ended.0.saturating_sub(processor),
            of: self.ended.1.saturating_duration_since(at),
        }
    }
}

impl<A: LinkAccount> PacketHandler for Links<'_, A> {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        if !self.has_packets {
            self.begun = Some((processor_time(), Instant::now()));
        }
        &mut self.slab
    }

    fn received(&mut self, packets: usize, receiver: &dyn PacketReceiver) {
        for packet in self.slab.batch().iter() {
            let port = packet.origin.destination_port;
            // A receiver takes nothing but what is sent to its ports.
            if let Some(link) = self.links.iter_mut().find(|link| link.address.port() == port) {
                link.account.take(&packet);
                work_for(self.work);
            }
        }
        self.slab.clear();
        if packets > 0 {
            self.has_packets = true;
            self.ended = (processor_time(), Instant::now());
        }
        for Link { account, told, .. } in &self.links {
            if packets > 0 {
                told.packets.store(account.packets(), Ordering::Relaxed);
                told.bytes.store(account.bytes(), Ordering::Relaxed);
                told.irregularities.store(account.irregularities(), Ordering::Relaxed);
            }
            if told.is_asked.swap(false, Ordering::Relaxed) {
                let shown = (Box::new(account.clone()), StreamLosses::of(receiver.losses(), self.is_shared));
                *told.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
            }
        }
    }
}

/// Receives until the time is over, nothing has come for long enough or `stop` is set, into an account from `account` for each
/// address. `watch` is called in this thread some 50 times per second, `show` with each account that is to be seen, by its
/// number.
///
/// # Errors
/// The first failure of a receiver; the others are stopped then.
pub(super) fn receive_links<A: LinkAccount>(
    receivers: Vec<LiveReceiver>,
    settings: &LinkReceiving,
    account: impl Fn() -> A,
    stop: &AtomicBool,
    mut watch: impl FnMut(&LinkProgress),
    mut show: impl FnMut(usize, &A, StreamLosses),
) -> Result<Vec<ReceivedLink<A>>, LinkReceiveError> {
    let told: Vec<Told<A>> =
        receivers.iter().flat_map(LiveReceiver::local_addresses).map(|_| Told::default()).collect();
    let interfaces = receivers.iter().map(LiveReceiver::interfaces_in_use).collect();
    let host = HostCounterReader::start(settings.counters, interfaces).map_err(LinkReceiveError::NoThread)?;
    let limits = SessionLimits { stop, ends_after: settings.duration, idle_limit: settings.idle };
    let place = |number: usize| {
        let core = settings.cores.get(number % settings.cores.len().max(1)).copied();
        core.map_or(Ok(()), pin_current_thread)
    };
    let mut asked = Instant::now();
    let threads = threads(receivers, settings, &account, &told);
    let received = receive_with_threads(SessionClock::start(limits), threads, &place, |progress| {
        let sum = |what: fn(&Told<A>) -> &AtomicU64| -> u64 {
            told.iter().map(|told| what(told).load(Ordering::Relaxed)).sum()
        };
        watch(&LinkProgress {
            elapsed: progress.elapsed,
            packets: sum(|told| &told.packets),
            bytes: sum(|told| &told.bytes),
            irregularities: sum(|told| &told.irregularities),
        });
        if settings.shows_accounts && asked.elapsed() >= SHOWN_EVERY {
            asked = Instant::now();
            told.iter().for_each(|told| told.is_asked.store(true, Ordering::Relaxed));
        }
        for (number, told) in told.iter().enumerate() {
            let shown = told.shown.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((account, losses)) = shown {
                show(number, &account, losses);
            }
        }
        Attend::Pause
    })?;
    let mut links = Vec::new();
    for (number, thread) in received.into_iter().enumerate() {
        if let Some(failure) = thread.end.failure {
            return Err(failure.into());
        }
        let (receiver, state, handler) = (thread.receiver, thread.end.state, thread.handler);
        let (losses, processor) = (StreamLosses::of(state.losses, handler.is_shared), handler.processor());
        links.extend(handler.links.into_iter().map(|link| ReceivedLink {
            thread: number,
            address: link.address,
            way: receiver.description().to_owned(),
            account: link.account,
            losses,
            buffer: receiver.buffer(),
            state: state.clone(),
            host: host.now(),
            work: settings.work,
            processor,
        }));
    }
    Ok(links)
}

/// A thread for each receiver, with its links.
fn threads<'a, A: LinkAccount>(
    receivers: Vec<LiveReceiver>,
    settings: &LinkReceiving,
    account: &impl Fn() -> A,
    told: &'a [Told<A>],
) -> Vec<ReceivingThread<LiveReceiver, Links<'a, A>>> {
    let mut left = told.iter();
    let thread = |(number, receiver): (usize, LiveReceiver)| {
        // As many as the receiver has addresses: the shorter one is asked first, so none is left out.
        let of_receiver = receiver.local_addresses().into_iter().zip(left.by_ref());
        let links = of_receiver.map(|(address, told)| Link { address, account: account(), told }).collect();
        let handler = Links {
            slab: PacketSlab::new(settings.batch, SLAB_BYTES),
            links,
            is_shared: receiver.buffer().is_none(),
            work: settings.work,
            begun: None,
            ended: (Duration::ZERO, Instant::now()),
            has_packets: false,
        };
        ReceivingThread { name: format!("link {number}"), receiver, handler }
    };
    receivers.into_iter().enumerate().map(thread).collect()
}

/// Spends so much time as an application would that is busy with a packet.
#[inline]
pub fn work_for(time: Duration) {
    if !time.is_zero() {
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::hint::spin_loop();
        }
    }
}
