//! Numbered packets received over UDP, in one thread, with a stated work for each of them.

use super::account::Account;
use crate::receive_error::{ReceiveRunError, whole};
use evforge_core::packet::PacketSlab;
use evforge_net::affinity::pin_current_thread;
use evforge_net::host_counters::{CountersRead, HostCounterReader, HostCounters};
use evforge_net::live_receiver::{LiveReceiver, ReceiveLosses};
use evforge_net::session::{
    Attend, PacketHandler, PacketReceiver, ReceivingThread, SessionClock, SessionLimits, receive_with_threads,
};
use evforge_net::socket::ReceiverCounters;
use evforge_net::thread_time::processor_time;
use evforge_net::xdp::XdpCounters;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// How receiving goes, some 50 times per second.
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

/// Receives until the time is over, nothing has come for long enough or `stop` is set. `watch` is called in this thread some
/// 50 times per second; another one receives.
///
/// # Errors
/// If the core cannot be had, or the kernel fails to receive.
pub fn receive(
    receiver: LiveReceiver,
    settings: &ReceiveSettings,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&ReceiveProgress),
) -> Result<Received, ReceiveRunError> {
    let told = Told::default();
    let host = HostCounterReader::start(settings.counters, vec![receiver.interfaces_in_use()])
        .map_err(ReceiveRunError::NoThread)?;
    let limits = SessionLimits { stop, ends_after: settings.duration, idle_limit: settings.idle };
    let threads = vec![ReceivingThread {
        name: "receive".to_owned(),
        receiver,
        handler: Accounting::new(settings, &told),
    }];
    let place = |_| settings.core.map_or(Ok(()), pin_current_thread);
    let received = receive_with_threads(SessionClock::start(limits), threads, &place, |progress| {
        watch(&ReceiveProgress {
            elapsed: progress.elapsed,
            packets: progress.packets,
            bytes: told.bytes.load(Ordering::Relaxed),
            lost: told.lost.load(Ordering::Relaxed),
        });
        Attend::Pause
    })?;
    let mut received = whole(received)?;
    // One thread has received.
    let thread =
        received.pop().ok_or_else(|| ReceiveRunError::NoThread(std::io::Error::other("none has begun")))?;
    let Accounting { account, begun, ended, .. } = thread.handler;
    let (processor, at) = begun.unwrap_or(ended);
    Ok(Received {
        address: thread.receiver.local_address(),
        way: thread.receiver.description().to_owned(),
        account,
        losses: thread.state.losses,
        receiver: thread.state.counters,
        xdp: thread.state.xdp,
        alarms: thread.state.alarms,
        host: host.now(),
        work: settings.work,
        processor: ended.0.saturating_sub(processor),
        busy: ended.1.saturating_duration_since(at),
    })
}

/// What the receiving thread tells while it runs.
#[derive(Debug, Default)]
struct Told {
    bytes: AtomicU64,
    lost: AtomicU64,
}

/// Accounts for packets, and for the processor time that they take.
struct Accounting<'a> {
    slab: PacketSlab,
    account: Account,
    work: Duration,
    /// Processor time, and the time it is of, when the first packet was waited for.
    begun: Option<(Duration, Instant)>,
    /// The same behind the last packet.
    ended: (Duration, Instant),
    told: &'a Told,
}

impl<'a> Accounting<'a> {
    fn new(settings: &ReceiveSettings, told: &'a Told) -> Self {
        Self {
            slab: PacketSlab::new(settings.batch, 8 << 20),
            account: Account::default(),
            work: settings.work,
            begun: None,
            ended: (Duration::ZERO, Instant::now()),
            told,
        }
    }
}

impl PacketHandler for Accounting<'_> {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        if self.account.counters().packets_received == 0 {
            self.begun = Some((processor_time(), Instant::now()));
        }
        &mut self.slab
    }

    fn received(&mut self, packets: usize, _receiver: &dyn PacketReceiver) {
        for packet in self.slab.batch().iter() {
            self.account.take(&packet);
            work_for(self.work);
        }
        self.slab.clear();
        if packets > 0 {
            self.ended = (processor_time(), Instant::now());
            self.told.bytes.store(self.account.counters().bytes_received, Ordering::Relaxed);
            self.told.lost.store(self.account.lost(), Ordering::Relaxed);
        }
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
