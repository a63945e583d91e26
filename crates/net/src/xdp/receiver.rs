//! Receiving UDP by AF_XDP, with a kernel socket alongside for what cannot be steered.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use evforge_core::counter::CounterSet;
use evforge_core::packet::PacketSlab;

use super::attachment::Attachment;
use super::counters::XdpCounters;
use super::delivery::Delivery;
use super::error::XdpError;
use super::interface::AROUND;
use super::options::{XdpMode, XdpOptions};
use super::queue::{LARGEST_PIECE, Queue};
use super::watch::{Change, InterfaceWatch, Outages};
use crate::helper::message::ReceiverRequest;
use crate::readiness::Readiness;
use crate::socket::{ReceiveError, ReceiverCounters, ReceiverOptions, SocketDrops, UdpReceiver};

/// How often the kernel socket is looked at while frames keep coming: it sees what is rare.
const BESIDE_INTERVAL: Duration = Duration::from_millis(1);
/// How long packets that the kernel had already taken may still be on their way to a kernel socket when steering begins:
/// they are older than those in the rings, and are handed over first.
const SETTLING: Duration = Duration::from_millis(2);
/// How often news of the interface are read.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);
/// How often it is tried to attach to an interface again.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Receives UDP datagrams from the queues of one network interface, bypassing the kernel's protocols.
pub struct XdpReceiver {
    options: XdpOptions,
    /// None while the interface is not there.
    attachment: Option<Attachment>,
    /// What attachments that are gone had counted.
    past: XdpCounters,
    before_start: u64,
    warnings: Vec<String>,
    readiness: Readiness,
    delivery: Delivery,
    /// The queue that is emptied first next time.
    first: usize,
    /// One for each port.
    beside: Vec<UdpReceiver>,
    beside_looked: Instant,
    /// When steering has begun, until the kernel sockets have handed over what came before.
    settling: Option<Instant>,
    watch: InterfaceWatch,
    watched: Instant,
    outages: Outages,
    /// When it was last tried to attach again, and why it failed.
    retried: Option<(Instant, String)>,
    /// The MTU at the start and now, if it was changed.
    changed_mtu: Option<(usize, usize)>,
    groups: RefCell<Vec<(IpAddr, Option<String>)>>,
    address: SocketAddr,
}

impl fmt::Debug for XdpReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XdpReceiver")
            .field("interface", &self.options.interface)
            .field("attachment", &self.attachment)
            .finish_non_exhaustive()
    }
}

impl XdpReceiver {
    /// Opens the queues, attaches the steering program, and takes the ports of the kernel, too. Which way was found is
    /// told by [`XdpReceiver::description`].
    ///
    /// Opening takes up to a second for each queue. What arrives at the ports meanwhile is discarded and counted
    /// (`before_start`): the run begins with the first packet after it.
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
        let ports = ports_of(&beside);
        let mut attachment = Attachment::open(&request(options, &ports))?;
        let watch = InterfaceWatch::begin(&options.interface, &attachment.about.interface)
            .map_err(|source| XdpError::Interface { interface: options.interface.clone(), source })?;
        let mut warnings = attachment.about.warnings.clone();
        let mut before_start = 0;
        for receiver in &mut beside {
            warnings.extend(receiver.warnings().iter().cloned());
            before_start += receiver.release().map_err(XdpError::Beside)?;
        }
        attachment.steer(options.address.ip(), &ports)?;
        let now = Instant::now();
        let mut receiver = Self {
            options: options.clone(),
            delivery: Delivery::new(attachment.about.interface.largest_frame(), options.checksums),
            attachment: Some(attachment),
            past: XdpCounters::default(),
            before_start,
            warnings,
            readiness: Readiness::new(),
            first: 0,
            beside,
            beside_looked: now,
            settling: Some(now),
            watch,
            watched: now,
            outages: Outages::default(),
            retried: None,
            changed_mtu: None,
            groups: RefCell::default(),
            address,
        };
        receiver.watch_sockets();
        Ok(receiver)
    }

    /// Joins a multicast group, as [`UdpReceiver::join`] does, so that its packets reach the interface.
    ///
    /// # Errors
    /// If the address is no group, there is no such interface, or no route to the group.
    pub fn join(&self, group: IpAddr, interface: Option<&str>) -> Result<(), ReceiveError> {
        self.join_once(group, interface)?;
        self.groups.borrow_mut().push((group, interface.map(str::to_owned)));
        Ok(())
    }

    fn join_once(&self, group: IpAddr, interface: Option<&str>) -> Result<(), ReceiveError> {
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
            if self.settling.is_none() {
                self.take_frames(slab);
            }
            let now = Instant::now();
            if slab.len() == before || now.duration_since(self.beside_looked) >= BESIDE_INTERVAL {
                self.beside_looked = now;
                for receiver in &mut self.beside {
                    receiver.receive(slab, now).map_err(XdpError::Beside)?;
                }
            }
            if now.duration_since(self.watched) >= WATCH_INTERVAL {
                self.watched = now;
                self.watch_interface(now);
            }
            if slab.len() > before {
                return Ok(slab.len() - before);
            }
            if self.settling.is_some_and(|since| now.duration_since(since) >= SETTLING) {
                self.settling = None;
                continue;
            }
            if now >= deadline || !slab.has_room_for(1) {
                return Ok(0);
            }
            let spin_end =
                *spin_end.get_or_insert_with(|| now.checked_add(self.options.spin).unwrap_or(deadline));
            if now < spin_end || self.settling.is_some() {
                std::hint::spin_loop();
            } else {
                self.delivery.delivered.waits += 1;
                self.readiness
                    .wait((deadline - now).min(WATCH_INTERVAL))
                    .map_err(|source| self.failed(source))?;
            }
        }
    }

    /// Takes what is in the rings.
    fn take_frames(&mut self, slab: &mut PacketSlab) {
        let Some(attachment) = &mut self.attachment else { return };
        let delivery = &mut self.delivery;
        delivery.new_batch();
        let (after, before) = attachment.queues.split_at_mut(self.first);
        for queue in before.iter_mut().chain(after) {
            let taken = queue.take(|frame| delivery.deliver(frame, slab));
            delivery.delivered.batches += u64::from(taken > 0);
        }
        self.first = (self.first + 1) % attachment.queues.len();
    }

    /// Takes note of what has happened to the interface, and attaches again if it is back.
    fn watch_interface(&mut self, now: Instant) {
        for change in self.watch.changes() {
            match change {
                Change::Down => {
                    self.outages.times_down += 1;
                    self.outages.begin();
                }
                Change::Up => self.outages.end(),
                Change::Gone => {
                    self.outages.times_gone += 1;
                    self.outages.begin();
                    self.let_go();
                }
                Change::Back => self.retried = None,
                Change::Mtu(mtu) => self.take_mtu(mtu),
            }
        }
        if self.attachment.is_none()
            && self.watch.is_there()
            && self.retried.as_ref().is_none_or(|(last, _)| now.duration_since(*last) >= RETRY_INTERVAL)
        {
            self.retried = self.attach_again().err().map(|error| (now, error.to_string()));
        }
    }

    /// Gives up sockets of an interface that is gone.
    fn let_go(&mut self) {
        let Some(attachment) = self.attachment.take() else { return };
        // Counters of what is open do not fail; without them a loss would only have no place.
        self.past.accumulate(&attachment.counted().unwrap_or_default());
        self.watch_sockets();
    }

    fn attach_again(&mut self) -> Result<(), XdpError> {
        let ports = ports_of(&self.beside);
        let mut attachment = Attachment::open(&request(&self.options, &ports))?;
        for (group, interface) in self.groups.borrow().iter() {
            // The membership has gone with the interface.
            self.join_once(*group, interface.as_deref()).map_err(XdpError::Beside)?;
        }
        attachment.steer(self.options.address.ip(), &ports)?;
        self.delivery.set_largest_frame(attachment.about.interface.largest_frame());
        self.attachment = Some(attachment);
        self.first = 0;
        self.settling = Some(Instant::now());
        self.outages.end();
        self.watch_sockets();
        Ok(())
    }

    fn take_mtu(&mut self, mtu: usize) {
        let Some(attachment) = &mut self.attachment else { return };
        let (first, _) = *self.changed_mtu.get_or_insert((attachment.about.interface.mtu, mtu));
        self.changed_mtu = Some((first, mtu));
        attachment.about.interface.mtu = mtu;
        self.delivery.set_largest_frame(attachment.about.interface.largest_frame());
    }

    fn watch_sockets(&mut self) {
        let mut readiness = Readiness::new();
        self.watch(&mut readiness);
        self.readiness = readiness;
    }

    /// What is wrong at this moment, or was during the run, in whole sentences: the run is then no success.
    pub fn alarms(&self) -> Vec<String> {
        let mut alarms = Vec::from_iter(self.outages.alarm(&self.options.interface));
        alarms.extend(
            self.retried.as_ref().map(|(_, error)| format!("It cannot be received from again: {error}")),
        );
        if self.attachment.as_ref().is_some_and(|attachment| !attachment.is_held()) {
            alarms.push(
                "evforge-helper has ended, and with it the steering of packets to AF_XDP: they come through kernel sockets \
                 now, whose buffers are smaller. Start the run again."
                    .into(),
            );
        }
        alarms
    }

    /// What was changed during the run and may cost packets, in whole sentences.
    pub fn notes(&self) -> Vec<String> {
        let Some((first, now)) = self.changed_mtu else { return Vec::new() };
        let name = &self.options.interface;
        let pieces = self.attachment.as_ref().is_some_and(|attachment| attachment.about.pieces);
        let consequence = if now + AROUND > LARGEST_PIECE && !pieces {
            "Frames that are longer than those at the start are lost: start the run again"
        } else {
            "Packets that are longer than the interface takes are lost before they reach a counter of this program"
        };
        vec![format!(
            "The MTU of {name} was changed during the run, from {first} to {now} bytes. {consequence}, or set it back: sudo ip \
             link set {name} mtu {first}."
        )]
    }

    /// The backend in use, in words, with the reasons against better ones.
    pub fn description(&self) -> String {
        let Some(Attachment { about, .. }) = &self.attachment else {
            return format!("AF_XDP on {}, which is not there", self.options.interface);
        };
        let queues = match about.zero_copy.len() {
            1 => "1 queue".to_owned(),
            several => format!("{several} queues"),
        };
        let driver = about.interface.driver.as_deref();
        let driver = driver.map_or(String::new(), |driver| format!(" (driver {driver})"));
        let mut text =
            format!("AF_XDP on {}{driver}, {queues}, {}", self.options.interface, about.mode.name());
        if !about.refused.is_empty() {
            text.push_str(&format!("; not possible: {}", about.refused.join("; ")));
        }
        text
    }

    /// How frames come in; none while the interface is not there.
    pub fn mode(&self) -> Option<XdpMode> {
        self.attachment.as_ref().map(|attachment| attachment.about.mode)
    }

    /// True if the card writes the frames of every queue into our memory itself.
    pub fn is_zero_copy(&self) -> bool {
        self.attachment.as_ref().is_some_and(|attachment| attachment.queues.iter().all(Queue::is_zero_copy))
    }

    /// Warnings, in whole sentences with the command that fixes it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What has been handed over so far, also by the kernel socket alongside.
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
        let mut counters = self.past;
        if let Some(attachment) = &self.attachment {
            counters.accumulate(&attachment.counted().map_err(|source| self.failed(source))?);
        }
        let delivery = &self.delivery;
        counters.accumulate(&XdpCounters {
            frames: delivery.frames,
            malformed: delivery.malformed,
            merged: delivery.merged,
            wrong_checksum: delivery.wrong_checksum,
            not_verifiable: delivery.not_verifiable,
            before_start: self.before_start,
            interface_down: self.outages.times_down,
            interface_gone: self.outages.times_gone,
            kernel_socket: self.beside.iter().map(|receiver| receiver.counters().packets).sum(),
            ..XdpCounters::default()
        });
        Ok(counters)
    }

    /// Packets that arrived and were thrown away here: malformed, merged, or of a wrong checksum.
    pub fn discarded(&self) -> u64 {
        self.delivery.discarded()
    }

    /// Datagrams that the kernel sockets alongside have dropped.
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
        let queues = self.attachment.iter().flat_map(|attachment| &attachment.queues);
        queues.for_each(|queue| readiness.watch(queue.as_fd()));
        self.beside.iter().for_each(|receiver| receiver.watch(readiness));
    }

    fn failed(&self, source: io::Error) -> XdpError {
        XdpError::Receive { interface: self.options.interface.clone(), source }
    }
}

/// The ports of the kernel sockets, which are those that are steered.
fn ports_of(beside: &[UdpReceiver]) -> Vec<u16> {
    beside.iter().map(|receiver| receiver.local_address().port()).collect()
}

/// What is asked for.
fn request(options: &XdpOptions, ports: &[u16]) -> ReceiverRequest {
    ReceiverRequest {
        interface: options.interface.clone(),
        queues: options.queues.clone(),
        ports: ports.to_vec(),
        modes: options.modes.clone(),
        ring: options.ring,
        frames: options.frames,
        flow_rules: options.flow_rules,
    }
}

/// The kernel socket that takes what the program leaves to the kernel.
fn open_beside(options: &XdpOptions, address: SocketAddr) -> Result<UdpReceiver, XdpError> {
    UdpReceiver::open_held(&ReceiverOptions {
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
