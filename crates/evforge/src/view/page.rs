//! The page, and what is on the way to it: pulses, the sink, the state that it shows.

use super::arguments::ViewArguments;
use super::frames::FrameTally;
use super::status::Status;
use crate::CommandError;
use crate::page_address::page_text;
use evforge_config::Config;
use evforge_core::alarm::LossWatch;
use evforge_core::beam_monitor::BeamMonitorPlan;
use evforge_core::counter::CounterSnapshot;
use evforge_core::event::EventBatch;
use evforge_core::feed::{Feed, FeedState, FeedWatch, STALLED_AFTER};
use evforge_core::frame::{FrameLedger, FrameVeto};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::{DetectorLedger, SourceLedger};
use evforge_core::output::Output;
use evforge_core::pixel_ids::PixelIds;
use evforge_core::pulse::PulseTrain;
use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
use evforge_core::run_state::{InputFault, OutputCounters, OutputState, RunState};
use evforge_log::group;
use evforge_view::{BeamTold, LiveSink, LiveView, ViewFile, ViewOptions};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often page and terminal are told how far it is.
const INTERVAL: Duration = Duration::from_millis(200);
/// Events that one batch holds: as many as a message has, or a block of a file.
pub(super) const BATCH: usize = 1 << 14;

/// What the page pictures events with.
pub(super) struct Shown {
    /// What it is headed.
    pub(super) title: String,
    pub(super) geometry: LogicalGeometry,
    /// Which of its pixels the ids of events are, where they are not the same.
    pub(super) pixel_ids: Option<Arc<PixelIds>>,
    pub(super) monitors: Vec<BeamMonitorPlan>,
    pub(super) train: PulseTrain,
}

/// What a source of events says of itself at one moment.
pub(super) struct SourceState {
    /// Its counters, bound by the laws of packets and events.
    pub(super) counters: CounterSnapshot,
    pub(super) sources: Vec<SourceLedger>,
    /// Messages or pulses, bytes, and events that have come.
    pub(super) came: (u64, u64, u64),
    /// Why nothing of what comes is used, if nothing is.
    pub(super) refused: Option<String>,
    /// What is missing in it or cannot be read, in sentences.
    pub(super) faults: Vec<String>,
    /// What is wrong at this moment, in sentences.
    pub(super) alarms: Vec<String>,
    /// What is known of all frames, if there are any.
    pub(super) frames: Option<FrameLedger>,
    /// What is known besides the events, if there can be anything.
    pub(super) beam: Option<BeamTold>,
}

/// The page.
pub(super) struct Page {
    // In this order: the sink outlives nothing.
    sink: LiveSink,
    view: LiveView,
    stage: PulseStage,
    frames: FrameTally,
    offered: u64,
    watch: FeedWatch,
    losses: LossWatch,
    started: Instant,
    shown: Option<Instant>,
    status: Status,
    notes: Vec<String>,
}

impl Page {
    /// Serves it. The `notes` say where what it shows is from.
    pub(super) fn start(
        arguments: &ViewArguments,
        shown: Shown,
        config: Option<&Config>,
        notes: Vec<String>,
    ) -> Result<Self, CommandError> {
        let names: Vec<&str> = shown.monitors.iter().map(|plan| plan.name.as_str()).collect();
        let placement = config.map(|config| config.place(shown.geometry, names)).transpose()?.flatten();
        let options = ViewOptions {
            address: arguments.view,
            host_names: arguments.names.view_names.clone(),
            origins: arguments.names.view_origins.clone(),
            pixel_ids: shown.pixel_ids,
            beam_monitors: shown.monitors,
            placement,
            views: arguments.views.as_deref().map(ViewFile::read).transpose()?,
            detector: config.map_or("", |config| config.section).to_owned(),
            ..ViewOptions::new(shown.title, shown.geometry, shown.train)
        };
        let view = LiveView::start(options)?;
        if let Some(warning) = view.warning() {
            tracing::warn!(target: group::VIEW, "{warning}.");
        }
        tracing::info!(target: group::VIEW, always = true, "live view at {}", page_text(view.address(), None));
        for note in &notes {
            tracing::info!(target: group::VIEW, lead = "note", always = true, "{note}");
        }
        let settings = PulseStageSettings {
            is_told: true,
            ..PulseStageSettings::new(shown.train, CalendarRule::Readout)
        };
        Ok(Self {
            sink: view.sink(),
            view,
            stage: PulseStage::new(settings),
            frames: FrameTally::default(),
            offered: 0,
            watch: FeedWatch::new(STALLED_AFTER, Duration::ZERO),
            losses: LossWatch::default(),
            started: Instant::now(),
            shown: None,
            status: Status::new(arguments.quiet),
            notes,
        })
    }

    /// Time since its start.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Frames are to come, with these vetoes.
    pub(super) fn expect_frames(&mut self, vetoes: Vec<FrameVeto>) {
        self.frames.expect(vetoes);
    }

    /// Shows events.
    pub(super) fn take(&mut self, events: &EventBatch) {
        self.frames.take(events);
        let (sink, offered) = (&mut self.sink, &mut self.offered);
        self.stage.hand_on(events, None, &mut |batch| {
            *offered += batch.len() as u64;
            // Pictures take everything.
            let _ = sink.take(&Arc::new(batch));
        });
    }

    /// Adds proton charge that came with the events before, in units of 1e-12 µAh; none where nobody tells any.
    pub(super) fn add_charge(&mut self, charge: Option<u128>) {
        if let Some(charge) = charge {
            self.sink.add_charge(charge);
        }
    }

    /// Shows what has been taken, and tells page and terminal how far it is, if it is time to. To be called often, also while nothing
    /// comes.
    pub(super) fn tell(&mut self, source: impl FnOnce() -> SourceState) {
        // What came is seen soon, and what comes later belongs to a later window. Pictures do not fail.
        let _ = self.sink.poll();
        if self.shown.is_some_and(|shown| shown.elapsed() < INTERVAL) {
            return;
        }
        self.shown = Some(Instant::now());
        let source = source();
        let came = source.came;
        let state = self.state(source, None);
        self.status.show(&state, came);
        // Pictures do not fail.
        let _ = self.sink.observe(&Arc::new(state));
    }

    /// Tells the last state, with how it ended; the page is served on until it is dropped.
    pub(super) fn end(&mut self, source: SourceState, ended: &str) -> RunState {
        self.stage.close();
        let state = self.state(source, Some(ended));
        self.status.finish();
        let _ = self.sink.finish(&Arc::new(state.clone()));
        state
    }

    fn state(&mut self, source: SourceState, ended: Option<&str>) -> RunState {
        if let Some(beam) = source.beam {
            self.view.tell_beam(beam);
        }
        let (packets, _, events) = source.came;
        let now = self.started.elapsed();
        let feed = self.watch.observe(now, packets, events, source.refused);
        let feed = match ended {
            Some(how) => Feed { state: FeedState::Ended(how.to_owned()), ..feed },
            None => feed,
        };
        let mut counters =
            OutputCounters { offered: self.offered, accepted: self.offered, ..Default::default() };
        counters.set_progress(self.sink.progress());
        let page = OutputState {
            id: "view".to_owned(),
            name: format!("live view at http://{}", self.view.address()),
            counters,
            own: self.sink.counters(),
            may_drop: true,
            ..OutputState::default()
        };
        let ledger = DetectorLedger {
            sources: source.sources,
            counters: source.counters.and(&self.stage.counters()),
            // Topics know which vetoes count; of a file it is counted here.
            frames: source.frames.or_else(|| self.frames.ledger()),
            notes: self.notes.clone(),
            ..DetectorLedger::default()
        };
        let mut state = RunState {
            elapsed: now,
            feed,
            ledger,
            outputs: vec![page],
            faults: source.faults.into_iter().map(InputFault::incomplete).collect(),
            receiving: source.alarms,
            ..RunState::default()
        };
        self.losses.observe(&mut state);
        state
    }
}
