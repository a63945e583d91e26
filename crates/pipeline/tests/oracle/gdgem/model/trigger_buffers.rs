//! The reference's way to order the hits of one plane: two buffers that a new trigger time empties in turn.
//!
//! EFU formats of 2018, section 4.6. The bunch crossing counter of a chip runs on while the trigger time
//! steps, so the reference puts hits early and late in the counter's range into different buffers and lets
//! the early ones out one trigger later. Rule `absolute_sorting` does without all this.

use super::cluster::{Cluster, clusters};
use super::counters::Counters;
use super::hit::{Hit, PlaneHit};
use super::settings::{Clusterer, Plane, Settings, Ticks};

/// Hits with times relative to one trigger.
#[derive(Clone, Debug, Default)]
struct Buffer {
    /// The hits; times are chip times in ticks.
    hits: Vec<PlaneHit>,
    /// The trigger time of the hit stored last, in ticks; it is taken for the trigger time of all.
    trigger_time: Ticks,
}

impl Buffer {
    /// Sorts the hits by time.
    fn sort(&mut self) {
        self.hits.sort_by_key(|hit| hit.time);
    }
}

/// The two buffers of one plane.
pub(crate) struct TriggerBuffers {
    /// The plane of the hits.
    plane: Plane,
    /// How released hits are clustered; its time gap also connects early and late hits.
    clusterer: Clusterer,
    /// Longest distance of subsequent triggers, in ticks.
    trigger_period: Ticks,
    /// Hits with a smaller chip time (ticks) are early.
    chip_time_window: Ticks,
    /// Early hits.
    new: Buffer,
    /// Late hits, and the early ones of the trigger before.
    old: Buffer,
    /// The trigger time of the previous hit in ticks, at first 0.
    previous_trigger: Ticks,
    /// Whether the latest trigger followed within the trigger period. True also when the time went backwards.
    subsequent: bool,
}

impl TriggerBuffers {
    /// Empty buffers of one plane.
    pub(crate) fn new(plane: Plane, settings: &Settings) -> Self {
        Self {
            plane,
            clusterer: settings.clusterers.get(plane).clone(),
            trigger_period: settings.arithmetic.trigger_period,
            chip_time_window: settings.arithmetic.chip_time_window,
            new: Buffer::default(),
            old: Buffer::default(),
            previous_trigger: 0,
            subsequent: false,
        }
    }

    /// Stores a hit; if its trigger time is a new one, the clusters of what the buffers release come back.
    pub(crate) fn store(&mut self, hit: &Hit, counters: &mut Counters) -> Vec<Cluster> {
        let mut finished = Vec::new();
        if hit.trigger_time != self.previous_trigger {
            self.subsequent = hit.trigger_time - self.previous_trigger <= self.trigger_period;
            self.previous_trigger = hit.trigger_time;
            finished = self.analyse(counters);
        }
        let early = hit.chip_time < self.chip_time_window;
        let buffer = if early { &mut self.new } else { &mut self.old };
        buffer.hits.push(hit.at(hit.chip_time));
        buffer.trigger_time = hit.trigger_time;
        finished
    }

    /// Rule `flush_at_end`: empties both buffers.
    pub(crate) fn flush(&mut self, counters: &mut Counters) -> Vec<Cluster> {
        let mut finished = self.analyse(counters);
        finished.extend(self.analyse(counters));
        finished
    }

    /// Releases the old buffer, with the early hits that continue it, and lets the new one take its place.
    fn analyse(&mut self, counters: &mut Counters) -> Vec<Cluster> {
        self.new.sort();
        self.old.sort();
        if self.subsequent {
            self.move_continuing_hits();
        }
        let new = std::mem::take(&mut self.new);
        let mut out = std::mem::replace(&mut self.old, new);
        for hit in &mut out.hits {
            hit.time += out.trigger_time;
        }
        clusters(self.plane, &out.hits, &self.clusterer, counters)
    }

    /// If the first early hits continue the last late ones across the end of the trigger period, moves them
    /// over.
    fn move_continuing_hits(&mut self) {
        let gap = self.clusterer.maximum_time_gap;
        let (Some(first), Some(last)) = (self.new.hits.first(), self.old.hits.last()) else {
            return;
        };
        if first.time + self.trigger_period - last.time > gap {
            return;
        }
        let connected =
            self.new.hits.windows(2).take_while(|pair| pair[1].time - pair[0].time <= gap).count();
        for mut hit in self.new.hits.drain(..=connected) {
            hit.time += self.trigger_period;
            self.old.hits.push(hit);
        }
        self.old.sort();
    }
}
