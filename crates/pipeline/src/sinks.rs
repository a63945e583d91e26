//! Sinks that need no library: events as CSV, and counts per pixel.

use crate::line_file::{Kept, LineFile};
use crate::report::grouped;
use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::sink::{EventSink, SinkError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The columns of a CSV file behind `time_ns,pixel_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsvColumns {
    /// `pulse_time_ns`: start of the event's pulse, for detectors that tell it; empty for an event without one. The
    /// column is also there if the first batch has pulses though nobody has announced them.
    pub pulse_times: bool,
    /// `veto`: the marks of the event, one bit per veto.
    pub marks: bool,
}

impl CsvColumns {
    fn header(self) -> String {
        let pulse_times = if self.pulse_times { ",pulse_time_ns" } else { "" };
        let marks = if self.marks { ",veto" } else { "" };
        format!("time_ns,pixel_id{pulse_times}{marks}\n")
    }
}

/// Writes a line for each event, in the order of emission: `time_ns,pixel_id` and [further columns](CsvColumns).
/// Pulses without events leave no line. The file gets its name when it is complete; a run that fails, or a disk that is
/// full, leaves what was written until then, in whole lines, as `<name>.partial`.
#[derive(Debug)]
pub struct CsvSink {
    path: PathBuf,
    file: LineFile,
    columns: CsvColumns,
    /// Whether the names of the columns are in the file: they are settled with the first batch.
    has_header: bool,
}

impl CsvSink {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be made: the folder does not exist or cannot be written to.
    pub fn create(path: &Path, columns: CsvColumns) -> Result<Self, SinkError> {
        let explain = |error: std::io::Error| {
            format!(
                "the events cannot be written to {}: {error} (does the folder exist, and may you write there?)",
                path.display()
            )
        };
        let file = LineFile::create(path).map_err(explain)?;
        Ok(Self { path: path.to_owned(), file, columns, has_header: false })
    }

    /// Writes the names of the columns if this is the first call.
    fn begin(&mut self, has_pulses: bool) -> std::io::Result<()> {
        if std::mem::replace(&mut self.has_header, true) {
            return Ok(());
        }
        self.columns.pulse_times |= has_pulses;
        let header = self.columns.header();
        self.file.line(|line| line.write_all(header.as_bytes()))
    }
}

impl EventSink for CsvSink {
    fn name(&self) -> String {
        format!("events in {}", self.path.display())
    }

    fn take(&mut self, events: &EventBatch) -> Result<(), SinkError> {
        self.begin(!events.pulses().is_empty())?;
        let Self { file, columns, .. } = self;
        let mut marks = events.marks().iter();
        let mut rest = events.iter();
        for (pulse, range) in events.by_pulse() {
            for event in rest.by_ref().take(range.len()) {
                file.line(|line| {
                    write!(line, "{},{}", event.time_ns, event.pixel_id)?;
                    if columns.pulse_times {
                        line.push(b',');
                        if let Some(pulse) = pulse {
                            write!(line, "{pulse}")?;
                        }
                    }
                    if columns.marks {
                        write!(line, ",{}", marks.next().unwrap_or(&0))?;
                    }
                    line.push(b'\n');
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Notices a file that somebody has removed or replaced.
    fn observe(&mut self, _: &DetectorLedger) -> Result<(), SinkError> {
        Ok(self.file.check()?)
    }

    fn finish(&mut self, _: &DetectorLedger) -> Result<(), SinkError> {
        self.begin(false)?;
        Ok(self.file.finish()?)
    }

    fn abandon(&mut self) -> Option<String> {
        // Where not even that can be written, the file is empty.
        let _ = self.begin(false);
        Some(match self.file.keep_partial() {
            Ok(Kept { path, lines }) => {
                let events = grouped(lines.saturating_sub(1));
                format!("{events} events are in {}, which is incomplete", path.display())
            }
            Err(error) => format!("nothing is left of {}: {error}", self.path.display()),
        })
    }
}

/// Counts per pixel, shared with whoever draws them.
#[derive(Clone, Debug)]
pub struct PixelCounts {
    geometry: LogicalGeometry,
    counts: Arc<Mutex<Vec<u64>>>,
}

impl PixelCounts {
    /// All zero, for the pixels of `geometry`.
    pub fn new(geometry: LogicalGeometry) -> Self {
        let counts = vec![0; geometry.pixel_count() as usize];
        Self { geometry, counts: Arc::new(Mutex::new(counts)) }
    }

    /// The counts now: pixel 1 first.
    pub fn snapshot(&self) -> Vec<u64> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The pixels counted.
    pub fn geometry(&self) -> LogicalGeometry {
        self.geometry
    }
}

impl EventSink for PixelCounts {
    fn name(&self) -> String {
        "counts per pixel".into()
    }

    fn take(&mut self, events: &EventBatch) -> Result<(), SinkError> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for &pixel in events.pixel_ids() {
            // Detectors emit valid pixels only; 0 wraps to an index that is not there.
            if let Some(count) = counts.get_mut((pixel as usize).wrapping_sub(1)) {
                *count += 1;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &DetectorLedger) -> Result<(), SinkError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evforge_core::event::Event;

    /// An event before any pulse, a pulse without events and one with two.
    fn events_of_pulses() -> EventBatch {
        let mut events = EventBatch::new(8);
        assert!(events.push(Event { time_ns: 3, pixel_id: 9 }));
        assert!(events.begin_pulse(10) && events.begin_pulse(20));
        for time_ns in [21, 22] {
            assert!(events.push(Event { time_ns, pixel_id: 7 }));
        }
        events.mark(|pulse, time_ns| (time_ns - pulse.unwrap_or(0)) as u8);
        events
    }

    fn written(columns: CsvColumns, batches: &[EventBatch]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.csv");
        let mut sink = CsvSink::create(&path, columns).unwrap();
        for batch in batches {
            sink.take(batch).unwrap();
        }
        sink.finish(&DetectorLedger::default()).unwrap();
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn a_file_that_was_removed_is_noticed_and_what_is_left_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.csv");
        let mut sink = CsvSink::create(&path, CsvColumns::default()).unwrap();
        sink.take(&events_of_pulses()).unwrap();
        assert!(sink.observe(&DetectorLedger::default()).is_ok());
        let note = sink.abandon().unwrap();
        assert!(note.contains("3 events are in") && note.contains("events.csv.partial"), "{note}");
        let mut sink = CsvSink::create(&path, CsvColumns::default()).unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let error = sink.observe(&DetectorLedger::default()).unwrap_err().to_string();
        assert!(error.contains("was removed"), "{error}");
        let note = sink.abandon().unwrap();
        assert!(note.contains("nothing is left of"), "{note}");
    }

    #[test]
    fn every_event_has_the_time_of_its_pulse() {
        let all = CsvColumns { pulse_times: true, marks: true };
        let text = "time_ns,pixel_id,pulse_time_ns,veto\n3,9,,3\n21,7,20,1\n22,7,20,2\n";
        assert_eq!(written(all, &[events_of_pulses()]), text);
        assert_eq!(written(all, &[]), "time_ns,pixel_id,pulse_time_ns,veto\n");
    }

    #[test]
    fn pulses_that_nobody_announced_have_their_column_if_the_first_batch_has_some() {
        let columns = CsvColumns::default();
        let text = "time_ns,pixel_id,pulse_time_ns\n3,9,\n21,7,20\n22,7,20\n";
        assert_eq!(written(columns, &[events_of_pulses()]), text);
        let mut first = EventBatch::new(1);
        assert!(first.push(Event { time_ns: 1, pixel_id: 4 }));
        assert_eq!(
            written(columns, &[first, events_of_pulses()]),
            "time_ns,pixel_id\n1,4\n3,9\n21,7\n22,7\n"
        );
    }
}
