//! Forms the events of packets as they come in.
//!
//! With one thread, receiving and forming take turns on one core, run to completion. With more, threads of their
//! own receive (`receiving.rs`), and this one forms.
//!
//! Wall-clock time decides only when something is *shown*: after a pause, what is already closed is
//! published. Events themselves depend on the packets alone.

use crate::alarm_log::AlarmLog;
use crate::figures::listed;
use crate::forming::Forming;
use crate::in_turn::InTurn;
pub use crate::live_watch::LiveObserver;
use crate::live_watch::Watch;
use crate::misfit::Misfit;
use crate::monitor_tap::MonitorTap;
use crate::receiving::queues;
use crate::report::{Ending, RunReport};
use crate::run_control::RunControl;
use crate::samples::{SampleFile, WhenBehind};
use crate::series::LedgerSeries;
use crate::verdict::nothing_received;
use evforge_config::Config;
use evforge_core::feed::FeedWatch;
use evforge_core::output::Output;
use evforge_core::pulsed::CalendarRule;
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_detect::adc_readout::SampleSink;
use evforge_net::clock::ClockReport;
use evforge_net::host_counters::HostCounterReader;
use evforge_net::host_health::HostHealthReader;
use evforge_net::live_receiver::LiveReceiver;
use evforge_net::receiver_group::ReceiverGroup;
use evforge_net::record::{RecordQueue, Recorder, RecordingWriter};
use evforge_net::session::{
    Attend, ReceiveState, ReceiverSummary, ReceivingThread, SessionClock, SessionEnd, SessionLimits,
    receive_in_turn, receive_with_threads,
};
use evforge_outputs::packet_tap::PacketTap;
use evforge_outputs::{OnWaiting, OutputSet, QueueSettings};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a live run needs.
pub struct LiveRun<'a> {
    /// The instrument.
    pub config: &'a Config,
    /// Where packets come from: see [`open_receivers`].
    pub receivers: Vec<LiveReceiver>,
    /// Where the events go: each with its name in the configuration and its queue.
    pub outputs: Vec<(String, Box<dyn Output>, QueueSettings)>,
    /// Where the averaged waveforms of sampled channels go, if they are wanted.
    pub samples: Option<SampleFile>,
    /// Set by the caller to end the run in good order.
    pub stop: &'a AtomicBool,
    /// What ends the run by itself.
    pub limits: SessionLimits,
    /// Monitor data: switched and read by others while the run continues.
    pub monitor: MonitorTap,
    /// Where outputs get raw packets from.
    pub packets: PacketTap,
    /// By which others ask the run while it goes on.
    pub control: RunControl,
    /// Where packets are recorded alongside, if they are, and how much may wait for the disk.
    pub record: Option<(RecordingWriter, RecordQueue)>,
    /// The clock of the run.
    pub clock: Arc<dyn Clock>,
    /// Disks and clock of the host.
    pub health: HostHealthReader,
}

/// Opens the receive backends that a configuration asks for, at least one, and joins its multicast groups.
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

impl LiveRun<'_> {
    /// Receives until it is over.
    ///
    /// # Errors
    /// If the detector cannot be set up or a thread cannot be pinned. A receive error further on is stated in the
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
        let samples = self.samples.map(|file| file.start(WhenBehind::Drop)).transpose()?;
        let (queue, writing) = samples.unzip();
        evforge_detect::memory::touch_in_advance();
        let detector =
            config.build_detector_with(queue.map(|queue| Box::new(queue) as Box<dyn SampleSink>))?;
        let pulses = config.pulse_stage(detector.as_ref(), CalendarRule::Live(Arc::clone(&self.clock)));
        // Whoever watches is informed with the next state.
        let silent: OnWaiting = Arc::new(|_| {});
        let outputs = OutputSet::start(self.outputs, true, &self.clock, &silent)?;
        let mut forming = Forming::new(
            detector,
            outputs,
            config.input.events_per_batch,
            pulses,
            self.monitor,
            self.stop,
            Misfit::new(&config.name, config.expected(), config.input.unplaced_percent),
            FeedWatch::new(config.receive.stalled_after.to_std(), self.clock.elapsed()),
        );
        if let Some((writer, queue)) = self.record {
            let (recorder, mut inlets) = Recorder::start(writer, &[config.receive.address.ip()], queue)?;
            // One destination has one inlet.
            if let Some(inlet) = inlets.pop() {
                forming.record_into(recorder, inlet);
            }
        }
        forming.hand_packets_to(self.packets.begin(false));
        forming.measure_latency();
        forming.obey(self.control.clone(), config);
        let clock = ClockReport::measure();
        warnings.extend(clock.warning());
        // Before this thread is pinned: the counters are to be read on any other core.
        let host = HostCounterReader::start(config.receive.loss_counters, interfaces)?;
        warnings.extend(host.warnings().iter().cloned());
        let session = SessionClock::start_by(self.limits, self.stop, Arc::clone(&self.clock));
        let started = self.clock.elapsed();
        let mut watch = Watch {
            clock: Arc::clone(&self.clock),
            started,
            shown: started,
            published: started,
            host,
            pulses: config.pulses,
            samples: writing.as_ref(),
            series: LedgerSeries::default(),
            wants_stop: false,
            control: self.control,
            health: self.health,
            alarms: AlarmLog::default(),
            observer,
        };
        if watch.control.is_used() {
            let state = watch.state(&mut forming, &ReceiveState::default(), watch.host.latest());
            watch.control.show(&Arc::new(state));
        }
        if two_threads {
            config.threads.place_forming(0)?;
        } else {
            config.threads.place_receiving(0)?;
        }
        watch.observer.ready(&addresses, &description, &warnings);
        let SessionEnd { state, failure } = match groups.as_mut_slice() {
            [group] if !two_threads => {
                let mut in_turn = InTurn::new(&config.input, &mut forming, &mut watch);
                let end = receive_in_turn(session, group, &mut in_turn);
                in_turn.end();
                end
            }
            _ => run_side_by_side(session, groups, &mut forming, config, &mut watch)?,
        };
        tracing::debug!(target: evforge_log::group::INPUT, packets = state.counters.packets, "receiving has ended");
        forming.close();
        let host = watch.host.now();
        let mut state = watch.state(&mut forming, &state, host);
        state.calendar = Some(forming.calendar());
        let ending = failure.map_or(Ending::Stopped, |error| Ending::InputFailed(error.to_string()));
        state.feed = ending.feed(&state.feed);
        if ending == Ending::Stopped {
            let nothing = nothing_received(&state, &listed(&addresses));
            state.faults.extend(nothing);
        }
        let recording = forming.end_recording();
        let latency = forming.latency();
        let shared = Arc::new(state);
        watch.control.show(&shared);
        let mut series = std::mem::take(&mut watch.series);
        series.end(&shared);
        watch.alarms.observe(&shared, self.clock.unix_ns());
        let alarms = std::mem::take(&mut watch.alarms).into_history();
        drop(watch);
        let outcomes = forming.end(Some(&shared), || false);
        let samples = writing.map(|writing| writing.end(true));
        let state = Arc::unwrap_or_clone(shared);
        Ok(RunReport {
            stream: config.name.clone(),
            identity: config.run.clone(),
            input: format!("UDP {} by {description}", listed(&addresses)),
            ending,
            recording,
            latency,
            series,
            alarms,
            output_latencies: Vec::new(),
            clock: Some(clock),
            state: RunState { elapsed: self.clock.elapsed().saturating_sub(started), ..state },
        }
        .with_outcomes(outcomes, samples))
    }
}

/// Others receive while this thread forms.
fn run_side_by_side<O: LiveObserver>(
    session: SessionClock<'_>,
    groups: Vec<ReceiverGroup>,
    forming: &mut Forming<'_>,
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
        if watch.wants_stop { Attend::End } else { Attend::Again }
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
