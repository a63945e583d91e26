//! The image of the detector as PNG, written at the end of a run.

use crate::output::check_writable;
use crate::picture::png_of_counts;
use evforge_core::counter::{CounterInfo, CounterSet, CounterSnapshot};
use evforge_core::geometry::LogicalGeometry;
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pulsed::PulsedBatch;
use evforge_core::run_state::RunState;
use evforge_net::staged_file::StagedFile;
use evforge_outputs::{OutputContext, OutputPlan};
use serde::Deserialize;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

evforge_core::counters! {
    /// Counters of an image.
    pub(crate) struct ImageCounters: "image" {
        image_events: Information, Events, "Events in the image.";
        image_outside: Information, Events, "Events whose pixel is not one of the geometry: not in the image.";
    }
}

/// `[outputs.image]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageSettings {
    file: PathBuf,
}

impl OutputPlan for ImageSettings {
    fn name(&self) -> String {
        format!("image {}", self.file.display())
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }

    fn counters(&self) -> Vec<CounterInfo> {
        ImageCounters::infos().to_vec()
    }

    fn memory_bound(&self, context: &OutputContext) -> usize {
        context.geometry.pixel_count() as usize * size_of::<u64>()
    }

    fn open(self: Box<Self>, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
        check_writable("the image", Some(&self.file))?;
        let counts = vec![0; context.geometry.pixel_count() as usize];
        let counters = ImageCounters::default();
        Ok(Box::new(Image {
            file: self.file,
            geometry: context.geometry,
            counts,
            counters,
            is_written: false,
        }))
    }
}

/// Counts events per pixel, and draws them at the end of a run that came to its end.
struct Image {
    file: PathBuf,
    geometry: LogicalGeometry,
    counts: Vec<u64>,
    counters: ImageCounters,
    is_written: bool,
}

impl Output for Image {
    fn name(&self) -> String {
        format!("image {}", self.file.display())
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        for &pixel in batch.pixel_ids() {
            // 0 wraps to an index that is not there.
            match self.counts.get_mut((pixel as usize).wrapping_sub(1)) {
                Some(count) => {
                    *count += 1;
                    self.counters.image_events += 1;
                }
                None => self.counters.image_outside += 1,
            }
        }
        Ok(Taken::Yes)
    }

    fn progress(&self) -> OutputProgress {
        let events = self.counters.image_events;
        let (committed, pending) = if self.is_written { (events, 0) } else { (0, events) };
        OutputProgress { committed, pending, left_out: self.counters.image_outside }
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters)
    }

    fn finish(&mut self, _: &Arc<RunState>) -> Result<(), OutputError> {
        let picture = png_of_counts(&self.geometry, &self.counts)
            .map_err(|error| OutputError::Final(error.to_string()))?;
        let file = self.file.display();
        let write = || {
            let mut staged = StagedFile::create(&self.file)?;
            staged.write_all(&picture)?;
            staged.finish()
        };
        write().map_err(|error: std::io::Error| {
            OutputError::from(error).explained(|why| format!("the image cannot be written to {file}: {why}"))
        })?;
        self.is_written = true;
        Ok(())
    }

    fn abandon(&mut self) -> Option<String> {
        Some(format!("{} was not written", self.file.display()))
    }

    fn memory_bound(&self) -> usize {
        self.counts.len() * size_of::<u64>()
    }
}
