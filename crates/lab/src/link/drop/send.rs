//! Several streams sent over UDP, one thread each.

use super::send_stream::{SendStream, StreamSettings};
use super::sent::{SentReport, SentStream};
use crate::link::error::LinkSendError;
use crate::link::send::{Lanes, SendRecord, send_payload};
use crate::link::sent::SentLosses;
use evforge_core::quantity::Rate;
use evforge_net::affinity::pin_current_thread;
use evforge_net::departure_counters::{DepartureCounters, interface_of};
use evforge_net::socket::{SenderOptions, UdpSender};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
    /// What falls due within so long leaves together, so that threads sleep instead of spinning; 0 sends each packet when it is due.
    pub burst: Duration,
}

/// Sends all streams until they have ended, the time is over or `stop` is set, and says what was sent.
///
/// # Errors
/// The first failure of a stream; the others are stopped then.
pub fn send(settings: &SendSettings, stop: &AtomicBool) -> Result<SentReport, LinkSendError> {
    // Sockets and settings first, so that nothing has been sent if one of them fails.
    let mut senders = Vec::new();
    for target in &settings.targets {
        let stream = SendStream::new(target.stream.clone())?;
        let options = SenderOptions {
            source: target.source,
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
                    let outcome = send_one(sender, stream, target, settings, &[stop, failed]);
                    failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    outcome
                })
            })
            .collect();
        // All are joined before the first error is looked at.
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or(Err(LinkSendError::Thread)))
            .collect::<Result<_, _>>()
    })?;
    let counted = DepartureCounters::read(interface.as_deref()).since(&before);
    Ok(SentReport { streams, losses: SentLosses::new(interface, &counted) })
}

fn send_one(
    sender: UdpSender,
    mut stream: SendStream,
    target: &SendTarget,
    settings: &SendSettings,
    stops: &[&AtomicBool],
) -> Result<SentStream, LinkSendError> {
    if let Some(core) = target.core {
        pin_current_thread(core)?;
    }
    let mut lanes = Lanes::new(vec![sender], &stream);
    let mut record = SendRecord::new(None, stream.is_scheduled());
    send_payload(&mut stream, &mut lanes, &mut record, settings.duration, settings.burst, stops)?;
    Ok(sent(&lanes.senders[0], &stream, target, &record))
}

fn sent(sender: &UdpSender, stream: &SendStream, target: &SendTarget, record: &SendRecord) -> SentStream {
    let report = sender.report();
    let settings = stream.settings();
    let lateness = record.lateness();
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
        mean_lateness_ns: lateness.map(|lateness| lateness.mean_ns),
        largest_lateness_ns: lateness.map(|lateness| lateness.largest_ns),
    }
}
