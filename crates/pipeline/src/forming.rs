//! The forming side of a run: slabs in, batches of events out to the sinks.

use crate::fan_out::{FanOut, SinkOutcome, SinkPlan, WhenFull};
use crate::latency::{LatencyMeter, LatencySummary};
use crate::monitor_tap::MonitorTap;
use crate::veto::VetoStage;
use evforge_core::detector::{Detector, form, form_rest};
use evforge_core::event::EventBatch;
use evforge_core::ledger::DetectorLedger;
use evforge_core::packet::PacketSlab;
use evforge_net::record::{RecordInlet, Recorder, Recording};

/// A detector with the batch that it fills and the sinks that the batch goes to.
pub(crate) struct Forming {
    detector: Box<dyn Detector>,
    events: EventBatch,
    sinks: FanOut,
    vetoes: VetoStage,
    tap: MonitorTap,
    /// Whether the detector collects monitor data.
    monitoring: bool,
    /// Where packets are recorded beside.
    tee: Option<(RecordInlet, Recorder)>,
    /// For live packets: those of a file have arrived long ago.
    latency: Option<LatencyMeter>,
}

impl Forming {
    /// Starts the sinks.
    ///
    /// # Errors
    /// If the system gives no more threads.
    pub(crate) fn start(
        detector: Box<dyn Detector>,
        sinks: Vec<SinkPlan>,
        batch_events: usize,
        when_full: WhenFull,
        vetoes: VetoStage,
        tap: MonitorTap,
    ) -> std::io::Result<Self> {
        let sinks = FanOut::start(sinks, batch_events, when_full)?;
        Ok(Self {
            detector,
            events: EventBatch::new(batch_events),
            sinks,
            vetoes,
            tap,
            monitoring: false,
            tee: None,
            latency: None,
        })
    }

    /// Has every packet that is taken from now on recorded, too. That costs a copy of the packet and never waits: what
    /// the recorder's queue cannot hold is dropped and counted there.
    pub(crate) fn record_into(&mut self, recorder: Recorder, inlet: RecordInlet) {
        self.tee = Some((inlet, recorder));
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
        if let Some((inlet, _)) = &mut self.tee {
            inlet.copy(&slab.batch());
        }
        self.tap.serve(self.detector.as_mut(), &mut self.monitoring);
        let Self { detector, events, sinks, vetoes, latency, .. } = self;
        if let Some(meter) = latency {
            meter.begin(slab);
        }
        form(detector.as_mut(), &slab.batch(), events, |events| deliver(events, vetoes, latency, sinks));
        if let Some(meter) = latency {
            meter.end(events.len(), detector.newest_time_ns());
        }
    }

    /// Hands on everything that is closed already.
    pub(crate) fn publish(&mut self) {
        if let Some((inlet, _)) = &mut self.tee {
            inlet.commit();
        }
        self.tap.serve(self.detector.as_mut(), &mut self.monitoring);
        let Self { detector, events, sinks, vetoes, latency, .. } = self;
        loop {
            let more = detector.publish_closed(events);
            deliver(events, vetoes, latency, sinks);
            if !more {
                return;
            }
        }
    }

    /// End of the input: closes the detector and hands on what is left.
    pub(crate) fn close(&mut self) {
        let Self { detector, events, sinks, vetoes, latency, .. } = self;
        form_rest(detector.as_mut(), events, |events| deliver(events, vetoes, latency, sinks));
        if self.monitoring {
            self.tap.copy(self.detector.as_ref());
        }
    }

    /// The state of the input.
    pub(crate) fn ledger(&self) -> DetectorLedger {
        self.detector.ledger()
    }

    /// Why the detector forms no events any more, if it has failed.
    pub(crate) fn failure(&self) -> Option<String> {
        self.detector.failure().map(str::to_owned)
    }

    /// The vetoes with the number of events that each has marked.
    pub(crate) fn vetoes(&self) -> Vec<(String, u64)> {
        self.vetoes.counts().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// The sinks.
    pub(crate) fn sinks(&self) -> &FanOut {
        &self.sinks
    }

    /// Ends the sinks, as [`FanOut::end`] does.
    pub(crate) fn end(self, ledger: DetectorLedger, complete: bool) -> Vec<SinkOutcome> {
        self.sinks.end(ledger, complete)
    }
}

/// Hands a batch on.
fn deliver(
    events: &mut EventBatch,
    vetoes: &mut VetoStage,
    latency: &mut Option<LatencyMeter>,
    sinks: &mut FanOut,
) {
    vetoes.mark(events);
    let arrival_ns = latency.as_mut().and_then(|meter| meter.deliver(events));
    sinks.deliver(events, arrival_ns);
}
