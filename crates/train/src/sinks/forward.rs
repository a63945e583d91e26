//! Trains to the next node, over UDP.

use crate::node::{NodeTrain, SinkError, TrainSink};
use evforge_core::packet::{PacketOrigin, PacketSlab};
use evforge_net::socket::{SendError, SenderOptions, UdpSender};
use evforge_wire::train::PacketTrailer;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

evforge_core::counters! {
    /// Trains on their way to the next node.
    pub struct ForwardCounters: "forwarded trains" {
        trains_offered: Enters(Outputs), Times, "Trains that were to be passed on.";
        trains_sent: Leaves(Outputs), Times, "Trains of which every packet was given to the kernel.";
        trains_not_whole: Discarded(Outputs), Times, "Incomplete trains that are kept here: the next node gets whole ones only.";
        packets_sent: Information, Packets, "Packets given to the kernel.";
        bytes_sent: Information, Bytes, "Their UDP payload.";
        packets_refused: Information, Packets, "Packets of which the other side said that nobody listens; they count as sent.";
    }
}

/// Packets that are handed to the kernel at once.
const AT_ONCE: usize = 32;
/// How long the kernel may take for them.
const PATIENCE: Duration = Duration::from_secs(5);

/// How trains are passed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForwardOptions {
    /// Where to.
    pub to: SocketAddr,
    /// Bytes of a train in each packet but its last: 1 to 65 499.
    pub data_bytes: usize,
    /// UDP payload per second at most, in bits; none sends as fast as possible.
    pub bits_per_second: Option<u64>,
}

/// Sends whole trains to the next node, as they came, each module from a port of its own.
#[derive(Debug)]
pub struct ForwardSink {
    options: ForwardOptions,
    lanes: BTreeMap<u8, Lane>,
    slab: PacketSlab,
    datagram: Vec<u8>,
    /// When the next packets may leave.
    due: Instant,
    counters: ForwardCounters,
    told: Arc<Mutex<ForwardCounters>>,
}

/// The way of one module.
#[derive(Debug)]
struct Lane {
    sender: UdpSender,
    /// Number of the next frame.
    frame: u32,
}

impl ForwardSink {
    /// To this node.
    pub fn new(options: ForwardOptions) -> Self {
        let datagram = options.data_bytes + PacketTrailer::BYTES;
        Self {
            options,
            lanes: BTreeMap::new(),
            slab: PacketSlab::new(AT_ONCE, AT_ONCE * datagram),
            datagram: Vec::with_capacity(datagram),
            due: Instant::now(),
            counters: ForwardCounters::default(),
            told: Arc::default(),
        }
    }

    /// What was passed on, to be looked at once the node has ended, or while it runs.
    pub fn counters(&self) -> Arc<Mutex<ForwardCounters>> {
        Arc::clone(&self.told)
    }

    fn tell(&mut self) {
        self.counters.packets_refused = self.lanes.values().map(|lane| lane.sender.report().refused).sum();
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = self.counters;
    }

    /// Sends a whole train of a module.
    fn send(&mut self, module: u8, train: &[u8]) -> Result<(), SendError> {
        let lane = match self.lanes.entry(module) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => entry
                .insert(Lane { sender: UdpSender::open(&SenderOptions::new(self.options.to))?, frame: 0 }),
        };
        let mut pieces = (0_u32..).zip(train.chunks(self.options.data_bytes)).peekable();
        while let Some((packet, data)) = pieces.next() {
            let is_last = pieces.peek().is_none();
            let trailer = PacketTrailer { frame: lane.frame, packet, is_first: packet == 0, is_last };
            self.datagram.clear();
            self.datagram.extend_from_slice(data);
            self.datagram.extend_from_slice(&trailer.to_bytes());
            self.slab.push(&self.datagram, self.datagram.len(), PacketOrigin::default());
            self.counters.packets_sent += 1;
            self.counters.bytes_sent += self.datagram.len() as u64;
            if is_last || self.slab.len() == AT_ONCE {
                let batch = self.slab.batch();
                let bytes: usize = batch.iter().map(|packet| packet.bytes.len()).sum();
                wait(&mut self.due, bytes, self.options.bits_per_second);
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

/// Waits until so many bytes may leave.
fn wait(due: &mut Instant, bytes: usize, bits_per_second: Option<u64>) {
    let Some(rate) = bits_per_second else { return };
    let now = Instant::now();
    std::thread::sleep(due.saturating_duration_since(now));
    // What was not used is gone: no burst makes up for a pause.
    *due = now.max(*due) + Duration::from_secs_f64(8.0 * bytes as f64 / rate.max(1) as f64);
}

impl TrainSink for ForwardSink {
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
        self.counters.trains_offered += 1;
        let whole = train.train.bytes().filter(|_| train.train.report().missing == 0);
        let Some(bytes) = whole else {
            self.counters.trains_not_whole += 1;
            return Ok(());
        };
        let to = self.options.to;
        self.send(train.module, bytes)
            .map_err(|error| SinkError { sink: "the next node", problem: format!("{to}: {error}") })?;
        self.counters.trains_sent += 1;
        Ok(())
    }

    fn poll(&mut self) -> Result<(), SinkError> {
        self.tell();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.tell();
        Ok(())
    }
}
