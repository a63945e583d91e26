//! A payload received: a thread for each receiver, or one for all with a worker for each link, and what is known of each link.
//!
//! ```text
//!  links:    receiver ──► receiving thread, with the accounts of its links          as many as there are receivers
//!
//!  workers:  receiver ─┐                    ┌─► queue ──► worker, with the account of its link
//!            receiver ─┴► receiving thread ─┴─► queue ──► worker                    as many workers as links
//! ```

mod links;
mod processor;
mod queue;
mod told;
mod workers;

use evforge_core::packet::Packet;
use evforge_net::host_counters::{CountersRead, HostCounters};
use evforge_net::live_receiver::ReceiveLosses;
use evforge_net::session::{ReceiveState, SessionLimits};
use evforge_net::socket::{ReceiveBuffer, SocketDrops};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub(super) use links::receive_links;
pub(super) use workers::receive_with_workers;

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

/// An account whose packets come through a queue, which drops those that it has no room for.
pub trait QueuedAccount: LinkAccount {
    /// Takes packets that the queue to this account has dropped: what is known of them without looking into them.
    fn add_dropped(&mut self, dropped: &Dropped);
}

/// Packets that were received, and dropped because whoever was to look at them was behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dropped {
    /// UDP datagrams.
    pub packets: u64,
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// When they came.
    pub arrivals: Arrivals,
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

    /// Adds when others came.
    pub(super) fn add(&mut self, others: Self) {
        self.0 = match (self.0, others.0) {
            (Some((first, last)), Some((others_first, others_last))) => {
                Some((first.min(others_first), last.max(others_last)))
            }
            (own, others) => own.or(others),
        };
    }

    /// Seconds from the first to the last; 0 before the second.
    pub fn seconds(&self) -> f64 {
        self.0.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9)
    }

    /// Of `count` that came, how many per second between the first and the last; 0 before the second.
    pub fn per_second(&self, count: u64) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }
}

/// How to receive, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkReceiving {
    /// Cores of the receiving threads, taken in turn; none leaves them to the system.
    pub cores: Vec<usize>,
    /// Time to spend on each packet, to be as slow as an application.
    pub work: Duration,
    /// Packets that are fetched at once at most; they wait in memory of this program, beside the kernel's buffer. Fewer where the work on
    /// them takes more than a millisecond.
    pub batch: usize,
    /// Counters of the host that are read alongside.
    pub counters: CountersRead,
    /// Show the accounts while it runs, 4 times per second at most: that copies them.
    pub shows_accounts: bool,
    /// When it is over.
    pub limits: SessionLimits,
}

/// The work of one batch takes no longer than this: packets of a batch have come when it is fetched, so the work of the last one is in no
/// rate, and a slow receiver would seem as much faster as the whole takes longer than its measurement.
const LONGEST_BATCH: Duration = Duration::from_millis(1);

impl LinkReceiving {
    /// Packets that a thread fetches at once if it spends the [work](Self::work) on each: as many as asked for, or as it does in a
    /// millisecond.
    fn packets_at_once(&self) -> usize {
        if self.work.is_zero() {
            return self.batch;
        }
        let in_time = LONGEST_BATCH.as_nanos() / self.work.as_nanos();
        usize::try_from(in_time).unwrap_or(usize::MAX).min(self.batch).max(1)
    }
}

impl Default for LinkReceiving {
    fn default() -> Self {
        Self {
            cores: Vec::new(),
            work: Duration::ZERO,
            batch: 1024,
            counters: CountersRead::default(),
            shows_accounts: false,
            limits: SessionLimits::default(),
        }
    }
}

/// A thread of its own for each link, which looks at the packets that one thread receives for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkWorkers {
    /// Cores of the workers, taken in turn; none leaves them to the system.
    pub cores: Vec<usize>,
    /// Memory of the queue to each worker, in bytes; it is never less than four pieces of some 600 kB.
    pub queue_bytes: usize,
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
    /// True if a worker of its own looked at the packets.
    pub by_worker: bool,
    /// From the moment when its worker began with the first packet to that when it had dealt with the last one; none without a worker, or
    /// if nothing came.
    pub worked: Option<Duration>,
    /// What its receiver has counted, with other links where they share it.
    pub state: ReceiveState,
    /// What this host and its interfaces counted meanwhile; other traffic is in it as well.
    pub host: HostCounters,
    /// Time spent on each packet.
    pub work: Duration,
    /// Processor time of the thread that received it.
    pub processor: ProcessorUse,
}

impl<A: LinkAccount> ReceivedLink<A> {
    /// UDP datagrams per second between the first packet and the last; 0 before the second.
    pub fn packets_per_second(&self) -> f64 {
        self.account.arrivals().per_second(self.account.packets())
    }

    /// Bits of UDP payload per second; 0 before the second packet.
    pub fn bits_per_second(&self) -> f64 {
        self.account.arrivals().per_second(self.account.bytes()) * 8.0
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_worked_on_for_a_millisecond_at_most() {
        for (work_ns, most) in [(0, 1024), (900, 1024), (2_000, 500), (200_000, 5), (5_000_000, 1)] {
            let settings = LinkReceiving { work: Duration::from_nanos(work_ns), ..LinkReceiving::default() };
            assert_eq!(settings.packets_at_once(), most, "{work_ns} ns");
        }
    }
}
