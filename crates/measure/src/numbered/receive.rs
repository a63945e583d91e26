//! Numbered packets received over UDP, in one thread, with a stated work for each of them.

use super::account::Account;
use crate::receive_error::ReceiveRunError;
use evforge_core::packet::PacketSlab;
use evforge_net::affinity::pin_current_thread;
use evforge_net::host_counters::{CountersRead, HostCounterReader, HostCounters};
use evforge_net::live_receiver::{LiveReceiver, ReceiveLosses};
use evforge_net::socket::ReceiverCounters;
use evforge_net::thread_time::processor_time;
use evforge_net::xdp::XdpCounters;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often the receiving thread and the one that watches look at each other.
const INTERVAL: Duration = Duration::from_millis(50);

/// How long the buffer is emptied at the end, if a sender goes on.
const DRAIN: Duration = Duration::from_secs(1);

/// How to receive, and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiveSettings {
    /// Core of the receiving thread; none leaves it to the system.
    pub core: Option<usize>,
    /// Time to spend on each packet, to be as slow as an application.
    pub work: Duration,
    /// Packets that are fetched at once at most; they wait in memory of this program, beside the kernel's buffer.
    pub batch: usize,
    /// Counters of the host that are read beside.
    pub counters: CountersRead,
    /// Ends when no packet has come for so long after the first; none does not.
    pub idle: Option<Duration>,
    /// Ends after so long; none does not.
    pub duration: Option<Duration>,
}

impl Default for ReceiveSettings {
    fn default() -> Self {
        Self {
            core: None,
            work: Duration::ZERO,
            batch: 1024,
            counters: CountersRead::default(),
            idle: None,
            duration: None,
        }
    }
}

/// How receiving goes, some 20 times per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveProgress {
    /// Time since the start.
    pub elapsed: Duration,
    /// Packets so far.
    pub packets: u64,
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// Packets missing in the numbers so far.
    pub lost: u64,
}

/// What came.
#[derive(Clone, Debug)]
pub struct Received {
    /// Where.
    pub address: SocketAddr,
    /// By which way, and why it is this one.
    pub way: String,
    /// The packets.
    pub account: Account,
    /// Packets that reached this host and were lost on the way to us.
    pub losses: ReceiveLosses,
    /// What was handed over.
    pub receiver: ReceiverCounters,
    /// What AF_XDP has counted; none with a socket.
    pub xdp: Option<XdpCounters>,
    /// What was wrong with receiving, in whole sentences.
    pub alarms: Vec<String>,
    /// What this host and its interfaces counted meanwhile; other traffic is in it as well.
    pub host: HostCounters,
    /// Time spent on each packet.
    pub work: Duration,
    /// Processor time of the receiving thread from the first packet to the last, spinning for packets included.
    pub processor: Duration,
    /// The time that is the measure of it.
    pub busy: Duration,
}

/// What the receiving thread tells while it runs.
#[derive(Debug, Default)]
struct Telling {
    packets: AtomicU64,
    bytes: AtomicU64,
    lost: AtomicU64,
}

/// Receives until the time is over, nothing has come for long enough or `stop` is set. `watch` is called in this thread some
/// 20 times per second; another one receives.
///
/// # Errors
/// If the core cannot be had, or the kernel fails to receive.
pub fn receive(
    receiver: LiveReceiver,
    settings: &ReceiveSettings,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&ReceiveProgress),
) -> Result<Received, ReceiveRunError> {
    let telling = Telling::default();
    let over = AtomicBool::new(false);
    let host = HostCounterReader::start(settings.counters, vec![receiver.interfaces_in_use()])
        .map_err(ReceiveRunError::NoThread)?;
    let mut received = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let outcome = work(receiver, settings, &telling, &over);
            over.store(true, Ordering::Relaxed);
            outcome
        });
        attend(settings, &telling, stop, &over, watch);
        over.store(true, Ordering::Relaxed);
        thread.join().unwrap_or(Err(ReceiveRunError::Thread))
    })?;
    received.host = host.now();
    Ok(received)
}

/// Waits for the end.
fn attend(
    settings: &ReceiveSettings,
    telling: &Telling,
    stop: &AtomicBool,
    over: &AtomicBool,
    watch: &mut dyn FnMut(&ReceiveProgress),
) {
    let start = Instant::now();
    let (mut last_packets, mut last_change) = (0, start);
    while !stop.load(Ordering::Relaxed) && !over.load(Ordering::Relaxed) {
        let progress = ReceiveProgress {
            elapsed: start.elapsed(),
            packets: telling.packets.load(Ordering::Relaxed),
            bytes: telling.bytes.load(Ordering::Relaxed),
            lost: telling.lost.load(Ordering::Relaxed),
        };
        if progress.packets != last_packets {
            (last_packets, last_change) = (progress.packets, Instant::now());
        }
        let is_idle = progress.packets > 0 && settings.idle.is_some_and(|idle| last_change.elapsed() >= idle);
        if is_idle || settings.duration.is_some_and(|most| progress.elapsed >= most) {
            return;
        }
        watch(&progress);
        std::thread::sleep(INTERVAL);
    }
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

/// Receives until it is over, and then what is still waiting.
fn work(
    mut receiver: LiveReceiver,
    settings: &ReceiveSettings,
    telling: &Telling,
    over: &AtomicBool,
) -> Result<Received, ReceiveRunError> {
    if let Some(core) = settings.core {
        pin_current_thread(core).map_err(ReceiveRunError::Pin)?;
    }
    let mut account = Account::default();
    let mut slab = PacketSlab::new(settings.batch, 8 << 20);
    let mut drained_by = None;
    let (mut begun, mut ended) = (None, (Duration::ZERO, Instant::now()));
    loop {
        // Read before the packets are fetched: what was in the buffer by then is still taken.
        let is_over = over.load(Ordering::Relaxed);
        let now = Instant::now();
        if account.counters().packets_received == 0 {
            begun = Some((processor_time(), now));
        }
        let deadline = if is_over { now } else { now + INTERVAL };
        let received = receiver.receive(&mut slab, deadline).map_err(ReceiveRunError::Receive)?;
        for packet in slab.batch().iter() {
            account.take(&packet);
            work_for(settings.work);
        }
        slab.clear();
        if received > 0 {
            ended = (processor_time(), Instant::now());
            let counters = account.counters();
            telling.packets.store(counters.packets_received, Ordering::Relaxed);
            telling.bytes.store(counters.bytes_received, Ordering::Relaxed);
            telling.lost.store(account.lost(), Ordering::Relaxed);
        }
        if is_over && (received == 0 || now >= *drained_by.get_or_insert(now + DRAIN)) {
            break;
        }
    }
    let (processor, at) = begun.unwrap_or(ended);
    Ok(Received {
        address: receiver.local_address(),
        way: receiver.description().to_owned(),
        account,
        losses: receiver.losses(),
        receiver: receiver.counters(),
        xdp: receiver.xdp_counters(),
        alarms: receiver.alarms(),
        host: HostCounters::default(),
        work: settings.work,
        processor: ended.0.saturating_sub(processor),
        busy: ended.1.saturating_duration_since(at),
    })
}
