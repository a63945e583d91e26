//! Triggers: what comes together is read together.
//!
//! The first signal of a module triggers. Whatever its wires and grids have within the window after it is read with it;
//! what comes in the dead time after that is lost.

use super::physics::MultiGridPhysics;
use crate::electronics::Hit;
use crate::layout::Place;
use std::collections::VecDeque;

/// Hits of one trigger.
#[derive(Clone, Debug, Default)]
pub struct Trigger {
    /// Its module.
    pub module: u16,
    /// When it began, in picoseconds since the start of the pulse.
    pub begin_ps: u64,
    /// When it was read.
    pub read_ps: u64,
    /// The wires and grids with their amplitudes.
    pub readouts: Vec<(Place, u16)>,
}

/// The triggers of a detector's modules.
#[derive(Clone, Debug)]
pub struct Triggers {
    places: Vec<Place>,
    window_ps: u64,
    dead_time_ps: u64,
    most_readouts: usize,
    /// Triggers under way, in the order in which they began.
    open: VecDeque<Trigger>,
    /// Each module's: nothing triggers before, in picoseconds since the start of the pulse.
    ready_ps: Vec<u64>,
    /// Lists to be used again.
    spare: Vec<Vec<(Place, u16)>>,
}

impl Triggers {
    /// For the channels at these places. A trigger has at most this many readouts: what is more is lost.
    pub fn new(places: &[Place], physics: &MultiGridPhysics, most_readouts: usize) -> Self {
        let modules = places.iter().map(|place| usize::from(place.module) + 1).max().unwrap_or(0);
        Self {
            places: places.to_vec(),
            window_ps: physics.trigger_window.picoseconds,
            dead_time_ps: physics.trigger_dead_time.picoseconds,
            most_readouts,
            open: VecDeque::new(),
            ready_ps: vec![0; modules],
            spare: Vec::new(),
        }
    }

    /// Hands out the triggers of a pulse in the order in which they are read. `hits` are in the order of time.
    pub fn pulse(&mut self, hits: &[Hit], mut read: impl FnMut(&mut Trigger)) {
        self.ready_ps.fill(0);
        for hit in hits {
            while self.open.front().is_some_and(|trigger| trigger.read_ps < hit.time_ps) {
                self.close(&mut read);
            }
            let Some(place) = self.places.get(hit.channel as usize).copied() else { continue };
            let module = usize::from(place.module);
            let under_way = self.open.iter_mut().find(|trigger| trigger.module == place.module);
            if let Some(trigger) = under_way {
                if trigger.readouts.len() < self.most_readouts {
                    trigger.readouts.push((place, hit.amplitude));
                }
            } else if hit.time_ps >= self.ready_ps[module] {
                let read_ps = hit.time_ps + self.window_ps;
                self.ready_ps[module] = read_ps + self.dead_time_ps;
                let mut readouts = self.spare.pop().unwrap_or_default();
                readouts.push((place, hit.amplitude));
                let (module, begin_ps) = (place.module, hit.time_ps);
                self.open.push_back(Trigger { module, begin_ps, read_ps, readouts });
            }
        }
        while !self.open.is_empty() {
            self.close(&mut read);
        }
    }

    fn close(&mut self, read: &mut impl FnMut(&mut Trigger)) {
        let Some(mut trigger) = self.open.pop_front() else { return };
        read(&mut trigger);
        trigger.readouts.clear();
        self.spare.push(trigger.readouts);
    }
}
