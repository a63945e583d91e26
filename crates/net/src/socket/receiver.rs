//! Receiving UDP through a kernel socket, in batches, straight into slabs.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use evforge_core::packet::{ArrivalClock, PacketOrigin, PacketSlab};
use socket2::{Domain, SockFilter, Socket, Type};

use super::arrivals::{Arrivals, MOST};
use super::busy_poll;
use super::descriptor;
use super::error::ReceiveError;
use super::leftover::{Leftover, Piece};
use super::multicast;
use super::option;
use super::options::ReceiverOptions;
use super::report::{ReceiveBuffer, ReceiverCounters, SocketDrops};
use crate::clock::wall_clock_ns;
use crate::readiness::Readiness;

/// Memory for one piece of several datagrams: no piece is longer.
const PIECE_SLOT: usize = 65_536;
/// Datagrams of at most this many bytes are moved together, so that small ones do not take a whole slot of the
/// slab each; the move costs less than the next packet's cache misses would.
const MOVED_TOGETHER: usize = 2048;
/// How long a single call waits for a datagram.
const SINGLE_WAIT: Duration = Duration::from_millis(10);

/// Receives UDP datagrams on one address and port.
pub struct UdpReceiver {
    socket: UdpSocket,
    address: SocketAddr,
    options: ReceiverOptions,
    buffer: ReceiveBuffer,
    coalesces: bool,
    warnings: Vec<String>,
    readiness: Readiness,
    arrivals: Arrivals,
    leftover: Leftover,
    /// Most datagrams in one piece of the last batch: how many packets a slot may turn into.
    datagrams_per_piece: usize,
    /// The kernel's drop counter as last read, and its extension to 64 bits.
    drops: Cell<(u32, u64)>,
    counters: ReceiverCounters,
}

impl fmt::Debug for UdpReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpReceiver").field("address", &self.address).finish_non_exhaustive()
    }
}

impl UdpReceiver {
    /// Takes the port and gets ready. What the kernel did not grant is in [`UdpReceiver::warnings`].
    ///
    /// # Errors
    /// If an option is outside its range, the port is taken, the address is not one of this host's, the port
    /// may not be used, or the kernel refuses a setting.
    pub fn open(options: &ReceiverOptions) -> Result<Self, ReceiveError> {
        Self::open_with(options, false)
    }

    /// Takes the port, and has the kernel throw away what comes to it until [`UdpReceiver::release`].
    pub(crate) fn open_held(options: &ReceiverOptions) -> Result<Self, ReceiveError> {
        Self::open_with(options, true)
    }

    /// Receives from now on: how many datagrams were thrown away until now. They are not in [`UdpReceiver::drops`].
    pub(crate) fn release(&mut self) -> Result<u64, ReceiveError> {
        socket2::SockRef::from(&self.socket).detach_filter().map_err(|source| self.failed(source))?;
        let before = descriptor::drops(self.socket.as_fd()).map_err(|source| self.failed(source))?;
        self.drops.set((before, 0));
        Ok(before.into())
    }

    fn open_with(options: &ReceiverOptions, held: bool) -> Result<Self, ReceiveError> {
        check("receive_buffer", options.receive_buffer, (1, descriptor::LARGEST_BUFFER))?;
        check("slot", options.slot, (1, PIECE_SLOT))?;
        check("batch", options.batch, (1, MOST))?;
        let bind = |source| ReceiveError::Bind { address: options.address, source };
        let socket = take_port(options, held).map_err(bind)?;
        let address = socket.local_addr().map_err(bind)?;
        let setting = |setting| move |source| ReceiveError::Setting { address, setting, source };

        let buffer = ReceiveBuffer {
            requested: options.receive_buffer,
            granted: descriptor::request_buffer(socket.as_fd(), options.receive_buffer)
                .map_err(setting("the receive buffer (SO_RCVBUF)"))?,
        };
        let mut warnings = Vec::from_iter(buffer.warning(address.port()));
        if options.single_calls {
            socket.set_read_timeout(Some(SINGLE_WAIT)).map_err(setting("a time to wait (SO_RCVTIMEO)"))?;
        }
        let wants_pieces = options.coalesce && !options.single_calls;
        let coalesces =
            wants_pieces && descriptor::request_coalescing(socket.as_fd()).map_err(setting("UDP_GRO"))?;
        if wants_pieces && !coalesces {
            warnings.push(
                "This kernel does not know UDP_GRO (it came with Linux 5.0): packets are received one by one, which \
                 is slower for small packets. Nothing is lost by it as long as the program keeps up."
                    .into(),
            );
        }
        warnings.extend(
            busy_poll::request(socket.as_fd(), options.busy_poll)
                .map_err(setting("busy polling (SO_BUSY_POLL)"))?,
        );
        if options.kernel_stamps {
            option::set_number(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
                .map_err(setting("kernel arrival stamps (SO_TIMESTAMPNS)"))?;
        }
        let leftover = if coalesces {
            Leftover::new(options.batch, options.batch * PIECE_SLOT)
        } else {
            Leftover::new(0, 0)
        };
        let mut readiness = Readiness::new();
        readiness.watch(socket.as_fd());
        Ok(Self {
            socket,
            address,
            options: *options,
            buffer,
            coalesces,
            warnings,
            readiness,
            arrivals: Arrivals::new(),
            leftover,
            datagrams_per_piece: 1,
            drops: Cell::new((0, 0)),
            counters: ReceiverCounters::default(),
        })
    }

    /// Joins a multicast group on the interface with this name; without one, on that of the route to the group. The socket
    /// must take all addresses (`0.0.0.0` for groups of IPv4, `[::]` for IPv6), or the group's own.
    ///
    /// # Errors
    /// If the address is no group, there is no such interface, or no route to the group.
    pub fn join(&self, group: IpAddr, interface: Option<&str>) -> Result<(), ReceiveError> {
        let failed = |source| ReceiveError::Join {
            address: self.address,
            group,
            interface: interface.map(str::to_owned),
            source,
        };
        if !group.is_multicast() || group.is_ipv4() != self.address.is_ipv4() {
            return Err(failed(io::Error::from(io::ErrorKind::InvalidInput)));
        }
        multicast::join(&self.socket, group, interface).map_err(failed)
    }

    /// Waits for packets until `deadline` and puts them behind those in `slab`: as soon as there are some, as
    /// many as there are and fit. Says how many; 0 if none came, or if the slab has no room left for one slot
    /// (65 536 bytes with UDP_GRO), so hand in an empty slab or one of many slots.
    ///
    /// At most the time until `deadline` is spent, spinning first. A deadline in the past polls once.
    ///
    /// # Errors
    /// If the kernel fails to receive; packets that had come before are in the slab.
    pub fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, ReceiveError> {
        let before = slab.len();
        self.leftover.deliver(slab);
        if slab.len() > before {
            return Ok(slab.len() - before);
        }
        if self.options.single_calls {
            return self.receive_single(slab, deadline);
        }
        let mut spin_end = None;
        loop {
            while self.take_batch(slab).map_err(|source| self.failed(source))? == Batch::Full {}
            if slab.len() > before {
                return Ok(slab.len() - before);
            }
            if !self.has_room(slab) {
                return Ok(0);
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(0);
            }
            let spin_end =
                *spin_end.get_or_insert_with(|| now.checked_add(self.options.spin).unwrap_or(deadline));
            if now < spin_end {
                std::hint::spin_loop();
            } else {
                self.counters.waits += 1;
                self.readiness.wait(deadline - now).map_err(|source| self.failed(source))?;
            }
        }
    }

    /// One datagram, or none at the deadline.
    fn receive_single(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, ReceiveError> {
        loop {
            let batch = self.take_batch(slab).map_err(|source| self.failed(source))?;
            match batch {
                Batch::Full | Batch::Part => return Ok(1),
                Batch::NoRoom => return Ok(0),
                Batch::Empty if Instant::now() >= deadline => return Ok(0),
                Batch::Empty => self.counters.waits += 1,
            }
        }
    }

    /// Datagrams that this socket dropped since it was opened, up to now: also those after the last one
    /// received. Call it at least once in 4 billion drops, or whole turns of the kernel's counter are missed.
    ///
    /// # Errors
    /// If the kernel does not tell (before Linux 4.12).
    pub fn drops(&self) -> Result<SocketDrops, ReceiveError> {
        let now = descriptor::drops(self.socket.as_fd()).map_err(|source| ReceiveError::Setting {
            address: self.address,
            setting: "its drop counter (SO_MEMINFO)",
            source,
        })?;
        let (last, total) = self.drops.get();
        let total = total + u64::from(now.wrapping_sub(last));
        self.drops.set((now, total));
        Ok(SocketDrops { count: total, is_lower_bound: self.coalesces })
    }

    /// The receive buffer asked for and granted.
    pub fn buffer(&self) -> ReceiveBuffer {
        self.buffer
    }

    /// How much of the receive buffer is taken at this moment, in bytes of the kernel's bookkeeping: of twice
    /// [`ReceiveBuffer::granted`]. A datagram takes more than its payload (`truesize`: the memory that it lies in, and what
    /// the kernel keeps about it). While it is read, the kernel gives the memory back in steps of up to a quarter of the buffer.
    ///
    /// # Errors
    /// If the kernel does not tell (before Linux 4.12).
    pub fn buffer_used(&self) -> Result<usize, ReceiveError> {
        let used = descriptor::used(self.socket.as_fd()).map_err(|source| ReceiveError::Setting {
            address: self.address,
            setting: "what it uses of its buffer (SO_MEMINFO)",
            source,
        })?;
        Ok(used as usize)
    }

    /// True if the kernel may hand over several datagrams in one piece (UDP_GRO).
    pub fn coalesces(&self) -> bool {
        self.coalesces
    }

    /// What the kernel did not grant, in whole sentences with the command that fixes it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What has been handed over so far.
    pub fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }

    /// The address and port, with the port that the kernel chose if it was asked to.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Has packets for this socket end a sleep, too.
    pub(crate) fn watch(&self, readiness: &mut Readiness) {
        readiness.watch(self.socket.as_fd());
    }

    fn failed(&self, source: io::Error) -> ReceiveError {
        ReceiveError::Receive { address: self.address, source }
    }

    fn slot(&self) -> usize {
        if self.coalesces { PIECE_SLOT } else { self.options.slot }
    }

    fn has_room(&self, slab: &mut PacketSlab) -> bool {
        let empty = slab.is_empty();
        let mut space = slab.space();
        space.packets() > 0 && (empty || space.memory().len() >= self.slot())
    }

    /// Takes what is waiting, at most one batch.
    fn take_batch(&mut self, slab: &mut PacketSlab) -> io::Result<Batch> {
        if !self.leftover.is_empty() || !self.has_room(slab) {
            return Ok(Batch::NoRoom);
        }
        let mut space = slab.space();
        // An empty slab may still be smaller than a slot; then it is one.
        let slot = self.slot().min(space.memory().len());
        let waits = self.options.single_calls;
        let most = if waits { 1 } else { self.options.batch };
        let count =
            most.min(space.memory().len() / slot).min((space.packets() / self.datagrams_per_piece).max(1));
        let arrivals = self.arrivals.receive(self.socket.as_fd(), space.memory(), slot, count, waits)?;
        if arrivals.is_empty() {
            return Ok(Batch::Empty);
        }
        let received = arrivals.len();
        self.counters.batches += 1;
        self.datagrams_per_piece = 1;
        let mut process_clock = None;
        let mut end = 0;
        for (index, arrival) in arrivals.iter().enumerate() {
            let held = arrival.length.min(slot);
            let mut start = index * slot;
            if held <= MOVED_TOGETHER && end < start {
                space.memory().copy_within(start..start + held, end);
                start = end;
            }
            end = start + held;
            let (arrival_ns, arrival_clock) = match arrival.stamp_ns {
                Some(stamp) => (stamp, ArrivalClock::Kernel),
                None => (*process_clock.get_or_insert_with(wall_clock_ns), ArrivalClock::Process),
            };
            let origin = PacketOrigin {
                source: arrival.source,
                destination_port: self.address.port(),
                arrival_ns,
                arrival_clock,
            };
            let segment = arrival.segment.unwrap_or(arrival.length);
            let mut rest = Some(Piece { start, held, length: arrival.length, segment, origin });
            while let Some(piece) = rest {
                let (part, after) = piece.split();
                if !space.add(part.start, part.length, part.original_length, origin) {
                    self.leftover.keep(piece, &mut space);
                    break;
                }
                rest = after;
            }
            let datagrams = arrival.length.div_ceil(segment.max(1)).max(1);
            self.datagrams_per_piece = self.datagrams_per_piece.max(datagrams);
            self.counters.packets += datagrams as u64;
            self.counters.bytes += held as u64;
            if held < arrival.length {
                self.counters.cut += (datagrams - held / segment) as u64;
            }
            if datagrams > 1 {
                self.counters.pieces += 1;
                self.counters.coalesced += datagrams as u64;
            }
        }
        Ok(if received == count { Batch::Full } else { Batch::Part })
    }
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Batch {
    NoRoom,
    Empty,
    /// Fewer than there were slots: nothing more is waiting.
    Part,
    /// All slots: there may be more.
    Full,
}

/// Takes the address and port, alone or with others that share it.
fn take_port(options: &ReceiverOptions, held: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(options.address), Type::DGRAM, None)?;
    socket.set_reuse_port(options.share_port)?;
    if held {
        // A filter that takes nothing (BPF_RET | BPF_K, 0 bytes): before the first datagram can come.
        socket.attach_filter(&[SockFilter::new(0x06, 0, 0, 0)])?;
    }
    match socket.bind(&options.address.into()) {
        // Ports below 1024 are for privileged processes.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            crate::helper::bind(socket.as_fd(), options.address).map_err(|_| error)?;
        }
        result => result?,
    }
    Ok(socket.into())
}

fn check(option: &'static str, value: usize, range: (usize, usize)) -> Result<(), ReceiveError> {
    if value < range.0 || value > range.1 {
        return Err(ReceiveError::Option { option, value, range });
    }
    Ok(())
}
