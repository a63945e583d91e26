//! The content check: images with the counter pattern, byte by byte.

use crate::generate::{CounterPattern, PatternFault};
use crate::node::{NodeTrain, SinkError, TrainSink};
use std::sync::{Arc, Mutex, PoisonError};

evforge_core::counters! {
    /// Images whose content is checked.
    pub struct ContentCounters: "content of trains" {
        images_received: Enters(Images), Images, "Images of the trains that came to the check.";
        images_right: Leaves(Images), Images, "Images of which every byte is that of the pattern.";
        images_wrong: Discarded(Images), Images, "Images with a byte that is not that of the pattern.";
        images_with_holes: Discarded(Images), Images, "Images of incomplete trains of which a part is missing: not checked.";
        bytes_wrong: Information, Bytes, "Bytes that are not those of the pattern.";
        trains_without_images: Information, Trains, "Trains that could not be read as images: no header, or a part of it missing.";
    }
}

/// Faults that are kept.
const MOST_FAULTS: usize = 20;

/// An image that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongImage {
    /// Number of the module.
    pub module: u8,
    /// Number of the train.
    pub train: u64,
    /// The image, from 0.
    pub image: usize,
    /// What is wrong with it.
    pub fault: PatternFault,
}

/// What the check has found so far.
#[derive(Clone, Debug, Default)]
pub struct ContentFound {
    /// All images.
    pub counters: ContentCounters,
    /// The first wrong ones.
    pub wrong: Vec<WrongImage>,
}

/// Checks every byte of images with the counter pattern, as `evforge train send` makes them.
#[derive(Debug, Default)]
pub struct ContentSink {
    found: Arc<Mutex<ContentFound>>,
}

impl ContentSink {
    /// What is found, to be looked at once the node has ended, or while it runs.
    pub fn found(&self) -> Arc<Mutex<ContentFound>> {
        Arc::clone(&self.found)
    }
}

impl TrainSink for ContentSink {
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let ContentFound { counters, wrong } = &mut *found;
        let Some(view) = train.train.train() else {
            counters.trains_without_images += 1;
            return Ok(());
        };
        let number = view.header().train;
        for index in 0..view.layout().images() {
            counters.images_received += 1;
            let Some(image) = view.image(index).filter(|_| train.train.has_image(index)) else {
                counters.images_with_holes += 1;
                continue;
            };
            match CounterPattern::new(number, index as u64).check(0, image) {
                None => counters.images_right += 1,
                Some(fault) => {
                    counters.images_wrong += 1;
                    counters.bytes_wrong += fault.wrong as u64;
                    if wrong.len() < MOST_FAULTS {
                        wrong.push(WrongImage { module: train.module, train: number, image: index, fault });
                    }
                }
            }
        }
        Ok(())
    }
}
