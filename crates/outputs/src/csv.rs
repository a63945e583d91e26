//! Events as CSV: a line for each, in the order of emission.
//!
//! `time_ns,pixel_id`, then `pulse_time_ns` where the readout reports the pulses, then `veto` where there are vetoes, then, if it is
//! asked for, what the readout tells of the frame. Pulses without events leave no line. The file gets its name when it is complete; a run that fails leaves what was written until
//! then, in whole lines, as `<name>.partial`. While there is no space the output waits, and goes on when there is some.

use crate::context::OutputContext;
use crate::frame_text::{check_tells_frames, write_period};
use crate::line_file::{Kept, LineFile, WRITE_BEHIND};
use crate::plan::OutputPlan;
use crate::settings::IfExists;
use evforge_core::counter::{CounterInfo, CounterSet, CounterSnapshot};
use evforge_core::frame::Frame;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::{PulseOrigin, PulsedBatch};
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
/// Bytes of the longest line: two times, a pixel, a mark, what is known of the frame, and their separators.
const LONGEST_LINE: usize = 20 + 1 + 10 + 1 + 20 + 1 + 3 + 1 + (10 + 1 + 10 + 1 + 1 + 1 + 10 + 1);

evforge_core::counters! {
    /// Counters of a CSV file.
    pub struct CsvCounters: "csv" {
        csv_bytes: Information, Bytes, "Bytes in the file.";
        csv_lines: Information, Times, "Lines in the file, that of the names of the columns among them.";
    }
}

/// `[outputs.csv]`
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CsvSettings {
    /// The file.
    pub file: PathBuf,
    /// What to do if it exists.
    #[serde(default)]
    pub if_exists: IfExists,
    /// Whether each line says what the readout tells of the frame of its event: `period`, `vetoes`, `good` and `state`.
    #[serde(default)]
    pub frame_columns: bool,
}

impl OutputPlan for CsvSettings {
    fn name(&self) -> String {
        format!("events in {}", shown(&self.file))
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
        WRITE_BEHIND + context.batch_events * LONGEST_LINE
    }

    fn open(self: Box<Self>, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
        if self.frame_columns {
            check_tells_frames(
                context,
                "the columns of outputs.csv.frame_columns would stay empty: leave it out",
            )?;
        }
        let columns = CsvColumns {
            pulse_times: context.tells_pulses,
            marks: !context.vetoes.is_empty(),
            frames: self.frame_columns,
        };
        Ok(Box::new(CsvOutput::create(&self.file, columns, Arc::clone(&context.clock))?))
    }
}

/// The columns of a CSV file behind `time_ns,pixel_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsvColumns {
    /// `pulse_time_ns`: start of the event's pulse, for detectors that tell it; empty for an event without one. The
    /// column is also there if the first batch has pulses of the readout though nobody has announced them.
    pub pulse_times: bool,
    /// `veto`: the marks of the event, one bit per veto.
    pub marks: bool,
    /// `period,vetoes,good,state` of the frame that the event belongs to: the period from 1, the vetoes that were present as a
    /// hexadecimal number, 1 if none of them counts, and whether the frame is complete. Empty where nobody has said it.
    pub frames: bool,
}

impl CsvColumns {
    fn header(self) -> String {
        let pulse_times = if self.pulse_times { ",pulse_time_ns" } else { "" };
        let marks = if self.marks { ",veto" } else { "" };
        let frames = if self.frames { ",period,vetoes,good,state" } else { "" };
        format!("time_ns,pixel_id{pulse_times}{marks}{frames}\n")
    }
}

/// Writes events as CSV; see the [module](self).
#[derive(Debug)]
pub struct CsvOutput {
    path: PathBuf,
    file: LineFile,
    columns: CsvColumns,
    /// Whether the names of the columns have been written: they are settled with the first batch.
    has_header: bool,
    /// What all lines of a pulse have behind the rest.
    of_frame: Vec<u8>,
    taken: u64,
    /// Somebody has removed the file, and what was in it.
    is_gone: bool,
    flushed: Duration,
    clock: Arc<dyn Clock>,
}

impl CsvOutput {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be made: the folder does not exist or cannot be written to.
    pub fn create(path: &Path, columns: CsvColumns, clock: Arc<dyn Clock>) -> Result<Self, OutputError> {
        let file = LineFile::create(path)
            .map_err(|error| OutputError::Final(not_writable("the events", path, &error)))?;
        let flushed = clock.elapsed();
        Ok(Self {
            path: path.to_owned(),
            file,
            columns,
            has_header: false,
            of_frame: Vec::new(),
            taken: 0,
            is_gone: false,
            flushed,
            clock,
        })
    }

    /// Writes the names of the columns if this is the first call.
    fn begin(&mut self, has_pulses: bool) {
        if !std::mem::replace(&mut self.has_header, true) {
            self.columns.pulse_times |= has_pulses;
            self.file.waiting().extend_from_slice(self.columns.header().as_bytes());
        }
    }

    fn flush(&mut self) -> Result<(), OutputError> {
        self.flushed = self.clock.elapsed();
        self.file.flush().map_err(|error| self.explain(error))
    }

    fn explain(&self, error: std::io::Error) -> OutputError {
        OutputError::from(error)
            .explained(|reason| format!("{} cannot be written: {reason}", shown(&self.path)))
    }

    /// Events that are in the file.
    fn events_in_file(&self) -> u64 {
        self.file.lines().saturating_sub(1)
    }
}

/// The columns of a frame, each with the separator before it.
fn write_frame(line: &mut Vec<u8>, frame: Option<&Frame>) {
    let Some(frame) = frame else {
        line.extend_from_slice(b",,,,");
        return;
    };
    line.push(b',');
    write_period(line, frame);
    let (vetoes, good, state) = (frame.vetoes, u8::from(!frame.is_vetoed), frame.state.name());
    // Writing into memory cannot fail.
    let _ = write!(line, ",{vetoes:#x},{good},{state}");
}

impl Output for CsvOutput {
    fn name(&self) -> String {
        format!("events in {}", shown(&self.path))
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        if self.file.is_full() {
            self.flush()?;
        }
        let is_told = |pulse: &evforge_core::pulsed::Pulse| pulse.origin == PulseOrigin::Readout;
        self.begin(batch.pulses().iter().any(is_told));
        let columns = self.columns;
        let lines = self.file.waiting();
        let mut marks = batch.marks().iter();
        let mut rest = batch.iter();
        for (number, (pulse, range)) in batch.by_pulse().enumerate() {
            self.of_frame.clear();
            if columns.frames {
                write_frame(&mut self.of_frame, batch.frame(number));
            }
            for event in rest.by_ref().take(range.len()) {
                // Writing into memory cannot fail.
                let _ = write!(lines, "{},{}", event.time_ns, event.pixel_id);
                if columns.pulse_times {
                    lines.push(b',');
                    if is_told(pulse) {
                        let _ = write!(lines, "{}", pulse.time_ns);
                    }
                }
                if columns.marks {
                    let _ = write!(lines, ",{}", marks.next().unwrap_or(&0));
                }
                lines.extend_from_slice(&self.of_frame);
                lines.push(b'\n');
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
        let committed = if self.is_gone { 0 } else { self.events_in_file() };
        OutputProgress { committed, pending: self.taken - committed, left_out: 0, failed: 0 }
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&CsvCounters { csv_bytes: self.file.bytes(), csv_lines: self.file.lines() })
    }

    fn finish(&mut self, _: &Arc<RunState>) -> Result<(), OutputError> {
        self.begin(false);
        self.file.finish().map_err(|error| self.explain(error))
    }

    fn abandon(&mut self) -> Option<String> {
        self.begin(false);
        Some(match self.file.keep_partial() {
            Ok(Kept { path, .. }) => {
                format!("{} events are in {}, which is incomplete", self.events_in_file(), path.display())
            }
            Err(error) => {
                self.is_gone = true;
                format!("nothing is left of {}: {error}", self.path.display())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::event::{Event, EventBatch};
    use evforge_core::pulse::PulseTrain;
    use evforge_core::pulsed::{CalendarRule, PulseStage, PulseStageSettings, Veto, VetoRange};
    use evforge_core::time::ManualClock;

    /// An event before any pulse of the readout, a pulse without events and one with two.
    fn events_of_pulses() -> EventBatch {
        let mut events = EventBatch::new(8);
        assert!(events.push(Event { time_ns: 3, pixel_id: 9 }));
        assert!(events.begin_pulse(10) && events.begin_pulse(20));
        for time_ns in [21, 22] {
            assert!(events.push(Event { time_ns, pixel_id: 7 }));
        }
        events
    }

    fn clock() -> Arc<dyn Clock> {
        Arc::new(ManualClock::default())
    }

    fn pulsed(events: &EventBatch) -> Arc<PulsedBatch> {
        let veto = |from, to| Veto { name: String::new(), range: VetoRange::Time(from, to) };
        let vetoes = vec![veto(0, 22), veto(22, 30)];
        let settings = PulseStageSettings::new(PulseTrain::ess(), CalendarRule::Readout);
        let mut stage = PulseStage::new(PulseStageSettings { vetoes, ..settings });
        let mut batches = Vec::new();
        stage.hand_on(events, None, &mut |batch| batches.push(batch));
        Arc::new(batches.remove(0))
    }

    fn written(columns: CsvColumns, batches: &[EventBatch]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.csv");
        let mut output = CsvOutput::create(&path, columns, clock()).unwrap();
        for batch in batches {
            assert_eq!(output.take(&pulsed(batch)), Ok(Taken::Yes));
        }
        output.finish(&Arc::default()).unwrap();
        let events: u64 = batches.iter().map(|batch| batch.len() as u64).sum();
        assert_eq!(
            output.progress(),
            OutputProgress { committed: events, pending: 0, left_out: 0, failed: 0 }
        );
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn a_file_that_was_removed_is_noticed_and_what_is_left_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.csv");
        let mut output = CsvOutput::create(&path, CsvColumns::default(), clock()).unwrap();
        output.take(&pulsed(&events_of_pulses())).unwrap();
        assert!(output.observe(&Arc::default()).is_ok());
        let note = output.abandon().unwrap();
        assert!(note.contains("3 events are in") && note.contains("events.csv.partial"), "{note}");
        let mut output = CsvOutput::create(&path, CsvColumns::default(), clock()).unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let error = output.observe(&Arc::default()).unwrap_err();
        assert!(matches!(&error, OutputError::Final(reason) if reason.contains("was removed")), "{error}");
        let note = output.abandon().unwrap();
        assert!(note.contains("nothing is left of"), "{note}");
    }

    #[test]
    fn every_event_has_the_time_of_its_pulse() {
        let all = CsvColumns { pulse_times: true, marks: true, frames: false };
        let text = "time_ns,pixel_id,pulse_time_ns,veto\n3,9,,1\n21,7,20,1\n22,7,20,2\n";
        assert_eq!(written(all, &[events_of_pulses()]), text);
        assert_eq!(written(all, &[]), "time_ns,pixel_id,pulse_time_ns,veto\n");
    }

    #[test]
    fn every_event_has_what_is_known_of_its_frame_if_that_is_asked_for() {
        let columns = CsvColumns { frames: true, ..CsvColumns::default() };
        let mut events = events_of_pulses();
        let frame = Frame { period: Some(u32::MAX), vetoes: u32::MAX, is_vetoed: true, ..Frame::default() };
        assert!(events.begin_frame(30, frame) && events.push(Event { time_ns: 31, pixel_id: 1 }));
        let text = "time_ns,pixel_id,pulse_time_ns,period,vetoes,good,state\n3,9,,,0x0,1,unknown\n21,7,20,,0x0,1,unknown\n\
                    22,7,20,,0x0,1,unknown\n31,1,30,4294967296,0xffffffff,0,unknown\n";
        assert_eq!(written(columns, &[events]), text);
        let text =
            "time_ns,pixel_id,pulse_time_ns,period,vetoes,good,state\n3,9,,,,,\n21,7,20,,,,\n22,7,20,,,,\n";
        assert_eq!(written(columns, &[events_of_pulses()]), text);
    }

    #[test]
    fn pulses_that_nobody_announced_have_their_column_if_the_first_batch_has_some() {
        let columns = CsvColumns::default();
        let text = "time_ns,pixel_id,pulse_time_ns\n3,9,\n21,7,20\n22,7,20\n";
        assert_eq!(written(columns, &[events_of_pulses()]), text);
        let mut first = EventBatch::new(1);
        assert!(first.push(Event { time_ns: 1, pixel_id: 4 }));
        let text = "time_ns,pixel_id\n1,4\n3,9\n21,7\n22,7\n";
        assert_eq!(written(columns, &[first, events_of_pulses()]), text);
    }
}
