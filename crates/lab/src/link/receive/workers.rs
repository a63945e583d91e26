//! One thread that receives all links, and a worker for each, as in the XDP paper: both can have cores of their own.
//!
//! When the queue to a worker is full, its packets are dropped, and counted: exactly, for each link. If the receiving thread
//! waited instead, one slow worker would hold up the packets of all links, and they would be lost in the sockets, whose counters
//! are only a lower bound where the kernel hands over several packets in a piece.

use super::processor::ProcessorMeter;
use super::queue::{Filled, Filling, Next, queue};
use super::told::{Told, Watcher};
use super::{
    Dropped, LinkAccount, LinkProgress, LinkReceiving, LinkWorkers, QueuedAccount, ReceivedLink, SLAB_BYTES,
    StreamLosses, work_for,
};
use crate::link::error::LinkReceiveError;
use evforge_core::packet::PacketSlab;
use evforge_net::affinity::pin_current_thread_in_turn;
use evforge_net::host_counters::HostCounterReader;
use evforge_net::live_receiver::LiveReceiver;
use evforge_net::receiver_group::ReceiverGroup;
use evforge_net::session::{
    PATIENCE, PacketHandler, PacketReceiver, Received, ReceivingThread, SessionClock, receive_with_threads,
};
use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// A link, as the thread that receives it sees it.
struct Inlet<'a, A> {
    port: u16,
    queue: Filling,
    dropped: Dropped,
    told: &'a Told<A>,
}

/// The thread that receives for all.
struct Spreader<'a, A> {
    slab: PacketSlab,
    inlets: Vec<Inlet<'a, A>>,
    processor: ProcessorMeter,
}

impl<A: LinkAccount> PacketHandler for Spreader<'_, A> {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        self.processor.wait();
        &mut self.slab
    }

    fn received(&mut self, packets: usize, receiver: &dyn PacketReceiver) {
        for packet in self.slab.batch().iter() {
            let port = packet.origin.destination_port;
            // A receiver takes nothing but what is sent to its ports.
            let Some(inlet) = self.inlets.iter_mut().find(|inlet| inlet.port == port) else { continue };
            if !inlet.queue.push(&packet) {
                inlet.dropped.packets += 1;
                inlet.dropped.bytes += u64::from(packet.original_length);
                inlet.dropped.arrivals.take(&packet);
            }
        }
        self.slab.clear();
        self.processor.handled(packets);
        for inlet in &mut self.inlets {
            inlet.queue.hand_over_early();
            inlet.told.tell_dropped(&inlet.dropped);
            // Those of all receivers together: which has lost what is read at the end.
            inlet.told.tell_losses_if_asked(|| StreamLosses::of(receiver.losses(), true));
        }
    }

    /// A worker ends before its queue does only if it has panicked.
    fn wants_end(&self) -> bool {
        self.inlets.iter().any(|inlet| inlet.queue.is_closed())
    }

    fn dropped(&self) -> u64 {
        self.inlets.iter().map(|inlet| inlet.dropped.packets).sum()
    }
}

/// What a worker has done.
struct Worked<A> {
    account: A,
    /// From its first packet to the end of its last one.
    time: Option<Duration>,
}

/// Looks at the packets of one link until its queue ends.
fn work<A: LinkAccount>(filled: &Filled, mut account: A, time: Duration, told: &Told<A>) -> Worked<A> {
    let (mut begun, mut worked) = (None, None);
    loop {
        let next = filled.take_next(PATIENCE, |slab| {
            let begun = *begun.get_or_insert_with(Instant::now);
            for packet in slab.batch().iter() {
                account.take(&packet);
                work_for(time);
            }
            // Once for many packets. The last piece may be empty, and comes when all has long been over.
            if !slab.is_empty() {
                worked = Some(begun.elapsed());
            }
            told.tell(&account);
        });
        told.show_if_asked(&account);
        if next == Next::Ended {
            return Worked { account, time: worked };
        }
    }
}

/// Starts a worker for each queue. None has begun before all are on their cores.
fn start_workers<'scope, 'a: 'scope, A: LinkAccount + 'a>(
    scope: &'scope Scope<'scope, '_>,
    queues: Vec<(Filled, A, &'a Told<A>)>,
    settings: &'a LinkReceiving,
    cores: &'a [usize],
) -> Result<Vec<ScopedJoinHandle<'scope, Option<Worked<A>>>>, LinkReceiveError> {
    let (placed, are_placed) = channel();
    let mut running = Vec::new();
    for (number, (filled, account, told)) in queues.into_iter().enumerate() {
        let placed = placed.clone();
        let work = move || {
            let is_placed = pin_current_thread_in_turn(cores, number);
            let goes_on = is_placed.is_ok();
            // Somebody waits for it.
            let _ = placed.send(is_placed);
            drop(placed);
            goes_on.then(|| work(&filled, account, settings.work, told))
        };
        let worker = Builder::new().name(format!("worker {number}")).spawn_scoped(scope, work);
        running.push(worker.map_err(LinkReceiveError::NoThread)?);
    }
    drop(placed);
    are_placed.iter().collect::<Result<(), _>>().map_err(LinkReceiveError::Pin)?;
    Ok(running)
}

/// Receives as [`receive_links`](super::receive_links) does, in one thread for all receivers, and has a worker for each address
/// look at the packets. `settings.cores` are for the thread that receives.
///
/// # Errors
/// The first failure of a receiver, a thread that cannot be had or cannot be bound to its core.
///
/// # Panics
/// If a worker has panicked, with its panic.
pub(crate) fn receive_with_workers<A: QueuedAccount>(
    receivers: Vec<LiveReceiver>,
    (settings, workers): (&LinkReceiving, &LinkWorkers),
    account: impl Fn() -> A,
    stop: &AtomicBool,
    watch: impl FnMut(&LinkProgress),
    mut show: impl FnMut(usize, &A, StreamLosses),
) -> Result<Vec<ReceivedLink<A>>, LinkReceiveError> {
    let addresses: Vec<_> = receivers.iter().flat_map(LiveReceiver::local_addresses).collect();
    let told: Vec<Told<A>> = addresses.iter().map(|_| Told::default()).collect();
    let interfaces = receivers.iter().map(LiveReceiver::interfaces_in_use).collect();
    let host = HostCounterReader::start(settings.counters, interfaces).map_err(LinkReceiveError::NoThread)?;
    let place = |number: usize| pin_current_thread_in_turn(&settings.cores, number);
    let show = |number, account: &mut A, dropped: &Dropped, losses| {
        account.add_dropped(dropped);
        show(number, account, losses);
    };
    let mut watcher = Watcher::new(&told, settings.shows_accounts, watch, show);
    let told = &told;
    std::thread::scope(|scope| {
        let (mut inlets, mut queues) = (Vec::new(), Vec::new());
        for (address, told) in addresses.iter().zip(told) {
            let (queue, filled) = queue(workers.queue_bytes);
            inlets.push(Inlet { port: address.port(), queue, dropped: Dropped::default(), told });
            queues.push((filled, account(), told));
        }
        let running = start_workers(scope, queues, settings, &workers.cores)?;
        let slab = PacketSlab::new(settings.batch, SLAB_BYTES);
        let spreader = Spreader { slab, inlets, processor: ProcessorMeter::new() };
        let threads = ReceiverGroup::spread(receivers, 1, Duration::ZERO).into_iter().zip([spreader]);
        let thread = |(receiver, handler)| ReceivingThread { name: "receive".into(), receiver, handler };
        let clock = SessionClock::start(settings.limits.clone(), stop);
        let received = receive_with_threads(clock, threads.map(thread).collect(), &place, |progress| {
            watcher.attend(progress)
        })?;
        let mut links = Vec::new();
        let mut running = running.into_iter();
        for Received { receiver, handler, end } in received {
            // What was lost is read before the workers are waited for: senders may go on.
            let mut known = Vec::new();
            for receiver in receiver.receivers() {
                let losses = StreamLosses::of(receiver.losses(), receiver.buffer().is_none());
                known.extend(
                    receiver.local_addresses().into_iter().map(|address| (address, receiver, losses)),
                );
            }
            let host = host.now();
            let processor = handler.processor.used();
            let dropped: Vec<Dropped> = handler.inlets.iter().map(|inlet| inlet.dropped).collect();
            handler.inlets.into_iter().for_each(|inlet| inlet.queue.finish());
            let workers = known.into_iter().zip(dropped).zip(running.by_ref());
            for (((address, receiver, losses), dropped), worker) in workers {
                let worked = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
                // There is one: all have been placed.
                let Some(Worked { mut account, time: worked }) = worked else { continue };
                account.add_dropped(&dropped);
                links.push(ReceivedLink {
                    thread: 0,
                    address,
                    way: receiver.description().to_owned(),
                    account,
                    losses,
                    buffer: receiver.buffer(),
                    by_worker: true,
                    worked,
                    state: end.state.clone(),
                    host,
                    work: settings.work,
                    processor,
                });
            }
            if let Some(failure) = end.failure {
                return Err(failure.into());
            }
        }
        Ok(links)
    })
}
