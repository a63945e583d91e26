//! A node while it runs.

use super::counters::NodeCounters;
use super::profile::ReaderProfile;
use super::reader::{Reader, ReaderEnd, Told};
use super::settings::NodeSettings;
use super::sink::{SinkError, TrainSink};
use super::worker::work;
use crate::assembly::{Assembly, AssemblyCounters, TrainReport};
use evforge_core::counter::CounterSet;
use evforge_core::settings::SettingsError;
use evforge_net::affinity::{PinError, pin_current_thread, pin_current_thread_in_turn};
use evforge_net::live_receiver::{LiveReceiveError, LiveReceiver};
use evforge_net::session::{
    Attend, ReceiveState, ReceivingThread, SessionClock, SessionError, SessionLimits, SessionProgress,
    receive_with_threads,
};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Why a node cannot run, or has ended.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A setting makes no sense.
    #[error("{0}")]
    Settings(#[from] SettingsError),
    /// Nothing can be received any more.
    #[error("{0}")]
    Receive(#[from] LiveReceiveError),
    /// The system gives no threads, or no cores.
    #[error("{0}")]
    Session(#[from] SessionError<PinError>),
}

/// How it goes, some 50 times per second.
#[derive(Clone, Copy, Debug)]
pub struct NodeProgress<'a> {
    /// Time since the start.
    pub elapsed: Duration,
    /// What the assemblies of all threads have counted.
    pub assembly: AssemblyCounters,
    /// What that of each thread has counted, in the order of the receivers.
    pub threads: &'a [AssemblyCounters],
    session: &'a SessionProgress<'a>,
}

impl NodeProgress<'_> {
    /// What all receivers together knew a moment ago, what was lost on this host among it.
    pub fn receiving(&self) -> ReceiveState {
        self.session.state()
    }
}

/// What a receiving thread did.
#[derive(Clone, Debug)]
pub struct ThreadReport {
    /// Where it received.
    pub addresses: Vec<SocketAddr>,
    /// How, and why so.
    pub way: String,
    /// What its receiver has counted, losses of this host among it.
    pub state: ReceiveState,
    /// What its assembly has counted.
    pub assembly: AssemblyCounters,
    /// Where its time went; none if that was not asked for.
    pub profile: Option<ReaderProfile>,
    /// Trains that were not good, the first ones.
    pub irregular: Vec<TrainReport>,
}

/// What a node did.
#[derive(Debug)]
pub struct ReceivedTrains {
    /// Each receiving thread.
    pub threads: Vec<ThreadReport>,
    /// Trains between assemblies and sinks.
    pub counters: NodeCounters,
    /// Why a sink has failed, if one has.
    pub failure: Option<SinkError>,
    /// Time that the worker was in sinks.
    pub busy: Duration,
}

impl ReceivedTrains {
    /// What the assemblies of all threads have counted.
    pub fn assembly(&self) -> AssemblyCounters {
        sum(self.threads.iter().map(|thread| thread.assembly))
    }
}

/// Counters of several threads, or of several modules, together.
pub(crate) fn sum<C: CounterSet + Default>(all: impl Iterator<Item = C>) -> C {
    all.fold(C::default(), |mut sum, one| {
        sum.accumulate(&one);
        sum
    })
}

/// Receives, puts trains together and gives them to the sinks, until the time is over, nothing has come for long enough, there are
/// enough trains, a sink has failed or `stop` is set. `watch` is called in this thread some 50 times per second.
///
/// # Errors
/// If settings make no sense, or nothing can be received. The failure of a sink is in what the node did.
///
/// # Panics
/// If a thread has panicked, with its panic.
pub fn run(
    settings: &NodeSettings,
    receivers: Vec<LiveReceiver>,
    sinks: &mut [Box<dyn TrainSink>],
    stop: &AtomicBool,
    mut watch: impl FnMut(&NodeProgress<'_>),
) -> Result<ReceivedTrains, NodeError> {
    let assemblies: Vec<Assembly> =
        receivers.iter().map(|_| Assembly::new(settings.assembly)).collect::<Result<_, _>>()?;
    let told: Vec<Mutex<Told>> = receivers.iter().map(|_| Mutex::default()).collect();
    let failed = AtomicBool::new(false);
    // Room for every train that there can be.
    let (queue, trains) = sync_channel(settings.assembly.buffers.saturating_mul(receivers.len()).max(1));
    let (back, returned): (Vec<_>, Vec<_>) = receivers.iter().map(|_| channel()).unzip();
    let threads = receivers.into_iter().zip(assemblies).zip(returned).enumerate();
    let threads = threads.map(|(number, ((receiver, assembly), returned))| {
        let modules = settings.modules_at(&receiver.local_addresses());
        let ends = (queue.clone(), returned);
        let handler = Reader::new((number, modules), assembly, settings, ends, &told[number]);
        ReceivingThread { name: format!("trains {number}"), receiver, handler }
    });
    let threads: Vec<_> = threads.collect();
    drop(queue);
    let place = |number: usize| pin_current_thread_in_turn(&settings.cores, number);
    let limits = SessionLimits { stop, ends_after: settings.duration, idle_limit: settings.idle };
    let failed = &failed;
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("train worker".to_owned());
        let worker = worker
            .spawn_scoped(scope, move || {
                let pinned = settings.worker_core.map_or(Ok(()), pin_current_thread);
                (work(&trains, &back, sinks, failed), pinned)
            })
            .map_err(SessionError::NoThread)?;
        let received = receive_with_threads(SessionClock::start(limits), threads, &place, |progress| {
            let counters = |told: &Mutex<Told>| told.lock().unwrap_or_else(PoisonError::into_inner).assembly;
            let threads: Vec<AssemblyCounters> = told.iter().map(counters).collect();
            let assembly = sum(threads.iter().copied());
            let has_enough = settings.trains.is_some_and(|most| assembly.trains_good >= most);
            watch(&NodeProgress {
                elapsed: progress.elapsed,
                assembly,
                threads: &threads,
                session: progress,
            });
            if failed.load(Ordering::Relaxed) || has_enough { Attend::End } else { Attend::Pause }
        });
        // Without them the worker ends: their ends of the queue are gone.
        let received = received?.into_iter().map(|thread| {
            let way = thread.receiver.description().to_owned();
            let addresses = thread.receiver.local_addresses();
            (addresses, way, thread.end, thread.handler.end())
        });
        let received: Vec<_> = received.collect();
        let (worked, pinned) = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        pinned.map_err(SessionError::Place)?;
        let mut counters = worked.counters;
        let mut reports = Vec::new();
        for (addresses, way, end, reader) in received {
            if let Some(failure) = end.failure {
                return Err(failure.into());
            }
            let ReaderEnd { assembly, node, profile, irregular } = reader;
            counters.accumulate(&node);
            reports.push(ThreadReport { addresses, way, state: end.state, assembly, profile, irregular });
        }
        Ok(ReceivedTrains { threads: reports, counters, failure: worked.failure, busy: worked.busy })
    })
}
