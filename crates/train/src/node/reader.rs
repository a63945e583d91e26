//! A receiving thread: packets to trains.

use super::by_source::{SourceCounts, SourceReport};
use super::counters::NodeCounters;
use super::delivery::{Delivery, Queued};
use super::profile::{ProfileClock, ReaderProfile, ReaderStep};
use super::settings::{ModulePort, NodeSettings, SourcesBy};
use crate::assembly::{Assembly, AssemblyCounters, PacketFate, TrainBuffer, TrainReport, TrainSource};
use evforge_core::packet::{Packet, PacketSlab};
use evforge_net::clock::wall_clock_ns;
use evforge_net::session::{PacketHandler, PacketReceiver};
use evforge_net::thread_time::processor_time;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a receiver's memory.
const SLAB_BYTES: usize = 16 << 20;
/// How often a thread tells how far it is.
const TELL_INTERVAL: Duration = Duration::from_millis(50);

/// What a receiving thread has told last.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) assembly: AssemblyCounters,
    pub(super) profile: ReaderProfile,
}

/// The packets of one receiver.
pub(super) struct Reader<'a> {
    slab: PacketSlab,
    assembly: Assembly,
    /// The module of each port, so that a packet costs the same whatever the number of modules.
    modules: Box<[Option<u8>]>,
    sources_by: SourcesBy,
    delivery: Delivery,
    returned: Receiver<TrainBuffer>,
    told: &'a Mutex<Told>,
    told_at: Instant,
    clock: ProfileClock,
    /// Processor time of this thread when it has told last, or when nothing more had come.
    processor: Duration,
}

/// What is left of a receiving thread.
pub(super) struct ReaderEnd {
    pub(super) assembly: AssemblyCounters,
    pub(super) node: NodeCounters,
    pub(super) profile: Option<ReaderProfile>,
    pub(super) irregular: Vec<TrainReport>,
    pub(super) sources: Vec<SourceReport>,
    pub(super) further_sources: SourceCounts,
    pub(super) processor: Duration,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        (thread, modules): (usize, Vec<ModulePort>),
        assembly: Assembly,
        settings: &NodeSettings,
        (queue, returned): (SyncSender<Queued>, Receiver<TrainBuffer>),
        told: &'a Mutex<Told>,
    ) -> Self {
        let mut module_of = vec![None; usize::from(u16::MAX) + 1].into_boxed_slice();
        // Backwards: of a port that is there twice the first module has it.
        modules.iter().rev().for_each(|at| module_of[usize::from(at.port)] = Some(at.module));
        let module = modules.first().map_or(0, |module| module.module);
        let delivery = Delivery::new(thread, module, queue, settings);
        let (slab, clock) =
            (PacketSlab::new(settings.batch, SLAB_BYTES), ProfileClock::new(settings.has_profile));
        let sources_by = settings.sources_by;
        Self {
            slab,
            assembly,
            modules: module_of,
            sources_by,
            delivery,
            returned,
            told,
            told_at: Instant::now(),
            clock,
            processor: Duration::ZERO,
        }
    }

    /// Takes back the buffers that the worker is done with.
    fn take_back(&mut self) {
        while let Ok(buffer) = self.returned.try_recv() {
            self.assembly.give_back(buffer);
        }
    }

    fn tell(&mut self) {
        if self.told_at.elapsed() >= TELL_INTERVAL {
            self.told_at = Instant::now();
            self.processor = processor_time();
            let told = Told { assembly: self.assembly.counters(), profile: *self.clock.profile() };
            *self.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
        }
    }

    /// The run is over: what is open is incomplete.
    pub(super) fn end(mut self) -> ReaderEnd {
        let Self { assembly, delivery, .. } = &mut self;
        assembly.finish(wall_clock_ns(), &mut |train| delivery.deliver(train));
        let told = Told { assembly: assembly.counters(), profile: *self.clock.profile() };
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = told.clone();
        let Delivery { counters, irregular, by_source, .. } = self.delivery;
        let (sources, further_sources) = by_source.end();
        ReaderEnd {
            assembly: told.assembly,
            node: counters,
            profile: self.clock.is_on().then_some(told.profile),
            irregular,
            sources,
            further_sources,
            processor: self.processor,
        }
    }
}

/// Puts a packet where it belongs.
#[inline]
fn take(
    assembly: &mut Assembly,
    delivery: &mut Delivery,
    (modules, sources_by): (&[Option<u8>], SourcesBy),
    packet: &Packet<'_>,
) {
    let port = packet.origin.destination_port;
    let Some(module) = modules[usize::from(port)] else {
        delivery.counters.packets_of_further_ports += 1;
        return;
    };
    let source = match sources_by {
        SourcesBy::Module => TrainSource::Module(module.into()),
        SourcesBy::Sender => TrainSource::Sender(packet.origin.source),
    };
    let fate =
        assembly.take(source, packet.origin.arrival_ns, packet.bytes, &mut |train| delivery.deliver(train));
    if fate != PacketFate::Used {
        delivery.by_source.note(source, fate);
    }
}

impl PacketHandler for Reader<'_> {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        self.clock.over(ReaderStep::Housekeeping);
        &mut self.slab
    }

    fn received(&mut self, packets: usize, _receiver: &dyn PacketReceiver) {
        self.clock.over(ReaderStep::Receiving);
        self.take_back();
        let Self { slab, assembly, delivery, modules, sources_by, .. } = self;
        for packet in slab.batch().iter() {
            take(assembly, delivery, (modules, *sources_by), &packet);
        }
        slab.clear();
        self.clock.profile().batch(packets);
        self.clock.over(ReaderStep::Assembling);
        if packets == 0 {
            // Nothing waits in the socket: all that came until now has been taken.
            let Self { assembly, delivery, .. } = self;
            assembly.expire(wall_clock_ns(), &mut |train| delivery.deliver(train));
            self.processor = processor_time();
        }
        self.tell();
    }
}
