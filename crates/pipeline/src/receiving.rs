//! Threads that only receive, beside the one that forms events.
//!
//! Slabs travel to the forming thread through one queue and come back through a queue of each receiving thread, to be filled
//! again. Receiving never waits: if no slab has come back and the current one is full, packets are received into a
//! spare one, dropped, and counted as lost in our own queue.
//!
//! All packets of a source come through one socket, so one thread receives them, in their order; how sources interleave
//! does not change the events.

use crate::config::{Config, InputSettings};
use crate::live_run::{LAST_FETCH, RECEIVE_PATIENCE};
use evforge_core::packet::PacketSlab;
use evforge_net::live_receiver::{LiveReceiveError, ReceiveLosses};
use evforge_net::receiver_group::ReceiverGroup;
use evforge_net::socket::ReceiverCounters;
use evforge_net::xdp::XdpCounters;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// What a receiving side knows, for whoever shows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveState {
    pub(crate) counters: ReceiverCounters,
    pub(crate) losses: ReceiveLosses,
    pub(crate) xdp: Option<XdpCounters>,
    pub(crate) own_queue: u64,
    /// What is wrong with receiving, or was during the run, in whole sentences.
    pub(crate) alarms: Vec<String>,
    /// What was changed during the run and may cost packets, in whole sentences.
    pub(crate) notes: Vec<String>,
}

impl ReceiveState {
    /// That of a group, which has lost so many packets in our own queue.
    pub(crate) fn of(receivers: &ReceiverGroup, own_queue: u64) -> Self {
        Self {
            counters: receivers.counters(),
            losses: receivers.losses(),
            xdp: receivers.xdp_counters(),
            own_queue,
            alarms: receivers.alarms(),
            notes: receivers.notes(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        self.losses.add(&other.losses);
        // By AF_XDP there is one group.
        self.xdp = self.xdp.or(other.xdp);
        self.own_queue += other.own_queue;
        self.alarms.extend(other.alarms.iter().cloned());
        self.notes.extend(other.notes.iter().cloned());
    }
}

/// How receiving has ended, and why, if not because it was told to.
pub(crate) type Ended = (ReceiveState, Option<LiveReceiveError>);

/// A slab for what the kernel hands over at once: with UDP_GRO its pieces are large.
pub(crate) fn new_slab(input: &InputSettings) -> PacketSlab {
    const LARGEST_PIECES: usize = 8 << 20;
    let bytes = usize::try_from(input.bytes_per_slab.bytes).unwrap_or(usize::MAX);
    PacketSlab::new(input.packets_per_slab.max(4096), bytes.max(LARGEST_PIECES))
}

/// The forming thread's ends of the queues, and the threads.
pub(crate) struct ReceivingThreads<'scope> {
    take_filled: Receiver<(usize, PacketSlab)>,
    /// Of each thread.
    give_empty: Vec<SyncSender<PacketSlab>>,
    shared: Arc<Mutex<Vec<ReceiveState>>>,
    threads: Vec<ScopedJoinHandle<'scope, Result<Ended, String>>>,
}

impl<'scope> ReceivingThreads<'scope> {
    /// Starts a thread for each group. All of them end when `over` is set, or one of them fails.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub(crate) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        groups: Vec<ReceiverGroup>,
        config: &'env Config,
        over: &'env AtomicBool,
    ) -> Result<Self, Box<dyn Error>> {
        // A place for every slab there is: those that go round, and the one of each thread that is being filled.
        let (give_filled, take_filled) = sync_channel(groups.len() * (InputSettings::SLABS + 1));
        let shared = Arc::new(Mutex::new(vec![ReceiveState::default(); groups.len()]));
        let mut all = Self { take_filled, give_empty: Vec::new(), shared, threads: Vec::new() };
        for (number, receivers) in groups.into_iter().enumerate() {
            let (give_empty, take_empty) = sync_channel(InputSettings::SLABS + 1);
            for _ in 0..InputSettings::SLABS {
                give_empty.send(new_slab(&config.input))?;
            }
            let side = ReceivingSide {
                number,
                take_empty,
                give_filled: give_filled.clone(),
                current: new_slab(&config.input),
                spare: new_slab(&config.input),
                own_queue: 0,
                shared: Arc::clone(&all.shared),
            };
            let work = move || {
                config.threads.place_receiving(number).map_err(|error| {
                    over.store(true, Ordering::Relaxed);
                    error.to_string()
                })?;
                Ok(side.receive(receivers, over))
            };
            match Builder::new().name(format!("receive {number}")).spawn_scoped(scope, work) {
                Ok(thread) => all.threads.push(thread),
                Err(error) => {
                    // Those that have begun must not wait for ever.
                    over.store(true, Ordering::Relaxed);
                    return Err(error.into());
                }
            }
            all.give_empty.push(give_empty);
        }
        Ok(all)
    }

    /// The next slab, and the thread that it is from.
    ///
    /// # Errors
    /// If none comes for so long, or all threads have ended.
    pub(crate) fn next(&self, patience: Duration) -> Result<(usize, PacketSlab), RecvTimeoutError> {
        self.take_filled.recv_timeout(patience)
    }

    /// Gives a slab back to its thread.
    pub(crate) fn give_back(&self, from: usize, slab: PacketSlab) {
        // There is a place for every slab; a thread that has ended needs none.
        let _ = self.give_empty[from].send(slab);
    }

    /// What all threads knew a moment ago.
    pub(crate) fn state(&self) -> ReceiveState {
        let mut state = ReceiveState::default();
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.iter().for_each(|one| state.add(one));
        state
    }

    /// Waits for the threads, which have been told to end or have failed: what they knew at the end.
    ///
    /// # Errors
    /// If a thread could not be put where it was to run.
    pub(crate) fn end(self) -> Result<Ended, Box<dyn Error>> {
        let (mut state, mut failure) = (ReceiveState::default(), None);
        for thread in self.threads {
            match thread.join() {
                Ok(ended) => {
                    let (one, problem) = ended?;
                    state.add(&one);
                    failure = failure.or(problem);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok((state, failure))
    }
}

/// A receiving thread's ends of the queues.
struct ReceivingSide {
    number: usize,
    take_empty: Receiver<PacketSlab>,
    give_filled: SyncSender<(usize, PacketSlab)>,
    /// Filled until an empty slab comes back in its place: a forming thread that is behind gets fuller slabs,
    /// not more of them.
    current: PacketSlab,
    /// Where packets go when the current slab is full: they are dropped.
    spare: PacketSlab,
    own_queue: u64,
    shared: Arc<Mutex<Vec<ReceiveState>>>,
}

impl ReceivingSide {
    /// Receives until it is told that it is over, and what the sockets still hold then.
    fn receive(mut self, mut receivers: ReceiverGroup, over: &AtomicBool) -> Ended {
        let mut told = Instant::now();
        let mut since: Option<Instant> = None;
        loop {
            if since.is_none() && over.load(Ordering::Relaxed) {
                since = Some(Instant::now());
            }
            if !self.current.is_empty()
                && let Ok(empty) = self.take_empty.try_recv()
            {
                self.hand_over(empty);
            }
            let patience = if since.is_some() { Duration::ZERO } else { RECEIVE_PATIENCE };
            let deadline = Instant::now() + patience;
            // The largest piece that the kernel may hand over.
            let has_room = self.current.has_room_for(1 << 16);
            let slab = if has_room { &mut self.current } else { &mut self.spare };
            if !has_room {
                slab.clear();
            }
            let before = slab.len();
            let received = receivers.receive(slab, deadline);
            let packets = slab.len() - before;
            if !has_room {
                self.own_queue += packets as u64;
            }
            if told.elapsed() >= RECEIVE_PATIENCE {
                told = Instant::now();
                let state = ReceiveState::of(&receivers, self.own_queue);
                self.shared.lock().unwrap_or_else(PoisonError::into_inner)[self.number] = state;
            }
            let failure = received.err();
            if failure.is_some() || since.is_some_and(|since| packets == 0 || since.elapsed() > LAST_FETCH) {
                // Without this one nothing would be complete any more.
                over.store(true, Ordering::Relaxed);
                self.hand_over(PacketSlab::new(1, 0));
                return (ReceiveState::of(&receivers, self.own_queue), failure);
            }
        }
    }

    /// Gives the current slab to the forming thread, which outlives this one and has a place for it.
    fn hand_over(&mut self, mut next: PacketSlab) {
        next.clear();
        // Fails only if the forming thread has panicked.
        let _ = self.give_filled.send((self.number, std::mem::replace(&mut self.current, next)));
    }
}
