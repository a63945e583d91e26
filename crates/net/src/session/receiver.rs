//! Where the packets of a session come from.

use std::net::SocketAddr;
use std::time::Instant;

use evforge_core::packet::PacketSlab;

use crate::interfaces::InterfacesInUse;
use crate::live_receiver::{LiveReceiveError, LiveReceiver, ReceiveLosses};
use crate::receiver_group::ReceiverGroup;
use crate::socket::ReceiverCounters;
use crate::xdp::XdpCounters;

/// Receives packets for one thread.
pub trait PacketReceiver {
    /// Waits for packets until `deadline` and puts them behind those in `slab`: as soon as there are some, as many as
    /// there are and fit. Says how many. A deadline in the past polls once.
    ///
    /// # Errors
    /// If the kernel fails to receive; packets that had come before are in the slab.
    fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, LiveReceiveError>;
    /// What has been handed over so far.
    fn counters(&self) -> ReceiverCounters;
    /// What has been lost on this host so far. Asks the kernel.
    fn losses(&self) -> ReceiveLosses;
    /// What AF_XDP has counted; none with sockets. Asks the kernel.
    fn xdp_counters(&self) -> Option<XdpCounters>;
    /// What is wrong with receiving at this moment, or was during the session, in whole sentences.
    fn alarms(&self) -> Vec<String>;
    /// What was changed during the session and may cost packets, in whole sentences.
    fn notes(&self) -> Vec<String>;
    /// Local addresses and ports.
    fn addresses(&self) -> Vec<SocketAddr>;
    /// How packets are received, and why so.
    fn description(&self) -> String;
    /// Warnings before the session begins, in whole sentences with the command that fixes it.
    fn warnings(&self) -> Vec<String>;
    /// The interfaces that packets come in by.
    fn interfaces(&self) -> Vec<InterfacesInUse>;
}

impl PacketReceiver for LiveReceiver {
    fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, LiveReceiveError> {
        LiveReceiver::receive(self, slab, deadline)
    }

    fn counters(&self) -> ReceiverCounters {
        LiveReceiver::counters(self)
    }

    fn losses(&self) -> ReceiveLosses {
        LiveReceiver::losses(self)
    }

    fn xdp_counters(&self) -> Option<XdpCounters> {
        LiveReceiver::xdp_counters(self)
    }

    fn alarms(&self) -> Vec<String> {
        LiveReceiver::alarms(self)
    }

    fn notes(&self) -> Vec<String> {
        LiveReceiver::notes(self)
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.local_addresses()
    }

    fn description(&self) -> String {
        LiveReceiver::description(self).to_owned()
    }

    fn warnings(&self) -> Vec<String> {
        LiveReceiver::warnings(self).to_vec()
    }

    fn interfaces(&self) -> Vec<InterfacesInUse> {
        vec![self.interfaces_in_use()]
    }
}

impl PacketReceiver for ReceiverGroup {
    fn receive(&mut self, slab: &mut PacketSlab, deadline: Instant) -> Result<usize, LiveReceiveError> {
        ReceiverGroup::receive(self, slab, deadline)
    }

    fn counters(&self) -> ReceiverCounters {
        ReceiverGroup::counters(self)
    }

    fn losses(&self) -> ReceiveLosses {
        ReceiverGroup::losses(self)
    }

    fn xdp_counters(&self) -> Option<XdpCounters> {
        ReceiverGroup::xdp_counters(self)
    }

    fn alarms(&self) -> Vec<String> {
        ReceiverGroup::alarms(self)
    }

    fn notes(&self) -> Vec<String> {
        ReceiverGroup::notes(self)
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        ReceiverSummary::of(self.receivers()).addresses
    }

    fn description(&self) -> String {
        ReceiverSummary::of(self.receivers()).description
    }

    fn warnings(&self) -> Vec<String> {
        ReceiverSummary::of(self.receivers()).warnings
    }

    fn interfaces(&self) -> Vec<InterfacesInUse> {
        ReceiverSummary::of(self.receivers()).interfaces
    }
}

/// Several receivers, reported together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiverSummary {
    /// Local addresses and ports. Sockets that share a port have it once.
    pub addresses: Vec<SocketAddr>,
    /// How packets are received, and why so.
    pub description: String,
    /// The interfaces that packets come in by, each once.
    pub interfaces: Vec<InterfacesInUse>,
    /// Warnings, each sentence once.
    pub warnings: Vec<String>,
}

impl ReceiverSummary {
    /// Sums up receivers of one kind.
    pub fn of<R: PacketReceiver>(receivers: &[R]) -> Self {
        let mut addresses = Vec::from_iter(receivers.iter().flat_map(R::addresses));
        addresses.dedup();
        let mut interfaces = Vec::from_iter(receivers.iter().flat_map(R::interfaces));
        interfaces.dedup();
        let mut warnings: Vec<String> = Vec::new();
        for warning in receivers.iter().flat_map(R::warnings) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        // All are of one kind.
        let first = receivers.first().map(R::description).unwrap_or_default();
        let description = match receivers.len() {
            several @ 2.. => format!("{several} sockets, each a {first}"),
            _ => first,
        };
        Self { addresses, description, interfaces, warnings }
    }
}
