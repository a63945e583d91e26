//! A node to which trains come over TCP.

use super::by_source::BySource;
use super::delivery::Delivery;
use super::outcome::{NodeError, NodeProgress, ReceivedStreams, ReceivedTrains, ThreadReport};
use super::settings::NodeSettings;
use super::sink::TrainSink;
use super::worker::work;
use crate::assembly::{AssembledTrain, StreamAssembly};
use crate::tcp::{Connections, TrainListener};
use evforge_core::counter::CounterSet;
use evforge_net::affinity::pin_current_thread;
use evforge_net::session::{PATIENCE, ReceiveState, SessionClock, SessionError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Ends all connections when it is dropped: nobody else would, if whoever watches has panicked.
struct EndsForAll<'a>(&'a AtomicBool);

impl Drop for EndsForAll<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// As [`run`](super::run), for trains that come over TCP. `settings.assembly` is for all connections together: its `sources` are how
/// many there may be. Modules are those that the streams say; `modules`, `sources_by`, `batch` and `has_profile` are of UDP.
///
/// # Errors
/// If settings make no sense, or the system gives no threads or cores. The failure of a sink is in what the node did.
///
/// # Panics
/// If a thread has panicked, with its panic.
pub fn run_streams(
    settings: &NodeSettings,
    listener: TrainListener,
    sinks: &mut [Box<dyn TrainSink>],
    stop: &AtomicBool,
    mut watch: impl FnMut(&NodeProgress<'_>),
) -> Result<ReceivedTrains, NodeError> {
    let assembly = StreamAssembly::new(settings.assembly)?;
    // Room for every train that there can be.
    let (queue, trains) = sync_channel(settings.assembly.buffers.max(1));
    let delivery = Arc::new(Mutex::new(Delivery::new(0, 0, queue, settings)));
    let (failed, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let (assembly, failed, over) = (&assembly, &failed, &over);
    std::thread::scope(|scope| {
        // Goes with this thread, also if `watch` panics: then connections end, and the worker with them.
        let delivery = delivery;
        let ending = EndsForAll(over);
        let worker = Builder::new().name("train worker".to_owned());
        let worker = worker
            .spawn_scoped(scope, move || {
                let pinned = settings.worker_core.map_or(Ok(()), pin_current_thread);
                let back = |_, buffer| _ = assembly.give_back(buffer);
                (work(&trains, back, sinks, failed), pinned)
            })
            .map_err(SessionError::NoThread)?;
        let mut connections = Connections::new(scope, assembly, over, &settings.cores);
        let mut clock = SessionClock::start(settings.limits.clone(), stop);
        loop {
            let deliver = || {
                let delivery = Arc::clone(&delivery);
                move |train: AssembledTrain| {
                    delivery.lock().unwrap_or_else(PoisonError::into_inner).deliver(train)
                }
            };
            connections.attend(&listener, deliver).map_err(SessionError::Place)?;
            let counters = assembly.counters();
            clock.note(counters.bytes_received);
            watch(&NodeProgress {
                elapsed: clock.elapsed(),
                assembly: counters,
                threads: std::slice::from_ref(&counters),
                session: None,
            });
            let has_enough = settings.trains.is_some_and(|most| counters.trains_good >= most);
            if failed.load(Ordering::Relaxed) || has_enough || clock.is_over() {
                break;
            }
            std::thread::sleep(PATIENCE);
        }
        drop(ending);
        let addresses = listener.local_addresses();
        // Who comes now is refused by the kernel.
        drop(listener);
        let counted = connections.end().map_err(SessionError::Place)?;
        let (node, irregular, by_source) = {
            let mut delivery = delivery.lock().unwrap_or_else(PoisonError::into_inner);
            let by_source = std::mem::replace(&mut delivery.by_source, BySource::new(0));
            (delivery.counters, std::mem::take(&mut delivery.irregular), by_source)
        };
        // Its end of the queue was the last one.
        drop(delivery);
        let (worked, pinned) = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        pinned.map_err(SessionError::Place)?;
        let mut counters = worked.counters;
        counters.accumulate(&node);
        let (sources, further_sources) = by_source.end();
        let thread = ThreadReport {
            addresses,
            way: format!("TCP, a thread for each of at most {} connections", settings.assembly.sources),
            state: ReceiveState::default(),
            assembly: assembly.counters(),
            profile: None,
            irregular,
            sources,
            further_sources,
            processor: Duration::ZERO,
        };
        let streams = ReceivedStreams { counters: counted, waited: assembly.tally().waited };
        Ok(ReceivedTrains {
            threads: vec![thread],
            counters,
            failure: worked.failure,
            busy: worked.busy,
            streams: Some(streams),
        })
    })
}
