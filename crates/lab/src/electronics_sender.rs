//! Simulated electronics on the network: packets are sent when they are due, from the addresses that they come from
//! where a detector tells its sources by them.

use crate::LabError;
use evforge_core::packet::PacketSlab;
use evforge_net::pace::Pace;
use evforge_net::socket::{SendReport, SenderOptions, UdpSender};
use evforge_sim::packet::SimulatedPacket;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Sends simulated packets to one destination.
pub struct ElectronicsSender {
    destination: SocketAddr,
    pace: Pace,
    /// One sender for all, or one for each address.
    own_addresses: bool,
    /// The network interface to send through by AF_XDP.
    xdp: Option<String>,
    senders: HashMap<Option<IpAddr>, UdpSender>,
    /// When sending began, and the stamp of the first packet.
    begun: Option<(Instant, u64)>,
    slab: PacketSlab,
}

/// Packets that are handed on at a time.
const PACKETS: usize = 1024;

impl ElectronicsSender {
    /// Sends to `destination` at this pace. With `own_addresses` every packet leaves from the address that it says it
    /// comes from, which must be one of this host's (all of 127.0.0.0/8 are).
    pub fn new(destination: SocketAddr, pace: Pace, own_addresses: bool) -> Self {
        let slab = PacketSlab::new(PACKETS, 16 << 20);
        Self { destination, pace, own_addresses, xdp: None, senders: HashMap::new(), begun: None, slab }
    }

    /// Sends by AF_XDP through a network interface, if one is named.
    pub fn by_xdp(self, interface: Option<String>) -> Self {
        Self { xdp: interface, ..self }
    }

    /// Sends packets, until `stop` is set.
    ///
    /// # Errors
    /// If an address is not this host's, or the system refuses a packet.
    pub fn send(&mut self, packets: &[SimulatedPacket], stop: &AtomicBool) -> Result<(), LabError> {
        let mut rest = packets;
        while let Some(first) = rest.first() {
            let source = self.own_addresses.then(|| first.origin.source.ip());
            let is_next =
                |packet: &SimulatedPacket| !self.own_addresses || Some(packet.origin.source.ip()) == source;
            // Senders of single addresses know nothing of each other's schedules: then every packet waits for its turn.
            let limit = if self.own_addresses { 1 } else { PACKETS };
            self.slab.clear();
            let mut taken = 0;
            for packet in rest.iter().take(limit).take_while(|packet| is_next(packet)) {
                if !self.slab.push(&packet.bytes, packet.bytes.len(), packet.origin) {
                    break;
                }
                taken += 1;
            }
            if taken == 0 {
                return Err(format!("a packet of {} bytes is too long for UDP", first.bytes.len()).into());
            }
            self.wait_for_turn(first.origin.arrival_ns, stop);
            self.send_slab(source, stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            rest = &rest[taken..];
        }
        Ok(())
    }

    /// What has been sent.
    pub fn report(&self) -> SendReport {
        let mut all = SendReport::default();
        for report in self.senders.values().map(UdpSender::report) {
            all.packets += report.packets;
            all.bytes += report.bytes;
            all.refused += report.refused;
            all.dropped += report.dropped;
            all.elapsed = all.elapsed.max(report.elapsed);
            if self.senders.len() == 1 {
                all.deviation = report.deviation;
            }
        }
        if let Some((begun, _)) = self.begun.filter(|_| self.senders.len() > 1) {
            all.elapsed = begun.elapsed();
        }
        all
    }

    fn wait_for_turn(&mut self, stamp: u64, stop: &AtomicBool) {
        let Pace::OwnTiming { speed } = self.pace else { return };
        let (begun, first) = *self.begun.get_or_insert((Instant::now(), stamp));
        if !self.own_addresses {
            return;
        }
        let due = begun + Duration::from_secs_f64(stamp.saturating_sub(first) as f64 / 1e9 / speed);
        while !stop.load(Ordering::Relaxed) {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }

    fn send_slab(&mut self, source: Option<IpAddr>, stop: &AtomicBool) -> Result<(), LabError> {
        let sender = match self.senders.entry(source) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                // The turn of a packet from an address of its own has come already.
                let pace = if source.is_some() { Pace::Unpaced } else { self.pace };
                let address = source.map(|address| SocketAddr::new(address, 0));
                let options = SenderOptions { pace, source: address, ..SenderOptions::new(self.destination) };
                entry.insert(UdpSender::open_by(&options, self.xdp.as_deref())?)
            }
        };
        send_all(sender, &self.slab, stop)
    }
}

/// Sends a slab, looking at `stop` now and then.
///
/// # Errors
/// If the system refuses a packet.
pub fn send_all(sender: &mut UdpSender, slab: &PacketSlab, stop: &AtomicBool) -> Result<(), LabError> {
    let batch = slab.batch();
    let mut next = 0;
    while next < batch.len() && !stop.load(Ordering::Relaxed) {
        next = sender.send(&batch, next, Instant::now() + Duration::from_millis(100))?;
    }
    Ok(())
}
