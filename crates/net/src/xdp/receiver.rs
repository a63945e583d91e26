//! Receiving UDP by AF_XDP, with a kernel socket beside for what cannot be steered.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use evforge_core::packet::PacketSlab;

use super::counters::XdpCounters;
use super::delivery::Delivery;
use super::error::XdpError;
use super::opening::{self, Opened};
use super::options::{XdpMode, XdpOptions};
use super::privileges;
use super::queue::Queue;
use super::steering::{Steering, SteeringCounts};
use crate::readiness::Readiness;
use crate::socket::{ReceiveError, ReceiverCounters, ReceiverOptions, SocketDrops, UdpReceiver};

/// How often the socket beside is looked at while frames keep coming: it sees what is rare.
const BESIDE_INTERVAL: Duration = Duration::from_millis(1);

/// Receives UDP datagrams from the queues of one network interface, past the kernel's protocols.
pub struct XdpReceiver {
    options: XdpOptions,
    driver: Option<String>,
    // Detached before the sockets are closed.
    steering: Steering,
    queues: Vec<Queue>,
    mode: XdpMode,
    refused: Vec<String>,
    warnings: Vec<String>,
    readiness: Readiness,
    delivery: Delivery,
    /// The queue that is emptied first next time.
    first: usize,
    /// One for each port.
    beside: Vec<UdpReceiver>,
    beside_looked: Instant,
    address: SocketAddr,
}

impl fmt::Debug for XdpReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XdpReceiver")
            .field("interface", &self.options.interface)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl XdpReceiver {
    /// Opens the queues, attaches the steering program, and takes the ports of the kernel, too. Which way was found is
    /// told by [`XdpReceiver::description`].
    ///
    /// # Errors
    /// If an option is outside its range, there is no such interface, privileges or memory are missing (all that are
    /// missing are listed), the port is taken, or every way was refused.
    pub fn open(options: &XdpOptions) -> Result<Self, XdpError> {
        let first = open_beside(options, options.address)?;
        let address = first.local_address();
        let mut beside = vec![first];
        for &port in &options.ports {
            beside.push(open_beside(options, SocketAddr::new(address.ip(), port))?);
        }
        let Opened { interface, mut steering, queues, mode, refused, mut warnings } = opening::open(options)?;
        for receiver in &beside {
            steering
                .open_port(options.address.ip(), receiver.local_address().port())
                .map_err(|source| XdpError::Program { source })?;
            warnings.extend(receiver.warnings().iter().cloned());
        }
        let mut readiness = Readiness::new();
        queues.iter().for_each(|queue| readiness.watch(queue.as_fd()));
        beside.iter().for_each(|receiver| receiver.watch(&mut readiness));
        Ok(Self {
            options: options.clone(),
            delivery: Delivery::new(interface.largest_frame(), options.checksums),
            driver: interface.driver,
            steering,
            queues,
            mode,
            refused,
            warnings,
            readiness,
            first: 0,
            beside,
            beside_looked: Instant::now(),
            address,
        })
    }

    /// Gives up the capabilities that opening has needed and receiving does not need, of this thread and those that it
    /// starts from now on. From then on, neither this nor another AF_XDP receiver can be opened by them.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn give_up_privileges(&self) -> io::Result<()> {
        privileges::give_up()
    }

    /// Joins a multicast group, as [`UdpReceiver::join`] does, so that its packets reach the interface.
    ///
    /// # Errors
    /// If the address is no group, there is no such interface, or no route to the group.
    pub fn join(&self, group: IpAddr, interface: Option<&str>) -> Result<(), ReceiveError> {
        let interface = interface.unwrap_or(&self.options.interface);
        self.beside.iter().try_for_each(|receiver| receiver.join(group, Some(interface)))
    }

    /// Waits for packets until `deadline` and puts them behind those in `slab`: as soon as there are some, as many as
    /// there are and fit. Says how many; 0 if none came or the slab has no room left. A deadline in the past polls
    /// once.
    ///
    /// # Errors
    /// If the kernel fails to receive; packets that had come before are in the slab.
    pub fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, XdpError> {
        let before = slab.len();
        let mut spin_end = None;
        loop {
            self.take_frames(slab);
            let now = Instant::now();
            if slab.len() == before || now.duration_since(self.beside_looked) >= BESIDE_INTERVAL {
                self.beside_looked = now;
                for receiver in &mut self.beside {
                    receiver.receive(slab, now).map_err(XdpError::Beside)?;
                }
            }
            if slab.len() > before {
                return Ok(slab.len() - before);
            }
            if now >= deadline || !slab.has_room_for(1) {
                return Ok(0);
            }
            let spin_end =
                *spin_end.get_or_insert_with(|| now.checked_add(self.options.spin).unwrap_or(deadline));
            if now < spin_end {
                std::hint::spin_loop();
            } else {
                self.delivery.delivered.waits += 1;
                self.readiness.wait(deadline - now).map_err(|source| self.failed(source))?;
            }
        }
    }

    /// Takes what is in the rings.
    fn take_frames(&mut self, slab: &mut PacketSlab) {
        let delivery = &mut self.delivery;
        delivery.new_batch();
        let (after, before) = self.queues.split_at_mut(self.first);
        for queue in before.iter_mut().chain(after) {
            let taken = queue.take(|frame| delivery.deliver(frame, slab));
            delivery.delivered.batches += u64::from(taken > 0);
        }
        self.first = (self.first + 1) % self.queues.len();
    }

    /// The way in that was found, in words, with the reasons against better ones.
    pub fn description(&self) -> String {
        let queues = match self.queues.len() {
            1 => "1 queue".to_owned(),
            several => format!("{several} queues"),
        };
        let driver = self.driver.as_deref().map_or(String::new(), |driver| format!(" (driver {driver})"));
        let mut text =
            format!("AF_XDP on {}{driver}, {queues}, {}", self.options.interface, self.mode.name());
        if !self.refused.is_empty() {
            text.push_str(&format!("; not possible: {}", self.refused.join("; ")));
        }
        text
    }

    /// How frames come in.
    pub fn mode(&self) -> XdpMode {
        self.mode
    }

    /// True if the card writes the frames of every queue into our memory itself.
    pub fn is_zero_copy(&self) -> bool {
        self.queues.iter().all(Queue::is_zero_copy)
    }

    /// What deserves attention, in whole sentences with the command that mends it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What has been handed over so far, also by the kernel socket beside.
    pub fn counters(&self) -> ReceiverCounters {
        let mut counters = self.delivery.delivered;
        self.beside.iter().for_each(|receiver| counters.add(receiver.counters()));
        counters
    }

    /// What the program, the kernel and this receiver have counted.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn xdp_counters(&self) -> Result<XdpCounters, XdpError> {
        // Before Linux 6.0 an unprivileged process may not read maps: then these are not known, and losses still are.
        let steering = match self.steering.counts() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => SteeringCounts::default(),
            counts => counts.map_err(|source| self.failed(source))?,
        };
        let delivery = &self.delivery;
        let mut counters = XdpCounters {
            seen: steering.seen,
            steered: steering.steered,
            no_socket: steering.no_socket,
            other_port: steering.other_port,
            fragments: steering.fragments,
            extended: steering.extended,
            not_udp: steering.not_udp,
            frames: delivery.frames,
            malformed: delivery.malformed,
            merged: delivery.merged,
            wrong_checksum: delivery.wrong_checksum,
            not_verifiable: delivery.not_verifiable,
            beside: self.beside.iter().map(|receiver| receiver.counters().packets).sum(),
            ..XdpCounters::default()
        };
        for queue in &self.queues {
            let statistics = queue.statistics().map_err(|source| self.failed(source))?;
            counters.dropped += statistics.dropped;
            counters.ring_full += statistics.ring_full;
            counters.fill_ring_empty += statistics.fill_ring_empty;
            counters.gathered += queue.gathered();
        }
        Ok(counters)
    }

    /// Packets that arrived and were thrown away here: malformed, merged, or of a wrong checksum.
    pub fn discarded(&self) -> u64 {
        self.delivery.discarded()
    }

    /// Datagrams that the kernel sockets beside have dropped.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn drops(&self) -> Result<SocketDrops, XdpError> {
        let mut drops = SocketDrops::default();
        for receiver in &self.beside {
            drops.add(receiver.drops().map_err(XdpError::Beside)?);
        }
        Ok(drops)
    }

    /// The address with each of the ports, the first one first.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.beside.iter().map(UdpReceiver::local_address).collect()
    }

    /// The address and (first) port, with the port that the kernel chose if it was asked to.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Has packets for this receiver end a sleep, too.
    pub(crate) fn watch(&self, readiness: &mut Readiness) {
        self.queues.iter().for_each(|queue| readiness.watch(queue.as_fd()));
        self.beside.iter().for_each(|receiver| receiver.watch(readiness));
    }

    /// Upper bound of the memory this receiver uses, in bytes, without the kernel's.
    pub fn memory_bound(&self) -> usize {
        self.queues.iter().map(Queue::memory_bound).sum::<usize>()
            + self.beside.iter().map(UdpReceiver::memory_bound).sum::<usize>()
    }

    fn failed(&self, source: io::Error) -> XdpError {
        XdpError::Receive { interface: self.options.interface.clone(), source }
    }
}

/// The kernel socket that takes what the program leaves to the kernel.
fn open_beside(options: &XdpOptions, address: SocketAddr) -> Result<UdpReceiver, XdpError> {
    UdpReceiver::open(&ReceiverOptions {
        receive_buffer: options.receive_buffer,
        // Exact counts of drops, and room for the largest datagram that fragments make.
        coalesce: false,
        slot: 1 << 16,
        batch: 16,
        spin: Duration::ZERO,
        ..ReceiverOptions::new(address)
    })
    .map_err(XdpError::Beside)
}
