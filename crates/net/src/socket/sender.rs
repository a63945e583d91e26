//! Sending UDP through a kernel socket, in batches, on a schedule.

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
use crate::pace::{Pace, Schedule};

/// Further ahead of the schedule than this, the sender sleeps; closer, it spins: a sleeping thread may wake
/// up some 50 us late.
const SPIN_BEFORE_DUE: Duration = Duration::from_micros(100);

/// Sends UDP datagrams to one destination.
#[derive(Debug)]
pub struct UdpSender {
    socket: UdpSocket,
    address: SocketAddr,
    options: SenderOptions,
    schedule: Schedule,
    start: Option<Instant>,
    report: SendReport,
    largest_lateness: u64,
    total_lateness: u128,
}

impl UdpSender {
    /// Makes the socket and directs it. Nothing is sent; the schedule starts with the first packet.
    ///
    /// # Errors
    /// If the pace is no positive number, there is no way to the destination, or the source is taken or not
    /// an address of this host.
    pub fn open(options: &SenderOptions) -> Result<Self, SendError> {
        let schedule = Schedule::new(options.pace)?;
        let any = match options.destination {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let failed = |from| move |source| SendError::Open { destination: options.destination, from, source };
        let socket = UdpSocket::bind(options.source.unwrap_or(any)).map_err(failed(options.source))?;
        if let (true, Some(SocketAddr::V4(source))) =
            (options.destination.ip().is_multicast(), options.source)
        {
            // To a group by the interface that the source is the address of, and not by that of the route.
            SockRef::from(&socket).set_multicast_if_v4(source.ip()).map_err(failed(options.source))?;
        }
        socket.connect(options.destination).map_err(failed(None))?;
        if let Some(bytes) = options.send_buffer {
            let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
            descriptor::set_number(socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)
                .map_err(failed(None))?;
        }
        let address = socket.local_addr().map_err(failed(None))?;
        Ok(Self {
            socket,
            address,
            options: *options,
            schedule,
            start: None,
            report: SendReport::default(),
            largest_lateness: 0,
            total_lateness: 0,
        })
    }

    /// Sends the packets of `batch` from index `from` on, each when it is due, and returns when all have been
    /// given to the kernel or at `deadline`. Says with which packet to go on: `batch.len()` if none is left.
    /// A deadline in the past sends what is due at once, at most 64 packets.
    ///
    /// The schedule runs on between calls: packets that are late then go out at once.
    ///
    /// # Errors
    /// If the kernel refuses a packet (too long, no way there, forbidden), or own timing was asked for and a
    /// packet has no stamp. The packets before it have been sent; the error names it by its number.
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
                    let end = next + count;
                    while next < end {
                        let sent = self.send_some(batch, next, end - next)?;
                        self.count(batch, next, sent);
                        next += sent;
                    }
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
        let deviation = (self.options.pace != Pace::Unpaced && self.report.packets > 0).then(|| {
            let mean = self.total_lateness / u128::from(self.report.packets);
            Deviation {
                largest: Duration::from_nanos(self.largest_lateness),
                // Not above the largest, which is a u64.
                mean: Duration::from_nanos(mean as u64),
            }
        });
        SendReport { deviation, ..self.report }
    }

    /// The local address and port that packets are sent from.
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
                self.largest_lateness = self.largest_lateness.max(now - due);
                self.total_lateness += u128::from(now - due);
            }
            self.schedule.advance(&packet);
            count += 1;
        }
        Ok(Due::Packets(count))
    }

    fn send_some(&mut self, batch: &PacketBatch<'_>, next: usize, count: usize) -> Result<usize, SendError> {
        let segment = self.options.segment;
        match departures::send(self.socket.as_fd(), batch, next, count, segment) {
            Ok(sent) => Ok(sent),
            // The answer to an earlier packet; this one has not been sent yet.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.report.refused += 1;
                Ok(0)
            }
            Err(source) => Err(SendError::Send {
                destination: self.options.destination,
                packet: self.report.packets,
                length: batch.get(next).map_or(0, |packet| packet.bytes.len()),
                segment,
                source,
            }),
        }
    }

    fn count(&mut self, batch: &PacketBatch<'_>, first: usize, sent: usize) {
        self.report.packets += sent as u64;
        let bytes: usize = batch.iter().skip(first).take(sent).map(|packet| packet.bytes.len()).sum();
        self.report.bytes += bytes as u64;
    }
}

/// What the schedule says.
enum Due {
    /// So many packets (at least one) are due.
    Packets(usize),
    /// The next one is due so long after the start.
    At(Duration),
}

/// Sleeps while the time is far away, then spins.
fn wait_until(time: Instant) {
    loop {
        let ahead = time.saturating_duration_since(Instant::now());
        if ahead.is_zero() {
            return;
        }
        if ahead > SPIN_BEFORE_DUE {
            std::thread::sleep(ahead - SPIN_BEFORE_DUE);
        } else {
            std::hint::spin_loop();
        }
    }
}
