//! Records packets as they come in: a thread for each port receives, one writes.
//!
//! Receiving never waits for the disk: what that costs is in the report, at the place "record queue".

use crate::record_report::{PortReport, RecordEnding, RecordReport};
use evforge_core::packet::PacketSlab;
use evforge_net::kernel_counters::KernelCounters;
use evforge_net::live_receiver::LiveReceiver;
use evforge_net::record::{InletCounts, RecordInlet, RecordQueue, Recorder, RecordingWriter};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for packets before a thread looks at anything else.
const PATIENCE: Duration = Duration::from_millis(20);
/// Time between states.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of the largest piece that the kernel hands over at once.
const LARGEST_PIECE: usize = 1 << 16;
/// Longest time to fetch what a socket still holds at the end.
const LAST_FETCH: Duration = Duration::from_millis(500);

/// What a recording needs.
pub struct RecordRun<'a> {
    /// Where packets come from: one for each port, or by AF_XDP one for all.
    pub sources: Vec<LiveReceiver>,
    /// Where they go.
    pub writer: RecordingWriter,
    /// How much may wait for the disk, for each port.
    pub queue: RecordQueue,
    /// Set from outside to end the recording in good order.
    pub stop: &'a AtomicBool,
    /// End after so long, if set.
    pub ends_after: Option<Duration>,
    /// End when so long no packet has come, once there were some, if set.
    pub idle_limit: Option<Duration>,
}

/// The state of a recording, about once a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordStatus {
    /// Time since the start.
    pub elapsed: Duration,
    /// What has been received and dropped by the recorder's queue so far, of all ports.
    pub counts: InletCounts,
    /// What is wrong with the files, or was, with the number of packets that are missing because of it.
    pub alarm: Option<String>,
}

impl RecordRun<'_> {
    /// Records until it is over. What goes wrong on the way ends the recording, and is in the report.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub fn run(self, mut status: impl FnMut(&RecordStatus)) -> io::Result<RecordReport> {
        let destinations: Vec<IpAddr> =
            self.sources.iter().map(|source| source.local_address().ip()).collect();
        let kernel_before = KernelCounters::read().ok();
        let (recorder, inlets) = Recorder::start(self.writer, &destinations, self.queue)?;
        let started = Instant::now();
        let over = AtomicBool::new(false);
        let mut watch = Watch {
            started,
            shown: started,
            received: 0,
            last_packet: started,
            stop: self.stop,
            ends_after: self.ends_after,
            idle_limit: self.idle_limit,
        };
        let mut ports = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (source, inlet) in self.sources.into_iter().zip(inlets) {
                let over_here = &over;
                let name = format!("port {}", source.local_address().port());
                let work = move || receive(source, inlet, over_here);
                match std::thread::Builder::new().name(name).spawn_scoped(scope, work) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        // The threads that have begun must not wait for ever.
                        over.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(PATIENCE);
                if recorder.has_failed() || watch.is_over(&recorder, &mut status) {
                    over.store(true, Ordering::Relaxed);
                }
            }
            Ok(threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Vec<PortReport>>())
        })?;
        let elapsed = started.elapsed();
        let recording = recorder.end();
        for (port, inlet) in ports.iter_mut().zip(&recording.inlets) {
            port.recorder = *inlet;
        }
        let kernel = kernel_before.and_then(|before| Some(KernelCounters::read().ok()?.since(&before)));
        let failure = ports.iter().find_map(|port| port.failure.clone());
        let ending = match failure {
            Some(failure) => RecordEnding::InputFailed(failure),
            None if recording.failure.is_some() => RecordEnding::WritingFailed,
            None => RecordEnding::Stopped,
        };
        Ok(RecordReport { elapsed, ending, ports, recording, kernel: kernel.unwrap_or_default() })
    }
}

/// Decides when a recording is over, and tells its state.
struct Watch<'a> {
    started: Instant,
    shown: Instant,
    received: u64,
    last_packet: Instant,
    stop: &'a AtomicBool,
    ends_after: Option<Duration>,
    idle_limit: Option<Duration>,
}

impl Watch<'_> {
    fn is_over(&mut self, recorder: &Recorder, status: &mut impl FnMut(&RecordStatus)) -> bool {
        let mut counts = InletCounts::default();
        for inlet in recorder.inlets() {
            counts.add(&inlet);
        }
        if counts.received != self.received {
            self.received = counts.received;
            self.last_packet = Instant::now();
        }
        let elapsed = self.started.elapsed();
        if self.shown.elapsed() >= STATUS_INTERVAL {
            self.shown = Instant::now();
            status(&RecordStatus { elapsed, counts, alarm: recorder.alarm() });
        }
        self.stop.load(Ordering::Relaxed)
            || self.ends_after.is_some_and(|limit| elapsed >= limit)
            || self.idle_limit.is_some_and(|limit| self.received > 0 && self.last_packet.elapsed() >= limit)
    }
}

/// Receives until it is told that it is over, and what the socket still holds then.
fn receive(mut source: LiveReceiver, mut inlet: RecordInlet, over: &AtomicBool) -> PortReport {
    let mut since: Option<Instant> = None;
    let failure = loop {
        if since.is_none() && over.load(Ordering::Relaxed) {
            since = Some(Instant::now());
        }
        let patience = if since.is_some() { Duration::ZERO } else { PATIENCE };
        let slab: &mut PacketSlab = inlet.slab_with_room(LARGEST_PIECE);
        let received = source.receive(slab, Instant::now() + patience);
        inlet.commit();
        match received {
            Ok(packets) => {
                if since.is_some_and(|since| packets == 0 || since.elapsed() > LAST_FETCH) {
                    break None;
                }
            }
            Err(error) => {
                over.store(true, Ordering::Relaxed);
                break Some(error.to_string());
            }
        }
    };
    PortReport {
        addresses: source.local_addresses(),
        receiver: source.counters(),
        losses: source.losses(),
        alarms: source.alarms(),
        // Filled in when everything has been written.
        recorder: InletCounts::default(),
        failure,
    }
}
