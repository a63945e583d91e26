//! Several receivers of one thread: several ports, or several sockets of one.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use evforge_core::packet::PacketSlab;

use crate::live_receiver::{LiveReceiveError, LiveReceiver, ReceiveLosses};
use crate::readiness::Readiness;
use crate::socket::{ReceiveError, ReceiverCounters};
use crate::xdp::XdpCounters;

/// Room in a slab that a receiver needs: the largest piece that the kernel hands over at once.
const LARGEST_PIECE: usize = 1 << 16;

/// The receivers of one thread, which are emptied in turn.
pub struct ReceiverGroup {
    // Closed after the sockets are no longer waited for.
    readiness: Readiness,
    receivers: Vec<LiveReceiver>,
    /// The one that is asked first next time.
    first: usize,
    spin: Duration,
    waits: u64,
}

impl ReceiverGroup {
    /// Puts receivers into as many groups as there are threads, those next to each other into different ones. No group
    /// is empty: there are fewer if there are fewer receivers. Before it sleeps, a group spins for so long.
    pub fn spread(receivers: Vec<LiveReceiver>, threads: usize, spin: Duration) -> Vec<Self> {
        let count = threads.clamp(1, receivers.len().max(1));
        let mut groups: Vec<Vec<LiveReceiver>> = (0..count).map(|_| Vec::new()).collect();
        for (index, receiver) in receivers.into_iter().enumerate() {
            groups[index % count].push(receiver);
        }
        groups.into_iter().map(|receivers| Self::of(receivers, spin)).collect()
    }

    fn of(receivers: Vec<LiveReceiver>, spin: Duration) -> Self {
        let mut readiness = Readiness::new();
        receivers.iter().for_each(|receiver| receiver.watch(&mut readiness));
        Self { readiness, receivers, first: 0, spin, waits: 0 }
    }

    /// Waits for packets until `deadline` and puts them behind those in `slab`, as [`LiveReceiver::receive`] does: as soon
    /// as one of the receivers has some, what each has and fits. Says how many; 0 if none came, or if the slab has no room
    /// left for the largest piece of 65 536 bytes.
    ///
    /// # Errors
    /// If the kernel fails to receive; packets that had come before are in the slab.
    pub fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, LiveReceiveError> {
        if let [only] = self.receivers.as_mut_slice() {
            return only.receive(slab, deadline);
        }
        let before = slab.len();
        let mut spin_end = None;
        loop {
            let now = Instant::now();
            let (later, earlier) = self.receivers.split_at_mut(self.first);
            for receiver in earlier.iter_mut().chain(later) {
                receiver.receive(slab, now)?;
            }
            self.first = (self.first + 1) % self.receivers.len().max(1);
            if slab.len() > before {
                return Ok(slab.len() - before);
            }
            let is_full = !slab.is_empty() && !slab.has_room_for(LARGEST_PIECE);
            if now >= deadline || is_full {
                return Ok(0);
            }
            let spin_end = *spin_end.get_or_insert_with(|| now.checked_add(self.spin).unwrap_or(deadline));
            if now < spin_end {
                std::hint::spin_loop();
            } else {
                self.waits += 1;
                self.readiness.wait(deadline - now).map_err(|source| self.failed(source))?;
            }
        }
    }

    /// What has been handed over so far.
    pub fn counters(&self) -> ReceiverCounters {
        let mut counters = ReceiverCounters { waits: self.waits, ..ReceiverCounters::default() };
        self.receivers.iter().for_each(|receiver| counters.add(&receiver.counters()));
        counters
    }

    /// What has been lost on this host so far. Asks the kernel.
    pub fn losses(&self) -> ReceiveLosses {
        let mut losses = ReceiveLosses::default();
        self.receivers.iter().for_each(|receiver| losses.add(&receiver.losses()));
        losses
    }

    /// What AF_XDP has counted; none with sockets. Asks the kernel.
    pub fn xdp_counters(&self) -> Option<XdpCounters> {
        // One receiver takes all ports by AF_XDP.
        self.receivers.iter().find_map(LiveReceiver::xdp_counters)
    }

    /// What is wrong with receiving at this moment, or was during the run, in whole sentences.
    pub fn alarms(&self) -> Vec<String> {
        self.receivers.iter().flat_map(LiveReceiver::alarms).collect()
    }

    /// What was changed during the run and may cost packets, in whole sentences.
    pub fn notes(&self) -> Vec<String> {
        self.receivers.iter().flat_map(LiveReceiver::notes).collect()
    }

    /// The receivers of the group.
    pub fn receivers(&self) -> &[LiveReceiver] {
        &self.receivers
    }

    fn failed(&self, source: io::Error) -> LiveReceiveError {
        let anywhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let address = self.receivers.first().map_or(anywhere, LiveReceiver::local_address);
        LiveReceiveError::Socket(ReceiveError::Receive { address, source })
    }
}
