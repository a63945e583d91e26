//! Steps one after the other.

use super::counters::ProcessingCounters;
use super::image::StepImage;
use super::integrated::IntegratedImages;
use super::output::ProcessedTrain;
use super::step::{ImageRejection, Step, StepTally};
use crate::assembly::AssembledTrain;
use evforge_core::settings::SettingsError;
use evforge_wire::train::{Train, TrainDetector};

/// Steps one after the other: each sees the images that those before it have kept.
///
/// Image by image: an image goes through all steps while it is in the cache.
#[derive(Debug)]
pub struct Chain {
    steps: Vec<(Box<dyn Step>, StepTally)>,
    /// Values of the image that is being looked at.
    scratch: Box<[f32]>,
    counters: ProcessingCounters,
}

impl Chain {
    /// Steps over images of this many values (at least 1).
    ///
    /// # Errors
    /// If a step is made for images of another size.
    pub fn new(values: usize, steps: Vec<Box<dyn Step>>) -> Result<Self, SettingsError> {
        if values == 0 {
            return SettingsError::refuse("values", "0, expected the values of an image");
        }
        for step in &steps {
            if let Some(found) = step.values().filter(|found| *found != values) {
                let problem = format!("made for images of {found} values, expected {values}");
                return SettingsError::refuse(step.name(), problem);
            }
        }
        let tally = |step: &dyn Step| StepTally { name: step.name(), images_in: 0, kept: 0, rejected: 0 };
        let steps = steps.into_iter().map(|step| {
            let tally = tally(step.as_ref());
            (step, tally)
        });
        Ok(Self {
            steps: steps.collect(),
            scratch: vec![0.0; values].into(),
            counters: ProcessingCounters::default(),
        })
    }

    /// Takes the images of a train that is whole.
    pub fn process(&mut self, train: &Train<'_>, out: &mut ProcessedTrain) {
        self.process_those(train, |_| true, out);
    }

    /// Takes the images of a train that was assembled. If it was handed on incomplete, the images that holes touch are rejected, whatever
    /// is in them. False if it has no header or no trailer, or was not handed on: then no image of it is counted.
    pub fn process_assembled(&mut self, train: &AssembledTrain, out: &mut ProcessedTrain) -> bool {
        let Some(parsed) = train.train() else { return false };
        let is_whole = train.report().missing == 0;
        self.process_those(&parsed, |index| is_whole || train.has_image(index), out);
        true
    }

    fn process_those(
        &mut self,
        train: &Train<'_>,
        is_there: impl Fn(usize) -> bool,
        out: &mut ProcessedTrain,
    ) {
        out.begin(train.header().train);
        self.counters.trains_processed += 1;
        for index in 0..train.layout().images() {
            self.counters.images_in += 1;
            let (Some(raw), Some(descriptor)) = (train.image(index), train.descriptor(index)) else {
                unreachable!("a train has as many images as its layout says");
            };
            if !is_there(index) {
                self.counters.images_incomplete += 1;
                continue;
            }
            if raw.len() != self.scratch.len() * TrainDetector::VALUE_BYTES {
                self.counters.images_wrong_size += 1;
                continue;
            }
            let mut image = StepImage::new(descriptor, raw, &mut self.scratch);
            match look(&mut self.steps, &mut image) {
                Ok(()) => {
                    self.counters.images_kept += 1;
                    out.push(index, &mut image, &mut self.counters);
                }
                Err(rejection) => *rejection_counter(&mut self.counters, rejection) += 1,
            }
        }
    }

    /// The counts so far.
    pub const fn counters(&self) -> &ProcessingCounters {
        &self.counters
    }

    /// What each step has done, in their order.
    pub fn tallies(&self) -> impl Iterator<Item = StepTally> + '_ {
        self.steps.iter().map(|(_, tally)| *tally)
    }

    /// What the steps that add up have added up, in their order.
    pub fn integrated(&self) -> impl Iterator<Item = &IntegratedImages> {
        self.steps.iter().filter_map(|(step, _)| step.integrated())
    }
}

/// Has the steps look at an image, until one rejects it.
fn look(steps: &mut [(Box<dyn Step>, StepTally)], image: &mut StepImage<'_>) -> Result<(), ImageRejection> {
    for (step, tally) in steps {
        tally.images_in += 1;
        if let Err(rejection) = step.look(image) {
            tally.rejected += 1;
            return Err(rejection);
        }
        tally.kept += 1;
    }
    Ok(())
}

fn rejection_counter(counters: &mut ProcessingCounters, rejection: ImageRejection) -> &mut u64 {
    match rejection {
        ImageRejection::Vetoed => &mut counters.images_vetoed,
        ImageRejection::UnknownCell => &mut counters.images_of_unknown_cells,
        ImageRejection::TooDark => &mut counters.images_too_dark,
        ImageRejection::BelowLimits => &mut counters.images_below_limits,
        ImageRejection::AboveLimits => &mut counters.images_above_limits,
    }
}
