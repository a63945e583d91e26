//! Records packets as they come in: a thread for each port receives, one writes.
//!
//! Receiving never waits for the disk: what that costs is in the report, at the place "record queue".

use crate::record_report::{PortReport, RecordEnding, RecordReport};
use evforge_core::packet::PacketSlab;
use evforge_net::kernel_counters::KernelCounters;
use evforge_net::live_receiver::LiveReceiver;
use evforge_net::record::{InletCounts, RecordInlet, RecordQueue, Recorder, RecordingWriter};
use evforge_net::session::{
    Attend, LARGEST_PIECE, PacketHandler, PacketReceiver, Received, ReceivingThread, SessionClock,
    SessionError, SessionLimits, receive_with_threads,
};
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Time between states.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// What a recording needs.
pub struct RecordRun<'a> {
    /// Where packets come from: one for each port, or by AF_XDP one for all.
    pub sources: Vec<LiveReceiver>,
    /// Where they go.
    pub writer: RecordingWriter,
    /// How much may wait for the disk, for each port.
    pub queue: RecordQueue,
    /// What ends the recording in good order.
    pub limits: SessionLimits,
    /// Set by the caller to end it.
    pub stop: &'a AtomicBool,
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
        let threads = self.sources.into_iter().zip(inlets).map(|(source, inlet)| ReceivingThread {
            name: format!("port {}", source.local_address().port()),
            receiver: source,
            handler: Recorded(inlet),
        });
        let clock = SessionClock::start(self.limits, self.stop);
        let mut shown = Instant::now();
        let anywhere = |_| Ok::<(), Infallible>(());
        let received = receive_with_threads(clock.clone(), threads.collect(), &anywhere, |progress| {
            if shown.elapsed() >= STATUS_INTERVAL {
                shown = Instant::now();
                let mut counts = InletCounts::default();
                recorder.inlets().iter().for_each(|inlet| counts.add(inlet));
                status(&RecordStatus { elapsed: progress.elapsed, counts, alarm: recorder.alarm() });
            }
            if recorder.has_failed() { Attend::End } else { Attend::Pause }
        });
        let received = received.map_err(|error| match error {
            SessionError::NoThread(error) => error,
            SessionError::Place(never) => match never {},
        })?;
        let elapsed = clock.elapsed();
        // With them go the inlets: the recorder waits for that.
        let mut ports: Vec<PortReport> = received.into_iter().map(port_report).collect();
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

/// Hands packets to the recorder, from whose slabs they are received into.
struct Recorded(RecordInlet);

impl PacketHandler for Recorded {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        self.0.slab_with_room(LARGEST_PIECE)
    }

    fn received(&mut self, _packets: usize, _receiver: &dyn PacketReceiver) {
        self.0.commit();
    }
}

/// What a port has received and lost.
fn port_report(port: Received<LiveReceiver, Recorded>) -> PortReport {
    let state = port.end.state;
    PortReport {
        addresses: port.receiver.local_addresses(),
        receiver: state.counters,
        losses: state.losses,
        alarms: state.alarms,
        // Filled in when everything has been written.
        recorder: InletCounts::default(),
        failure: port.end.failure.map(|error| error.to_string()),
    }
}
