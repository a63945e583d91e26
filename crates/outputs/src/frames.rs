//! Frames as CSV: a line for each, in the order of their pulses.
//!
//! `time_ns,period,vetoes,good,charge_uah,events,state`, of detectors whose readout tells frames. Periods count from 1. What
//! nobody has said is empty. A line is written when the next pulse has begun, so that it has all that became known of the
//! frame, and all of its events. The file is kept and continued as that of the events ([`csv`](crate::csv)).

use crate::context::OutputContext;
use crate::csv::CsvCounters;
use crate::frame_text::{check_tells_frames, write_period};
use crate::line_file::{Kept, LineFile, WRITE_BEHIND};
use crate::plan::OutputPlan;
use crate::settings::IfExists;
use evforge_core::counter::{CounterInfo, CounterSet, CounterSnapshot};
use evforge_core::frame::Frame;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::{Pulse, PulsedBatch};
use evforge_core::run_state::RunState;
use evforge_core::time::Clock;
use evforge_core::whole_file::not_writable;
use evforge_net::staged_file::shown;
use schemars::JsonSchema;
use serde::Deserialize;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Lines wait no longer than this before they are given to the system.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of the longest line: a time, a period, vetoes, 0 or 1, a charge, a number of events, a state, and what separates them.
const LONGEST_LINE: usize = 20 + 1 + 10 + 1 + 10 + 1 + 1 + 1 + 330 + 1 + 20 + 1 + 10 + 1;
const HEADER: &str = "time_ns,period,vetoes,good,charge_uah,events,state\n";

/// `[outputs.frames]`
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FramesSettings {
    /// The file.
    pub file: PathBuf,
    /// What to do if it exists.
    #[serde(default)]
    pub if_exists: IfExists,
}

impl OutputPlan for FramesSettings {
    fn name(&self) -> String {
        format!("frames in {}", shown(&self.file))
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }

    fn has_rule_for_existing_files(&self) -> bool {
        self.if_exists == IfExists::Overwrite
    }

    fn counters(&self) -> Vec<CounterInfo> {
        CsvCounters::infos().to_vec()
    }

    fn memory_bound(&self, context: &OutputContext) -> usize {
        // A batch has no more pulses than events and some more.
        WRITE_BEHIND + (context.batch_events + 4096) * LONGEST_LINE
    }

    fn open(self: Box<Self>, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
        check_tells_frames(context, "[outputs.frames] (--frames) would stay empty: leave it out")?;
        Ok(Box::new(FramesOutput::create(&self.file, Arc::clone(&context.clock))?))
    }
}

/// Writes frames as CSV; see the [module](self).
#[derive(Debug)]
pub struct FramesOutput {
    path: PathBuf,
    file: LineFile,
    has_header: bool,
    /// The frame that may go on.
    open: Option<OpenFrame>,
    taken: u64,
    /// Events of the lines that are in the file for certain.
    committed: u64,
    flushed: Duration,
    clock: Arc<dyn Clock>,
}

#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    pulse: Pulse,
    frame: Frame,
    events: u64,
}

impl FramesOutput {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be made: the folder does not exist or cannot be written to.
    pub fn create(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, OutputError> {
        let file = LineFile::create(path)
            .map_err(|error| OutputError::Final(not_writable("the frames", path, &error)))?;
        let flushed = clock.elapsed();
        Ok(Self {
            path: path.to_owned(),
            file,
            has_header: false,
            open: None,
            taken: 0,
            committed: 0,
            flushed,
            clock,
        })
    }

    fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_header, true) {
            self.file.waiting().extend_from_slice(HEADER.as_bytes());
        }
    }

    /// The open frame has ended.
    fn end(&mut self) {
        let Some(OpenFrame { pulse, frame, events }) = self.open.take() else { return };
        let line = self.file.waiting();
        // Writing into memory cannot fail.
        let _ = write!(line, "{},", pulse.time_ns);
        write_period(line, &frame);
        let _ = write!(line, ",{:#x},{},", frame.vetoes, u8::from(!frame.is_vetoed));
        if let Some(charge) = frame.charge {
            let _ = write!(line, "{}", charge.uah);
        }
        let _ = writeln!(line, ",{events},{}", frame.state.name());
    }

    fn flush(&mut self) -> Result<(), OutputError> {
        self.flushed = self.clock.elapsed();
        self.file.flush().map_err(|error| self.explain(error))?;
        self.committed = self.taken - self.open.map_or(0, |open| open.events);
        Ok(())
    }

    fn explain(&self, error: std::io::Error) -> OutputError {
        OutputError::from(error)
            .explained(|reason| format!("{} cannot be written: {reason}", shown(&self.path)))
    }
}

impl Output for FramesOutput {
    fn name(&self) -> String {
        format!("frames in {}", shown(&self.path))
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        if self.file.is_full() {
            self.flush()?;
        }
        self.begin();
        for (number, (pulse, range)) in batch.by_pulse().enumerate() {
            let events = range.len() as u64;
            let Some(&frame) = batch.frame(number) else {
                // Of what belongs to no frame there is nothing to say.
                self.end();
                continue;
            };
            match &mut self.open {
                Some(open) if open.pulse.is_same(pulse) => {
                    open.frame = frame;
                    open.events += events;
                }
                _ => {
                    self.end();
                    self.open = Some(OpenFrame { pulse: *pulse, frame, events });
                }
            }
        }
        self.taken += batch.len() as u64;
        Ok(Taken::Yes)
    }

    fn poll(&mut self) -> Result<(), OutputError> {
        let is_due = self.clock.elapsed().saturating_sub(self.flushed) >= FLUSH_INTERVAL;
        if is_due || self.file.is_full() { self.flush() } else { Ok(()) }
    }

    /// Notices a file that somebody has removed or replaced.
    fn observe(&mut self, _: &Arc<RunState>) -> Result<(), OutputError> {
        self.file.check().map_err(|error| OutputError::Final(error.to_string()))
    }

    fn progress(&self) -> OutputProgress {
        OutputProgress {
            committed: self.committed,
            pending: self.taken - self.committed,
            left_out: 0,
            failed: 0,
        }
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&CsvCounters { csv_bytes: self.file.bytes(), csv_lines: self.file.lines() })
    }

    fn finish(&mut self, _: &Arc<RunState>) -> Result<(), OutputError> {
        self.begin();
        self.end();
        self.file.finish().map_err(|error| self.explain(error))?;
        self.committed = self.taken;
        Ok(())
    }

    fn abandon(&mut self) -> Option<String> {
        self.begin();
        self.end();
        Some(match self.file.keep_partial() {
            Ok(Kept { path, lines }) => {
                let frames = lines.saturating_sub(1);
                format!("{frames} frames are in {}, which is incomplete", path.display())
            }
            Err(error) => {
                self.committed = 0;
                format!("nothing is left of {}: {error}", self.path.display())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::event::{Event, EventBatch};
    use evforge_core::frame::{FrameState, ProtonCharge};
    use evforge_core::pulse::PulseTrain;
    use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings};
    use evforge_core::time::ManualClock;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(ManualClock::default())
    }

    fn first() -> Frame {
        let charge = Some(ProtonCharge { uah: 1.738e-6 });
        Frame { period: Some(0), vetoes: 0x1_0002, is_vetoed: true, charge, state: FrameState::Late }
    }

    /// A frame with an event, one of which little is known with two, which goes on with more known, and an empty one.
    fn batches() -> Vec<Arc<PulsedBatch>> {
        let mut stage = PulseStage::new(PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout));
        let mut batches = Vec::new();
        let mut hand_on = |frames: &[(u64, Frame, &[u64])]| {
            let mut events = EventBatch::new(8);
            for (time_ns, frame, offsets) in frames {
                assert!(events.begin_frame(*time_ns, *frame));
                for offset in *offsets {
                    assert!(events.push(Event { time_ns: time_ns + offset, pixel_id: 7 }));
                }
            }
            stage.hand_on(&events, None, &mut |batch| batches.push(Arc::new(batch)));
        };
        let known = Frame { period: Some(1), state: FrameState::Complete, ..Frame::default() };
        hand_on(&[(100, first(), &[5]), (200, Frame::default(), &[1, 2])]);
        hand_on(&[(200, known, &[3]), (300, Frame::default(), &[])]);
        batches
    }

    #[test]
    fn every_frame_has_a_line_with_what_was_known_of_it_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frames.csv");
        let mut output = FramesOutput::create(&path, clock()).unwrap();
        for batch in batches() {
            assert_eq!(output.take(&batch), Ok(Taken::Yes));
            output.flush().unwrap();
        }
        // The last frame is open: it has no events.
        assert_eq!((output.progress().committed, output.progress().pending), (4, 0));
        output.finish(&Arc::default()).unwrap();
        let lines = "100,1,0x10002,0,0.000001738,1,late\n200,2,0x0,1,,3,complete\n300,,0x0,1,,0,unknown\n";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}{lines}"));
        assert_eq!(output.progress(), OutputProgress { committed: 4, ..OutputProgress::default() });
    }

    #[test]
    fn a_run_that_fails_leaves_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("frames.csv");
        let mut output = FramesOutput::create(&path, clock()).unwrap();
        output.take(&batches()[0]).unwrap();
        let note = output.abandon().unwrap();
        assert!(note.starts_with("2 frames are in") && note.contains("frames.csv.partial"), "{note}");
        assert!(!path.exists());
    }
}
