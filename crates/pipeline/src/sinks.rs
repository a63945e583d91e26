//! Sinks that need no library: events as CSV, and counts per pixel.

use evforge_core::event::EventBatch;
use evforge_core::geometry::LogicalGeometry;
use evforge_core::ledger::DetectorLedger;
use evforge_core::sink::{EventSink, SinkError};
use evforge_net::staged_file::StagedFile;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes `time_ns,pixel_id` lines in the order of emission. The file gets its name when it is complete; a
/// run that fails leaves `<name>.partial` or nothing.
#[derive(Debug)]
pub struct CsvSink {
    path: PathBuf,
    file: StagedFile,
    line: Vec<u8>,
    with_marks: bool,
}

impl CsvSink {
    /// Begins a file; `with_marks` adds a column `veto` with the marks of the events, one bit per veto.
    ///
    /// # Errors
    /// If it cannot be made: the folder does not exist or cannot be written to.
    pub fn create(path: &Path, with_marks: bool) -> Result<Self, SinkError> {
        let explain = |error: std::io::Error| {
            format!(
                "the events cannot be written to {}: {error} (does the folder exist, and may you write there?)",
                path.display()
            )
        };
        let mut file = StagedFile::create(path).map_err(explain)?;
        let header: &[u8] = if with_marks { b"time_ns,pixel_id,veto\n" } else { b"time_ns,pixel_id\n" };
        file.write_all(header).map_err(explain)?;
        Ok(Self { path: path.to_owned(), file, line: Vec::with_capacity(64), with_marks })
    }
}

impl EventSink for CsvSink {
    fn name(&self) -> String {
        format!("events in {}", self.path.display())
    }

    fn take(&mut self, events: &EventBatch) -> Result<(), SinkError> {
        let mut marks = events.marks().iter();
        for event in events.iter() {
            self.line.clear();
            write!(self.line, "{},{}", event.time_ns, event.pixel_id)?;
            if self.with_marks {
                write!(self.line, ",{}", marks.next().unwrap_or(&0))?;
            }
            self.line.push(b'\n');
            self.file.write_all(&self.line)?;
        }
        Ok(())
    }

    fn finish(&mut self, _: &DetectorLedger) -> Result<(), SinkError> {
        Ok(self.file.finish()?)
    }

    fn abandon(&mut self) -> Option<String> {
        let partial = self.file.finish_partial().ok()?;
        Some(format!("the events up to there are in {}", partial.display()))
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
