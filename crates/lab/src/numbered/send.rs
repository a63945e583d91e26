//! Traffic sent over UDP.

use super::sent::{SentFlow, SentLateness, SentLosses, SentPulses, SentReport};
use super::traffic::Traffic;
use evforge_core::packet::PacketSlab;
use evforge_core::quantity::Rate;
use evforge_net::affinity::{PinError, pin_current_thread};
use evforge_net::clock::wall_clock_ns;
use evforge_net::departure_counters::DepartureCounters;
use evforge_net::interfaces::{InterfacesInUse, has_device};
use evforge_net::lateness::Lateness;
use evforge_net::pace::wait_until;
use evforge_net::socket::{SendError, SenderOptions, UdpSender};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Packets of all flows that are made and stamped at once, as many as one call of the kernel takes.
const AT_ONCE: usize = 64;
/// How often a sender that waits looks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(50);

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
            core: None,
            duration: None,
        }
    }
}

/// Why sending failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendRunError {
    /// A socket could not be made or does not send.
    Send(SendError),
    /// The thread could not be bound to its core.
    Pin(PinError),
    /// There are more flows than ports from that of the source on.
    SourcePorts(u16),
}

impl fmt::Display for SendRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(error) => error.fmt(f),
            Self::Pin(error) => error.fmt(f),
            Self::SourcePorts(first) => {
                write!(f, "the source ports from {first} on go beyond 65535: begin with a lower one")
            }
        }
    }
}

impl std::error::Error for SendRunError {}

impl From<SendError> for SendRunError {
    fn from(error: SendError) -> Self {
        Self::Send(error)
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
) -> Result<SentReport, SendRunError> {
    if let Some(core) = settings.core {
        pin_current_thread(core).map_err(SendRunError::Pin)?;
    }
    let mut lanes = Lanes::open(&traffic, settings)?;
    let before = DepartureCounters::read(lanes.interface.as_deref());
    let mut record = Record::new(&traffic);
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let elapsed = start.elapsed();
        let Some(due) = traffic.next_due() else { break };
        if settings.duration.is_some_and(|most| elapsed >= most) {
            break;
        }
        let now = nanoseconds(elapsed);
        if due > now {
            let end = settings.duration.map_or(elapsed + PATIENCE, |most| most.min(elapsed + PATIENCE));
            wait_until(start + Duration::from_nanos(due).min(end));
            continue;
        }
        record.begin(due);
        let stamp = wall_clock_ns();
        let mut made = 0;
        let mut next = Some(due);
        while made < AT_ONCE
            && let Some(due) = next.filter(|&due| due <= now && record.is_of_this_pulse(due))
            && traffic.make(stamp, &mut lanes.slabs)
        {
            record.made(now, due);
            made += 1;
            next = traffic.next_due();
        }
        lanes.send()?;
        record.sent(made as u64, nanoseconds(start.elapsed()));
    }
    traffic.finish(&mut lanes.slabs);
    lanes.send()?;
    let counted = DepartureCounters::read(lanes.interface.as_deref()).since(&before);
    Ok(record.report(&traffic, settings.destination, &lanes, &counted))
}

/// The sockets of the flows.
struct Lanes {
    senders: Vec<UdpSender>,
    slabs: Vec<PacketSlab>,
    interface: Option<String>,
    segment: bool,
    xdp: bool,
}

impl Lanes {
    fn open(traffic: &Traffic, settings: &SendSettings) -> Result<Self, SendRunError> {
        let flows = traffic.settings().flows;
        let mut options = SenderOptions {
            source: settings.source,
            segment: settings.segment.unwrap_or(false) && settings.xdp.is_none(),
            send_buffer: settings.send_buffer,
            ..SenderOptions::new(settings.destination)
        };
        let first = settings.source.map_or(0, |source| source.port());
        if first != 0 && first.checked_add(flows - 1).is_none() {
            return Err(SendRunError::SourcePorts(first));
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
                let reading =
                    InterfacesInUse::OfAddress(sender.local_address().ip()).read().unwrap_or_default();
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
        let bytes = AT_ONCE * traffic.settings().sizes.largest();
        // Twice as many as are made at once: faults repeat packets.
        let slabs = senders.iter().map(|_| PacketSlab::new(2 * AT_ONCE, 2 * bytes)).collect();
        let interface = settings.xdp.clone().or(interface);
        Ok(Self { senders, slabs, interface, segment: options.segment, xdp: settings.xdp.is_some() })
    }

    /// Sends what is in the slabs, and empties them.
    fn send(&mut self) -> Result<(), SendError> {
        for (sender, slab) in
            self.senders.iter_mut().zip(&mut self.slabs).filter(|(_, slab)| !slab.is_empty())
        {
            let batch = slab.batch();
            let mut next = 0;
            while next < batch.len() {
                next = sender.send(&batch, next, Instant::now() + Duration::from_secs(1))?;
            }
            slab.clear();
        }
        Ok(())
    }
}

/// How sending goes.
struct Record {
    schedule: Option<super::schedule::Schedule>,
    lateness: Lateness,
    /// When the last packet was due.
    scheduled: u64,
    elapsed: u64,
    /// The pulse that is being sent, and when it is over so far.
    pulse: u64,
    pulses: u64,
    pulse_end: u64,
    /// Time in all pulses before this one.
    in_pulses: u64,
}

impl Record {
    fn new(traffic: &Traffic) -> Self {
        Self {
            schedule: traffic.settings().schedule,
            lateness: Lateness::default(),
            scheduled: 0,
            elapsed: 0,
            pulse: 0,
            pulses: 0,
            pulse_end: 0,
            in_pulses: 0,
        }
    }

    /// Before the packet due at this time.
    fn begin(&mut self, due: u64) {
        let Some(schedule) = self.schedule.filter(|schedule| schedule.pulses().is_some()) else { return };
        let pulse = schedule.pulse(due);
        if self.pulses == 0 || pulse != self.pulse {
            self.in_pulses += self.time_in_pulse();
            self.pulse = pulse;
            self.pulses += 1;
            self.pulse_end = 0;
        }
    }

    fn is_of_this_pulse(&self, due: u64) -> bool {
        self.schedule.is_none_or(|schedule| schedule.pulse(due) == self.pulse)
    }

    fn time_in_pulse(&self) -> u64 {
        let begins = self.schedule.map_or(0, |schedule| schedule.pulse_begins(self.pulse));
        self.pulse_end.saturating_sub(begins)
    }

    fn made(&mut self, now: u64, due: u64) {
        if self.schedule.is_some() {
            self.lateness.add(now - due);
            self.scheduled = due;
        }
    }

    fn sent(&mut self, packets: u64, now: u64) {
        if packets > 0 {
            self.elapsed = now;
            self.pulse_end = now;
        }
    }

    fn report(
        &self,
        traffic: &Traffic,
        destination: SocketAddr,
        lanes: &Lanes,
        counted: &DepartureCounters,
    ) -> SentReport {
        let per_second = |count: u64, nanoseconds: u64| count as f64 * 1e9 / nanoseconds.max(1) as f64;
        let (packets, bytes) = (traffic.packets(), traffic.bytes());
        let in_pulses = self.in_pulses + self.time_in_pulse();
        let (peak_packets, peak_bits) = (per_second(packets, in_pulses), 8.0 * per_second(bytes, in_pulses));
        let pulsed = self.schedule.and_then(|schedule| Some((schedule, schedule.pulses()?)));
        let pulses = pulsed.map(|(schedule, pulses)| SentPulses {
            frequency_hz: pulses.frequency.millihertz as f64 / 1e3,
            peak_factor: pulses.peak_factor,
            count: self.pulses,
            peak_packets_per_second: peak_packets,
            peak_bits_per_second: peak_bits,
            peak_factor_achieved: match schedule.rate() {
                Rate::Packets(rate) => peak_packets / rate as f64,
                Rate::Bits(rate) => peak_bits / rate as f64,
            },
        });
        let reports: Vec<_> = lanes.senders.iter().map(UdpSender::report).collect();
        let flows = traffic.flows().iter().zip(&lanes.senders).zip(0..).map(|((made, sender), flow)| {
            SentFlow { flow, source: sender.local_address(), packets: made.packets, bytes: made.bytes }
        });
        SentReport {
            destination,
            sizes: traffic.settings().sizes.to_string(),
            asked: self.schedule.map(|schedule| match schedule.rate() {
                Rate::Packets(rate) => format!("{rate} packets/s"),
                Rate::Bits(rate) => format!("{rate} bit/s"),
            }),
            packets,
            bytes,
            datagrams: reports.iter().map(|report| report.packets).sum(),
            faults: traffic.settings().faults.iter().map(ToString::to_string).collect(),
            segmented: lanes.segment,
            by_xdp: lanes.xdp,
            elapsed_s: self.elapsed as f64 / 1e9,
            scheduled_s: self.schedule.map(|_| self.scheduled as f64 / 1e9),
            packets_per_second: per_second(packets, self.elapsed),
            bits_per_second: 8.0 * per_second(bytes, self.elapsed),
            lateness: (self.lateness.count() > 0).then(|| SentLateness {
                mean_ns: nanoseconds(self.lateness.mean()),
                p99_ns: nanoseconds(self.lateness.below(0.99)),
                largest_ns: nanoseconds(self.lateness.largest()),
            }),
            pulses,
            refused: reports.iter().map(|report| report.refused).sum(),
            losses: SentLosses::new(lanes.interface.clone(), counted),
            flows: flows.collect(),
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
