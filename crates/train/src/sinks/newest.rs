//! The newest train of each module, for whoever looks now and then.

use super::summary::{NotSummed, TrainSummary};
use super::turns::Turns;
use crate::node::{NodeTrain, SinkError, TrainSink};
use evforge_wire::train::TrainDetector;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

evforge_core::counters! {
    /// Trains on their way to a picture of the newest ones.
    pub struct NewestCounters: "newest trains" {
        trains_offered: Enters(Outputs), Times, "Trains of single modules that could have been pictured.";
        trains_summed: Leaves(Outputs), Times, "Trains of single modules whose images were added up for the picture.";
        trains_passed_over: Discarded(Outputs), Times, "Trains of single modules that came while that of their module was new enough: a picture costs time.";
        trains_not_whole: Discarded(Outputs), Times, "Incomplete trains that are kept: the picture shows whole ones only.";
        trains_of_other_images: Discarded(Outputs), Times, "Trains whose images do not have the size of the detector's.";
        trains_of_no_panel: Discarded(Outputs), Times, "Trains of modules that the picture has no place for.";
    }
}

/// The newest train of each module that was added up, until somebody takes it: never a queue.
#[derive(Debug)]
pub struct NewestTrains {
    first: u8,
    slots: Box<[Mutex<Option<TrainSummary>>]>,
    counters: Mutex<NewestCounters>,
}

impl NewestTrains {
    /// The modules that have a place.
    pub fn modules(&self) -> Range<usize> {
        let first = usize::from(self.first);
        first..first + self.slots.len()
    }

    /// Takes what is new, the modules in their order.
    pub fn take(&self) -> impl Iterator<Item = TrainSummary> + '_ {
        self.slots.iter().filter_map(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner).take())
    }

    /// What was added up, and what was not.
    pub fn counters(&self) -> NewestCounters {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds up the images of the newest trains, of each module in its turn, a few times per second: what it costs is bounded, whatever
/// comes.
#[derive(Debug)]
pub struct NewestSink {
    detector: TrainDetector,
    newest: Arc<NewestTrains>,
    turns: Turns,
    counters: NewestCounters,
}

impl NewestSink {
    /// Of a detector, with places for `count` modules from `first` on.
    pub fn new(detector: TrainDetector, first: u8, count: usize) -> Self {
        let slots = (0..count).map(|_| Mutex::default()).collect();
        let newest = Arc::new(NewestTrains { first, slots, counters: Mutex::default() });
        Self { detector, newest, turns: Turns::new(count), counters: NewestCounters::default() }
    }

    /// Where the newest trains are.
    pub fn newest(&self) -> Arc<NewestTrains> {
        Arc::clone(&self.newest)
    }

    fn tell(&self) {
        *self.newest.counters.lock().unwrap_or_else(PoisonError::into_inner) = self.counters;
    }
}

impl TrainSink for NewestSink {
    fn take(&mut self, train: &mut NodeTrain) -> Result<(), SinkError> {
        self.counters.trains_offered += 1;
        let place = train.module.checked_sub(self.newest.first).map(usize::from);
        let Some((place, slot)) = place.and_then(|place| Some((place, self.newest.slots.get(place)?))) else {
            self.counters.trains_of_no_panel += 1;
            return Ok(());
        };
        let begun = Instant::now();
        if !self.turns.is_due(place, begun) {
            self.counters.trains_passed_over += 1;
            return Ok(());
        }
        // Memory that nobody has taken is used again. Nothing holds the lock for longer than an exchange.
        let before = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut summary = before.unwrap_or_default();
        match summary.renew(train, self.detector) {
            Ok(()) => {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(summary);
                self.turns.taken(place, begun, begun.elapsed());
                self.counters.trains_summed += 1;
            }
            Err(why) => {
                // What was there is still the newest one.
                if !summary.sums().is_empty() {
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(summary);
                }
                *match why {
                    NotSummed::NotWhole => &mut self.counters.trains_not_whole,
                    NotSummed::OtherImages => &mut self.counters.trains_of_other_images,
                } += 1;
            }
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<(), SinkError> {
        self.tell();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.tell();
        Ok(())
    }
}
