//! Traffic sent over UDP.

use super::sent::{SentFlow, SentPulses, SentReport};
use super::traffic::Traffic;
use crate::link::error::LinkSendError;
use crate::link::send::{Lanes, SendRecord, send_payload};
use crate::link::sent::SentLosses;
use evforge_core::quantity::Rate;
use evforge_net::affinity::pin_current_thread;
use evforge_net::departure_counters::DepartureCounters;
use evforge_net::interfaces::{InterfacesInUse, has_device};
use evforge_net::socket::{SenderOptions, UdpSender};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Where to send, and how.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// Where to.
    pub destination: SocketAddr,
    /// Where the first flow comes from, further ones from successive ports; none lets the kernel choose.
    pub source: Option<SocketAddr>,
    /// Hand runs of equally long packets to the kernel in one piece (UDP_SEGMENT). None: where there is a device behind the
    /// interface, which makes single packets of them. Loopback and veth pairs hand pieces on as a whole, which no wire does.
    pub segment: Option<bool>,
    /// The network interface to send through by AF_XDP, instead of sockets: without segments, and each flow takes one of
    /// its queues.
    pub xdp: Option<String>,
    /// Send buffer of each flow to ask the kernel for, in bytes; none keeps the system's default.
    pub send_buffer: Option<usize>,
    /// Give each packet to the kernel by a call of its own, for comparisons.
    pub single_calls: bool,
    /// Core of the sending thread; none leaves it to the system.
    pub core: Option<usize>,
    /// Ends after so long; none does not.
    pub duration: Option<Duration>,
}

impl SendSettings {
    /// From one port after the other, as the kernel chooses them, until the traffic ends.
    pub fn new(destination: SocketAddr) -> Self {
        Self {
            destination,
            source: None,
            segment: None,
            xdp: None,
            send_buffer: None,
            single_calls: false,
            core: None,
            duration: None,
        }
    }
}

/// Sends until the traffic ends, the time is over or `stop` is set, in this thread, and says what was sent.
///
/// # Errors
/// If a socket or the core cannot be had, or the kernel refuses a packet.
pub fn send(
    mut traffic: Traffic,
    settings: &SendSettings,
    stop: &AtomicBool,
) -> Result<SentReport, LinkSendError> {
    if let Some(core) = settings.core {
        pin_current_thread(core)?;
    }
    let Opened { senders, interface, segment } = open(&traffic, settings)?;
    let mut lanes = Lanes::new(senders, &traffic);
    let before = DepartureCounters::read(interface.as_deref());
    let schedule = traffic.settings().schedule;
    let mut record = SendRecord::new(schedule, schedule.is_some());
    send_payload(&mut traffic, &mut lanes, &mut record, settings.duration, Duration::ZERO, &[stop])?;
    let counted = DepartureCounters::read(interface.as_deref()).since(&before);
    let losses = SentLosses::new(interface, &counted);
    Ok(report(&traffic, settings, &lanes.senders, &record, segment, losses))
}

/// The senders of all flows.
struct Opened {
    senders: Vec<UdpSender>,
    interface: Option<String>,
    segment: bool,
}

fn open(traffic: &Traffic, settings: &SendSettings) -> Result<Opened, LinkSendError> {
    let flows = traffic.settings().flows;
    let mut options = SenderOptions {
        source: settings.source,
        segment: settings.segment.unwrap_or(false) && settings.xdp.is_none(),
        send_buffer: settings.send_buffer,
        single_calls: settings.single_calls,
        ..SenderOptions::new(settings.destination)
    };
    let first = settings.source.map_or(0, |source| source.port());
    if first != 0 && first.checked_add(flows - 1).is_none() {
        return Err(LinkSendError::SourcePorts(first));
    }
    let mut interface = None;
    let mut senders = Vec::new();
    for flow in 0..flows {
        if let (Some(source), true) = (&mut options.source, first != 0) {
            source.set_port(first + flow);
        }
        let mut sender = UdpSender::open_by(&options, settings.xdp.as_deref())?;
        if flow == 0 {
            // Where the kernel does not tell, segments are left off and the interface's losses have no place.
            let reading = InterfacesInUse::OfAddress(sender.local_address().ip()).read().unwrap_or_default();
            interface = reading.names().first().map(|&name| name.to_owned());
            let has_device = reading.names().iter().any(|name| has_device(name));
            let segment = settings.segment.unwrap_or(has_device);
            if segment != options.segment && settings.xdp.is_none() {
                options.segment = segment;
                drop(sender);
                sender = UdpSender::open(&options)?;
            }
        }
        senders.push(sender);
    }
    let interface = settings.xdp.clone().or(interface);
    Ok(Opened { senders, interface, segment: options.segment })
}

fn report(
    traffic: &Traffic,
    settings: &SendSettings,
    senders: &[UdpSender],
    record: &SendRecord,
    segmented: bool,
    losses: SentLosses,
) -> SentReport {
    let schedule = traffic.settings().schedule;
    let per_second = |count: u64, nanoseconds: u64| count as f64 * 1e9 / nanoseconds.max(1) as f64;
    let (packets, bytes) = (traffic.packets(), traffic.bytes());
    let in_pulses = record.in_pulses();
    let (peak_packets, peak_bits) = (per_second(packets, in_pulses), 8.0 * per_second(bytes, in_pulses));
    let pulsed = schedule.and_then(|schedule| Some((schedule, schedule.pulses()?)));
    let pulses = pulsed.map(|(schedule, pulses)| SentPulses {
        frequency_hz: pulses.frequency.millihertz as f64 / 1e3,
        peak_factor: pulses.peak_factor,
        count: record.pulses,
        peak_packets_per_second: peak_packets,
        peak_bits_per_second: peak_bits,
        peak_factor_achieved: match schedule.rate() {
            Rate::Packets(rate) => peak_packets / rate as f64,
            Rate::Bits(rate) => peak_bits / rate as f64,
        },
    });
    let reports: Vec<_> = senders.iter().map(UdpSender::report).collect();
    let flows = traffic.flows().iter().zip(senders).zip(0..).map(|((made, sender), flow)| SentFlow {
        flow,
        source: sender.local_address(),
        packets: made.packets,
        bytes: made.bytes,
    });
    SentReport {
        destination: settings.destination,
        sizes: traffic.settings().sizes.to_string(),
        asked: schedule.map(|schedule| match schedule.rate() {
            Rate::Packets(rate) => format!("{rate} packets/s"),
            Rate::Bits(rate) => format!("{rate} bit/s"),
        }),
        packets,
        bytes,
        datagrams: reports.iter().map(|report| report.packets).sum(),
        faults: traffic.settings().faults.iter().map(ToString::to_string).collect(),
        segmented,
        by_xdp: settings.xdp.is_some(),
        elapsed_s: record.elapsed as f64 / 1e9,
        scheduled_s: schedule.map(|_| record.scheduled as f64 / 1e9),
        packets_per_second: per_second(packets, record.elapsed),
        bits_per_second: 8.0 * per_second(bytes, record.elapsed),
        lateness: record.lateness(),
        pulses,
        refused: reports.iter().map(|report| report.refused).sum(),
        losses,
        flows: flows.collect(),
    }
}
