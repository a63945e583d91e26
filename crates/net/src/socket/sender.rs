//! Sending UDP in batches, on a schedule: through a kernel socket, or as frames by AF_XDP.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use evforge_core::packet::PacketBatch;
use socket2::SockRef;

use super::departures::{self, MOST};
use super::descriptor;
use super::error::SendError;
use super::options::SenderOptions;
use super::report::{Deviation, SendReport};
use crate::lateness::Lateness;
use crate::pace::{Pace, Schedule, wait_until};
use crate::xdp::frame_sender::FrameSender;

/// Largest number of source ports.
const MOST_PORTS: usize = 1024;
/// Sources that are remembered with their port; those beyond are spread by their own port numbers.
const MOST_SOURCES: usize = 65_536;

/// Sends UDP datagrams to one destination.
#[derive(Debug)]
pub struct UdpSender {
    /// One for each source port.
    sockets: Vec<UdpSocket>,
    /// By what packets leave instead, with AF_XDP; the sockets then only keep the source ports.
    frames: Option<FrameSender>,
    /// Which of them sends the packets of a source, where there are several.
    lanes: HashMap<SocketAddr, usize>,
    address: SocketAddr,
    options: SenderOptions,
    schedule: Schedule,
    start: Option<Instant>,
    report: SendReport,
    lateness: Lateness,
    /// When the last packet was due, after the start.
    scheduled: u64,
}

impl UdpSender {
    /// Makes the sockets and directs them. Nothing is sent; the schedule starts with the first packet.
    ///
    /// # Errors
    /// If an option is outside its range, the pace is no positive number, there is no way to the destination, or the
    /// source is taken or not an address of this host.
    pub fn open(options: &SenderOptions) -> Result<Self, SendError> {
        let schedule = Schedule::new(options.pace)?;
        let any = match options.destination {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        if !(1..=MOST_PORTS).contains(&options.source_ports) {
            return Err(SendError::SourcePorts { found: options.source_ports, most: MOST_PORTS });
        }
        let failed = |from| move |source| SendError::Open { destination: options.destination, from, source };
        let mut sockets = Vec::with_capacity(options.source_ports);
        for number in 0..options.source_ports {
            let mut from = options.source.unwrap_or(any);
            if from.port() != 0 {
                // Past the last port it is the kernel that chooses.
                from.set_port(from.port().checked_add(number as u16).unwrap_or(0));
            }
            let socket = UdpSocket::bind(from).map_err(failed(options.source.map(|_| from)))?;
            if let (true, SocketAddr::V4(source)) = (options.destination.ip().is_multicast(), from)
                && options.source.is_some()
            {
                // To a group by the interface that the source is the address of, and not by that of the route.
                SockRef::from(&socket).set_multicast_if_v4(source.ip()).map_err(failed(Some(from)))?;
            }
            // To all hosts of a network as well: who names such an address wants that.
            socket.set_broadcast(true).map_err(failed(None))?;
            socket.connect(options.destination).map_err(failed(None))?;
            if let Some(bytes) = options.send_buffer {
                descriptor::request_send_buffer(socket.as_fd(), bytes).map_err(failed(None))?;
            }
            sockets.push(socket);
        }
        let address = sockets[0].local_addr().map_err(failed(None))?;
        Ok(Self {
            sockets,
            frames: None,
            lanes: HashMap::new(),
            address,
            options: *options,
            schedule,
            start: None,
            report: SendReport::default(),
            lateness: Lateness::default(),
            scheduled: 0,
        })
    }

    /// By AF_XDP through the interface that is named, else through sockets.
    ///
    /// # Errors
    /// As those two: [`UdpSender::open_by_xdp`], [`UdpSender::open`].
    pub fn open_by(options: &SenderOptions, xdp: Option<&str>) -> Result<Self, SendError> {
        xdp.map_or_else(|| Self::open(options), |interface| Self::open_by_xdp(options, interface))
    }

    /// The same by AF_XDP: frames with their headers and checksums made here leave through the interface with this name,
    /// bypassing the kernel's protocols, its filters and its queues; the kernel copies them. `segment` has no effect. The way
    /// to the destination and the neighbour's hardware address are asked of the kernel once, here. Needs `CAP_NET_RAW`,
    /// and memory to lock (8.4 MB); IPv4 only.
    ///
    /// # Errors
    /// As [`UdpSender::open`]; and if the destination is not behind that interface, the neighbour does not answer, or
    /// AF_XDP cannot be had.
    pub fn open_by_xdp(options: &SenderOptions, interface: &str) -> Result<Self, SendError> {
        let mut sender = Self::open(options)?;
        let failed = |reason| SendError::ByXdp {
            destination: options.destination,
            interface: interface.to_owned(),
            reason,
        };
        let sources: Result<Vec<_>, _> = sender.sockets.iter().map(UdpSocket::local_addr).collect();
        let sources = sources.map_err(|error| failed(error.to_string()))?;
        sender.frames = Some(FrameSender::open(interface, options.destination, &sources).map_err(failed)?);
        Ok(sender)
    }

    /// Sends the packets of `batch` from index `from` on, each when it is due, and returns when all have been
    /// given to the kernel or at `deadline`. Says with which packet to go on: `batch.len()` if none is left.
    /// A deadline in the past sends what is due at once, at most 64 packets.
    ///
    /// The schedule runs on between calls: packets that are late then go out at once.
    ///
    /// # Errors
    /// If the kernel refuses a packet (too long, no way there, forbidden), or own timing was asked for and a
    /// packet has no stamp. The packets before it have been sent, as far as they leave from the same source port; the
    /// error names it by its number.
    pub fn send(
        &mut self,
        batch: &PacketBatch<'_>,
        from: usize,
        deadline: Instant,
    ) -> Result<usize, SendError> {
        let start = *self.start.get_or_insert_with(Instant::now);
        let mut next = from;
        while next < batch.len() {
            let now = Instant::now();
            match self.take_due(batch, next, now - start)? {
                Due::Packets(count) => {
                    self.send_due(batch, next, count)?;
                    next += count;
                    self.report.elapsed = start.elapsed();
                }
                Due::At(due) => wait_until((start + due).min(deadline)),
            }
            if now >= deadline {
                break;
            }
        }
        Ok(next)
    }

    /// What has been sent so far, and how well the schedule was kept.
    pub fn report(&self) -> SendReport {
        let is_paced = self.options.pace != Pace::Unpaced && self.report.packets > 0;
        let deviation = is_paced.then(|| Deviation {
            largest: self.lateness.largest(),
            most: self.lateness.below(0.99),
            mean: self.lateness.mean(),
        });
        let scheduled = is_paced.then(|| Duration::from_nanos(self.scheduled));
        let dropped = self.frames.as_ref().map_or(0, FrameSender::dropped);
        SendReport { deviation, scheduled, dropped, ..self.report }
    }

    /// How many sources of packets have been seen, which share the source ports; only counted where there are several
    /// ports.
    pub fn sources(&self) -> usize {
        self.lanes.len()
    }

    /// The local address and port that packets are sent from; the first one, if there are several.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// How many packets from `next` on are due by now; they are taken off the schedule.
    fn take_due(&mut self, batch: &PacketBatch<'_>, next: usize, now: Duration) -> Result<Due, SendError> {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let mut count = 0;
        while count < MOST
            && let Some(packet) = batch.get(next + count)
        {
            if let Some(due) = self.schedule.due(&packet)? {
                if due > now {
                    if count == 0 {
                        return Ok(Due::At(Duration::from_nanos(due)));
                    }
                    break;
                }
                self.lateness.add(now - due);
                self.scheduled = due;
            }
            self.schedule.advance(&packet);
            count += 1;
        }
        Ok(Due::Packets(count))
    }

    /// Sends `count` packets (at most [`MOST`]) from index `next` on.
    fn send_due(&mut self, batch: &PacketBatch<'_>, next: usize, count: usize) -> Result<(), SendError> {
        let mut lanes = [0; MOST];
        if self.sockets.len() > 1 {
            for (lane, packet) in lanes.iter_mut().zip(batch.iter().skip(next).take(count)) {
                *lane = self.lane_of(packet.origin.source);
            }
        }
        let lanes = &lanes[..count];
        for lane in 0..self.sockets.len() {
            let mut picks = [0; MOST];
            let mut picked = 0;
            for (offset, _) in lanes.iter().enumerate().filter(|(_, of)| **of == lane) {
                picks[picked] = next + offset;
                picked += 1;
            }
            let mut rest = &picks[..picked];
            while !rest.is_empty() {
                let sent = self.send_some(batch, lane, rest)?;
                self.count(batch, &rest[..sent]);
                rest = &rest[sent..];
            }
        }
        Ok(())
    }

    /// The socket that sends the packets of a source: all the same, so that they keep their order.
    fn lane_of(&mut self, source: SocketAddr) -> usize {
        let ports = self.sockets.len();
        let known = self.lanes.len();
        if known >= MOST_SOURCES {
            return self.lanes.get(&source).copied().unwrap_or(usize::from(source.port()) % ports);
        }
        *self.lanes.entry(source).or_insert(known % ports)
    }

    fn send_some(
        &mut self,
        batch: &PacketBatch<'_>,
        lane: usize,
        picks: &[usize],
    ) -> Result<usize, SendError> {
        let segment = self.options.segment && self.frames.is_none();
        let picks = if self.options.single_calls { &picks[..1] } else { picks };
        let sent = match &mut self.frames {
            Some(frames) => frames.send(batch, lane, picks),
            None => departures::send(self.sockets[lane].as_fd(), batch, picks, segment),
        };
        match sent {
            Ok(sent) => Ok(sent),
            // The answer to an earlier packet; this one has not been sent yet.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.report.refused += 1;
                Ok(0)
            }
            Err(source) => Err(SendError::Send {
                destination: self.options.destination,
                packet: self.report.packets,
                length: picks
                    .first()
                    .and_then(|&index| batch.get(index))
                    .map_or(0, |packet| packet.bytes.len()),
                segment,
                source,
            }),
        }
    }

    fn count(&mut self, batch: &PacketBatch<'_>, picks: &[usize]) {
        self.report.packets += picks.len() as u64;
        let lengths = picks.iter().filter_map(|&index| batch.get(index)).map(|packet| packet.bytes.len());
        self.report.bytes += lengths.sum::<usize>() as u64;
    }
}

/// What the schedule says.
enum Due {
    /// This many packets (at least one) are due.
    Packets(usize),
    /// The next one is due so long after the start.
    At(Duration),
}
