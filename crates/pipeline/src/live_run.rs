//! Forms the events of packets as they come in.
//!
//! With one thread, receiving and forming take turns on one core, run to completion. With two, one thread
//! only receives: slabs travel to the forming thread and come back to be filled again. Receiving never
//! waits: if no slab has come back and the current one is full, packets are received into a spare one,
//! dropped, and counted as lost in our own queue.
//!
//! Wall-clock time decides only when something is *shown*: after a pause, what is already closed is
//! published. Events themselves depend on the packets alone.

use crate::config::{Config, InputSettings};
use crate::fan_out::{SinkPlan, WhenFull};
use crate::forming::Forming;
use crate::loss_places::{LossCounts, LossPlaces};
use crate::monitor_tap::MonitorTap;
use crate::report::{Ending, RunReport};
use crate::samples::SampleFile;
use evforge_core::counter::CounterSnapshot;
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::PacketSlab;
use evforge_net::affinity::pin_current_thread;
use evforge_net::host_counters::{HostCounterReader, HostCounters};
use evforge_net::live_receiver::{LiveReceiveError, LiveReceiver, ReceiveLosses};
use evforge_net::record::{RecordQueue, Recorder, RecordingWriter};
use evforge_net::socket::ReceiverCounters;
use evforge_net::xdp::XdpCounters;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for packets before the thread looks at anything else.
const RECEIVE_PATIENCE: Duration = Duration::from_millis(20);
/// Time between publications of what is closed.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(100);
/// Time between states of the ledger.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);
/// Longest time to fetch what the socket still holds at the end.
const LAST_FETCH: Duration = Duration::from_millis(500);

/// What a live run needs.
pub struct LiveRun<'a> {
    /// The instrument.
    pub config: &'a Config,
    /// Where packets come from: see [`open_receiver`].
    pub receiver: LiveReceiver,
    /// Where the events go.
    pub sinks: Vec<SinkPlan>,
    /// Where the mean values of sampled channels go, if they are wanted.
    pub samples: Option<SampleFile>,
    /// Set from outside to end the run in good order.
    pub stop: &'a AtomicBool,
    /// End after so long, if set.
    pub ends_after: Option<Duration>,
    /// End when so long no packet has come, once there were some, if set.
    pub idle_limit: Option<Duration>,
    /// Monitor data: switched and looked at from outside.
    pub monitor: MonitorTap,
    /// Where packets are recorded beside, if they are, and how much may wait for the disk.
    pub record: Option<(RecordingWriter, RecordQueue)>,
}

/// Opens the way in that a configuration asks for, and joins its multicast groups.
///
/// With `each_stamp` the kernel stamps each packet that comes through a socket when it arrives, and not all of a batch
/// get the time at which it was fetched.
///
/// # Errors
/// If it cannot be had, or a group cannot be joined.
pub fn open_receiver(config: &Config, each_stamp: bool) -> Result<LiveReceiver, Box<dyn std::error::Error>> {
    let receive = &config.receive;
    let mut plan = receive.plan()?;
    plan.socket.kernel_stamps = each_stamp;
    let receiver = LiveReceiver::open(&plan)?;
    if receive.address.ip().is_multicast() && receive.groups.is_empty() {
        receiver.join(receive.address.ip(), None)?;
    }
    for group in &receive.groups {
        receiver.join(group.address, group.interface.as_deref())?;
    }
    Ok(receiver)
}

/// The state of a live run, about once a second.
#[derive(Clone, Debug)]
pub struct LiveStatus {
    /// Time since the start.
    pub elapsed: Duration,
    /// Sources, sequences and counters.
    pub ledger: Arc<DetectorLedger>,
    /// Where packets were lost so far.
    pub losses: LossPlaces,
    /// Bytes received so far.
    pub bytes: u64,
    /// Events dropped or missed by sinks so far.
    pub lost_to_sinks: u64,
    /// Why the detector forms no events any more, if it has failed.
    pub detector_failure: Option<String>,
    /// What is wrong with the recording beside, if anything is.
    pub record_alarm: Option<String>,
}

/// What the receiving side knows, shared with the forming side.
#[derive(Clone, Copy, Debug, Default)]
struct ReceiveState {
    counters: ReceiverCounters,
    losses: ReceiveLosses,
    xdp: Option<XdpCounters>,
    own_queue: u64,
}

/// What a run tells while it is under way.
pub trait LiveObserver {
    /// Packets may be sent to `address` from now on; they come in by `way`, which says why. `warnings` are for people.
    fn ready(&mut self, address: SocketAddr, way: &str, warnings: &[String]);
    /// The state, about once a second.
    fn status(&mut self, status: &LiveStatus);
}

/// Decides when a run is over, and tells its state.
struct Watch<'a, O> {
    started: Instant,
    shown: Instant,
    published: Instant,
    last_packet: Option<Instant>,
    stop: &'a AtomicBool,
    ends_after: Option<Duration>,
    idle_limit: Option<Duration>,
    host: HostCounterReader,
    observer: &'a mut O,
}

impl<O: LiveObserver> Watch<'_, O> {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.ends_after.is_some_and(|limit| self.started.elapsed() >= limit)
            || self.idle_limit.zip(self.last_packet).is_some_and(|(limit, last)| last.elapsed() >= limit)
    }

    fn note(&mut self, packets: usize) {
        if packets > 0 {
            self.last_packet = Some(Instant::now());
        }
    }

    /// Publishes what is closed, if it is time to.
    fn publish_in_time(&mut self, forming: &mut Forming) {
        if self.published.elapsed() >= PUBLISH_INTERVAL {
            self.published = Instant::now();
            forming.publish();
        }
    }

    fn show_in_time(&mut self, forming: &Forming, state: &ReceiveState) {
        if self.shown.elapsed() < STATUS_INTERVAL {
            return;
        }
        self.shown = Instant::now();
        let ledger = Arc::new(forming.ledger());
        forming.sinks().observe(&ledger);
        self.observer.status(&LiveStatus {
            elapsed: self.started.elapsed(),
            losses: self.losses(&ledger, state, self.host.latest()),
            ledger,
            bytes: state.counters.bytes,
            lost_to_sinks: forming.sinks().lost_to_sinks(),
            detector_failure: forming.failure(),
            record_alarm: forming.record_alarm(),
        });
    }

    fn losses(&self, ledger: &DetectorLedger, state: &ReceiveState, host: HostCounters) -> LossPlaces {
        LossPlaces::join(&LossCounts {
            sequence: ledger.packets().lost,
            own_queue: state.own_queue,
            receiver: state.losses,
            host,
            numbered: !ledger.sources.is_empty(),
        })
    }
}

impl LiveRun<'_> {
    /// Receives until it is over.
    ///
    /// # Errors
    /// If the detector cannot be set up or a thread cannot be pinned. A receive error further on is told in the
    /// report, which then is not a success.
    pub fn run(self, observer: &mut impl LiveObserver) -> Result<RunReport, Box<dyn std::error::Error>> {
        let config = self.config;
        let mut receiver = self.receiver;
        let way = receiver.description().to_owned();
        let address = receiver.local_address();
        let mut warnings = receiver.warnings().to_vec();
        let events_per_batch = config.input.events_per_batch;
        let samples = self.samples.map(|file| file.start(WhenFull::Drop)).transpose()?;
        let (queue, writing) = samples.unzip();
        let mut forming = Forming::start(
            config.build_detector_with(queue)?,
            self.sinks,
            events_per_batch,
            WhenFull::Drop,
            config.veto_stage(),
            self.monitor,
        )?;
        if let Some((writer, queue)) = self.record {
            let (recorder, mut inlets) = Recorder::start(writer, &[address.ip()], queue)?;
            // One destination has one inlet.
            if let Some(inlet) = inlets.pop() {
                forming.record_into(recorder, inlet);
            }
        }
        // Before this thread is pinned: the counters are to be read on any other core.
        let used = vec![receiver.interfaces_in_use()];
        let host = HostCounterReader::start(config.receive.counters_read(), used)?;
        warnings.extend(host.warnings().iter().cloned());
        let started = Instant::now();
        let mut watch = Watch {
            started,
            shown: started,
            published: started,
            last_packet: None,
            stop: self.stop,
            ends_after: self.ends_after,
            idle_limit: self.idle_limit,
            host,
            observer,
        };
        let two_threads = config.input.threads == 2;
        pin(if two_threads { config.cores.form } else { config.cores.receive })?;
        watch.observer.ready(address, &way, &warnings);
        let (state, failure) = if two_threads {
            run_side_by_side(receiver, &mut forming, config, &mut watch)?
        } else {
            run_in_turn(&mut receiver, &mut forming, &config.input, &mut watch)
        };
        forming.close();
        let recording = forming.end_recording();
        let ledger = forming.ledger();
        let host = watch.host.now();
        let losses = watch.losses(&ledger, &state, host);
        let vetoes = forming.vetoes();
        let detector_failure = forming.failure();
        let mut sinks = forming.end(ledger.clone(), true);
        sinks.extend(writing.map(|writing| writing.end(true)));
        Ok(RunReport {
            stream: config.name.clone(),
            input: format!("UDP {address} by {way}"),
            elapsed: started.elapsed(),
            ending: failure.map_or(Ending::Stopped, |error| Ending::InputFailed(error.to_string())),
            ledger,
            detector_failure,
            losses,
            counters: [
                Some(("receive", CounterSnapshot::of(&state.counters))),
                state.xdp.map(|xdp| ("xdp", CounterSnapshot::of(&xdp))),
                Some(("kernel", CounterSnapshot::of(&host.kernel))),
                host.interfaces.map(|interfaces| ("interface", CounterSnapshot::of(&interfaces))),
            ]
            .into_iter()
            .flatten()
            .collect(),
            vetoes,
            sinks,
            recording,
        })
    }
}

fn pin(core: Option<usize>) -> Result<(), Box<dyn std::error::Error>> {
    core.map_or(Ok(()), |core| Ok(pin_current_thread(core)?))
}

/// A slab for what the kernel hands over at once: with UDP_GRO its pieces are large.
fn new_slab(input: &InputSettings) -> PacketSlab {
    const LARGEST_PIECES: usize = 8 << 20;
    let bytes = usize::try_from(input.bytes_per_slab.bytes).unwrap_or(usize::MAX);
    PacketSlab::new(input.packets_per_slab.max(4096), bytes.max(LARGEST_PIECES))
}

fn state_of(receiver: &LiveReceiver, own_queue: u64) -> ReceiveState {
    ReceiveState {
        counters: receiver.counters(),
        losses: receiver.losses(),
        xdp: receiver.xdp_counters(),
        own_queue,
    }
}

type Ended = (ReceiveState, Option<LiveReceiveError>);

/// One thread receives and forms in turn.
fn run_in_turn<O: LiveObserver>(
    receiver: &mut LiveReceiver,
    forming: &mut Forming,
    input: &InputSettings,
    watch: &mut Watch<'_, O>,
) -> Ended {
    let mut slab = new_slab(input);
    let mut over: Option<Instant> = None;
    loop {
        if over.is_none() && watch.is_over() {
            over = Some(Instant::now());
        }
        slab.clear();
        // At the end only what the socket holds already is fetched.
        let patience = if over.is_some() { Duration::ZERO } else { RECEIVE_PATIENCE };
        let packets = match receiver.receive(&mut slab, Instant::now() + patience) {
            Ok(packets) => packets,
            Err(error) => return (state_of(receiver, 0), Some(error)),
        };
        watch.note(packets);
        forming.take(&slab);
        if over.is_some_and(|since| packets == 0 || since.elapsed() > LAST_FETCH) {
            return (state_of(receiver, 0), None);
        }
        watch.publish_in_time(forming);
        if watch.shown.elapsed() >= STATUS_INTERVAL {
            watch.show_in_time(forming, &state_of(receiver, 0));
        }
    }
}

/// One thread receives while this one forms.
fn run_side_by_side<O: LiveObserver>(
    mut receiver: LiveReceiver,
    forming: &mut Forming,
    config: &Config,
    watch: &mut Watch<'_, O>,
) -> Result<Ended, Box<dyn std::error::Error>> {
    // A place for every slab there is: the four that go round, and the one that is being filled.
    let (give_filled, take_filled) = sync_channel::<PacketSlab>(InputSettings::SLABS + 1);
    let (give_empty, take_empty) = sync_channel::<PacketSlab>(InputSettings::SLABS + 1);
    for _ in 0..InputSettings::SLABS {
        give_empty.send(new_slab(&config.input))?;
    }
    let over = AtomicBool::new(false);
    let shared = Mutex::new(ReceiveState::default());
    let side = ReceivingSide {
        take_empty,
        give_filled,
        current: new_slab(&config.input),
        spare: new_slab(&config.input),
        own_queue: 0,
    };
    std::thread::scope(|scope| {
        let (over, shared) = (&over, &shared);
        let receiving =
            std::thread::Builder::new().name("receive".into()).spawn_scoped(scope, move || {
                pin(config.cores.receive).map_err(|error| error.to_string())?;
                Ok::<Ended, String>(side.receive(&mut receiver, over, shared))
            })?;
        // The receiving thread ends by itself, and with it the queue that it fills.
        loop {
            match take_filled.recv_timeout(RECEIVE_PATIENCE) {
                Ok(slab) => {
                    watch.note(slab.len());
                    forming.take(&slab);
                    // There is a place for every slab.
                    let _ = give_empty.send(slab);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            watch.publish_in_time(forming);
            let state = *shared.lock().unwrap_or_else(PoisonError::into_inner);
            watch.show_in_time(forming, &state);
            if watch.is_over() {
                over.store(true, Ordering::Relaxed);
            }
        }
        match receiving.join() {
            Ok(ended) => Ok(ended?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The receiving thread's ends of the queues.
struct ReceivingSide {
    take_empty: Receiver<PacketSlab>,
    give_filled: SyncSender<PacketSlab>,
    /// Filled until an empty slab comes back in its place: a forming thread that is behind gets fuller slabs,
    /// not more of them.
    current: PacketSlab,
    /// Where packets go when the current slab is full: they are dropped.
    spare: PacketSlab,
    own_queue: u64,
}

impl ReceivingSide {
    /// Receives until it is told that it is over, and what the socket still holds then.
    fn receive(
        mut self,
        receiver: &mut LiveReceiver,
        over: &AtomicBool,
        shared: &Mutex<ReceiveState>,
    ) -> Ended {
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
            let received = receiver.receive(slab, deadline);
            let packets = slab.len() - before;
            if !has_room {
                self.own_queue += packets as u64;
            }
            if told.elapsed() >= RECEIVE_PATIENCE {
                told = Instant::now();
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = state_of(receiver, self.own_queue);
            }
            let failure = received.err();
            if failure.is_some() || since.is_some_and(|since| packets == 0 || since.elapsed() > LAST_FETCH) {
                self.hand_over(PacketSlab::new(1, 0));
                return (state_of(receiver, self.own_queue), failure);
            }
        }
    }

    /// Gives the current slab to the forming thread, which outlives this one and has a place for it.
    fn hand_over(&mut self, mut next: PacketSlab) {
        next.clear();
        // Fails only if the forming thread has panicked.
        let _ = self.give_filled.send(std::mem::replace(&mut self.current, next));
    }
}
