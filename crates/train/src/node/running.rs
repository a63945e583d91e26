//! A node while it runs.

use super::outcome::{NodeError, NodeProgress, ReceivedTrains, ThreadReport, sum};
use super::reader::{Reader, ReaderEnd, Told};
use super::settings::NodeSettings;
use super::sink::TrainSink;
use super::worker::work;
use crate::assembly::{Assembly, AssemblyCounters};
use evforge_core::counter::CounterSet;
use evforge_net::affinity::{pin_current_thread, pin_current_thread_in_turn};
use evforge_net::live_receiver::LiveReceiver;
use evforge_net::session::{Attend, ReceivingThread, SessionClock, SessionError, receive_with_threads};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Mutex, PoisonError};

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
    let failed = &failed;
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("train worker".to_owned());
        let worker = worker
            .spawn_scoped(scope, move || {
                let pinned = settings.worker_core.map_or(Ok(()), pin_current_thread);
                // A thread may have ended: then nobody needs its buffers.
                let back = |thread: usize, buffer| _ = back[thread].send(buffer);
                (work(&trains, back, sinks, failed), pinned)
            })
            .map_err(SessionError::NoThread)?;
        let received = receive_with_threads(
            SessionClock::start(settings.limits.clone(), stop),
            threads,
            &place,
            |progress| {
                let counters =
                    |told: &Mutex<Told>| told.lock().unwrap_or_else(PoisonError::into_inner).assembly;
                let threads: Vec<AssemblyCounters> = told.iter().map(counters).collect();
                let assembly = sum(threads.iter().copied());
                let has_enough = settings.trains.is_some_and(|most| assembly.trains_good >= most);
                watch(&NodeProgress {
                    elapsed: progress.elapsed,
                    assembly,
                    threads: &threads,
                    session: Some(progress),
                });
                if failed.load(Ordering::Relaxed) || has_enough { Attend::End } else { Attend::Pause }
            },
        );
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
            let ReaderEnd { assembly, node, profile, irregular, sources, further_sources, processor } =
                reader;
            counters.accumulate(&node);
            reports.push(ThreadReport {
                addresses,
                way,
                state: end.state,
                assembly,
                profile,
                irregular,
                sources,
                further_sources,
                processor,
            });
        }
        let (failure, busy) = (worked.failure, worked.busy);
        Ok(ReceivedTrains { threads: reports, counters, failure, busy, streams: None })
    })
}
