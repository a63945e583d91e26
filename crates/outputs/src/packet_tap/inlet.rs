//! The run's side: copies packets for those who have asked.

use super::rule::{Choice, SampleRule};
use super::samples::PacketSamples;
use evforge_core::counter::{CounterSet, CounterSnapshot};
use evforge_core::packet::{LARGEST_PAYLOAD, PacketBatch, PacketRecord, PacketSlab};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Slabs of a subscription.
const SLABS: usize = 16;
/// Room for a packet on average; smaller ones fill the list of a slab before its memory.
const PACKET_ROOM: usize = 512;
/// How long a run over a file waits before it looks whether it has been stopped.
const PATIENCE: Duration = Duration::from_millis(50);

evforge_core::counters! {
    /// What became of the packets that outputs had asked for.
    pub struct PacketTapCounters: "packet_tap" {
        offered: Enters(Outputs), Packets, "Packets that outputs had asked for. A packet that several have asked for counts several times.";
        taken: Leaves(Outputs), Packets, "Packets handed over to the output.";
        dropped: Discarded(Outputs), Packets, "Packets that found no room because the output was behind, or whose output had ended.";
        held: Held(Outputs), Packets, "Packets that are collected to be handed over together.";
        not_formed: Information, Packets, "Packets of which no events were formed, because of calibration mode.";
    }
}

/// Name of the counters' stage in the run state.
pub const PACKET_TAP: &str = PacketTapCounters::STAGE;

/// Where a run hands in its packets.
#[derive(Debug)]
pub struct PacketInlets {
    inlets: Vec<Inlet>,
    waits: bool,
    calibrates: Arc<AtomicBool>,
    not_formed: u64,
}

impl PacketInlets {
    pub(super) fn new(inlets: Vec<Inlet>, waits: bool, calibrates: Arc<AtomicBool>) -> Self {
        Self { inlets, waits, calibrates, not_formed: 0 }
    }

    /// Copies the packets that somebody has asked for. Returns true if events are to be formed of them, false in calibration
    /// mode. Whoever waits does so until `stop` is set.
    pub fn take(&mut self, batch: &PacketBatch<'_>, stop: &AtomicBool) -> bool {
        let stop = self.waits.then_some(stop);
        self.inlets.iter_mut().for_each(|inlet| inlet.take(batch, stop));
        let calibrates = self.calibrates.load(Ordering::Relaxed);
        if calibrates {
            self.not_formed += batch.len() as u64;
        }
        !calibrates
    }

    /// Hands over what has been collected to those who have nothing to do.
    pub fn publish(&mut self) {
        self.inlets.iter_mut().for_each(Inlet::publish);
    }

    /// The input has ended: hands over everything. Nothing is taken after this.
    pub fn close(&mut self) {
        self.inlets.iter_mut().for_each(Inlet::close);
    }

    /// Packets of which no events were formed, because of calibration mode.
    pub fn not_formed(&self) -> u64 {
        self.not_formed
    }

    /// What was copied and dropped up to now.
    pub fn counters(&self) -> CounterSnapshot {
        let mut sum = PacketTapCounters { not_formed: self.not_formed, ..PacketTapCounters::default() };
        self.inlets.iter().for_each(|inlet| sum.accumulate(&inlet.counters));
        CounterSnapshot::of(&sum)
    }
}

/// Where packets go in for one who has asked.
#[derive(Debug)]
pub(super) struct Inlet {
    choice: Choice,
    /// None when there is nobody any more who takes packets, and after the end.
    way: Option<Way>,
    counters: PacketTapCounters,
}

/// Slabs go round on it.
#[derive(Debug)]
struct Way {
    current: PacketSlab,
    give: SyncSender<PacketSlab>,
    home: Receiver<PacketSlab>,
    /// Slabs handed over that have not been taken yet.
    waiting: Arc<AtomicUsize>,
}

/// Both ends of a subscription.
pub(super) fn pair(rule: SampleRule, memory: usize) -> (Inlet, PacketSamples) {
    let (give, filled) = sync_channel(SLABS);
    let (give_home, home) = sync_channel(SLABS);
    for _ in 1..SLABS {
        // There is a place for each.
        let _ = give_home.try_send(new_slab(memory));
    }
    let waiting = Arc::new(AtomicUsize::new(0));
    let way = Way { current: new_slab(memory), give, home, waiting: Arc::clone(&waiting) };
    let inlet = Inlet { choice: Choice::new(rule), way: Some(way), counters: PacketTapCounters::default() };
    (inlet, PacketSamples::new(filled, give_home, waiting))
}

/// The memory of all slabs of a subscription.
pub(super) fn memory_bound(memory: usize) -> usize {
    let (packets, bytes) = size_of_slab(memory);
    SLABS * (packets * size_of::<PacketRecord>() + bytes)
}

fn new_slab(memory: usize) -> PacketSlab {
    let (packets, bytes) = size_of_slab(memory);
    PacketSlab::new(packets, bytes)
}

/// Packets and bytes.
fn size_of_slab(memory: usize) -> (usize, usize) {
    let each = memory / SLABS;
    let packets = (each / PACKET_ROOM).max(64);
    let bytes = each.saturating_sub(packets * size_of::<PacketRecord>());
    (packets, bytes.clamp(LARGEST_PAYLOAD, u32::MAX as usize))
}

impl Inlet {
    /// With `stop` it waits for room until that is set.
    fn take(&mut self, batch: &PacketBatch<'_>, stop: Option<&AtomicBool>) {
        for packet in batch.iter() {
            if !self.choice.takes(&packet.origin) {
                continue;
            }
            self.counters.offered += 1;
            if !self.make_room(packet.bytes.len(), stop) {
                self.counters.dropped += 1;
                continue;
            }
            if let Some(way) = &mut self.way {
                // Cannot fail: there is room.
                way.current.push(packet.bytes, packet.original_length as usize, packet.origin);
                self.counters.held += 1;
            }
        }
        self.publish();
    }

    /// Sees to it that there is room for `bytes`; false if there is none.
    fn make_room(&mut self, bytes: usize, stop: Option<&AtomicBool>) -> bool {
        let Some(way) = &mut self.way else { return false };
        if way.current.has_room_for(bytes) {
            return true;
        }
        let waits = || stop.is_some_and(|stop| !stop.load(Ordering::Relaxed));
        loop {
            match way.home.recv_timeout(if waits() { PATIENCE } else { Duration::ZERO }) {
                Ok(empty) => return self.hand_over(empty),
                Err(RecvTimeoutError::Timeout) if waits() => {}
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => {
                    self.lose();
                    return false;
                }
            }
        }
    }

    fn publish(&mut self) {
        let Some(way) = &mut self.way else { return };
        if !way.current.is_empty()
            && way.waiting.load(Ordering::Acquire) == 0
            && let Ok(empty) = way.home.try_recv()
        {
            self.hand_over(empty);
        }
    }

    /// Hands the current slab over, and goes on with an empty one. False if nobody takes it.
    fn hand_over(&mut self, empty: PacketSlab) -> bool {
        let Some(way) = &mut self.way else { return false };
        let filled = std::mem::replace(&mut way.current, empty);
        way.waiting.fetch_add(1, Ordering::AcqRel);
        // There is a place for every slab: it fails only if the other side is gone.
        if way.give.try_send(filled).is_err() {
            self.lose();
            return false;
        }
        self.counters.taken += std::mem::take(&mut self.counters.held);
        true
    }

    /// The output is gone: what has been collected for it is dropped, and so is all that follows.
    fn lose(&mut self) {
        self.way = None;
        self.counters.dropped += std::mem::take(&mut self.counters.held);
    }

    fn close(&mut self) {
        // Nothing follows, so that no slab is needed in its place.
        let empty = PacketSlab::new(1, 0);
        if self.counters.held > 0 {
            self.hand_over(empty);
        }
        self.way = None;
    }
}
