//! Several modules sent over UDP, one thread each.

use super::payload::{PayloadSettings, TrainPayload};
use super::sent::{SentModule, SentNode, SentReport};
use crate::link::error::LinkSendError;
use crate::link::send::{Lanes, SendRecord, send_payload};
use crate::link::sent::SentLosses;
use evforge_core::counter::CounterSnapshot;
use evforge_net::affinity::pin_current_thread;
use evforge_net::departure_counters::{DepartureCounters, interface_of};
use evforge_net::socket::{SenderOptions, UdpSender};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What to send, to whom, and how long.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// What each module sends.
    pub modules: Vec<PayloadSettings>,
    /// The nodes that the trains of each module are dealt to in turn: where the first module sends to.
    pub nodes: Vec<SocketAddr>,
    /// Each module sends to the ports behind those of the module before; else all to the same ones.
    pub port_per_module: bool,
    /// Where the first module sends from to the first node. Successive ports are for the other nodes, and then for the next module. None
    /// lets the kernel choose.
    pub source: Option<SocketAddr>,
    /// Cores of the threads of the modules, in turn; none leaves them to the system.
    pub cores: Vec<usize>,
    /// Hand runs of equally long packets to the kernel in one piece (UDP_SEGMENT).
    pub segment: bool,
    /// The network interface to send through by AF_XDP, instead of sockets. Each module takes one of its queues for each node.
    pub xdp: Option<String>,
    /// Ends after so long; none goes on until all trains are sent.
    pub duration: Option<Duration>,
    /// What falls due within so long leaves together, so that threads sleep instead of spinning; 0 sends each packet when it is due.
    pub burst: Duration,
}

/// A module that is ready to send.
struct Module {
    payload: TrainPayload,
    /// Where to, and by what.
    senders: Vec<(SocketAddr, UdpSender)>,
    core: Option<usize>,
}

/// Sends all modules until their trains are sent, the time is over or `stop` is set, and says what was sent.
///
/// # Errors
/// The first failure of a module; the others are stopped then.
pub fn send(settings: &SendSettings, stop: &AtomicBool) -> Result<SentReport, LinkSendError> {
    // Sockets and settings first, so that nothing has been sent if one of them fails.
    let (mut modules, mut sources) = (Vec::new(), 0);
    for (number, module) in (0_u16..).zip(&settings.modules) {
        let payload = TrainPayload::new(module.clone(), u64::from(number), settings.nodes.len() as u64)?;
        let mut senders = Vec::new();
        for &node in &settings.nodes {
            let node = if settings.port_per_module { port_of(node, number)? } else { node };
            let source = settings.source.map(|first| source_of(first, sources)).transpose()?;
            sources += 1;
            let options = SenderOptions { source, segment: settings.segment, ..SenderOptions::new(node) };
            senders.push((node, UdpSender::open_by(&options, settings.xdp.as_deref())?));
        }
        let core = settings.cores.get(modules.len() % settings.cores.len().max(1)).copied();
        modules.push(Module { payload, senders, core });
    }
    let first = modules.first().and_then(|module| module.senders.first());
    let interface = first.and_then(|(_, sender)| interface_of(sender.local_address().ip()));
    let before = DepartureCounters::read(interface.as_deref());
    let failed = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        let threads: Vec<_> = modules
            .into_iter()
            .map(|module| {
                let failed = &failed;
                scope.spawn(move || {
                    let outcome = send_module(module, settings, &[stop, failed]);
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
    Ok(SentReport { modules: sent, losses: SentLosses::new(interface, &counted) })
}

/// Where a module sends to.
fn port_of(first: SocketAddr, module: u16) -> Result<SocketAddr, LinkSendError> {
    let port = first.port().checked_add(module).ok_or(LinkSendError::ModulePorts(first.port()))?;
    Ok(SocketAddr::new(first.ip(), port))
}

/// The source with this number: each module has a port of its own for each node.
fn source_of(first: SocketAddr, number: usize) -> Result<SocketAddr, LinkSendError> {
    let port = match first.port() {
        0 => Some(0),
        port => u16::try_from(number).ok().and_then(|number| port.checked_add(number)),
    };
    port.map(|port| SocketAddr::new(first.ip(), port)).ok_or(LinkSendError::SourcePorts(first.port()))
}

fn send_module(
    module: Module,
    settings: &SendSettings,
    stops: &[&AtomicBool],
) -> Result<SentModule, LinkSendError> {
    let Module { mut payload, senders, core } = module;
    if let Some(core) = core {
        pin_current_thread(core)?;
    }
    let (destinations, senders): (Vec<_>, Vec<_>) = senders.into_iter().unzip();
    let mut lanes = Lanes::new(senders, &payload);
    let mut record = SendRecord::new(None, true);
    send_payload(&mut payload, &mut lanes, &mut record, settings.duration, settings.burst, stops)?;
    let nodes: Vec<_> = destinations
        .into_iter()
        .zip(&lanes.senders)
        .map(|(destination, sender)| {
            let report = sender.report();
            SentNode {
                destination,
                source: sender.local_address(),
                datagrams: report.packets,
                datagram_bytes: report.bytes,
                refused: report.refused,
                dropped: report.dropped,
            }
        })
        .collect();
    let (structure, counts, seconds) =
        (payload.source().structure(), payload.counts(), record.elapsed as f64 / 1e9);
    let snapshot = CounterSnapshot::of(&counts);
    let per_second = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
    Ok(SentModule {
        module: structure.detector_link,
        images: structure.images,
        image_bytes: structure.image_bytes,
        data_bytes: structure.data_bytes,
        packets_per_train: payload.source().packets(),
        first_train: structure.first_train,
        stride: structure.stride,
        first_frame: structure.first_frame,
        counters: snapshot.iter().map(|(info, value)| (info.name.to_owned(), value)).collect(),
        nodes,
        seconds,
        packets_per_second: per_second(counts.datagrams),
        bits_per_second: 8.0 * per_second(counts.datagram_bytes),
        is_too_slow: payload.is_too_slow(),
        lateness: record.lateness(),
    })
}
