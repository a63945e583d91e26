//! Several streams received over UDP: one thread each, or one for all and a worker for each.
//!
//! In the paper a management thread receives all streams of an instance, and a worker of each stream counts the words. With
//! workers it is so here, and a worker checks the identifiers of its stream as well. Without them the thread of a stream does all
//! of it: its packets are looked at on the core that has just fetched them, and no queue between threads can lose any. By AF_XDP
//! one thread has all streams in any case, because a queue of a card has one AF_XDP socket.

use super::account::StreamAccount;
use crate::link::error::LinkReceiveError;
use crate::link::receive::{
    LinkProgress, LinkReceiving, LinkWorkers, ReceivedLink, StreamLosses, receive_links, receive_with_workers,
};
use evforge_net::live_receiver::{LiveReceiveError, LiveReceiver, ReceiveMethod, ReceivePlan};
use evforge_net::socket::ReceiverOptions;
use evforge_net::xdp::XdpOptions;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// Where streams are received, and how.
#[derive(Clone, Debug)]
pub struct StreamSockets {
    /// Address and port of each stream; port 0 lets the kernel choose. The address must be the same for all by AF_XDP.
    pub addresses: Vec<SocketAddr>,
    /// The receive backend.
    pub method: ReceiveMethod,
    /// Network interface to receive from by AF_XDP. Then one thread receives all streams.
    pub interface: Option<String>,
    /// Receive buffer of each stream to ask the kernel for, in bytes.
    pub receive_buffer: usize,
    /// Ask for UDP_GRO.
    pub coalesce: bool,
}

impl StreamSockets {
    /// Opens the receivers: by AF_XDP one for all streams, else one for each.
    ///
    /// # Errors
    /// If one cannot be had.
    pub fn open(&self) -> Result<Vec<LiveReceiver>, LiveReceiveError> {
        if let (Some(_), Some((first, others))) = (&self.interface, self.addresses.split_first()) {
            return LiveReceiver::open(&self.plan(*first, others.iter().map(SocketAddr::port).collect()));
        }
        let mut receivers = Vec::new();
        for &address in &self.addresses {
            receivers.extend(LiveReceiver::open(&self.plan(address, Vec::new()))?);
        }
        Ok(receivers)
    }

    fn plan(&self, address: SocketAddr, ports: Vec<u16>) -> ReceivePlan {
        let socket = ReceiverOptions {
            receive_buffer: self.receive_buffer,
            coalesce: self.coalesce,
            // Any datagram fits.
            slot: 65_536,
            ..ReceiverOptions::new(address)
        };
        let xdp = self.interface.as_ref().map(|interface| XdpOptions {
            receive_buffer: self.receive_buffer,
            ..XdpOptions::new(interface, address)
        });
        ReceivePlan { method: self.method, socket, xdp, ports, sockets_per_port: 1 }
    }
}

/// Receives all streams, each into a copy of this `empty` account, until the time is over, they have been idle for long enough or
/// `stop` is set. With `workers`, one thread receives them all, and a worker of each checks its packets. `watch` is called some
/// 50 times per second, `show` with the words of a stream.
///
/// # Errors
/// The first failure of a stream; the others are stopped then.
///
/// # Panics
/// If a worker has panicked, with its panic.
pub fn receive(
    receivers: Vec<LiveReceiver>,
    empty: &StreamAccount,
    (settings, workers): (&LinkReceiving, Option<&LinkWorkers>),
    stop: &AtomicBool,
    watch: impl FnMut(&LinkProgress),
    show: impl FnMut(usize, &StreamAccount, StreamLosses),
) -> Result<Vec<ReceivedLink<StreamAccount>>, LinkReceiveError> {
    match workers {
        Some(workers) => {
            receive_with_workers(receivers, (settings, workers), || empty.clone(), stop, watch, show)
        }
        None => receive_links(receivers, settings, || empty.clone(), stop, watch, show),
    }
}
