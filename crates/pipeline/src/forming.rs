//! The forming side of a run: slabs in, batches of events with their pulses out to the outputs.

use crate::latency::{LatencyMeter, LatencySummary};
use crate::misfit::Misfit;
use crate::monitor_tap::MonitorTap;
use crate::run_control::{ControlledDetector, RunControl};
use crate::trace::{self, Before, Traced};
use evforge_config::Config;
use evforge_core::alarm::LossWatch;
use evforge_core::counter::CounterSnapshot;
use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::feed::{Feed, FeedWatch};
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::{ArrivalClock, PacketSlab};
use evforge_core::pulsed::{Calendar, PulseCounters, PulseStage, PulseStageSettings};
use evforge_core::run_state::RunState;
use evforge_net::record::{RecordInlet, Recorder, Recording};
use evforge_outputs::packet_tap::{PACKET_TAP, PacketInlets};
use evforge_outputs::{OutputOutcome, OutputSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A detector with the batch that it fills, the stage that gives events their pulses, and the outputs.
pub(crate) struct Forming<'a> {
    detector: Box<dyn Detector>,
    events: EventBatch,
    pulses: PulseStage,
    outputs: OutputSet,
    /// Set when the run is to end: nobody waits for an output any more.
    stop: &'a AtomicBool,
    tap: MonitorTap,
    /// Whether the detector collects monitor data.
    monitoring: bool,
    /// Where packets are recorded alongside.
    tee: Option<(RecordInlet, Recorder)>,
    /// Where outputs get raw packets from, if one has asked for them.
    packets: Option<PacketInlets>,
    /// For live packets: those of a file have arrived long ago.
    latency: Option<LatencyMeter>,
    /// Whether the input belongs to the configuration.
    misfit: Misfit,
    /// Whether data come in.
    feed: FeedWatch,
    /// Which sources lose packets.
    losses: LossWatch,
    /// What others ask of the run.
    control: ControlledDetector,
}

impl<'a> Forming<'a> {
    /// Nothing has been formed yet.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another part of a run, and there is one caller for each kind of run"
    )]
    pub(crate) fn new(
        detector: Box<dyn Detector>,
        outputs: OutputSet,
        batch_events: usize,
        pulses: PulseStageSettings,
        tap: MonitorTap,
        stop: &'a AtomicBool,
        misfit: Misfit,
        feed: FeedWatch,
    ) -> Self {
        Self {
            detector,
            events: EventBatch::new(batch_events),
            pulses: PulseStage::new(pulses),
            outputs,
            stop,
            tap,
            monitoring: false,
            tee: None,
            packets: None,
            latency: None,
            misfit,
            feed,
            losses: LossWatch::default(),
            control: ControlledDetector::default(),
        }
    }

    /// Does from now on what `control` is asked for; the configuration has changes of its own.
    pub(crate) fn obey(&mut self, control: RunControl, config: &Config) {
        self.control = control.begin(config, self.detector.as_ref());
    }

    /// The counters of what was asked of the run; none if nobody can ask.
    pub(crate) fn control_stage(&self) -> Option<(&'static str, CounterSnapshot)> {
        self.control.stage()
    }

    /// Has every packet that is taken from now on recorded, too. That costs a copy of the packet and never waits: what
    /// the recorder's queue cannot hold is dropped and counted there.
    pub(crate) fn record_into(&mut self, recorder: Recorder, inlet: RecordInlet) {
        self.tee = Some((inlet, recorder));
    }

    /// Hands the packets that are taken from now on to outputs as well, if one has asked for them.
    pub(crate) fn hand_packets_to(&mut self, inlets: Option<PacketInlets>) {
        self.packets = inlets;
    }

    /// What became of the packets that outputs have asked for; none if no output has.
    pub(crate) fn packet_counters(&self) -> Option<(&'static str, CounterSnapshot)> {
        self.packets.as_ref().map(|packets| (PACKET_TAP, packets.counters()))
    }

    /// Measures from now on how long events take from the arrival of their packets.
    pub(crate) fn measure_latency(&mut self) {
        self.latency = Some(LatencyMeter::default());
    }

    /// How long events have taken from the arrival of their packets; none if that is not measured.
    pub(crate) fn latency(&self) -> Option<LatencySummary> {
        self.latency.as_ref().and_then(LatencyMeter::summary)
    }

    /// Waits until everything has been recorded; none if nothing is.
    pub(crate) fn end_recording(&mut self) -> Option<Recording> {
        let (inlet, recorder) = self.tee.take()?;
        drop(inlet);
        Some(recorder.end())
    }

    /// What is wrong with the recording so far, in words.
    pub(crate) fn record_alarm(&self) -> Option<String> {
        let (inlet, recorder) = self.tee.as_ref()?;
        if recorder.has_failed() {
            return Some("the recording cannot be written any more".to_owned());
        }
        if let Some(alarm) = recorder.alarm() {
            return Some(format!("the recording is not whole: {alarm}"));
        }
        let dropped = inlet.counts().dropped;
        (dropped > 0).then(|| {
            format!(
                "{dropped} packets have not been recorded: the disk, or the recording thread, is too slow"
            )
        })
    }

    /// Takes all packets of a slab.
    pub(crate) fn take(&mut self, slab: &PacketSlab) {
        self.control.serve(self.detector.as_mut());
        if let Some((inlet, _)) = &mut self.tee {
            inlet.copy(&slab.batch());
        }
        if let Some(packets) = &mut self.packets
            && !packets.take(&slab.batch(), self.stop)
        {
            return;
        }
        self.tap.serve(self.detector.as_mut(), &mut self.monitoring);
        self.note_arrival(slab);
        self.misfit.keep(slab);
        if let Some(meter) = &mut self.latency {
            meter.begin(slab);
        }
        match trace::wanted() {
            Traced::Nothing => self.form(slab),
            wanted => self.form_and_say(slab, wanted),
        }
        if let Some(meter) = &mut self.latency {
            meter.end(self.events.len(), self.detector.newest_time_ns());
        }
    }

    fn form(&mut self, slab: &PacketSlab) {
        let Self { detector, events, pulses, outputs, latency, stop, .. } = self;
        form(detector.as_mut(), &slab.batch(), events, |events| {
            deliver(events, pulses, latency, outputs, stop);
        });
    }

    /// The same, for somebody who looks for a fault.
    #[cold]
    fn form_and_say(&mut self, slab: &PacketSlab, wanted: Traced) {
        trace::say_batch(&slab.batch());
        if wanted == Traced::Packets {
            trace::each_packet(slab, |packet, source, bytes| {
                let before = Before::of(self.detector.as_ref());
                self.form(packet);
                before.compare(self.detector.as_ref(), Some(source), Some(bytes));
            });
            return;
        }
        let source = slab.batch().get(0).map(|packet| packet.origin.source);
        let before = Before::of(self.detector.as_ref());
        self.form(slab);
        before.compare(self.detector.as_ref(), source, None);
    }

    /// Hands on everything that is closed already.
    pub(crate) fn publish(&mut self) {
        self.control.serve(self.detector.as_mut());
        if let Some((inlet, _)) = &mut self.tee {
            inlet.commit();
        }
        if let Some(packets) = &mut self.packets {
            packets.publish();
        }
        self.tap.serve(self.detector.as_mut(), &mut self.monitoring);
        let Self { detector, events, pulses, outputs, latency, stop, .. } = self;
        loop {
            let more = detector.publish_closed(events);
            deliver(events, pulses, latency, outputs, stop);
            if !more {
                return;
            }
        }
    }

    /// End of the input: closes the detector and hands on what is left.
    pub(crate) fn close(&mut self) {
        self.control.end();
        let Self { detector, events, pulses, outputs, latency, stop, .. } = self;
        form_rest(detector.as_mut(), events, |events| deliver(events, pulses, latency, outputs, stop));
        pulses.close();
        if let Some(packets) = &mut self.packets {
            packets.close();
        }
        if self.monitoring {
            self.tap.copy(self.detector.as_ref());
        }
    }

    /// Takes note of when packets came in, if they say so.
    fn note_arrival(&mut self, slab: &PacketSlab) {
        let batch = slab.batch();
        let stamp = |packet: Option<evforge_core::packet::Packet<'_>>| {
            let origin = packet?.origin;
            (origin.arrival_clock != ArrivalClock::None).then_some(origin.arrival_ns)
        };
        if let (Some(first), Some(last)) =
            (stamp(batch.get(0)), stamp(batch.get(batch.len().wrapping_sub(1))))
        {
            self.pulses.packets_arrived(first, last);
        }
    }

    /// Events handed on so far.
    pub(crate) fn handed_on(&self) -> u64 {
        self.pulses.counters().events_handed_on
    }

    /// The state of the input: the detector's ledger, with the counters of the stage that assigns pulses.
    pub(crate) fn ledger(&self) -> DetectorLedger {
        let ledger = with_pulses(self.detector.ledger(), &self.pulses.counters());
        DetectorLedger { changes: self.control.record(), ..ledger }
    }

    /// Whether the input belongs to the configuration.
    pub(crate) fn misfit(&self) -> &Misfit {
        &self.misfit
    }

    /// What comes in at the time `now`, on the clock of the run.
    pub(crate) fn feed(&mut self, now: Duration, ledger: &DetectorLedger) -> Feed {
        let refused = self.misfit.refused_lately(now, ledger);
        let not_formed = self.packets.as_ref().map_or(0, PacketInlets::not_formed);
        self.feed.observe(now, ledger.handed_over() + not_formed, self.handed_on(), refused)
    }

    /// Puts the sources that lose packets into a state.
    pub(crate) fn observe_losses(&mut self, state: &mut RunState) {
        self.losses.observe(state);
    }

    /// How the detector's clock relates to the calendar: decided at the latest now.
    pub(crate) fn calendar(&mut self) -> Calendar {
        self.pulses.calendar()
    }

    /// Why the detector forms no events any more, if it has failed.
    pub(crate) fn failure(&self) -> Option<String> {
        self.detector.failure().map(str::to_owned)
    }

    /// The vetoes with the number of events that each has marked.
    pub(crate) fn vetoes(&self) -> Vec<(String, u64)> {
        self.pulses.vetoes().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// The outputs.
    pub(crate) fn outputs(&self) -> &OutputSet {
        &self.outputs
    }

    /// Ends the outputs, as [`OutputSet::end`] does.
    pub(crate) fn end(self, state: Option<&Arc<RunState>>, patient: impl Fn() -> bool) -> Vec<OutputOutcome> {
        self.outputs.end(state, patient)
    }
}

/// Hands a batch on, and empties it.
fn deliver(
    events: &mut EventBatch,
    pulses: &mut PulseStage,
    latency: &mut Option<LatencyMeter>,
    outputs: &mut OutputSet,
    stop: &AtomicBool,
) {
    let arrival_ns = latency.as_mut().and_then(|meter| meter.deliver(events));
    pulses.hand_on(events, arrival_ns, &mut |batch| outputs.offer(batch, stop));
    events.clear();
}

/// A detector's ledger with the counters of the stage that assigns pulses.
pub(crate) fn with_pulses(mut ledger: DetectorLedger, pulses: &PulseCounters) -> DetectorLedger {
    let counters = std::mem::take(&mut ledger.counters);
    ledger.counters = counters.join(&CounterSnapshot::of(pulses));
    ledger
}
