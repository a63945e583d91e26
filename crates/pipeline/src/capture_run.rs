//! Forms the events of a capture file, or of another file with packets, as fast as it can.

use crate::config::{Config, InputSettings};
use crate::fan_out::{SinkPlan, WhenFull};
use crate::forming::Forming;
use crate::loss_hints::loss_hints;
use crate::loss_places::LossPlaces;
use crate::monitor_tap::MonitorTap;
use crate::report::{Ending, RunReport};
use crate::samples::SampleFile;
use evforge_core::packet::PacketSlab;
use evforge_core::packet_source::{Fill, PacketSource};
use evforge_detect::settings::SettingsError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

/// Why a run cannot begin.
#[derive(Debug)]
pub enum RunError {
    /// The system gives no more threads.
    Threads(std::io::Error),
    /// The detector cannot be built: the library of one from outside refuses.
    Detector(SettingsError),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Threads(error) => write!(f, "the threads of the sinks cannot be started: {error}"),
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
    /// Where the events go.
    pub sinks: Vec<SinkPlan>,
    /// Where the mean values of sampled channels go, if they are wanted.
    pub samples: Option<SampleFile>,
    /// Set from outside to end the run in good order.
    pub stop: &'a AtomicBool,
    /// Monitor data: switched and looked at from outside.
    pub monitor: MonitorTap,
}

impl CaptureRun<'_> {
    /// Runs to the end of the input, or until it is stopped. `progress` is called after every slab.
    ///
    /// # Errors
    /// If the system gives no threads, or the library of a detector from outside refuses. An input that cannot be read on is told in the report, which then is not
    /// a success.
    pub fn run(self, mut progress: impl FnMut(RunProgress)) -> Result<RunReport, RunError> {
        let started = Instant::now();
        let mut reader = self.input;
        let samples = self.samples.map(|file| file.start(WhenFull::Wait)).transpose()?;
        let (queue, writing) = samples.unzip();
        let detector = self.config.build_detector_with(queue)?;
        let events_per_batch = self.config.input.events_per_batch;
        let mut forming = Forming::start(
            detector,
            self.sinks,
            events_per_batch,
            WhenFull::Wait,
            self.config.veto_stage(),
            self.monitor,
        )?;
        let input = &self.config.input;
        let mut ending = if input.threads == 1 {
            run_in_turn(reader.as_mut(), &mut forming, input, self.stop, &mut progress)
        } else {
            run_side_by_side(reader.as_mut(), &mut forming, input, self.stop, &mut progress)
        };
        forming.close();
        let ledger = forming.ledger();
        let complete = !matches!(ending, Ending::InputFailed(_));
        let vetoes = forming.vetoes();
        let detector_failure = forming.failure();
        let mut sinks = forming.end(ledger.clone(), complete);
        sinks.extend(writing.map(|writing| writing.end(complete)));
        if let Ending::InputFailed(error) = &mut ending {
            // What a sink has left that failed by itself is told with its failure.
            let ended = sinks.iter().filter(|sink| sink.failure.is_none());
            for note in ended.filter_map(|sink| sink.note.as_ref()) {
                error.push_str("; ");
                error.push_str(note);
            }
        }
        let losses = LossPlaces::in_the_input(ledger.packets().lost);
        Ok(RunReport {
            stream: self.config.name.clone(),
            input: reader.path().display().to_string(),
            elapsed: started.elapsed(),
            ending,
            detector_failure,
            alarms: Vec::new(),
            hints: loss_hints(&ledger, &losses, &self.config.pulses),
            losses,
            ledger,
            counters: vec![(reader.stage(), reader.counters())],
            vetoes,
            sinks,
            recording: None,
            latency: None,
            clock: None,
        })
    }
}

fn new_slab(input: &InputSettings) -> PacketSlab {
    PacketSlab::new(input.packets_per_slab, usize::try_from(input.bytes_per_slab.bytes).unwrap_or(usize::MAX))
}

fn progress_of(reader: &dyn PacketSource, events: u64) -> RunProgress {
    RunProgress {
        bytes: reader.position(),
        total_bytes: reader.total_bytes(),
        packets: reader.packets(),
        events,
    }
}

/// One thread reads and forms in turn.
fn run_in_turn(
    reader: &mut dyn PacketSource,
    forming: &mut Forming,
    input: &InputSettings,
    stop: &AtomicBool,
    progress: &mut impl FnMut(RunProgress),
) -> Ending {
    let mut slab = new_slab(input);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ending::Stopped;
        }
        slab.clear();
        let fill = reader.fill(&mut slab);
        forming.take(&slab);
        progress(progress_of(reader, forming.sinks().handed_over()));
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
fn run_side_by_side(
    reader: &mut dyn PacketSource,
    forming: &mut Forming,
    input: &InputSettings,
    stop: &AtomicBool,
    progress: &mut impl FnMut(RunProgress),
) -> Ending {
    let (give_filled, take_filled) = sync_channel::<(PacketSlab, RunProgress)>(InputSettings::SLABS);
    let (give_empty, take_empty) = sync_channel::<PacketSlab>(InputSettings::SLABS);
    for _ in 0..InputSettings::SLABS {
        // The channel has room for all slabs there are.
        let _ = give_empty.send(new_slab(input));
    }
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            // Both channels close only when the other side is gone: then there is nothing left to read for.
            while let Ok(mut slab) = take_empty.recv() {
                if stop.load(Ordering::Relaxed) {
                    return Ending::Stopped;
                }
                slab.clear();
                let fill = reader.fill(&mut slab);
                let at = progress_of(reader, 0);
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
            forming.take(&slab);
            progress(RunProgress { events: forming.sinks().handed_over(), ..at });
            // After its last slab the reader does not wait for empty ones any more.
            let _ = give_empty.send(slab);
        }
        match reading.join() {
            Ok(ending) => ending,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
