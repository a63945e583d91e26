//! Forms the events of a capture file, or of another file with packets, as fast as it can.

use crate::forming::Forming;
use crate::loss_hints::loss_hints;
use crate::misfit::Misfit;
use crate::monitor_tap::MonitorTap;
use crate::report::{Ending, RunReport};
use crate::run_control::RunControl;
use crate::run_state::{Surroundings, compose};
use crate::samples::{SampleFile, SampleWriting, WhenBehind};
use crate::series::LedgerSeries;
use crate::skipped_frames;
use crate::verdict::{no_event, nothing_read};
use evforge_config::{Config, InputSettings};
use evforge_core::alarm::{AlarmHistory, HostHealth};
use evforge_core::counter::CounterSnapshot;
use evforge_core::feed::FeedWatch;
use evforge_core::losses::LossBreakdown;
use evforge_core::output::Output;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use evforge_core::pulsed::CalendarRule;
use evforge_core::quantity::grouped;
use evforge_core::run_state::{InputFault, RunState};
use evforge_core::time::Clock;
use evforge_detect::adc_readout::SampleSink;
use evforge_detect::settings::SettingsError;
use evforge_net::host_health::HostHealthReader;
use evforge_outputs::packet_tap::PacketTap;
use evforge_outputs::{OnWaiting, OutputSet, QueueSettings};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Time between states of the run for its outputs.
const STATE_INTERVAL: Duration = Duration::from_secs(1);

/// Why a run cannot begin.
#[derive(Debug)]
pub enum RunError {
    /// The system gives no more threads.
    Threads(std::io::Error),
    /// The detector cannot be built: the library of a plugin refuses.
    Detector(SettingsError),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Threads(error) => write!(f, "the threads of the outputs cannot be started: {error}"),
            Self::Detector(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<SettingsError> for RunError {
    fn from(error: SettingsError) -> Self {
        Self::Detector(error)
    }
}

impl From<std::io::Error> for RunError {
    fn from(error: std::io::Error) -> Self {
        Self::Threads(error)
    }
}

/// How far a run is, for a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Bytes of the input dealt with.
    pub bytes: u64,
    /// Bytes of the input; none for a pipe.
    pub total_bytes: Option<u64>,
    /// Packets read.
    pub packets: u64,
    /// Events formed.
    pub events: u64,
}

/// What a run over a file with packets needs.
pub struct CaptureRun<'a> {
    /// The instrument.
    pub config: &'a Config,
    /// Where the packets come from.
    pub input: Box<dyn PacketSource>,
    /// Where the events go: each with its name in the configuration and its queue.
    pub outputs: Vec<(String, Box<dyn Output>, QueueSettings)>,
    /// Where the averaged waveforms of sampled channels go, if they are wanted.
    pub samples: Option<SampleFile>,
    /// Set by the caller to end the run in good order.
    pub stop: &'a AtomicBool,
    /// Monitor data: switched and read by others while the run continues.
    pub monitor: MonitorTap,
    /// Where outputs get raw packets from.
    pub packets: PacketTap,
    /// By which others ask the run while it goes on.
    pub control: RunControl,
    /// The clock of the run.
    pub clock: Arc<dyn Clock>,
    /// The disks of this host.
    pub health: HostHealthReader,
    /// Is given a sentence when an output begins to wait for a cause to pass, and the run with it.
    pub on_waiting: OnWaiting,
}

impl CaptureRun<'_> {
    /// Runs to the end of the input, or until it is stopped. `progress` is called after every slab.
    ///
    /// # Errors
    /// If the system gives no threads, or the library of a plugin refuses. An input that cannot be read further is stated in the report, which then is not
    /// a success.
    pub fn run(self, mut progress: impl FnMut(RunProgress)) -> Result<RunReport, RunError> {
        let started = self.clock.elapsed();
        let mut reader = self.input;
        let samples = self.samples.map(|file| file.start(WhenBehind::Wait)).transpose()?;
        let (queue, writing) = samples.unzip();
        let detector =
            self.config.build_detector_with(queue.map(|queue| Box::new(queue) as Box<dyn SampleSink>))?;
        let pulses =
            self.config.pulse_stage(detector.as_ref(), CalendarRule::Capture(Arc::clone(&self.clock)));
        let outputs = OutputSet::start(self.outputs, false, &self.clock, &self.on_waiting)?;
        let mut forming = Forming::new(
            detector,
            outputs,
            self.config.input.events_per_batch,
            pulses,
            self.monitor,
            self.stop,
            Misfit::new(&self.config.name, self.config.expected(), self.config.input.unplaced_percent),
            FeedWatch::new(self.config.receive.stalled_after.to_std(), started),
        );
        forming.hand_packets_to(self.packets.begin(true));
        forming.obey(self.control.clone(), self.config);
        let input = &self.config.input;
        let mut run = Run {
            config: self.config,
            forming,
            stop: self.stop,
            clock: self.clock,
            started,
            shown: started,
            progress: &mut progress,
            samples: writing.as_ref(),
            control: self.control,
            health: self.health,
        };
        run.show_to_control();
        let mut ending = if input.threads == 1 {
            run_in_turn(reader.as_mut(), &mut run, input)
        } else {
            run_side_by_side(reader.as_mut(), &mut run, input)
        };
        run.forming.close();
        let complete = !matches!(ending, Ending::InputFailed(_));
        let mut state = run.state(vec![(reader.stage(), reader.counters())]);
        let Run { mut forming, clock, stop, control, .. } = run;
        state.calendar = Some(forming.calendar());
        state.feed = ending.feed(&state.feed);
        let lost = skipped_frames::alarms(&state.stages).into_iter().map(InputFault::incomplete);
        state.faults.extend(lost);
        state.faults.extend(reader.faults());
        state.hints.extend(reader.hints());
        if ending == Ending::Complete {
            let nothing = nothing_read(&state);
            state.faults.extend(nothing);
        }
        let shared = Arc::new(state);
        control.show(&shared);
        let outcomes = forming.end(complete.then_some(&shared), || !stop.load(Ordering::Relaxed));
        let samples = writing.map(|writing| writing.end(complete));
        if let Ending::InputFailed(error) = &mut ending {
            // What an output has left that failed by itself is reported with its failure.
            let ended = outcomes.iter().map(|outcome| &outcome.state).chain(&samples);
            for note in ended.filter(|state| state.failure.is_none()).filter_map(|state| state.note.as_ref())
            {
                error.push_str("; ");
                error.push_str(note);
            }
        }
        let elapsed = clock.elapsed().saturating_sub(started);
        let state = Arc::unwrap_or_clone(shared);
        let mut report = RunReport {
            stream: self.config.name.clone(),
            identity: self.config.run.clone(),
            input: reader.path().display().to_string(),
            ending,
            recording: None,
            latency: None,
            series: LedgerSeries::default(),
            alarms: AlarmHistory::default(),
            output_latencies: Vec::new(),
            clock: None,
            state: RunState { elapsed, ..state },
        }
        .with_outcomes(outcomes, samples);
        if report.ending == Ending::Complete {
            let no_event = no_event(&report.state);
            report.state.faults.extend(no_event);
        }
        Ok(report)
    }
}

/// A run under way.
struct Run<'a, P> {
    config: &'a Config,
    forming: Forming<'a>,
    stop: &'a AtomicBool,
    clock: Arc<dyn Clock>,
    started: Duration,
    shown: Duration,
    progress: &'a mut P,
    samples: Option<&'a SampleWriting>,
    control: RunControl,
    health: HostHealthReader,
}

impl<P: FnMut(RunProgress)> Run<'_, P> {
    /// For those who ask while the run goes on.
    fn show_to_control(&mut self) {
        if self.control.is_used() {
            let state = Arc::new(self.state(Vec::new()));
            self.control.show(&state);
        }
    }

    fn take(&mut self, slab: &PacketSlab, at: RunProgress) {
        self.forming.take(slab);
        if slab.is_empty() {
            // Nothing comes at the moment: a pipe or a topic that is followed.
            self.forming.publish();
        }
        (self.progress)(RunProgress { events: self.forming.handed_on(), ..at });
        if self.control.wants_state() {
            self.show_to_control();
        }
        let now = self.clock.elapsed();
        if now.saturating_sub(self.shown) < STATE_INTERVAL || self.forming.outputs().is_empty() {
            return;
        }
        self.shown = now;
        let state = Arc::new(self.state(Vec::new()));
        self.forming.outputs().show(&state);
    }

    /// Everything that is known now, with the counters of these stages.
    fn state(&mut self, stages: Vec<(&'static str, CounterSnapshot)>) -> RunState {
        let ledger = self.forming.ledger();
        let losses = LossBreakdown::in_the_input(ledger.packets().lost);
        let nothing: Vec<InputFault> = stages
            .iter()
            .filter_map(|(_, counters)| nothing_taken(counters))
            .map(InputFault::no_use)
            .collect();
        let now = self.clock.elapsed();
        let around = Surroundings {
            receiving: Vec::new(),
            feed: self.forming.feed(now, &ledger),
            elapsed: now.saturating_sub(self.started),
            // The clock of this host gives stamps to what is received, and to nothing that is read.
            health: HostHealth { clock_synchronised: None, ..self.health.latest() },
            stages,
            hints: loss_hints(&ledger, &losses, &self.config.pulses),
            losses,
            samples: self.samples.map(SampleWriting::state),
        };
        let mut state = compose(&mut self.forming, ledger, around);
        state.faults.extend(nothing);
        state
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.forming.outputs().wants_stop().is_some()
    }
}

/// The file has frames, and none of them is a packet to be taken: why, in a sentence.
fn nothing_taken(counters: &CounterSnapshot) -> Option<String> {
    let frames = counters.value("frames").filter(|&frames| frames > 0)?;
    if counters.value("packets") != Some(0) {
        return None;
    }
    let skipped = counters.iter().filter(|(info, count)| info.name != "frames" && *count > 0);
    let reasons =
        skipped.map(|(info, count)| format!("{}: {}", grouped(count), info.help.trim_end_matches('.')));
    Some(format!(
        "no packet was taken from the {} frames of the capture ({}): `evforge inspect` tells what is in it",
        grouped(frames),
        reasons.collect::<Vec<_>>().join("; ")
    ))
}

fn new_slab(input: &InputSettings) -> PacketSlab {
    PacketSlab::new(input.packets_per_slab, usize::try_from(input.bytes_per_slab.bytes).unwrap_or(usize::MAX))
}

fn progress_of(reader: &dyn PacketSource) -> RunProgress {
    RunProgress {
        bytes: reader.position(),
        total_bytes: reader.total_bytes(),
        packets: reader.packets(),
        events: 0,
    }
}

/// One thread reads and forms in turn.
fn run_in_turn<P: FnMut(RunProgress)>(
    reader: &mut dyn PacketSource,
    run: &mut Run<'_, P>,
    input: &InputSettings,
) -> Ending {
    let mut slab = new_slab(input);
    loop {
        if run.is_over() {
            return Ending::Stopped;
        }
        slab.clear();
        let fill = reader.fill(&mut slab);
        run.take(&slab, progress_of(reader));
        match fill {
            Ok(Fill::More) => {}
            Ok(Fill::End) => return end_of(reader),
            Err(error) => return Ending::InputFailed(error.to_string()),
        }
    }
}

/// How an input has ended that has no more packets.
fn end_of(reader: &dyn PacketSource) -> Ending {
    if reader.is_stopped() { Ending::Stopped } else { Ending::Complete }
}

/// One thread reads while this one forms. Slabs go round: filled to the one side, empty to the other.
fn run_side_by_side<P: FnMut(RunProgress)>(
    reader: &mut dyn PacketSource,
    run: &mut Run<'_, P>,
    input: &InputSettings,
) -> Ending {
    let stop = run.stop;
    let wants_stop = AtomicBool::new(false);
    let over = || stop.load(Ordering::Relaxed) || wants_stop.load(Ordering::Relaxed);
    let (give_filled, take_filled) = sync_channel::<(PacketSlab, RunProgress)>(InputSettings::SLABS);
    let (give_empty, take_empty) = sync_channel::<PacketSlab>(InputSettings::SLABS);
    for _ in 0..InputSettings::SLABS {
        // The channel has room for all slabs there are.
        let _ = give_empty.send(new_slab(input));
    }
    std::thread::scope(|scope| {
        let over = &over;
        let reading = scope.spawn(move || {
            // Both channels close only when the other side is gone: then there is nothing left to read for.
            while let Ok(mut slab) = take_empty.recv() {
                if over() {
                    return Ending::Stopped;
                }
                slab.clear();
                let fill = reader.fill(&mut slab);
                let at = progress_of(reader);
                if give_filled.send((slab, at)).is_err() {
                    return Ending::Stopped;
                }
                match fill {
                    Ok(Fill::More) => {}
                    Ok(Fill::End) => return end_of(reader),
                    Err(error) => return Ending::InputFailed(error.to_string()),
                }
            }
            Ending::Stopped
        });
        while let Ok((slab, at)) = take_filled.recv() {
            run.take(&slab, at);
            wants_stop.store(run.is_over(), Ordering::Relaxed);
            // After its last slab the reader does not wait for empty ones any more.
            let _ = give_empty.send(slab);
        }
        match reading.join() {
            Ok(ending) => ending,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
