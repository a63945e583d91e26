//! Over UDP: packets as they came here.

use super::counters::ForwardCounters;
use super::pace::Pace;
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::socket::{SendError, SenderOptions, UdpSender};
use evforge_wire::train::PacketTrailer;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Packets that are handed to the kernel at once.
const AT_ONCE: usize = 32;
/// How long the kernel may take for them.
const PATIENCE: Duration = Duration::from_secs(5);

/// The ways of all modules.
#[derive(Debug)]
pub(super) struct UdpForward {
    to: SocketAddr,
    data_bytes: usize,
    lanes: BTreeMap<u8, Lane>,
    slab: PacketSlab,
    datagram: Vec<u8>,
}

/// The way of one module.
#[derive(Debug)]
struct Lane {
    sender: UdpSender,
    /// Number of the next frame.
    frame: u32,
}

impl UdpForward {
    /// To this node, with so many bytes of a train in each packet but its last.
    pub(super) fn new(to: SocketAddr, data_bytes: usize) -> Self {
        let datagram = data_bytes + PacketTrailer::BYTES;
        Self {
            to,
            data_bytes,
            lanes: BTreeMap::new(),
            slab: PacketSlab::new(AT_ONCE, AT_ONCE * datagram),
            datagram: Vec::with_capacity(datagram),
        }
    }

    /// Packets of which the other side said that nobody listens.
    pub(super) fn refused(&self) -> u64 {
        self.lanes.values().map(|lane| lane.sender.report().refused).sum()
    }

    /// Sends a whole train of a module.
    pub(super) fn send(
        &mut self,
        module: u8,
        train: &[u8],
        pace: &mut Pace,
        counters: &mut ForwardCounters,
    ) -> Result<(), SendError> {
        let lane = match self.lanes.entry(module) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                entry.insert(Lane { sender: UdpSender::open(&SenderOptions::new(self.to))?, frame: 0 })
            }
        };
        let mut pieces = (0_u32..).zip(train.chunks(self.data_bytes)).peekable();
        while let Some((packet, data)) = pieces.next() {
            let is_last = pieces.peek().is_none();
            let trailer = PacketTrailer { frame: lane.frame, packet, is_first: packet == 0, is_last };
            self.datagram.clear();
            self.datagram.extend_from_slice(data);
            self.datagram.extend_from_slice(&trailer.to_bytes());
            self.slab.push(&self.datagram, self.datagram.len(), PacketOrigin::default());
            counters.packets_sent += 1;
            counters.bytes_sent += self.datagram.len() as u64;
            if is_last || self.slab.len() == AT_ONCE {
                let batch = self.slab.batch();
                pace.wait(batch.iter().map(|packet| packet.bytes.len()).sum());
                let mut next = 0;
                while next < batch.len() {
                    next = lane.sender.send(&batch, next, Instant::now() + PATIENCE)?;
                }
                self.slab.clear();
            }
        }
        lane.frame = lane.frame.wrapping_add(1);
        Ok(())
    }
}
