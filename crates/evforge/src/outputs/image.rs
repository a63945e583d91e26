//! The image of the detector as PNG, written at the end of a run.

use crate::output::check_writable;
use evforge_core::counter::{CounterInfo, CounterSet, CounterSnapshot};
use evforge_core::output::{Output, OutputError, OutputProgress, Taken};
use evforge_core::pixel_ids::PixelIds;
use evforge_core::pulsed::{Calendar, PulsedBatch};
use evforge_core::run_state::RunState;
use evforge_net::staged_file::StagedFile;
use evforge_outputs::{IfExists, OutputContext, OutputPlan};
use evforge_picture::{Caption, PictureError, PicturePlan, PictureSet, Sheet, heading};
use schemars::JsonSchema;
use serde::Deserialize;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

evforge_core::counters! {
    /// Counters of an image.
    pub(crate) struct ImageCounters: "image" {
        image_events: Information, Events, "Events in the image, those of beam monitors included.";
        image_outside: Information, Events, "Events whose pixel is neither of the geometry nor of a beam monitor: not in the image.";
    }
}

/// `[outputs.image]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageSettings {
    /// The file.
    file: PathBuf,
    /// What to do if it exists.
    #[serde(default)]
    if_exists: IfExists,
}

impl OutputPlan for ImageSettings {
    fn name(&self) -> String {
        format!("image {}", self.file.display())
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }

    fn has_rule_for_existing_files(&self) -> bool {
        self.if_exists == IfExists::Overwrite
    }

    fn counters(&self) -> Vec<CounterInfo> {
        ImageCounters::infos().to_vec()
    }

    /// Counts, and the sheet at the end: the sums of each picture, its points, and as much again for the PNG.
    fn memory_bound(&self, context: &OutputContext) -> usize {
        // Small pictures are drawn larger, large ones smaller, with axes and a scale (`evforge_picture::Sheet`).
        let side = |pixels: u32| (pixels as usize).clamp(768, 2560) + 200;
        let drawn = |plan: &PicturePlan| {
            let [across, up] = [plan.across.pixels, plan.up.pixels];
            across as usize * up as usize * size_of::<u64>() + 2 * 3 * side(across) * side(up)
        };
        let pictures = pictures(context);
        pictures.pixel_count() * size_of::<u64>() + pictures.plans().iter().map(drawn).sum::<usize>()
    }

    fn open(self: Box<Self>, context: &OutputContext) -> Result<Box<dyn Output>, Box<dyn Error>> {
        check_writable("the image", Some(&self.file))?;
        let pictures = pictures(context);
        Ok(Box::new(Image {
            file: self.file,
            title: heading(&context.instrument, &context.run),
            counts: vec![0; pictures.pixel_count()],
            pixel_ids: context.pixel_ids.clone(),
            pictures,
            counters: ImageCounters::default(),
            span: None,
            calendar: Calendar::default(),
            is_written: false,
        }))
    }
}

/// The pictures of a run.
fn pictures(context: &OutputContext) -> PictureSet {
    let monitors = context.ledger.beam_monitors.iter().map(|data| data.plan());
    PictureSet::new(&context.geometry, monitors, context.placement.as_ref())
}

/// Counts events per pixel, and draws them at the end of a run that came to its end.
struct Image {
    file: PathBuf,
    title: String,
    pictures: PictureSet,
    counts: Vec<u64>,
    /// Which pixels the ids of events are, where they are not the same.
    pixel_ids: Option<Arc<PixelIds>>,
    counters: ImageCounters,
    /// The times of the earliest and the latest event.
    span: Option<(u64, u64)>,
    calendar: Calendar,
    is_written: bool,
}

impl Image {
    fn to_png(&self, state: &RunState) -> Result<Vec<u8>, PictureError> {
        let mut images = self.pictures.images();
        self.pictures.add(&mut images, self.counts.iter().copied());
        let (events, outside) = (self.counters.image_events, self.counters.image_outside);
        let title = self.title.clone();
        let caption = Caption::new(title, events, outside, self.span, self.calendar, state);
        Sheet { plans: self.pictures.plans(), images: &images, caption: &caption, outside }.to_png()
    }
}

impl Output for Image {
    fn name(&self) -> String {
        format!("image {}", self.file.display())
    }

    fn take(&mut self, batch: &Arc<PulsedBatch>) -> Result<Taken, OutputError> {
        for &id in batch.pixel_ids() {
            let pixel = self.pixel_ids.as_ref().map_or(id, |ids| ids.pixel(id));
            match self.counts.get_mut(PictureSet::index_of(pixel)) {
                Some(count) => {
                    *count += 1;
                    self.counters.image_events += 1;
                }
                None => self.counters.image_outside += 1,
            }
        }
        for &time_ns in batch.times_ns() {
            let (first, last) = self.span.unwrap_or((time_ns, time_ns));
            self.span = Some((first.min(time_ns), last.max(time_ns)));
        }
        self.calendar = batch.calendar();
        Ok(Taken::Yes)
    }

    fn progress(&self) -> OutputProgress {
        let events = self.counters.image_events;
        let (committed, pending) = if self.is_written { (events, 0) } else { (0, events) };
        OutputProgress { committed, pending, left_out: self.counters.image_outside, failed: 0 }
    }

    fn counters(&self) -> CounterSnapshot {
        CounterSnapshot::of(&self.counters)
    }

    fn finish(&mut self, state: &Arc<RunState>) -> Result<(), OutputError> {
        let picture = self.to_png(state).map_err(|error| OutputError::Final(error.to_string()))?;
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
}
