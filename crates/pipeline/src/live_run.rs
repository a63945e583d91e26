//! Forms the events of packets as they come in.
//!
//! With one thread, receiving and forming take turns on one core, run to completion. With more, threads of their
//! own receive (`receiving.rs`), and this one forms.
//!
//! Wall-clock time decides only when something is *shown*: after a pause, what is already closed is
//! published. Events themselves depend on the packets alone.

use crate::config::Config;
use crate::fan_out::{SinkFailure, SinkPlan, WhenFull};
use crate::forming::Forming;
use crate::loss_hints::loss_hints;
use crate::monitor_tap::MonitorTap;
use crate::receiving::{new_slab, queues};
use crate::report::{Ending, RunReport, listed};
use crate::samples::{SampleFile, SampleWriting};
use evforge_core::counter::CounterSnapshot;
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::PacketSlab;
use evforge_core::pulse::PulseTrain;
use evforge_net::clock::ClockReport;
use evforge_net::host_counters::{HostCounterReader, HostCounters};
use evforge_net::live_receiver::LiveReceiver;
use evforge_net::losses::{LossBreakdown, LossCounts};
use evforge_net::receiver_group::ReceiverGroup;
use evforge_net::record::{RecordQueue, Recorder, RecordingWriter};
use evforge_net::session::{
    Attend, PacketHandler, PacketReceiver, ReceiveState, ReceiverSummary, ReceivingThread, SessionClock,
    SessionEnd, SessionLimits, receive_in_turn, receive_with_threads,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Time between publications of what is closed.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(100);
/// Time between states of the ledger.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// What a live run needs.
pub struct LiveRun<'a> {
    /// The instrument.
    pub config: &'a Config,
    /// Where packets come from: see [`open_receivers`].
    pub receivers: Vec<LiveReceiver>,
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

/// Opens the ways in that a configuration asks for, at least one, and joins its multicast groups.
///
/// With `each_stamp` the kernel stamps each packet that comes through a socket when it arrives, and not all of a batch
/// get the time at which it was fetched.
///
/// # Errors
/// If they cannot be had, a group cannot be joined, or a core that is to receive serves the interrupts of the card.
pub fn open_receivers(
    config: &Config,
    each_stamp: bool,
) -> Result<Vec<LiveReceiver>, Box<dyn std::error::Error>> {
    let receive = &config.receive;
    let mut plan = receive.plan()?;
    plan.socket.kernel_stamps |= each_stamp;
    let receivers = LiveReceiver::open(&plan)?;
    // All receivers are at one address, or on one interface.
    if !config.threads.receive.core.is_empty()
        && let Some(Ok(reading)) = receivers.first().map(|receiver| receiver.interfaces_in_use().read())
    {
        config.threads.check_interrupts(&reading.names())?;
    }
    for receiver in &receivers {
        if receive.address.ip().is_multicast() && receive.groups.is_empty() {
            receiver.join(receive.address.ip(), None)?;
        }
        for group in &receive.groups {
            receiver.join(group.address, group.interface.as_deref())?;
        }
    }
    Ok(receivers)
}

/// The state of a live run, about once a second.
#[derive(Clone, Debug)]
pub struct LiveStatus {
    /// Time since the start.
    pub elapsed: Duration,
    /// Sources, sequences and counters.
    pub ledger: Arc<DetectorLedger>,
    /// Where packets were lost so far.
    pub losses: LossBreakdown,
    /// What the pattern of losses suggests, in whole sentences.
    pub hints: Vec<String>,
    /// Bytes received so far.
    pub bytes: u64,
    /// Events dropped or missed by sinks so far.
    pub lost_to_sinks: u64,
    /// The sinks that have failed so far, each with the reason. They get no more events.
    pub failed_sinks: Vec<String>,
    /// Why the detector forms no events any more, if it has failed.
    pub detector_failure: Option<String>,
    /// What is wrong with the recording beside, if anything is.
    pub record_alarm: Option<String>,
    /// What is wrong with receiving, or was so far, in whole sentences.
    pub receive_alarms: Vec<String>,
}

/// What a run tells while it is under way.
pub trait LiveObserver {
    /// Packets may be sent to any of these addresses from now on; they come in by `way`, which says why. `warnings` are for
    /// people.
    fn ready(&mut self, addresses: &[SocketAddr], way: &str, warnings: &[String]);
    /// The state, about once a second.
    fn status(&mut self, status: &LiveStatus);
}

/// Tells the state of a run.
struct Watch<'a, O> {
    started: Instant,
    shown: Instant,
    published: Instant,
    host: HostCounterReader,
    pulses: PulseTrain,
    /// Of the file for mean values, which is no sink of events.
    samples: Option<SinkFailure>,
    observer: &'a mut O,
}

impl<O: LiveObserver> Watch<'_, O> {
    /// Publishes what is closed, if it is time to.
    fn publish_in_time(&mut self, forming: &mut Forming) {
        if self.published.elapsed() >= PUBLISH_INTERVAL {
            self.published = Instant::now();
            forming.publish();
        }
    }

    fn show_in_time(&mut self, forming: &Forming, state: impl FnOnce() -> ReceiveState) {
        if self.shown.elapsed() < STATUS_INTERVAL {
            return;
        }
        self.shown = Instant::now();
        let state = &state();
        let ledger = Arc::new(forming.ledger());
        forming.sinks().observe(&ledger);
        let losses = self.losses(&ledger, state, self.host.latest());
        let mut failed_sinks = forming.sinks().failures();
        failed_sinks.extend(self.samples.as_ref().and_then(SinkFailure::told));
        self.observer.status(&LiveStatus {
            elapsed: self.started.elapsed(),
            hints: hints(&ledger, &losses, &self.pulses, state),
            receive_alarms: state.alarms.clone(),
            losses,
            ledger,
            bytes: state.counters.bytes,
            lost_to_sinks: forming.sinks().lost_to_sinks(),
            failed_sinks,
            detector_failure: forming.failure(),
            record_alarm: forming.record_alarm(),
        });
    }

    fn losses(&self, ledger: &DetectorLedger, state: &ReceiveState, host: HostCounters) -> LossBreakdown {
        LossBreakdown::join(&LossCounts {
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
        let ReceiverSummary { addresses, description, interfaces, mut warnings } =
            ReceiverSummary::of(&self.receivers);
        let two_threads = config.input.threads == 2;
        let wanted = config.threads.receive.count;
        let mut groups = ReceiverGroup::spread(self.receivers, wanted, config.receive.spin.to_std());
        if groups.len() < wanted {
            warnings.push(format!(
                "threads.receive.count is {wanted}, and {} is used: one thread takes all queues by AF_XDP",
                groups.len()
            ));
        }
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
            let (recorder, mut inlets) = Recorder::start(writer, &[config.receive.address.ip()], queue)?;
            // One destination has one inlet.
            if let Some(inlet) = inlets.pop() {
                forming.record_into(recorder, inlet);
            }
        }
        forming.measure_latency();
        let clock = ClockReport::measure();
        warnings.extend(clock.warning());
        // Before this thread is pinned: the counters are to be read on any other core.
        let host = HostCounterReader::start(config.receive.counters_read(), interfaces)?;
        warnings.extend(host.warnings().iter().cloned());
        let session = SessionClock::start(SessionLimits {
            stop: self.stop,
            ends_after: self.ends_after,
            idle_limit: self.idle_limit,
        });
        let started = Instant::now();
        let mut watch = Watch {
            started,
            shown: started,
            published: started,
            host,
            pulses: config.pulses,
            samples: writing.as_ref().map(SampleWriting::failure),
            observer,
        };
        if two_threads {
            config.threads.place_forming()?;
        } else {
            config.threads.place_receiving(0)?;
        }
        watch.observer.ready(&addresses, &description, &warnings);
        let SessionEnd { state, failure } = match groups.as_mut_slice() {
            [group] if !two_threads => {
                let slab = new_slab(&config.input);
                receive_in_turn(
                    session,
                    group,
                    &mut InTurn { slab, forming: &mut forming, watch: &mut watch },
                )
            }
            _ => run_side_by_side(session, groups, &mut forming, config, &mut watch)?,
        };
        forming.close();
        let recording = forming.end_recording();
        let ledger = forming.ledger();
        let host = watch.host.now();
        let losses = watch.losses(&ledger, &state, host);
        let latency = forming.latency();
        let vetoes = forming.vetoes();
        let detector_failure = forming.failure();
        let mut sinks = forming.end(ledger.clone(), true);
        sinks.extend(writing.map(|writing| writing.end(true)));
        Ok(RunReport {
            stream: config.name.clone(),
            input: format!("UDP {} by {description}", listed(&addresses)),
            elapsed: started.elapsed(),
            ending: failure.map_or(Ending::Stopped, |error| Ending::InputFailed(error.to_string())),
            detector_failure,
            hints: hints(&ledger, &losses, &config.pulses, &state),
            alarms: state.alarms,
            ledger,
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
            latency,
            clock: Some(clock),
        })
    }
}

/// What the losses suggest, and what was changed during the run.
fn hints(
    ledger: &DetectorLedger,
    losses: &LossBreakdown,
    pulses: &PulseTrain,
    state: &ReceiveState,
) -> Vec<String> {
    let mut hints = loss_hints(ledger, losses, pulses);
    hints.extend(state.notes.iter().cloned());
    if state.xdp.is_some_and(|xdp| xdp.mixed > 0) {
        hints.push(
            "Some senders send packets in fragments, which only the kernel puts together: to keep their order, all of their \
             packets come through the kernel's socket and not by AF_XDP. Raise the MTU on their way, or receive by sockets."
                .to_owned(),
        );
    }
    hints
}

/// Forms events in the thread that receives.
struct InTurn<'a, 'o, O> {
    slab: PacketSlab,
    forming: &'a mut Forming,
    watch: &'a mut Watch<'o, O>,
}

impl<O: LiveObserver> PacketHandler for InTurn<'_, '_, O> {
    fn slab_to_fill(&mut self) -> &mut PacketSlab {
        self.slab.clear();
        &mut self.slab
    }

    fn received(&mut self, _packets: usize, receiver: &dyn PacketReceiver) {
        self.forming.take(&self.slab);
        self.watch.publish_in_time(self.forming);
        self.watch.show_in_time(self.forming, || ReceiveState::of(receiver, 0));
    }
}

/// Others receive while this thread forms.
fn run_side_by_side<O: LiveObserver>(
    session: SessionClock<'_>,
    groups: Vec<ReceiverGroup>,
    forming: &mut Forming,
    config: &Config,
    watch: &mut Watch<'_, O>,
) -> Result<SessionEnd, Box<dyn std::error::Error>> {
    let (filled, sides) = queues(groups.len(), &config.input);
    let threads = groups.into_iter().zip(sides).enumerate().map(|(number, (receiver, handler))| {
        ReceivingThread { name: format!("receive {number}"), receiver, handler }
    });
    let place = |number| config.threads.place_receiving(number).map_err(|error| error.to_string());
    let received = receive_with_threads(session, threads.collect(), &place, |progress| {
        filled.take_next(|slab| forming.take(slab));
        watch.publish_in_time(forming);
        watch.show_in_time(forming, || progress.state());
        Attend::Again
    })?;
    let (mut sides, mut all) = (Vec::new(), SessionEnd { state: ReceiveState::default(), failure: None });
    for thread in received {
        sides.push(thread.handler);
        all.state.add(&thread.end.state);
        all.failure = all.failure.or(thread.end.failure);
    }
    filled.take_rest(sides, |slab| forming.take(slab));
    Ok(all)
}
