//! Several streams sent over UDP, one thread each.

use super::generator::GeneratorError;
use super::send_stream::{SendStream, StreamSettings};
use super::sent::{SentReport, SentStream};
use crate::numbered::SentLosses;
use evforge_core::packet::PacketSlab;
use evforge_core::quantity::Rate;
use evforge_net::affinity::{PinError, pin_current_thread};
use evforge_net::departure_counters::{DepartureCounters, interface_of};
use evforge_net::pace::Pace;
use evforge_net::socket::{SendError, SenderOptions, UdpSender};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How far ahead of the clock packets are made: what a stop still sends.
const AHEAD: Duration = Duration::from_millis(20);

/// Packets and bytes that are made at once. Small enough for the cache of a core, large enough for several calls of
/// the kernel.
const SLAB: (usize, usize) = (512, 1 << 20);

/// One stream and its way.
#[derive(Clone, Debug)]
pub struct SendTarget {
    /// Where to.
    pub destination: SocketAddr,
    /// Where from; none lets the kernel choose.
    pub source: Option<SocketAddr>,
    /// Core of its thread; none leaves it to the system.
    pub core: Option<usize>,
    /// What is sent.
    pub stream: StreamSettings,
}

/// What to send, and how long.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// The streams.
    pub targets: Vec<SendTarget>,
    /// Hand runs of equally long packets to the kernel in one piece (UDP_SEGMENT).
    pub segment: bool,
    /// The network interface to send through by AF_XDP, instead of sockets. Each stream takes one of its queues.
    pub xdp: Option<String>,
    /// Ends after so long; none goes on until all data generators have ended.
    pub duration: Option<Duration>,
}

/// Why sending failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendRunError {
    /// The settings of a stream are impossible.
    Settings(GeneratorError),
    /// A socket could not be made or does not send.
    Send(SendError),
    /// A thread could not be bound to its core.
    Pin(PinError),
    /// A thread has ended for a fault of this program.
    Thread,
}

impl fmt::Display for SendRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(error) => error.fmt(f),
            Self::Send(error) => error.fmt(f),
            Self::Pin(error) => error.fmt(f),
            Self::Thread => {
                f.write_str("a sending thread has panicked: please report this as a fault of evforge")
            }
        }
    }
}

impl std::error::Error for SendRunError {}

impl From<GeneratorError> for SendRunError {
    fn from(error: GeneratorError) -> Self {
        Self::Settings(error)
    }
}

impl From<SendError> for SendRunError {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

/// Sends all streams until they have ended, the time is over or `stop` is set, and says what was sent.
///
/// # Errors
/// The first failure of a stream; the others are stopped then.
pub fn send(settings: &SendSettings, stop: &AtomicBool) -> Result<SentReport, SendRunError> {
    // Sockets and settings first, so that nothing has been sent if one of them fails.
    let mut senders = Vec::new();
    for target in &settings.targets {
        let stream = SendStream::new(target.stream.clone())?;
        let pace = if stream.is_scheduled() { Pace::OwnTiming { speed: 1.0 } } else { Pace::Unpaced };
        let options = SenderOptions {
            source: target.source,
            pace,
            segment: settings.segment,
            ..SenderOptions::new(target.destination)
        };
        senders.push((UdpSender::open_by(&options, settings.xdp.as_deref())?, stream, target));
    }
    let interface = senders.first().and_then(|(sender, ..)| interface_of(sender.local_address().ip()));
    let before = DepartureCounters::read(interface.as_deref());
    let failed = AtomicBool::new(false);
    let streams = std::thread::scope(|scope| {
        let threads: Vec<_> = senders
            .into_iter()
            .map(|(sender, stream, target)| {
                let failed = &failed;
                scope.spawn(move || {
                    let outcome = send_one(sender, stream, target, settings.duration, &[stop, failed]);
                    failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    outcome
                })
            })
            .collect();
        // All are joined before the first error is looked at.
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or(Err(SendRunError::Thread)))
            .collect::<Result<_, _>>()
    })?;
    let counted = DepartureCounters::read(interface.as_deref()).since(&before);
    Ok(SentReport { streams, losses: SentLosses::new(interface, &counted) })
}

fn send_one(
    mut sender: UdpSender,
    mut stream: SendStream,
    target: &SendTarget,
    duration: Option<Duration>,
    stops: &[&AtomicBool],
) -> Result<SentStream, SendRunError> {
    if let Some(core) = target.core {
        pin_current_thread(core).map_err(SendRunError::Pin)?;
    }
    let mut slab = PacketSlab::new(SLAB.0, SLAB.1);
    let start = Instant::now();
    while !stream.is_finished() && !stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
        let now = start.elapsed();
        if duration.is_some_and(|most| now >= most) {
            break;
        }
        let until = picoseconds(duration.map_or(now + AHEAD, |most| most.min(now + AHEAD)));
        slab.clear();
        stream.fill(&mut slab, until);
        if slab.is_empty() {
            // The next packet is due later than it would be made.
            let due = stream.next_due().unwrap_or(u64::MAX);
            let wait = Duration::from_nanos(due.saturating_sub(until) / 1000).min(AHEAD);
            std::thread::sleep(wait.max(Duration::from_micros(100)));
            continue;
        }
        let batch = slab.batch();
        let mut next = 0;
        while next < batch.len() {
            next = sender.send(&batch, next, Instant::now() + Duration::from_secs(1))?;
        }
    }
    Ok(sent(&sender, &stream, target))
}

fn picoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX)
}

fn sent(sender: &UdpSender, stream: &SendStream, target: &SendTarget) -> SentStream {
    let report = sender.report();
    let settings = stream.settings();
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    SentStream {
        destination: target.destination,
        source: sender.local_address(),
        layout: settings.layout.to_string(),
        order: settings.order.to_string(),
        pattern: settings.pattern.order().to_string(),
        first_identifier: settings.first_identifier,
        generators: stream.generators(),
        packets: stream.packets(),
        payload_bytes: stream.payload_bytes(),
        datagrams: report.packets,
        datagram_bytes: report.bytes,
        faults: settings.faults.iter().map(ToString::to_string).collect(),
        asked_rate: settings.rate.map(|rate| match rate {
            Rate::Packets(rate) => format!("{rate}pps"),
            Rate::Bits(rate) => format!("{rate}bit/s"),
        }),
        seconds: report.elapsed.as_secs_f64(),
        packets_per_second: report.packets_per_second(),
        bits_per_second: report.bits_per_second(),
        refused: report.refused,
        dropped: report.dropped,
        mean_lateness_ns: report.deviation.map(|deviation| nanoseconds(deviation.mean)),
        largest_lateness_ns: report.deviation.map(|deviation| nanoseconds(deviation.largest)),
    }
}
